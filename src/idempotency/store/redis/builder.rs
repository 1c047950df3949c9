use super::{RedisStore, Scripts, failed};
use crate::idempotency::store::StoreError;
use redis::{
    Client,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

/// The default prefix of keys.
const PREFIX: &str = "mcp-resilience:idempotency:";

/// The default time for an answer or a connection of the server.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Settings of a [`RedisStore`].
#[derive(Clone)]
#[must_use = "settings do nothing until they are used to connect"]
pub struct RedisBuilder {
    // May contain a password.
    url: String,
    prefix: Arc<str>,
    timeout: Duration,
}

impl RedisBuilder {
    pub(super) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            prefix: PREFIX.into(),
            timeout: TIMEOUT,
        }
    }

    /// The prefix of the names of records. Replicas of one server share it; different servers must
    /// not. Default: `mcp-resilience:idempotency:`.
    pub fn prefix(mut self, prefix: impl Into<Arc<str>>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long the server may take for an answer or a connection. After it, the operation is
    /// repeated within the layer's [store timeout](crate::idempotency::IdempotencyBuilder::store_timeout).
    /// Default: 1 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Connects, and tests the server. If the server may evict records, there is a warning in the
    /// log.
    ///
    /// # Errors
    ///
    /// If the URL is invalid, or the server cannot be reached, refuses the credentials, is a read-only
    /// replica, or is full. The error does not show the URL.
    pub async fn connect(self) -> Result<RedisStore, StoreError> {
        let client = Client::open(self.url.as_str()).map_err(|error| {
            StoreError::new("the URL of Redis is invalid").because(error.to_string())
        })?;
        // The layer asks again by itself, so one failed attempt to connect must not hide the previous
        // one.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(Some(self.timeout));
        let connection = ConnectionManager::new_with_config(client, config).await;
        let store = RedisStore {
            connection: connection.map_err(|error| failed(&error))?,
            scripts: Arc::new(Scripts::new()),
            prefix: self.prefix,
        };
        store.try_out().await?;
        warn_of_eviction(&store).await;
        Ok(store)
    }
}

/// Some servers do not show their settings.
async fn warn_of_eviction(store: &RedisStore) {
    let mut ask = redis::cmd("CONFIG");
    ask.arg("GET").arg("maxmemory-policy");
    let policy = ask.query_async(&mut store.connection.clone()).await;
    let policy: HashMap<String, String> = policy.unwrap_or_default();
    let policy = policy.get("maxmemory-policy");
    if policy.is_some_and(|policy| policy != "noeviction") {
        tracing::warn!(
            "Redis may evict records of idempotency keys, and then their calls run again: set `maxmemory-policy noeviction`"
        );
    }
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder")
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
