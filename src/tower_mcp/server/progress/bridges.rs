use super::bridge::Bridge;
use ::tower_mcp::{McpRouter, context::notification_channel};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::runtime::Handle;

/// How many notifications may wait for their bridge, as many as for tower-mcp's transports.
const CAPACITY: usize = 256;

/// The bridges of the sessions whose clients gave progress tokens.
///
/// tower-mcp makes a service for each request, so they are found by a mark that the session keeps. A
/// sender is set once for each session, since tower-mcp's dynamic registries keep every sender.
#[derive(Clone, Default)]
pub(in crate::tower_mcp::server) struct Bridges(Arc<Mutex<HashMap<Mark, Session>>>);

struct Session {
    router: McpRouter,
    bridge: Arc<Bridge>,
}

/// Names a session in this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Mark(u64);

impl Mark {
    fn of(router: &McpRouter) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        router.session().get().unwrap_or_else(|| {
            let mark = Self(NEXT.fetch_add(1, Relaxed));
            router.session().insert(mark);
            mark
        })
    }
}

impl Bridges {
    /// The router to use in place of the session's own, and its notifications. `None` if the router
    /// cannot notify its client.
    pub(super) fn instead_of(&self, router: &McpRouter) -> Option<(McpRouter, Arc<Bridge>)> {
        let client = router.notification_sender()?;
        let runtime = Handle::try_current().ok()?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Mark::of(router);
        if let Some(known) = sessions.get(&mark)
            && known.bridge.leads_to(client)
        {
            return Some((known.router.clone(), Arc::clone(&known.bridge)));
        }
        // Twice as many as there are sessions at most.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|_, session| session.bridge.is_open());
            let live = sessions.len();
            sessions.reserve(live.max(4));
        }
        let (notify, notifications) = notification_channel(CAPACITY);
        let bridge = Arc::new(Bridge::new(client, notifications));
        let router = router.clone().with_notification_sender(notify);
        // It ends when the routers of the session are gone.
        let passing = Arc::clone(&bridge);
        runtime.spawn(async move { poll_fn(|cx| passing.poll_pass(cx)).await });
        let session = Session {
            router: router.clone(),
            bridge: Arc::clone(&bridge),
        };
        sessions.insert(mark, session);
        Some((router, bridge))
    }
}
