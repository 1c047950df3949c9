use mcp_resilience::{Failure, call::IdempotencyKey, rmcp::AnyError};
use rmcp::{
    RoleServer, ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{ServerCapabilities, ServerConfig},
    schemars,
    service::RequestContext,
    tool, tool_handler, tool_router,
};
use serde::Deserialize;
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::sleep;

/// The file of bookings. Each line has the number of a booking, the process that made it, its key, and
/// its title.
pub(crate) struct Ledger {
    path: PathBuf,
    file: File,
    next: AtomicU64,
}

impl Ledger {
    pub(crate) fn open(path: Option<PathBuf>) -> io::Result<Self> {
        let own = || std::env::temp_dir().join(format!("bookings-{}", process::id()));
        let path = path.unwrap_or_else(own);
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        Ok(Self {
            path,
            file,
            next: AtomicU64::new(1),
        })
    }

    /// Appends a booking in one write, and returns its number. Other processes may append too.
    fn append(&self, key: &str, title: &str) -> io::Result<String> {
        let number = self.next.fetch_add(1, Relaxed);
        let number = format!("{}-{number}", process::id());
        let title = title.escape_default();
        let line = format!("{number} {} {key} {title}\n", process::id());
        (&self.file).write_all(line.as_bytes())?;
        Ok(number)
    }

    fn read(&self) -> io::Result<String> {
        std::fs::read_to_string(&self.path)
    }
}

/// The MCP server, which sells tickets.
pub(crate) struct Office {
    ledger: Ledger,
    tools: ToolRouter<Self>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Booking {
    /// What is booked.
    title: String,
    /// How long the booking takes after its effect.
    #[serde(default)]
    seconds: f64,
    /// How it fails.
    #[serde(default)]
    fail: Fail,
}

#[derive(Default, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Fail {
    #[default]
    None,
    /// Before the effect.
    Refused,
    /// After the effect, with an error of the tool.
    Tool,
    /// After the effect: the process ends.
    Exit,
}

#[tool_router(router = tools)]
impl Office {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
            tools: Self::tools(),
        }
    }

    /// Books a seat, and answers with the number of the booking.
    #[tool]
    async fn book(
        &self,
        Parameters(booking): Parameters<Booking>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, AnyError> {
        if let Fail::Refused = booking.fail {
            let full = Failure::at_capacity(Some(Duration::from_millis(100)));
            return Err(full.before_running().into());
        }
        let seconds = Duration::try_from_secs_f64(booking.seconds).map_err(|_beyond| {
            let problem = "expected a number of seconds";
            Failure::invalid_input("seconds", problem).before_running()
        })?;
        let key = context.extensions.get::<IdempotencyKey>();
        let key = key.map_or("-", IdempotencyKey::as_str);
        let number = self.ledger.append(key, &booking.title)?;
        sleep(seconds).await;
        match booking.fail {
            Fail::None | Fail::Refused => Ok(number),
            Fail::Tool => {
                Err(Failure::tool(format!("booked as {number}, and then it failed")).into())
            }
            Fail::Exit => process::exit(3),
        }
    }

    /// Lists all bookings.
    #[tool(annotations(read_only_hint = true))]
    async fn bookings(&self) -> Result<String, AnyError> {
        Ok(self.ledger.read()?)
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Office {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}
