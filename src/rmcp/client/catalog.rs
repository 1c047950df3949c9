use super::tool_change::{self, ToolChange};
use crate::{
    call::{Continues, Hints, Route, Side, ToolCall},
    failure::Failure,
    lock::RwLock,
    rmcp::{Request, capability::Honoured, request},
};
use ::rmcp::model::Tool;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::sync::watch;

/// The known tools of a server: its list, and your own hints.
///
/// Each [`Client`](super::Client) has a catalog, and so has each [`Connection`](super::Connection) of
/// a connector without a client. Clones of a catalog share everything; two clients share nothing.
///
/// The hints of the list count until the server announces a change. From then on, until the list is
/// read again, only the hints that you set count.
///
/// ```
/// use mcp_resilience::{call::Hints, rmcp::client::Catalog};
///
/// let catalog = Catalog::new();
/// // The server does not say so, and you know it.
/// catalog.set_hints("get_author", Hints::new().read_only(true));
/// assert!(catalog.hints("get_author").is_some());
/// ```
#[derive(Clone, Default)]
pub struct Catalog {
    pub(super) shared: Arc<Shared>,
}

#[derive(Default)]
pub(super) struct Shared {
    known: RwLock<Known>,
    server: RwLock<Server>,
    // Counts the changes of `known`.
    version: AtomicU64,
    news: watch::Sender<()>,
}

/// The server of the last connection, as of its handshake.
#[derive(Default)]
struct Server {
    route: Option<Route>,
    honoured: Option<Honoured>,
}

#[derive(Default)]
struct Known {
    // None until a list was read.
    tools: Option<Arc<[Tool]>>,
    listed: HashMap<String, Listed>,
    said: HashMap<String, Hints>,
    incomplete: Option<&'static str>,
    failure: Option<Failure>,
    /// The reading that gave the list.
    applied: Reading,
    /// How often the server announced a change.
    announced: u64,
    /// How often changes may have been missed.
    renewed: u64,
    connections: u64,
    readings: u64,
}

/// What the list says of one tool.
#[derive(Clone, Copy, Debug)]
struct Listed {
    hints: Hints,
    /// The version of its last change; 0 if it never changed.
    changed: u64,
}

/// One reading of the list. A later one on a later connection is better.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    connection: u64,
    number: u64,
    announced: u64,
    renewed: u64,
}

/// What a connection has to do for the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Read,
    /// A newer connection reads the list from now on.
    Superseded,
}

impl Catalog {
    /// A catalog without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the hints of a tool. They replace those of the server, also after its list has changed.
    pub fn set_hints(&self, tool: impl Into<String>, hints: Hints) {
        self.write(|known| known.said.insert(tool.into(), hints));
    }

    /// The hints of a tool. `None` if the server does not list it and you set none.
    #[must_use]
    pub fn hints(&self, tool: &str) -> Option<Hints> {
        self.read(|known| {
            let listed = known.listed.get(tool).map(|listed| listed.hints);
            match known.said.get(tool) {
                // The schema is a fact and not a claim.
                Some(said) => Some(said.with_schema_of(listed.unwrap_or_default())),
                None if known.is_stale() => {
                    listed.map(|listed| Hints::new().with_schema_of(listed))
                }
                None => listed,
            }
        })
    }

    /// Whether the server said at the last handshake that it honours [idempotency](crate::idempotency)
    /// keys.
    #[must_use]
    pub fn honours_keys(&self) -> bool {
        self.honoured().is_some()
    }

    pub(super) fn honoured(&self) -> Option<Honoured> {
        self.shared.server.read().honoured.clone()
    }

    pub(super) fn set_server(&self, route: Route, honoured: Option<Honoured>) {
        let route = Some(route);
        *self.shared.server.write() = Server { route, honoured };
    }

    /// The server's tools, as of the last list that could be read.
    ///
    /// # Errors
    ///
    /// If no list could be read yet: the failure of the last reading, or `Connection` if there was no
    /// connection. A server without tools gives an empty list.
    pub fn tools(&self) -> Result<Arc<[Tool]>, Failure> {
        self.read(|known| match (&known.tools, &known.failure) {
            (Some(tools), _) => Ok(Arc::clone(tools)),
            (None, Some(failure)) => Err(failure.duplicate()),
            (None, None) => Err(Failure::connection(
                "the server's tools are not known: there was no connection yet",
            )
            .not_sent()),
        })
    }

    /// Whether the server lists a tool. `None` if no list was read, or the list is incomplete.
    pub(super) fn lists(&self, tool: &str) -> Option<bool> {
        self.read(|known| {
            let is_listed = known.listed.contains_key(tool);
            let is_known = known.tools.is_some() && known.incomplete.is_none();
            (is_listed || is_known).then_some(is_listed)
        })
    }

    /// How calls to this server travel.
    pub(super) fn route(&self) -> Route {
        let route = self.shared.server.read().route.clone();
        route.unwrap_or_else(|| Route::new(Side::Client))
    }

