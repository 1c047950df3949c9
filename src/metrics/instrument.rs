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

struct Row {
    instrument: Instrument,
    kind: Kind,
    name: &'static str,
    #[cfg_attr(
        not(feature = "otel"),
        allow(dead_code, reason = "the other facade has units of its own")
    )]
    unit: &'static str,
    description: &'static str,
}

macro_rules! instruments {
    ($($instrument:ident $kind:ident $name:literal $unit:literal $description:literal;)*) => {
        /// What is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Instrument {
            $($instrument),*
        }

        const TABLE: &[Row] = &[$(Row {
            instrument: Instrument::$instrument,
            kind: Kind::$kind,
            name: $name,
            unit: $unit,
            description: $description,
        }),*];
    };
}

instruments! {
    ServerDuration  Histogram "mcp.server.operation.duration"     "s"            "The duration of the MCP request as observed on the receiver, repeats and waits included.";
    ClientDuration  Histogram "mcp.client.operation.duration"     "s"            "The duration of the MCP request as observed on the sender, repeats and waits included.";
    OtherDuration   Histogram "mcp_resilience.operation.duration" "s"            "The duration of the call, repeats and waits included.";
    Attempts        Counter   "mcp_resilience.attempts"           "{attempt}"    "Attempts at calls that have ended.";
    Retries         Counter   "mcp_resilience.retries"            "{retry}"      "Repeats, by the class of the failure before.";
    Waits           Histogram "mcp_resilience.wait.duration"      "s"            "Waits before repeats, and at the shared gate.";
    GivenUp         Counter   "mcp_resilience.given_up"           "{call}"       "Calls that failed though waiting might have helped, by the reason.";
    BudgetLeft      Gauge     "mcp_resilience.budget.left"        "{retry}"      "Repeats that the budget would pay for.";
    Dials           Counter   "mcp_resilience.dials"              "{dial}"       "Dials that have ended.";
    ConnectionsLost Counter   "mcp_resilience.connections.lost"   "{connection}" "Connections that were lost, by the class of what showed it.";
    ConnectionUp    Gauge     "mcp_resilience.connection.up"      "1"            "Whether there is a connection.";
    LinesLost       Counter   "mcp_resilience.log.lines.lost"     "{line}"       "Lines of the call log that were lost.";
}

impl Instrument {
    /// All of them, in the order of the table.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.instrument)
    }

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    pub(super) const fn kind(self) -> Kind {
        self.row().kind
    }

    pub(super) const fn name(self) -> &'static str {
        self.row().name
    }

    #[cfg(feature = "otel")]
    pub(super) const fn unit(self) -> &'static str {
        self.row().unit
    }

    pub(super) const fn description(self) -> &'static str {
        self.row().description
    }
}
