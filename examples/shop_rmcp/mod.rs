//! The Bookshop on rmcp.

mod handler;
mod tools;

use crate::shop::Shop;
use rmcp::handler::server::router::tool::ToolRouter;

/// The handler.
#[derive(Debug)]
pub(crate) struct Bookshop {
    shop: Shop,
    tools: ToolRouter<Self>,
}

impl Bookshop {
    pub(crate) fn new(shop: Shop) -> Self {
        Self {
            shop,
            tools: Self::tool_router(),
        }
    }
}
