use super::{
    call::Call,
    strategy::{Client, Strategy},
    upstream::{Condition, Upstream},
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{Instant, sleep_until},
};

/// How many calls the clients make in a second.
pub(super) const OFFERED: u64 = 40;

/// How many seconds the clients go on.
pub(super) const SECONDS: u64 = 150;

/// How many clients are refused at the same instant in the second scenario.
pub(super) const HERD: usize = 500;

/// The wait that the server asks of them.
const ASKED: Duration = Duration::from_secs(5);

/// The seconds at which the server fails, serves half of the calls, begins to recover, and has
/// recovered.
pub(super) const PHASES: [u64; 4] = [20, 50, 80, 100];

/// How many seconds the recovery takes until the server accepts all calls.
pub(super) const RECOVERY: u32 = 10;

/// The calls of one strategy, and their results.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) ended: Vec<Ended>,
    pub(super) attempts: Vec<Duration>,
    pub(super) early: usize,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) begun: Duration,
    pub(super) took: Duration,
    pub(super) succeeded: bool,
}

/// The server fails, and the clients go on calling it.
pub(super) fn outage(
    strategy: Strategy,
    seed: u64,
    refusal_cost: f64,
    each_second: impl Fn(),
) -> io::Result<Calls> {
    simulate(async {
        let upstream = Upstream::new(condition, refusal_cost);
        let clients = strategy
            .clients(1, &upstream, seed)
            .map_err(io::Error::other)?;
        let mut running = JoinSet::new();
        for number in 0..SECONDS * OFFERED {
            let at = Duration::from_secs(number) / u32::try_from(OFFERED).unwrap_or(u32::MAX);
            sleep_until(upstream.begun() + at).await;
            if number % OFFERED == 0 {
                each_second();
            }
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            running.spawn(make(
                Arc::clone(&clients[0]),
                Call { number },
                upstream.begun(),
            ));
        }
        Ok(ended(running, &upstream).await)
    })
}

/// Many clients are refused at the same instant, and asked to wait for the same time.
pub(super) fn herd(strategy: Strategy, seed: u64) -> io::Result<Calls> {
    simulate(async {
        let upstream = Upstream::new(closed_at_first, 0.0);
        let clients = strategy
            .clients(HERD, &upstream, seed)
            .map_err(io::Error::other)?;
        let mut running = JoinSet::new();
        for (number, client) in clients.into_iter().enumerate() {
            running.spawn(make(client, Call { number }, upstream.begun()));
        }
        Ok(ended(running, &upstream).await)
    })
}

/// Runs in paused time, which advances when all tasks wait.
fn simulate<T>(run: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(run)
}

async fn make(client: Client, call: Call, beginning: Instant) -> Ended {
    let begun = Instant::now();
    let succeeded = client(call).await;
    Ended {
        begun: begun.saturating_duration_since(beginning),
        took: begun.elapsed(),
        succeeded,
    }
}

async fn ended(mut running: JoinSet<Ended>, upstream: &Upstream) -> Calls {
    let mut ended = Vec::new();
    while let Some(call) = running.join_next().await {
        ended.extend(call.ok());
    }
    Calls {
        ended,
        attempts: upstream.attempts(),
        early: upstream.early(),
    }
}

fn closed_at_first(now: Duration) -> Condition {
    if now < ASKED {
        return Condition::Closed(ASKED);
    }
    Condition::Serving {
        per_second: f64::INFINITY,
        latency: Duration::from_millis(50),
    }
}

fn condition(now: Duration) -> Condition {
    let [fails, half, returns, back] = PHASES.map(Duration::from_secs);
    let (capacity, millis) = if now >= fails && now < half {
        return Condition::Down;
    } else if now >= half && now < returns {
        (0.5, 500.0)
    } else if now >= returns && now < back {
        let seconds = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
        let share = seconds(returns, now) / seconds(returns, back);
        (0.5 + share, 500.0 - 450.0 * share)
    } else {
        (1.5, 50.0)
    };
    Condition::Serving {
        per_second: capacity * f64::from(u32::try_from(OFFERED).unwrap_or(u32::MAX)),
        latency: Duration::from_secs_f64(millis / 1000.0),
    }
}
