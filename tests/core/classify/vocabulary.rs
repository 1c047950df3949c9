//! Codes and names that a user adds.

use super::{classified_by, seconds, verdict};
use crate::support::Answer;
use mcp_resilience::{
    Class, Delivery, Failure,
    classify::{ClassifyLayer, Vocabulary},
    failure::{BoxError, Code, RpcError},
};
use serde_json::{Value, json};

/// A client's own error, which a rule can read.
#[derive(Debug, thiserror::Error)]
#[error("the call failed")]
struct Theirs(RpcError);

fn vocabulary() -> Vocabulary {
    Vocabulary::new()
        .code("E_BUSY", Class::AtCapacity)
        .refusal_code("E_QUOTA", Class::RateLimited)
        .code(-32105, Class::Unavailable)
        .refusal_code(-31000, Class::RateLimited)
        .code_field("reasonCode")
        .wait_seconds("cool_down")
        .wait_millis("coolDownMillis")
        .wait_until("welcome-at")
        .text_begins("Quota reached: ", Class::RateLimited)
        .refusal_begins("Queue is full: ", Class::AtCapacity)
        .envelope_in("fault")
}

async fn failure_of(words: Vocabulary, thrown: Result<Answer, BoxError>) -> Failure {
    let layer = ClassifyLayer::new()
        .vocabulary(words)
        .rule(|theirs: &Theirs| Some(ClassifyLayer::new().classify(theirs.0.clone())));
    classified_by(layer, thrown).await.unwrap_err()
}