    /// Why the last reading of the list failed. `None` if it succeeded, or if there was none.
    ///
    /// The list of an earlier reading stays in use until a later one succeeds.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.read(|known| known.failure.as_ref().map(Failure::duplicate))
    }

    /// Why tools may be missing from the list: the server repeated a cursor, or listed more than
    /// 10,000 tools or 1,000 pages. `None` if the list is complete.
    #[must_use]
    pub fn incomplete(&self) -> Option<&'static str> {
        self.read(|known| known.incomplete)
    }

    /// Whether a tool is listed differently than at a version, and you set no hints for it.
    pub(super) fn has_changed(&self, tool: &str, version: u64) -> bool {
        self.read(|known| {
            let listed = known.listed.get(tool);
            let has_changed = listed.is_some_and(|listed| listed.changed > version);
            has_changed && !known.said.contains_key(tool)
        })
    }

    pub(super) fn hints_of(&self, request: &Request) -> Hints {
        let known = match request {
            Request::Tool(params) => self.hints(params.name()),
            Request::Resource(_) | Request::Prompt(_) => None,
        };
        request.hints_of(known)
    }

    pub(super) fn version(&self) -> u64 {
        self.shared.version.load(Relaxed)
    }

    /// Gives a number to a new connection.
    pub(super) fn connection(&self) -> u64 {
        self.write(|known| {
            known.connections += 1;
            known.connections
        })
    }

    pub(super) fn begin(&self, connection: u64) -> Reading {
        self.write(|known| {
            known.readings += 1;
            Reading {
                connection,
                number: known.readings,
                announced: known.announced,
                renewed: known.renewed,
            }
        })
    }

    /// Takes over a list, unless there is a better one.
    pub(super) fn fill(
        &self,
        reading: Reading,
        tools: Vec<Tool>,
        incomplete: Option<&'static str>,
    ) {
        self.write(|known| {
            if known.is_better(reading) {
                let now = self.version() + 1;
                let before = known.tools.clone().unwrap_or_default();
                let was = tool_change::by_name(&before);
                let listed = tools.iter().map(|tool| {
                    let changed = match (was.get(&*tool.name), known.listed.get(&*tool.name)) {
                        (Some(was), Some(listed)) if *was == tool => listed.changed,
                        (Some(_), _) => now,
                        (None, _) => 0,
                    };
                    let hints = request::said_of(tool);
                    (tool.name.to_string(), Listed { hints, changed })
                });
                let listed = listed.collect();
                if known.tools.is_some() {
                    ToolChange::between(&before, &tools).log();
                }
                known.tools = Some(tools.into());
                known.listed = listed;
                known.incomplete = incomplete;
                known.failure = None;
                known.applied = reading;
            }
        });
        self.shared.news.send_replace(());
    }

    /// Notes that a list could not be read. The one before stays.
    pub(super) fn fail(&self, reading: Reading, failure: &Failure) {
        self.write(|known| {
            if known.is_better(reading) {
                known.failure = Some(failure.duplicate());
            }
        });
    }

    /// Notes that the server announced a change.
    pub(super) fn announce(&self) {
        self.write(|known| known.announced += 1);
        self.shared.news.send_replace(());
    }

    /// Lets the list be read again, and trusts it until then.
    pub(super) fn renew(&self) {
        self.write(|known| known.renewed += 1);
        self.shared.news.send_replace(());
    }

    pub(super) fn due(&self, connection: u64) -> Due {
        self.read(|known| {
            let is_known = known.applied.connection == connection;
            let is_new = !known.is_stale() && known.applied.renewed == known.renewed;
            if known.applied.connection > connection {
                Due::Superseded
            } else if is_known && is_new {
                Due::Nothing
            } else {
                Due::Read
            }
        })
    }

    /// Notifies of each list and each announcement.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.shared.news.subscribe()
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.shared.known.read())
    }

    fn write<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.shared.known.write();
        let changed = change(&mut known);
        self.shared.version.fetch_add(1, Relaxed);
        changed
    }
}

impl Shared {
    /// The last list.
    pub(super) fn tools(&self) -> Option<Arc<[Tool]>> {
        self.known.read().tools.clone()
    }
}

impl Known {
    /// Whether the server announced a change that the list does not have yet.
    fn is_stale(&self) -> bool {
        self.applied.announced < self.announced
    }

    fn is_better(&self, reading: Reading) -> bool {
        let order = |reading: Reading| (reading.connection, reading.number);
        order(reading) > order(self.applied)
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|known| {
            f.debug_struct("Catalog")
                .field("tools", &known.tools.as_ref().map(|tools| tools.len()))
                .field("said", &known.said)
                .field("is_stale", &known.is_stale())
                .field("failure", &known.failure)
                .finish_non_exhaustive()
        })
    }
}
