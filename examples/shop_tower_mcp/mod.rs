//! The Bookshop on tower-mcp.

mod reading;
mod tools;

use crate::shop::Shop;
use std::sync::Arc;
use tower_mcp::McpRouter;

/// The router, without resilience.
pub(crate) fn router(shop: Shop) -> McpRouter {
    let shop = Arc::new(shop);
    McpRouter::new()
        .server_info("bookshop", env!("CARGO_PKG_VERSION"))
        .tools(tools::all(&shop))
        .resource_template(reading::book(&shop))
        .prompt(reading::recommend_book(&shop))
}
