//! A store in Redis or Valkey.

mod builder;

pub use self::builder::RedisBuilder;
use super::{Claim, Claimed, Ending, Store, StoreError, StoreFuture, Token, Value};
use crate::idempotency::RecordId;
use redis::{FromRedisValue, RedisError, Script, ScriptInvocation, aio::ConnectionManager};
use std::{fmt, sync::Arc, time::Duration};

/// Keeps records in Redis (5 or later) or Valkey, for replicas behind a balancer. Clones share the
/// connection.
///
/// A claim takes one round trip, and an outcome another. Each is a script that runs as one step on
/// the server. Leases are measured by the server's clock, and claims are fenced by their tokens. A
/// lost connection is replaced.
///
/// **If the server loses a record, its call runs again.** So the server has to be durable and must
/// not evict: `appendonly yes`, `appendfsync always`, `maxmemory-policy noeviction`. After a
/// failover, the replica may lack the last writes.
///
/// For `rediss://` turn on `tokio-rustls-comp` of the crate `redis`.
#[derive(Clone)]
pub struct RedisStore {
    connection: ConnectionManager,
    scripts: Arc<Scripts>,
    prefix: Arc<str>,
}

/// The scripts. The server runs each as one step.
struct Scripts {
    claim: Script,
    renew: Script,
    complete: Script,
    release: Script,
    settle: Script,
}

impl Scripts {
    fn new() -> Self {
        Self {
            claim: Script::new(include_str!("claim.lua")),
            renew: Script::new(include_str!("renew.lua")),
            complete: Script::new(include_str!("complete.lua")),
            release: Script::new(include_str!("release.lua")),
            settle: Script::new(include_str!("settle.lua")),
        }
    }
}

impl RedisStore {
    /// Connects to a server, such as `redis://127.0.0.1:6379/0`.
    ///
    /// # Errors
    ///
    /// Those of [`RedisBuilder::connect`].
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::builder(url).connect().await
    }

    /// Connects with other settings.
    pub fn builder(url: &str) -> RedisBuilder {
        RedisBuilder::new(url)
    }

    fn key(&self, record: &RecordId) -> String {
        format!("{}{record}", self.prefix)
    }

    fn run<'a, T>(&'a self, script: ScriptInvocation<'a>) -> StoreFuture<'a, T>
    where
        T: FromRedisValue + Send + 'a,
    {
        Box::pin(async move {
            let answer = script.invoke_async(&mut self.connection.clone()).await;
            answer.map_err(|error| failed(&error))
        })
    }

    /// Tests the server: claims a record that no call uses, and removes it.
    async fn try_out(&self) -> Result<(), StoreError> {
        let record = RecordId::from_bytes(rand::random());
        let minute = Duration::from_secs(60);
        let fingerprint = crate::idempotency::Fingerprint::from_bytes([0; 32]);
        let claim = Claim::new(fingerprint, minute, minute);
        let token = claim.token;
        self.claim(&record, claim).await?;
        self.release(&record, token).await.map(drop)
    }
}

impl Store for RedisStore {
    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed> {
        let mut script = self.scripts.claim.key(self.key(record));
        script
            .arg(claim.fingerprint.as_bytes())
            .arg(claim.token.as_bytes())
            .arg(millis(claim.lease))
            .arg(millis(claim.keep))
            .arg(u8::from(claim.may_run_twice));
        let answer = self.run::<(String, u64, u16, Vec<u8>)>(script);
        Box::pin(async move {
            let (state, left, version, value) = answer.await?;
            match state.as_str() {
                "ours" => Ok(Claimed::Ours),
                "running" => Ok(Claimed::Running {
                    lease_left: Duration::from_millis(left),
                }),
                "done" => Ok(Claimed::Done(Value::new(version, value))),
                "unknown" => Ok(Claimed::Unknown),
                "conflict" => Ok(Claimed::Conflict),
                _ => Err(StoreError::new("Redis gave an unexpected answer")),
            }
        })
    }

    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        let mut script = self.scripts.renew.key(self.key(record));
        script.arg(token.as_bytes()).arg(millis(lease));
        self.run(script)
    }

    fn complete<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let (state, value) = match ending {
            Ending::Done(value) => ("done", value),
            Ending::Unknown => ("unknown", Value::not_kept()),
        };
        let mut script = self.scripts.complete.key(self.key(record));
        script
            .arg(token.as_bytes())
            .arg(state)
            .arg(value.version)
            .arg(&*value.bytes)
            .arg(millis(keep));
        self.run(script)
    }

    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool> {
        let mut script = self.scripts.release.key(self.key(record));
        script.arg(token.as_bytes());
        self.run(script)
    }

    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Value>,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        let word = if outcome.is_some() { "done" } else { "not_run" };
        let value = outcome.unwrap_or_else(Value::not_kept);
        let mut script = self.scripts.settle.key(self.key(record));
        script
            .arg(word)
            .arg(value.version)
            .arg(&*value.bytes)
            .arg(millis(keep));
        self.run(script)
    }
}

fn millis(duration: Duration) -> u64 {
    // Redis uses signed numbers, and the sum of two has to fit. A hundred years are enough.
    const LONG: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
    u64::try_from(duration.as_millis()).map_or(LONG, |millis| millis.min(LONG))
}

/// The error, without the arguments of the command.
fn failed(error: &RedisError) -> StoreError {
    let what = match error.code() {
        Some("READONLY") => "Redis is a read-only replica: connect to the primary",
        Some("OOM") => {
            let text = "Redis is full: raise its `maxmemory`, or lower `IdempotencyBuilder::keep`";
            return StoreError::full(text).because(error.to_string());
        }
        Some("WRONGTYPE" | "FOREIGN") => "a key in Redis has other content: set another `prefix`",
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => "Redis refuses the credentials",
        Some("LOADING") => "Redis is still loading its data",
        _ if error.is_timeout() => "Redis did not answer in time",
        _ if error.is_io_error() || error.is_connection_dropped() => "Redis cannot be reached",
        _ => "Redis gave an unexpected answer",
    };
    StoreError::new(what).because(error.to_string())
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
