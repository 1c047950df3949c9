use crate::shop::Shop;
use mcp_resilience::tower_mcp::AnyError;
use std::{collections::HashMap, sync::Arc};
use tower_mcp::{
    Prompt, PromptBuilder, ResourceTemplate, ResourceTemplateBuilder,
    protocol::{GetPromptResult, ReadResourceResult},
};

/// A book by its URI.
pub(super) fn book(shop: &Arc<Shop>) -> ResourceTemplate {
    let shop = Arc::clone(shop);
    ResourceTemplateBuilder::new("books://{title}")
        .name("book")
        .handler(move |uri: String, _: HashMap<String, String>| {
            let shop = Arc::clone(&shop);
            async move {
                let text = shop.read(&uri).map_err(AnyError::from)?;
                Ok(ReadResourceResult::text(uri, text))
            }
        })
}

/// A prompt that asks for a book.
pub(super) fn recommend_book(shop: &Arc<Shop>) -> Prompt {
    let shop = Arc::clone(shop);
    PromptBuilder::new("recommend_book")
        .description("Asks for a book.")
        .required_arg("genre", "The genre.")
        .handler(move |arguments: HashMap<String, String>| {
            let shop = Arc::clone(&shop);
            async move {
                // The router has checked that it is there.
                let genre = arguments.get("genre").map_or("", |genre| genre);
                let text = shop.recommend_by(genre).map_err(AnyError::from)?;
                Ok(GetPromptResult::user_message(text))
            }
        })
        .build()
}
