/// Hints about a tool, from its annotations and its schema.
///
/// The first two are the hints of the same name in MCP's tool annotations, with the defaults of the
/// specification: a tool without hints changes its environment, and changes it again when it runs
/// again. Annotations of a server that is not trusted are hints only: see
/// [`RetryBuilder::distrust_server`](crate::retry::RetryBuilder::distrust_server).
///
/// ```
/// use mcp_resilience::call::Hints;
///
/// assert!(Hints::new().idempotent(true).may_repeat());
/// assert!(!Hints::new().may_repeat());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    read_only: bool,
    idempotent: bool,
    // Unknown, unless the tool's listing was read.
    output_schema: Option<bool>,
}

impl Hints {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            read_only: false,
            idempotent: false,
            output_schema: None,
        }
    }

    /// Sets whether the tool leaves its environment unchanged (`readOnlyHint`). Default: `false`.
    #[must_use]
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether a second run with equal arguments has no further effect (`idempotentHint`).
    /// Default: `false`.
    #[must_use]
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Sets whether the tool declares an `outputSchema`. Default: unknown.
    ///
    /// Widespread clients check the structured content of a flagged result against that schema too,
    /// and hide the error if it does not fit. So a flagged result for such a tool has no envelope
    /// there. The same holds if it is unknown whether there is a schema. The schema also describes
    /// the answers of the tool, so a result without a flag is a success for any structured content.
    #[must_use]
    pub const fn output_schema(mut self, declared: bool) -> Self {
        self.output_schema = Some(declared);
        self
    }

    /// Whether the tool leaves its environment unchanged.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        self.read_only
    }

    /// Whether a second run with equal arguments has no further effect.
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        self.idempotent
    }

    /// Whether running the call twice does no more harm than running it once.
    #[must_use]
    pub const fn may_repeat(self) -> bool {
        self.read_only || self.idempotent
    }

    /// Whether the tool declares an `outputSchema`; `None` if that is unknown.
    #[must_use]
    pub const fn declares_output_schema(self) -> Option<bool> {
        self.output_schema
    }

    /// The hints that both give.
    #[cfg(any(feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) fn agreed(self, other: Self) -> Self {
        Self {
            read_only: self.read_only && other.read_only,
            idempotent: self.idempotent && other.idempotent,
            output_schema: self
                .output_schema
                .filter(|declared| other.output_schema == Some(*declared)),
        }
    }

    /// The same hints with the `outputSchema` of others, if they know it.
    #[cfg(any(feature = "rmcp-client", feature = "rmcp", feature = "tower-mcp"))]
    pub(crate) const fn with_schema_of(mut self, other: Self) -> Self {
        if other.output_schema.is_some() {
            self.output_schema = other.output_schema;
        }
        self
    }
}
