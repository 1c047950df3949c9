use std::{borrow::Cow, sync::Arc};

/// Which side of MCP a stack is on. Sets the kind of its spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Side {
    /// It answers a client's requests.
    Server,
    /// It sends requests to a server.
    Client,
    /// Neither, or unknown.
    #[default]
    Internal,
}

impl Side {
    /// The name, as OpenTelemetry has it for the kind of a span.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Internal => "internal",
        }
    }
}

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// The pipes of a child process, or the like.
    Pipe,
    /// TCP, as for HTTP.
    Tcp,
}

impl Transport {
    /// The value of OpenTelemetry's `network.transport`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Tcp => "tcp",
        }
    }
}

/// How a call travels, as far as it is known, for spans and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    side: Side,
    transport: Option<Transport>,
    protocol_version: Option<Cow<'static, str>>,
    server: Option<(Arc<str>, Option<u16>)>,
}

impl Route {
    /// A route with only the side.
    #[must_use]
    pub fn new(side: Side) -> Self {
        Self {
            side,
            ..Self::default()
        }
    }

    /// Sets what carries the messages.
    #[must_use]
    pub fn with_transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Sets the version of MCP that both sides speak: `2025-11-25`.
    #[must_use]
    pub fn with_protocol_version(mut self, version: impl Into<Cow<'static, str>>) -> Self {
        self.protocol_version = Some(version.into());
        self
    }

    /// Sets the server's host name or address, and its port.
    #[must_use]
    pub fn with_server(mut self, address: impl Into<Arc<str>>, port: Option<u16>) -> Self {
        self.server = Some((address.into(), port));
        self
    }

    /// The side.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// What carries the messages.
    #[must_use]
    pub fn transport(&self) -> Option<Transport> {
        self.transport
    }

    /// The version of MCP.
    #[must_use]
    pub fn protocol_version(&self) -> Option<&str> {
        self.protocol_version.as_deref()
    }

    /// The server's host name or address.
    #[must_use]
    pub fn server_address(&self) -> Option<&str> {
        self.server.as_ref().map(|(address, _)| &**address)
    }

    /// The server's port.
    #[must_use]
    pub fn server_port(&self) -> Option<u16> {
        self.server.as_ref().and_then(|(_, port)| *port)
    }
}
