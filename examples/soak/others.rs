use mcp_resilience::{Failure, rmcp::client::Client};
use rmcp::model::ReadResourceRequestParams;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// The resource of the subscription.
pub(crate) const SHELF: &str = "shelf:1";

/// The results of lists, reads and pings beside the calls.
#[derive(Clone, Copy, Default)]
pub(crate) struct Others {
    pub(crate) made: u64,
    /// Reads, which leave a line in the log.
    pub(crate) reads: u64,
    pub(crate) failed: u64,
    pub(crate) longest: Duration,
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            made,
            failed,
            longest,
            ..
        } = self;
        write!(f, "{made} made, {failed} failed, the longest {longest:.1?}")
    }
}

/// Lists, reads and pings, one after the other, until the calls are done.
pub(crate) async fn ask(client: Client, is_over: Arc<AtomicBool>) -> Others {
    let mut others = Others::default();
    while !is_over.load(Relaxed) {
        let begun = Instant::now();
        let outcome = one(&client, others.made).await;
        others.reads += u64::from(others.made.is_multiple_of(4));
        others.made += 1;
        others.failed += u64::from(outcome.is_err());
        others.longest = others.longest.max(begun.elapsed());
        sleep(Duration::from_millis(1)).await;
    }
    others
}

async fn one(client: &Client, number: u64) -> Result<(), Failure> {
    match number % 4 {
        0 => {
            let read = ReadResourceRequestParams::new(SHELF);
            client.read_resource(read).await.map(drop)
        }
        1 => client.list_tools().await.map(drop),
        2 => client.list_resources().await.map(drop),
        _ => client.ping().await,
    }
}