#[tokio::test]
async fn a_code_of_the_user_is_known_in_every_place_and_is_a_refusal_only_if_the_user_says_so() {
    use Delivery::{Refused, Unknown};
    let none = || Answer::envelope(json!({}));
    let meta = json!({"io.crates.mcp-resilience/failure": {"code": "E_BUSY"}});
    let in_meta = Answer {
        meta: meta.as_object().cloned(),
        ..none()
    };
    #[rustfmt::skip]
    let cases = [
        (Answer::envelope(json!({"code": "e-busy", "cooldown": 3})), Class::AtCapacity, Unknown, seconds(3)),
        (Answer::flagged(r#"{"error": {"code": "E_QUOTA", "cooldown": "1m"}}"#), Class::RateLimited, Refused, seconds(60)),
        (Answer::envelope(json!({"reason_code": "E_BUSY", "CoolDownMillis": 2000})), Class::AtCapacity, Unknown, seconds(2)),
        (Answer::envelope(json!({"booked": 2, "fault": {"reasonCode": "E_QUOTA"}})), Class::RateLimited, Refused, None),
        (Answer::envelope(json!({"booked": 2, "details": {"code": "E_QUOTA"}})), Class::RateLimited, Unknown, None),
        (Answer::envelope(json!({"type": "E_QUOTA"})), Class::RateLimited, Refused, None),
        (Answer::envelope(json!({"code": -31000})), Class::RateLimited, Refused, None),
        (Answer::envelope(json!({"code": "E_OTHER", "welcomeAt": 0})), Class::Tool, Delivery::Executed, seconds(0)),
        (Answer::flagged("Quota reached: 5 of 5"), Class::RateLimited, Unknown, None),
        (Answer::flagged("Queue is full: 5 of 5"), Class::AtCapacity, Refused, None),
        (Answer::flagged("so: Quota reached: 5 of 5"), Class::Tool, Delivery::Executed, None),
        (in_meta, Class::AtCapacity, Unknown, None),
    ];
    for (answer, class, delivery, wait) in cases {
        let failure = failure_of(vocabulary(), Ok(answer.clone())).await;
        assert_eq!(
            verdict(&failure),
            (class, delivery, wait, None),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn codes_of_the_user_win_over_built_in_codes() {
    let vocabulary = || {
        Vocabulary::new()
            .code("rate_limited", Class::Disabled)
            .code("upstream_error", Class::Upstream)
            .text_begins("Unknown tool: ", Class::Blocked)
            .wait_millis("retryAfter")
    };
    let envelope = json!({"code": "RATE_LIMITED", "retryAfter": 2000});
    let failure = failure_of(vocabulary(), Ok(Answer::envelope(envelope))).await;
    let expected = (Class::Disabled, Delivery::Unknown, seconds(2), None);
    assert_eq!(verdict(&failure), expected);
    // The promise of the documented code is not his.
    let envelope = json!({"code": "upstream_error"});
    let failure = failure_of(vocabulary(), Ok(Answer::envelope(envelope))).await;
    let expected = (Class::Upstream, Delivery::Unknown, None, None);
    assert_eq!(verdict(&failure), expected);
    let failure = failure_of(vocabulary(), Ok(Answer::flagged("Unknown tool: x"))).await;
    assert_eq!(failure.class(), Class::Blocked);
    // Of several, the first.
    let twice = vocabulary().code("rate_limited", Class::Forbidden);
    let layer = ClassifyLayer::new().vocabulary(twice);
    let layer = layer.vocabulary(Vocabulary::new().code("rate_limited", Class::Crash));
    let answer = Answer::envelope(json!({"code": "rate_limited"}));
    let failure = classified_by(layer, Ok(answer)).await.unwrap_err();
    assert_eq!(failure.class(), Class::Disabled);
}

#[tokio::test]
async fn a_user_cannot_change_the_meaning_of_a_wait_or_of_an_explicit_no() {
    let no = json!({"code": "E_QUOTA", "cooldown": 3, "retryable": false});
    let failure = failure_of(vocabulary(), Ok(Answer::envelope(no))).await;
    assert_eq!(failure.retryable(), Some(false));
    let wait = json!({"cooldown": 3});
    let failure = failure_of(vocabulary(), Ok(Answer::envelope(wait))).await;
    let expected = (Class::Tool, Delivery::Executed, seconds(3), None);
    assert_eq!(verdict(&failure), expected);
    // An empty beginning would be every text's.
    let all = Vocabulary::new().refusal_begins("", Class::RateLimited);
    let failure = failure_of(all, Ok(Answer::flagged("booked"))).await;
    assert_eq!(failure.class(), Class::Tool);
}

/// A connection turns a JSON-RPC error into a failure before `Classify` sees it.
#[tokio::test]
async fn the_users_codes_also_classify_a_json_rpc_error_inside_a_classified_failure() {
    use Delivery::{Refused, Unknown};
    type Made = fn(RpcError) -> BoxError;
    let bare: Made = BoxError::from;
    let made: Made = |error| ClassifyLayer::new().classify(error).into();
    let by_rule: Made = |error| Theirs(error).into();
    #[rustfmt::skip]
    let cases = [
        (-32000, "x", json!({"code": "E_QUOTA", "cooldown": 4}), Class::RateLimited, Refused, seconds(4), Code::from("E_QUOTA")),
        (-32105, "x", json!({"retryAfter": 5}), Class::Unavailable, Unknown, seconds(5), Code::from(-32105)),
        (-31000, "x", Value::Null, Class::RateLimited, Refused, None, Code::from(-31000)),
        (-32000, "Queue is full: 9", Value::Null, Class::AtCapacity, Refused, None, Code::from(-32000)),
        (-32000, "x", json!({"code": "rate_limited", "cooldown": 6}), Class::RateLimited, Unknown, seconds(6), Code::from("rate_limited")),
        (-32601, "x", Value::Null, Class::Protocol, Unknown, None, Code::from(-32601)),
    ];
    for (number, message, data, class, delivery, wait, code) in cases {
        for how in [bare, made, by_rule] {
            let data = Some(data.clone()).filter(|data| !data.is_null());
            let error = RpcError::new(number, message, data);
            // Of a code of the table the server speaks itself, and not who made a failure of it.
            let is_documented = code == Code::from("rate_limited");
            let is_told = is_documented && !how(error.clone()).is::<Failure>();
            let delivery = if is_told { Refused } else { delivery };
            let failure = failure_of(vocabulary(), Err(how(error.clone()))).await;
            assert_eq!(
                verdict(&failure),
                (class, delivery, wait, None),
                "{error:?}"
            );
            assert_eq!(failure.code(), Some(&code), "{error:?}");
            assert_eq!(failure.rpc_error(), Some(&error));
        }
    }
    // A promise of the built-in code does not hold for the user's code.
    let own = Vocabulary::new().code("rate_limited", Class::RateLimited);
    let error = RpcError::new(-32000, "x", Some(json!({"code": "rate_limited"})));
    let named = ClassifyLayer::new().classify(error);
    assert_eq!(named.delivery(), Refused);
    let failure = failure_of(own, Err(named.into())).await;
    assert_eq!(failure.delivery(), Unknown);
    // A status wins over a number.
    let own = Vocabulary::new().refusal_code(-32000, Class::Unavailable);
    let error = RpcError::new(-32000, "x", None);
    let unauthorized = Failure::unauthorized("")
        .with_status(401)
        .with_rpc_error(error);
    let failure = failure_of(own, Err(unauthorized.into())).await;
    assert_eq!(failure.class(), Class::Unauthorized);
    // The author of the failure knew that the call did not run.
    let error = RpcError::new(-32000, "x", Some(json!({"code": "E_BUSY"})));
    let refused = Failure::new(Class::RateLimited, "").before_running();
    let refused = refused.with_rpc_error(error);
    let failure = failure_of(vocabulary(), Err(refused.into())).await;
    let expected = (Class::AtCapacity, Refused, None, None);
    assert_eq!(verdict(&failure), expected);
}
