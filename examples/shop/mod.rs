//! The Bookshop: an MCP server whose every tool fails in its own way.
#![allow(dead_code, reason = "each example uses its own part")]

mod catalog;
mod handler;
mod tools;

pub(crate) use self::catalog::Catalog;
use rmcp::handler::server::router::tool::ToolRouter;
use std::sync::atomic::AtomicU64;

/// The handler, without any resilience of its own.
#[derive(Debug)]
pub(crate) struct Bookshop {
    catalog: Catalog,
    reservations: AtomicU64,
    tools: ToolRouter<Self>,
}

impl Bookshop {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            reservations: AtomicU64::new(0),
            tools: Self::tool_router(),
        }
    }
}
