use super::{
    end,
    ledger::{Event, Ledger},
    options::{Annotations, Options, StartFaults},
    reply::{Reply, Response, error, result},
    tools::{self, Hints},
};
use serde_json::{Value, json};
use std::io;
use tokio::time::Instant;

/// The versions of the protocol that it knows, the newest last.
const PROTOCOLS: [&str; 2] = ["2025-06-18", "2025-11-25"];

/// The server without its transport: decides the reply to each message.
#[derive(Debug)]
pub(crate) struct Server {
    options: Options,
    faults: StartFaults,
    pub(super) ledger: Ledger,
    /// The number of this start in the ledger.
    start: usize,
    ready_at: Instant,
}

impl Server {
    /// Records the start in the ledger, even if it then fails.
    pub(crate) fn start(options: Options) -> io::Result<Self> {
        let ledger = Ledger::open(&options.ledger)?;
        let start = ledger.started();
        if options.crashes_at(start) {
            end(3, "crashed at start");
        }
        let faults = options.faults_of(start);
        let ready_at = Instant::now() + faults.slow_start.unwrap_or_default();
        Ok(Self {
            options,
            faults,
            ledger,
            start,
            ready_at,
        })
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// How this start fails.
    pub(crate) fn faults(&self) -> &StartFaults {
        &self.faults
    }

    /// The number of this start in the ledger.
    pub(crate) fn number(&self) -> usize {
        self.start
    }

    /// Waits for the end of a slow start.
    pub(crate) async fn ready(&self) {
        tokio::time::sleep_until(self.ready_at).await;
    }

    /// Handles one message. Its ledger lines are written when this returns.
    pub(crate) fn take(&self, message: &Value) -> Reply {
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => self.answer(method, id, &message["params"]),
            (Some(method), None) => {
                self.notice(method, &message["params"]);
                Reply::Taken
            }
            // This server sends no requests, so this is an answer to nothing.
            (None, Some(_)) => Reply::Taken,
            (None, None) => Reply::one(error(&Value::Null, -32600, "this is no message")),
        }
    }

    fn answer(&self, method: &str, id: &Value, params: &Value) -> Reply {
        match method {
            "initialize" => self.initialize(id, params),
            "ping" => Reply::one(result(id, &json!({}))),
            "tools/list" => self.list(id),
            "tools/call" => self.call(id, params),
            method if self.options.resource && method.starts_with("resources/") => {
                self.resource(method, id, params)
            }
            other => Reply::one(error(id, -32601, &format!("there is no {other} here"))),
        }
    }

    fn notice(&self, method: &str, params: &Value) {
        match method {
            "notifications/initialized" => self.ledger.note(&Event::Initialized),
            "notifications/cancelled" => {
                let id = params["requestId"].clone();
                self.ledger.note(&Event::Cancelled { id });
            }
            _ => {}
        }
    }

    fn initialize(&self, id: &Value, params: &Value) -> Reply {
        if self.faults.mute {
            return Reply::Silence;
        }
        if let Some(status) = self.faults.start_status {
            return Response::text(status, "this server does not start").into();
        }
        let asked_for = params["protocolVersion"].as_str();
        let known = asked_for.filter(|version| PROTOCOLS.contains(version));
        let version = self.faults.protocol.as_deref().or(known);
        Reply::one(result(
            id,
            &json!({
                "protocolVersion": version.unwrap_or(PROTOCOLS[1]),
                "capabilities": self.capabilities(),
                "serverInfo": {"name": "hostile", "version": env!("CARGO_PKG_VERSION")},
            }),
        ))
    }

    fn capabilities(&self) -> Value {
        if self.options.resource {
            json!({"tools": {}, "resources": {"subscribe": true}})
        } else {
            json!({"tools": {}})
        }
    }

    fn list(&self, id: &Value) -> Reply {
        self.ledger.note(&Event::Listed);
        if self.faults.list_mute {
            Reply::Silence
        } else if self.faults.list_error {
            Reply::one(error(id, -32603, "registry locked"))
        } else {
            Reply::one(result(id, &tools::list(self.hints())))
        }
    }

    fn hints(&self) -> Hints {
        if self.options.no_annotations {
            return Hints::None;
        }
        match self.options.annotations {
            Annotations::Swapped if self.start > 1 => Hints::Swapped,
            Annotations::Lying => Hints::Swapped,
            _ => Hints::Honest,
        }
    }
}
