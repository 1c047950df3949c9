/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instrument {
    ServerDuration,
    ClientDuration,
    OtherDuration,
    Attempts,
    Retries,
    Waits,
    GivenUp,
    BudgetLeft,
    Dials,
    ConnectionsLost,
    ConnectionUp,
    LinesLost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Histogram,
    Gauge,
}

/// The buckets of the conventions, in seconds.
#[cfg(feature = "otel")]
pub(super) const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

impl Instrument {
    pub(super) const ALL: [Self; 12] = [
        Self::ServerDuration,
        Self::ClientDuration,
        Self::OtherDuration,
        Self::Attempts,
        Self::Retries,
        Self::Waits,
        Self::GivenUp,
        Self::BudgetLeft,
        Self::Dials,
        Self::ConnectionsLost,
        Self::ConnectionUp,
        Self::LinesLost,
    ];

    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::ServerDuration | Self::ClientDuration | Self::OtherDuration | Self::Waits => {
                Kind::Histogram
            }
            Self::BudgetLeft | Self::ConnectionUp => Kind::Gauge,
            _ => Kind::Counter,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ServerDuration => "mcp.server.operation.duration",
            Self::ClientDuration => "mcp.client.operation.duration",
            Self::OtherDuration => "mcp_resilience.operation.duration",
            Self::Attempts => "mcp_resilience.attempts",
            Self::Retries => "mcp_resilience.retries",
            Self::Waits => "mcp_resilience.wait.duration",
            Self::GivenUp => "mcp_resilience.given_up",
            Self::BudgetLeft => "mcp_resilience.budget.left",
            Self::Dials => "mcp_resilience.dials",
            Self::ConnectionsLost => "mcp_resilience.connections.lost",
            Self::ConnectionUp => "mcp_resilience.connection.up",
            Self::LinesLost => "mcp_resilience.log.lines.lost",
        }
    }

    #[cfg(feature = "otel")]
    pub(super) const fn unit(self) -> &'static str {
        match self {
            Self::ServerDuration | Self::ClientDuration | Self::OtherDuration | Self::Waits => "s",
            Self::Attempts => "{attempt}",
            Self::Retries | Self::BudgetLeft => "{retry}",
            Self::GivenUp => "{call}",
            Self::Dials => "{dial}",
            Self::ConnectionsLost => "{connection}",
            Self::ConnectionUp => "1",
            Self::LinesLost => "{line}",
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::ServerDuration => {
                "The duration of the MCP request as observed on the receiver, repeats and waits included."
            }
            Self::ClientDuration => {
                "The duration of the MCP request as observed on the sender, repeats and waits included."
            }
            Self::OtherDuration => "The duration of the call, repeats and waits included.",
            Self::Attempts => "Attempts at calls that have ended.",
            Self::Retries => "Repeats, by the class of the failure before.",
            Self::Waits => "Waits before repeats, and at the shared gate.",
            Self::GivenUp => "Calls that failed though waiting might have helped, by the reason.",
            Self::BudgetLeft => "Repeats that the budget would pay for.",
            Self::Dials => "Dials that have ended.",
            Self::ConnectionsLost => "Connections that were lost, by the class of what showed it.",
            Self::ConnectionUp => "Whether there is a connection.",
            Self::LinesLost => "Lines of the call log that were lost.",
        }
    }
}
