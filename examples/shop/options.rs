#[path = "../call/tool_timeout.rs"]
mod tool_timeout;

use super::{Catalog, Shop};
use clap::{Parser, builder::NonEmptyStringValueParser};
use mcp_resilience::{
    ResilienceLayer,
    fatal::{
        Fatal,
        startup::{self, OrFatal},
    },
    policy::{Policies, Policy},
    retry::RetryLayer,
};
use std::{net::SocketAddr, path::PathBuf, time::Duration};
use tool_timeout::ToolTimeout;

/// A bookshop whose tools fail in every way
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Serve streamable HTTP at /mcp on this address, instead of stdio
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// Read the catalog, a JSON object of titles and authors, from a file
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// Refuse to start without this environment variable
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    require_env: Option<String>,
    /// Timeout in seconds for one attempt without progress. Default: 10 minutes. Further attempts
    /// begin within 55 s, or within twice this timeout if that is longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    attempt_timeout: Option<Duration>,
    /// The same for one tool. May be repeated; the last one for a tool counts
    #[arg(long, value_name = "NAME=SECONDS")]
    tool_timeout: Vec<ToolTimeout>,
    /// How many seconds running calls may take after a signal or a fatal failure. Default: 10
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) grace: Option<Duration>,
}

/// A retry window with room for a second attempt of this length.
fn window(limit: Duration) -> Duration {
    limit.saturating_mul(2).max(Duration::from_secs(55))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl Options {
    /// The checks at startup.
    pub(crate) fn shop(&self) -> Result<Shop, Fatal> {
        if let Some(name) = &self.require_env {
            startup::env(name)?;
        }
        let catalog = match &self.catalog {
            Some(path) => Catalog::read(path)?,
            None => Catalog::embedded(),
        };
        Ok(Shop::new(catalog))
    }

    pub(crate) fn resilience(&self) -> Result<ResilienceLayer, Fatal> {
        let mut policies = Policies::new();
        for tool in &self.tool_timeout {
            let policy = Policy::new()
                .attempt_timeout(tool.limit)
                .retry_window(window(tool.limit));
            policies = policies.tool(tool.name.clone(), policy);
        }
        let mut resilience = ResilienceLayer::builder().policies(policies);
        if let Some(limit) = self.attempt_timeout {
            let retry = RetryLayer::builder().retry_window(window(limit));
            resilience = resilience
                .attempt_timeout(limit)
                .retry(retry.build().or_fatal("invalid settings")?);
        }
        resilience.build().or_fatal("invalid settings")
    }
}
