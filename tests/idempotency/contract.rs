//! The stores pass the public tests of their contract.

use mcp_resilience::idempotency::store::{MemoryStore, contract};

#[tokio::test(start_paused = true)]
async fn the_memory_store_keeps_the_contract() {
    contract::check(MemoryStore::new()).await;
}
