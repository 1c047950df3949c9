use super::{
    call::{Answer, Call},
    loops::{ThreeAttempts, documented},
    random::shares,
    upstream::Upstream,
};
use mcp_resilience::{
    ResilienceLayer,
    backoff::Jitter,
    call::ToolResult,
    call_log::CallLogLayer,
    policy::Policy,
    retry::{RetryAfterGate, RetryBuilder, RetryLayer},
};
use std::{future::Future, pin::Pin, sync::Arc};
use tower::{BoxError, Layer, Service, ServiceExt};

/// How calls are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    NoRetry,
    DocumentedLoop,
    TowerRetry,
    TowerResilience,
    Default,
    NoBudget,
    NoJitter,
    NoFloor,
    SharedGate,
}

/// Makes a call. Returns whether it succeeded.
pub(super) type Client = Arc<dyn Fn(Call) -> Ends + Send + Sync>;

pub(super) type Ends = Pin<Box<dyn Future<Output = bool> + Send>>;

impl Strategy {
    pub(super) const ALL: [Self; 9] = [
        Self::NoRetry,
        Self::DocumentedLoop,
        Self::TowerRetry,
        Self::TowerResilience,
        Self::Default,
        Self::NoBudget,
        Self::NoJitter,
        Self::NoFloor,
        Self::SharedGate,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NoRetry => "no retry",
            Self::DocumentedLoop => "documented loop",
            Self::TowerRetry => "tower::retry",
            Self::TowerResilience => "tower-resilience",
            Self::Default => "mcp-resilience",
            Self::NoBudget => "… without budget",
            Self::NoJitter => "… without jitter",
            Self::NoFloor => "… without floor",
            Self::SharedGate => "… with shared gate",
        }
    }

    /// Whether it is a strategy of this crate.
    pub(super) fn is_ours(self) -> bool {
        matches!(
            self,
            Self::Default | Self::NoBudget | Self::NoJitter | Self::NoFloor | Self::SharedGate
        )
    }

    /// This many clients, each with its own stack. They share only the gate.
    pub(super) fn clients(
        self,
        count: usize,
        upstream: &Upstream,
        seed: u64,
    ) -> Result<Vec<Client>, BoxError> {
        let random = Arc::new(shares(seed));
        let jitter = Jitter::by(move |ceiling| ceiling.mul_f64(random()));
        let gate = RetryAfterGate::per_server();
        let ours = || RetryLayer::builder().jitter(jitter.clone());
        let one = || match self {
            Self::NoRetry => Ok(through(upstream.clone())),
            Self::DocumentedLoop => {
                let upstream = upstream.clone();
                Ok(Arc::new(move |call| -> Ends {
                    let answer = documented(upstream.clone(), call);
                    Box::pin(async move { answer.await.is_ok() })
                }) as Client)
            }
            Self::TowerRetry => {
                let policy = ThreeAttempts::new(seed)?;
                Ok(through(tower::retry::Retry::new(policy, upstream.clone())))
            }
            Self::TowerResilience => {
                let retry = tower_resilience_retry::RetryLayer::exponential_backoff()
                    .retry_on_response(Answer::is_error)
                    .build();
                Ok(through(retry.layer(upstream.clone())))
            }
            Self::Default => preset(ours(), upstream.clone()),
            Self::NoBudget => preset(ours().policy(Policy::new().no_budget()), upstream.clone()),
            Self::NoJitter => preset(ours().jitter(Jitter::none()), upstream.clone()),
            Self::NoFloor => {
                let blind = upstream.clone().map_response(Answer::without_hint);
                preset(ours(), blind)
            }
            Self::SharedGate => preset(ours().retry_after_gate(gate.clone()), upstream.clone()),
        };
        (0..count).map(|_| one()).collect()
    }
}

fn preset<S>(retry: RetryBuilder, service: S) -> Result<Client, BoxError>
where
    S: Service<Call, Response = Answer, Future: Send> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + 'static,
{
    let layer = ResilienceLayer::builder()
        .retry(retry.build()?)
        .log(CallLogLayer::off())
        .build()?;
    Ok(through(layer.layer(service)))
}

fn through<S>(service: S) -> Client
where
    S: Service<Call, Response = Answer, Future: Send> + Clone + Send + Sync + 'static,
    S::Error: Send,
{
    Arc::new(move |call| -> Ends {
        let answer = service.clone().oneshot(call);
        Box::pin(async move { answer.await.is_ok_and(|answer| !answer.is_error()) })
    })
}
