//! Which sources may say that a call did not run, or that it may run again.

mod changing;
mod claims;
mod handed_out;
mod nested;
mod properties;
mod siblings;
mod tempting;

use crate::support::{Answer, Call, Script};
use mcp_resilience::{
    ResilienceLayer, backoff::Jitter, call_log::CallLogLayer, classify::ClassifyLayer,
    policy::Policy, preset::ResilienceBuilder, retry::RetryLayer,
};
use tower::{BoxError, Layer, ServiceExt};

pub(super) type Step = Result<Answer, BoxError>;

/// The preset, without chance and without a log.
pub(super) fn settings() -> ResilienceBuilder {
    let retry = RetryLayer::builder()
        .jitter(Jitter::none())
        .policy(Policy::new().no_budget());
    ResilienceLayer::builder()
        .log(CallLogLayer::off())
        .retry(retry.build().unwrap())
}

/// How often a tool without hints runs that does this each time.
pub(super) async fn runs(step: impl Fn() -> Step) -> usize {
    runs_with(ClassifyLayer::new(), step).await
}

pub(super) async fn runs_with(classify: ClassifyLayer, step: impl Fn() -> Step) -> usize {
    let tool = Script::new((0..9).map(|_| step()));
    let stack = settings().classify(classify).build().unwrap();
    // However it ends, only the runs matter.
    let _ = stack.layer(tool.clone()).oneshot(Call::tool("book")).await;
    tool.calls().len()
}
