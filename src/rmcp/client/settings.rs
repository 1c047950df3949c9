use super::{Catalog, abandoned::Abandoned, in_flight::InFlight, kept::Kept, opening::Opening};
use crate::{policy::Policies, text};
use ::rmcp::service::ClientLifecycleMode;
use std::{sync::Arc, time::Duration};

/// The settings of all connectors.
#[derive(Clone, Debug)]
pub(super) struct Settings<H> {
    pub(super) handler: H,
    pub(super) lifecycle: ClientLifecycleMode,
    pub(super) start_timeout: Duration,
    pub(super) call_timeout: Option<Duration>,
    // `None` for a connector without a client.
    pub(super) shared: Option<Shared>,
}

/// The state that all connections of one client share.
#[derive(Clone, Debug)]
pub struct Shared {
    pub(super) catalog: Catalog,
    pub(super) in_flight: InFlight,
    pub(super) kept: Kept,
    pub(super) abandoned: Abandoned,
    // The tools with a policy by name.
    pub(super) named: Arc<[Box<str>]>,
    // How long requests wait for the standing stream of a new session.
    pub(super) longest_opening: Duration,
    // The limit around each dial.
    pub(super) dial_timeout: Duration,
}

/// The list of tools and the rest of a dial end this much before the dial timeout, at most.
const MARGIN: Duration = Duration::from_millis(500);

impl Shared {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            in_flight: InFlight::new(),
            kept: Kept::default(),
            abandoned: Abandoned::default(),
            named: Arc::default(),
            longest_opening: Duration::MAX,
            dial_timeout: Duration::MAX,
        }
    }

    pub(super) fn with_policies(self, policies: &Policies) -> Self {
        Self {
            named: policies.tool_names().map(Into::into).collect(),
            ..self
        }
    }

    #[cfg_attr(
        not(feature = "rmcp-client-http"),
        allow(dead_code, reason = "only HTTP has such a stream")
    )]
    pub(super) fn opening(&self) -> Opening {
        Opening::within(self.longest_opening)
    }

    /// The limit of the steps of a dial that may fail, from its beginning on, and the name of its
    /// setting. A step that hangs must not fail the dial by the limit around it.
    pub(super) fn limit_of_steps(&self, start_timeout: Duration) -> (Duration, &'static str) {
        let margin = MARGIN.min(self.dial_timeout / 10);
        let limit = self.dial_timeout.saturating_sub(margin);
        if limit < start_timeout {
            (limit, "dial_timeout")
        } else {
            (start_timeout, "start_timeout")
        }
    }

    /// Warns of policies for tools that the server does not list. A missing or incomplete list says
    /// nothing about them.
    pub(super) fn compare_policies(&self) {
        if self.named.is_empty() || self.catalog.incomplete().is_some() {
            return;
        }
        let Ok(tools) = self.catalog.tools() else {
            return;
        };
        for name in &*self.named {
            if !tools.iter().any(|tool| *tool.name == **name) {
                tracing::warn!(
                    tool = %text::shown_name(name),
                    "there is a policy for a tool that the server does not list"
                );
            }
        }
    }
}

impl Default for Settings<()> {
    fn default() -> Self {
        Self {
            handler: (),
            lifecycle: ClientLifecycleMode::Initialize,
            start_timeout: Duration::from_secs(10),
            call_timeout: None,
            shared: None,
        }
    }
}

impl<H> Settings<H> {
    pub(super) fn with_handler<N>(self, handler: N) -> Settings<N> {
        Settings {
            handler,
            lifecycle: self.lifecycle,
            start_timeout: self.start_timeout,
            call_timeout: self.call_timeout,
            shared: self.shared,
        }
    }

    /// The client's. Without a client, each connection has its own.
    pub(super) fn shared(&self) -> Shared {
        let new = || Shared::new(Catalog::new());
        self.shared.clone().unwrap_or_else(new)
    }
}
