//! Runs an answer through the layers.

use crate::{
    answer::{Answer, Call, calls},
    case::{Case, Expected, RpcInput, repeated},
};
use mcp_resilience::{
    Failure,
    call::ToolResult,
    call_log::{CallLogLayer, Record, Sink},
    classify::ClassifyLayer,
    failure::{BoxError, RpcError},
    is_error::{IsErrorLayer, detect},
    policy::Policy,
    retry::RetryLayer,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tower::{ServiceBuilder, ServiceExt, service_fn};

pub(crate) async fn result(case: &Case, result: &Value) -> Vec<Result<(), String>> {
    let answer = Answer(result.clone());
    check(case, &case.expect, move || Ok(answer.clone())).await
}

pub(crate) async fn error(case: &Case, error: &RpcInput) -> Vec<Result<(), String>> {
    let error = RpcError::new(error.code, error.message.clone(), error.data.clone());
    check::<Answer>(case, &case.expect, move || Err(error.clone().into())).await
}

/// Answers calls of both kinds of tools, through the layers that classify and repeat, and through
/// those that flag and log.
pub(crate) async fn check<R: ToolResult + PartialEq + Clone + std::fmt::Debug>(
    case: &Case,
    expected: &Expected,
    answer: impl Fn() -> Result<R, BoxError> + Clone,
) -> Vec<Result<(), String>> {
    let [any, twice] = calls();
    let (any, twice) = (named(&answer, any).await, named(&answer, twice).await);
    let named = match (&any, &twice) {
        (Err(any), Err(twice)) => case.compare(expected, any, repeated(any, twice)),
        (Ok(passed), Ok(_)) => match expected {
            Expected::Failure { .. } => Err("it is no failure".to_owned()),
            _ if answer().is_ok_and(|sent| sent == *passed) => Ok(()),
            _ => Err(format!("it was changed on its way: {passed:?}")),
        },
        _ => Err("what it is depends on the tool".to_owned()),
    };
    vec![named, went_out(expected, &answer).await]
}

async fn named<R: ToolResult>(
    answer: &(impl Fn() -> Result<R, BoxError> + Clone),
    call: Call,
) -> Result<R, Failure> {
    let answer = answer.clone();
    ServiceBuilder::new()
        .layer(only_once())
        .layer(ClassifyLayer::new())
        .service(service_fn(move |_: Call| std::future::ready(answer())))
        .oneshot(call)
        .await
}

/// Makes a call once, and shows whether it would be repeated.
pub(crate) fn only_once() -> RetryLayer {
    let retry = RetryLayer::builder()
        .max_attempts(1)
        .policy(Policy::new().no_budget());
    retry.build().unwrap()
}

/// The caller's answer, and the log line.
async fn went_out<R: ToolResult + PartialEq + Clone + std::fmt::Debug>(
    expected: &Expected,
    answer: &(impl Fn() -> Result<R, BoxError> + Clone),
) -> Result<(), String> {
    for is_guessing in [false, true] {
        let lines = Lines::default();
        let mut flag = IsErrorLayer::new();
        if is_guessing {
            flag = flag.detect(detect::failure_in_text);
        }
        let give = answer.clone();
        let passed = ServiceBuilder::new()
            .layer(CallLogLayer::new(lines.clone()))
            .layer(flag)
            .layer(ClassifyLayer::new())
            .service(service_fn(move |_: Call| std::future::ready(give())))
            .oneshot(calls()[0].clone())
            .await;
        let line = lines.0.lock().unwrap().remove(0);
        let (Ok(sent), Ok(passed)) = (answer(), passed) else {
            continue;
        };
        let must_be_flagged = match expected {
            Expected::Success {
                flagged_by_detector,
                ..
            } => *flagged_by_detector && is_guessing,
            Expected::Flagged { class, code, .. } => {
                if line["class"] != json!(class) || line["code"] != *code {
                    return Err(format!("the log says otherwise: {line}"));
                }
                true
            }
            _ => false,
        };
        let mut right = sent.clone();
        if must_be_flagged {
            right.flag();
        }
        let says_so = line["unflagged"] == true && line["level"] == "WARN";
        let is_failure = line["outcome"] == "failed";
        if passed != right
            || says_so != must_be_flagged
            || is_failure != right.is_error() && !right.is_interim()
        {
            return Err(format!("flagged: {}, {line}", passed.is_error()));
        }
    }
    Ok(())
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Value>>>);

impl Sink for Lines {
    fn write(&self, record: &Record<'_>) {
        let line = crate::schema::line(&record.to_json());
        self.0.lock().unwrap().push(line);
    }
}
