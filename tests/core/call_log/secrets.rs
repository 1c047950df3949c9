//! The corpus of secrets and look-alikes, in every output.

use super::retry;
use crate::support::{Answer, Call, Lines, Script, traced};
use mcp_resilience::{
    Failure,
    call_log::{CallLogLayer, Record, Sink, TracingEvents},
    classify::ClassifyLayer,
    is_error::IsErrorLayer,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt};

/// A text, and what must not be read of it.
#[derive(Deserialize)]
struct Text {
    text: String,
    secrets: Vec<String>,
}

#[derive(Deserialize)]
struct Arguments {
    arguments: Value,
    logged: Value,
}

fn texts() -> Vec<Text> {
    serde_json::from_str(include_str!("secrets/texts.json")).unwrap()
}

fn look_alikes() -> Vec<String> {
    serde_json::from_str(include_str!("secrets/look_alikes.json")).unwrap()
}

/// Lines and events of the same calls.
#[derive(Clone, Default)]
struct Both(Lines, TracingEvents);

impl Sink for Both {
    fn write(&self, record: &Record<'_>) {
        self.0.write(record);
        self.1.write(record);
    }
}

/// Which calls are made.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Log,
    /// Also without a log around them: then the values of all calls of the process are masked, those
    /// of other tests too.
    LogAndNothing,
}

/// A call with the text in each place, and what it leaves: lines, events and spans.
async fn left_by(text: &str, key: &str, around: Around) -> Vec<Value> {
    let sink = Both::default();
    let busy = || -> BoxError {
        let failure = Failure::rate_limited(None).with_code(text.to_owned());
        failure.because(text.to_owned()).into()
    };
    let last = || -> BoxError {
        let failure = Failure::tool(text.to_owned()).with_code(text.to_owned());
        failure
            .because(std::io::Error::other(text.to_owned()))
            .into()
    };
    let call = |mut call: Call| {
        call = call.arguments(json!({"note": text, key: [text]}));
        call.session_id = Some(text.to_owned());
        call.request_id = Some(json!(text));
        call
    };
    let mut left = traced(async || {
        let steps: Vec<Result<Answer, BoxError>> = vec![Err(busy()), Err(last())];
        for (call, steps) in [
            (call(Call::tool(text)), steps),
            (call(Call::resource(text)), vec![Err(last())]),
            (call(Call::prompt("p")), vec![Err(text.to_owned().into())]),
            (call(Call::tool("t")), vec![Ok(Answer::flagged(text))]),
        ] {
            let tools = ServiceBuilder::new()
                .layer(CallLogLayer::new(sink.clone()))
                .layer(IsErrorLayer::new())
                .layer(retry())
                .layer(ClassifyLayer::new())
                .service(Script::new(steps));
            let _ = tools.oneshot(call).await;
        }
        if around == Around::Log {
            return;
        }
        let tools = ServiceBuilder::new()
            .layer(IsErrorLayer::new())
            .layer(retry())
            .layer(ClassifyLayer::new())
            .service(Script::new([Err(busy()), Err(text.to_owned().into())]));
        let _ = tools.oneshot(call(Call::tool(text))).await;
    })
    .await;
    left.extend(sink.0.all());
    left
}

/// Every string in it, keys too, and the strings in JSON in strings.
fn strings(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => {
            see(text);
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                strings(&inner, see);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, see)),
        Value::Object(object) => {
            let is_chance = |key: &str| matches!(key, "call_id" | "timestamp");
            for (key, value) in object.iter().filter(|(key, _)| !is_chance(key)) {
                see(key);
                strings(value, see);
            }
        }
        _ => {}
    }
}

/// Without the ids of calls, which are random: a short secret may be in one by chance.
fn without_ids(text: &str, secrets: &[String]) -> String {
    let is_id = |word: &str| {
        word.len() == 16
            && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !secrets.iter().any(|secret| secret.contains(word))
    };
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !is_id(part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn no_secret_of_the_corpus_is_in_any_line_event_or_span() {
    let mut wrong = Vec::new();
    for case in texts() {
        let left = left_by(&case.text, &case.text, Around::LogAndNothing).await;
        assert!(left.len() > 8, "lines, events and spans: {}", left.len());
        for value in &left {
            strings(value, &mut |seen| {
                let seen = without_ids(seen, &case.secrets);
                for secret in case.secrets.iter().filter(|secret| seen.contains(*secret)) {
                    wrong.push(format!("{secret} of {:?} in {seen:?}", case.text));
                }
            });
        }
    }
    wrong.dedup();
    assert!(
        wrong.is_empty(),
        "{} of them\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test(start_paused = true)]
async fn no_look_alike_of_the_corpus_is_masked() {
    let mut wrong = Vec::new();
    for text in look_alikes() {
        for value in &left_by(&text, "quote", Around::Log).await {
            strings(value, &mut |seen| {
                if seen.contains("[masked]") {
                    wrong.push(format!("{text:?} in {seen:?}"));
                }
            });
        }
        // One place of it is enough to see.
        wrong.dedup_by_key(|wrong| wrong.split(" in ").next().map(str::to_owned));
    }
    assert!(
        wrong.is_empty(),
        "{} of them\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Read to its end at each place, each of these texts would take seconds to minutes.
#[tokio::test(start_paused = true)]
async fn the_work_for_texts_of_overlapping_values_is_bounded() {
    let units = [
        "1=",
        "9=,",
        "9=AA",
        "code=",
        "key=",
        "?code=,",
        "token=the,",
        "code=\\",
        "basic+",
        "eyJ-",
        "sk-",
        "token token=",
        "key=[",
        "{\"name\":[",
        "password: ",
        "password->",
        "pin,",
        "a:b1@",
        "password=<",
        "token\t",
        "password%3D",
        "['password','",
        "password:\n ",
        "[(\"pin\",",
        "input_value=",
        "invalid value '",
        "duplicate entry 'a' for key '",
        "(token)=(",
        "%253D",
        "password%3A%2F%2Fa%40",
        "password “",
        "login a password ",
        "AUTH PLAIN ",
        "docker login -p ",
    ];
    for unit in units {
        let text = unit.repeat(16 * 1024 / unit.len());
        let lines = Lines::default();
        let tools = CallLogLayer::new(lines.clone());
        let tools = tools.layer(Script::new([Err(Failure::tool(text).into())]));
        let _ = tools.oneshot(Call::tool("t")).await;
        assert!(lines.only()["error"].is_string(), "{unit}");
    }
}

#[tokio::test]
async fn the_arguments_of_the_corpus_are_logged_as_it_says() {
    let cases: Vec<Arguments> =
        serde_json::from_str(include_str!("secrets/arguments.json")).unwrap();
    let harmless: Vec<Value> =
        serde_json::from_str(include_str!("secrets/harmless_arguments.json")).unwrap();
    let harmless = harmless.into_iter().map(|arguments| Arguments {
        logged: arguments.clone(),
        arguments,
    });
    for case in cases.into_iter().chain(harmless) {
        let lines = Lines::default();
        let tools = ServiceBuilder::new()
            .layer(CallLogLayer::new(lines.clone()))
            .service(Script::new([Ok(Answer::ok("x"))]));
        let call = Call::tool("t").arguments(case.arguments.clone());
        tools.oneshot(call).await.unwrap();
        assert_eq!(lines.only()["arguments"], case.logged, "{}", case.arguments);
    }
}
