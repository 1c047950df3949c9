use super::{
    Catalog,
    catalog::Due,
    errors,
    pages::{self, Listed},
};
use crate::{
    backoff::{Backoff, Ceilings, Jitter},
    classify::Session,
    failure::Failure,
    text::shown_name,
};
use ::rmcp::{
    Peer, RoleClient,
    model::{ProtocolVersion, SubscriptionFilter, Tool},
    service::ServiceError,
};
use std::{future::pending, time::Duration};
use tokio::time::{self, Instant};

/// The longest that one background reading takes.
const READING: Duration = Duration::from_secs(30);

/// After this time without a reading, the pauses are short again.
const CALM: Duration = Duration::from_secs(60);

/// Reads the list of tools of one connection into a catalog.
#[derive(Clone)]
pub(super) struct Lister {
    peer: Peer<RoleClient>,
    catalog: Catalog,
    connection: u64,
}

impl Lister {
    pub(super) fn new(peer: Peer<RoleClient>, catalog: Catalog) -> Self {
        Self {
            connection: catalog.connection(),
            peer,
            catalog,
        }
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Reads all pages. If that fails, the catalog keeps the earlier list.
    pub(super) async fn read(&self, limit: Duration, setting: Option<&str>) -> Result<(), Failure> {
        let reading = self.catalog.begin(self.connection);
        match time::timeout(limit, Box::pin(self.pages())).await {
            Ok(Ok(Listed { items, incomplete })) => {
                if let Some(why) = incomplete {
                    tracing::warn!(
                        why = shown_name(why),
                        "the server's list of tools may be incomplete"
                    );
                }
                self.catalog.fill(reading, items, incomplete);
                Ok(())
            }
            outcome => {
                let failure = match outcome {
                    Ok(Err(error)) => errors::of_call(error, Session::None),
                    _ => too_late(limit, setting),
                };
                self.catalog.fail(reading, &failure);
                Err(failure)
            }
        }
    }

    async fn pages(&self) -> Result<Listed<Tool>, ServiceError> {
        let server = self.peer.peer_info();
        if server.is_some_and(|server| server.capabilities.tools.is_none()) {
            return Ok(Listed {
                items: Vec::new(),
                incomplete: None,
            });
        }
        let ask = |cursor| async move {
            let page = self.peer.list_tools(cursor).await?;
            Ok((page.tools, page.next_cursor))
        };
        pages::read_all(|tool: &Tool| &tool.name, ask).await
    }

    /// Reads the list for the first time on this connection. If there is no earlier list and the
    /// server asks to wait, reads it again in time.
    ///
    /// Fails only if the connection is closed. `setting` is the name of the limit.
    pub(super) async fn begin(
        &self,
        limit: Duration,
        at_most: Duration,
        setting: &str,
    ) -> Result<Pauses, Failure> {
        let mut pauses = Pauses::new();
        let until = after(at_most);
        loop {
            let limit = limit.min(until.saturating_duration_since(Instant::now()));
            let Err(failure) = self.read(limit, Some(setting)).await else {
                pauses.after_success();
                return Ok(pauses);
            };
            if self.peer.is_transport_closed() {
                return Err(failure);
            }
            pauses.after_failure(&failure);
            let is_first = self.catalog.tools().is_err();
            let may_wait = is_first && failure.retry_after().is_some() && pauses.next < until;
            if !may_wait {
                warn(&failure);
                return Ok(pauses);
            }
            time::sleep_until(pauses.next).await;
        }
    }

    /// Reads the list again when that is due, as long as the connection lives.
    pub(super) async fn keep(self, pauses: Pauses) {
        tokio::select! {
            () = self.read_when_due(pauses) => {}
            () = self.subscribe() => {}
        }
    }

    /// From MCP 2026-07-28 on, a server announces changes only to subscribers.
    async fn subscribe(&self) {
        let server = self.peer.peer_info();
        let announces = server.is_some_and(|server| {
            let tools = server.capabilities.tools.as_ref();
            server.protocol_version >= ProtocolVersion::V_2026_07_28
                && tools.is_some_and(|tools| tools.list_changed == Some(true))
        });
        let mut pauses = Pauses::new();
        while announces && !self.peer.is_transport_closed() {
            pauses.wait().await;
            pauses.begin();
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            if let Ok(mut subscription) = self.peer.listen(filter).await {
                // There may have been changes before.
                self.catalog.renew();
                // The transport has told the catalog already.
                while let Ok(Some(_)) = subscription.next().await {}
            }
            pauses.after_success();
        }
        pending::<()>().await;
    }

    async fn read_when_due(&self, mut pauses: Pauses) {
        let mut news = self.catalog.news();
        loop {
            match self.catalog.due(self.connection) {
                Due::Read if pauses.is_over() => {}
                Due::Read => {
                    pauses.wait().await;
                    // The list may have been read in the meantime.
                    continue;
                }
                Due::Nothing if news.changed().await.is_ok() => continue,
                Due::Nothing | Due::Superseded => return,
            }
            pauses.begin();
            match self.read(READING, None).await {
                Ok(()) => pauses.after_success(),
                Err(_) if self.peer.is_transport_closed() => return,
                Err(failure) => {
                    warn(&failure);
                    pauses.after_failure(&failure);
                }
            }
        }
    }
}

fn too_late(limit: Duration, setting: Option<&str>) -> Failure {
    let text = format!("the tool server did not list its tools within {limit:?}");
    match setting {
        Some(setting) => errors::too_late(&text, setting),
        None => Failure::timeout(text),
    }
}

fn warn(failure: &Failure) {
    tracing::warn!(
        class = failure.class().as_str(),
        error = %failure.chain(),
        "cannot read the server's list of tools; it is read again later"
    );
}

/// The pauses between two readings. They double from half a second to a minute while the list cannot
/// be read or changes all the time.
pub(super) struct Pauses {
    ceilings: Ceilings,
    next: Instant,
}

impl Pauses {
    fn new() -> Self {
        Self {
            ceilings: ceilings(),
            next: Instant::now(),
        }
    }

    fn is_over(&self) -> bool {
        self.next <= Instant::now()
    }

    async fn wait(&self) {
        time::sleep_until(self.next).await;
    }

    /// Begins a reading. After a calm time the pauses are short again.
    fn begin(&mut self) {
        if self.next + CALM < Instant::now() {
            self.ceilings = ceilings();
        }
    }

    fn after_success(&mut self) {
        self.next = Instant::now() + self.ceilings.next().unwrap_or(CALM);
    }

    fn after_failure(&mut self, failure: &Failure) {
        let ceiling = self.ceilings.next().unwrap_or(CALM);
        let asked_for = failure.retry_after().unwrap_or_default();
        let jitter = Jitter::full().draw(ceiling / 2);
        let pause = asked_for.max(ceiling / 2).saturating_add(jitter);
        self.next = after(pause);
    }
}

/// A wait that cannot be expressed is a long one.
fn after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now + 1_000_000 * CALM)
}

fn ceilings() -> Ceilings {
    let backoff = Backoff::new(Duration::from_millis(500), CALM);
    backoff.unwrap_or_default().ceilings()
}
