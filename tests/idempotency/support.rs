//! A call with a key, an answer that can be stored, and a store with faults.

use mcp_resilience::{
    call::{
        Arguments, Cancellation, Flagged, Hints, IdempotencyKey, KEY_META, ToolCall, ToolResult,
    },
    failure::BoxError,
    idempotency::{
        RecordId, StoredResult,
        store::{Claim, Claimed, Ending, Store, StoreError, StoreFuture, Token, Value as Stored},
    },
};
use serde_json::{Map, Value, json};
use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt::Display,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::sleep;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) meta: Map<String, Value>,
    pub(crate) hints: Hints,
    pub(crate) identity: Option<&'static [u8]>,
    pub(crate) responses: Option<Value>,
    pub(crate) state: Option<String>,
    pub(crate) cancellation: Cancellation,
}

impl Call {
    pub(crate) fn new(tool: &'static str) -> Self {
        Self {
            tool,
            arguments: json!({}),
            meta: Map::new(),
            hints: Hints::new().output_schema(false),
            identity: None,
            responses: None,
            state: None,
            cancellation: Cancellation::new(),
        }
    }

    pub(crate) fn keyed(tool: &'static str, key: &str) -> Self {
        let mut call = Self::new(tool);
        call.meta.insert(KEY_META.to_owned(), key.into());
        call
    }

    pub(crate) fn arguments(self, arguments: Value) -> Self {
        Self { arguments, ..self }
    }

    pub(crate) fn by(self, identity: &'static [u8]) -> Self {
        let identity = Some(identity);
        Self { identity, ..self }
    }

    /// The round of the call that this answer asks for.
    pub(crate) fn after(self, answer: &Answer, responses: &Value) -> Self {
        assert!(answer.is_interim, "{answer:?}");
        Self {
            responses: Some(responses.clone()),
            state: answer.state.clone(),
            ..self
        }
    }

    /// A round of the call under this state.
    pub(crate) fn under(self, state: &str, responses: &Value) -> Self {
        Self {
            responses: Some(responses.clone()),
            state: Some(state.to_owned()),
            ..self
        }
    }

    pub(crate) fn may_run_twice(mut self) -> Self {
        self.hints = self.hints.idempotent(true);
        self
    }

    pub(crate) fn key(&self) -> IdempotencyKey {
        self.idempotency_key().unwrap().unwrap()
    }
}

impl ToolCall for Call {
    fn name(&self) -> &str {
        self.tool
    }

    fn arguments(&self) -> Option<Arguments<'_>> {
        Some((&self.arguments).into())
    }

    fn meta(&self) -> Option<&Map<String, Value>> {
        Some(&self.meta)
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    fn identity(&self) -> Option<Cow<'_, [u8]>> {
        self.identity.map(Cow::Borrowed)
    }

    fn continuation(&self) -> Option<Value> {
        let continues = self.responses.is_some() || self.state.is_some();
        continues.then(|| json!({"inputResponses": self.responses, "requestState": self.state}))
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        Some(&mut self.state)
    }

    fn cancellation(&self) -> Option<&Cancellation> {
        Some(&self.cancellation)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
    pub(crate) is_interim: bool,
    pub(crate) state: Option<String>,
    pub(crate) is_replayed: bool,
}

impl Answer {
    pub(crate) fn ok(text: impl Display) -> Self {
        Self {
            text: text.to_string(),
            ..Self::default()
        }
    }

    pub(crate) fn flagged(text: impl Display) -> Self {
        Self {
            is_error: true,
            ..Self::ok(text)
        }
    }

    /// Asks for input, under a state.
    pub(crate) fn asks(state: impl Display) -> Self {
        Self {
            state: Some(state.to_string()),
            ..Self::asks_without_state()
        }
    }

    pub(crate) fn asks_without_state() -> Self {
        Self {
            is_interim: true,
            ..Self::ok("which seat?")
        }
    }

    pub(crate) fn replayed(self) -> Self {
        Self {
            is_replayed: true,
            ..self
        }
    }

    /// The code of a failure that the stack made.
    pub(crate) fn code(&self) -> Option<&str> {
        self.structured.as_ref()?.get("code")?.as_str()
    }
}

impl ToolResult for Answer {
    fn is_error(&self) -> bool {
        self.is_error
    }

    fn is_interim(&self) -> bool {
        self.is_interim
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text.as_str())
    }

    fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    fn flag(&mut self) {
        self.is_error = true;
    }

    fn from_failure(flagged: Flagged) -> Option<Self> {
        Some(Self {
            structured: flagged.structured,
            ..Self::flagged(flagged.text)
        })
    }
}

impl StoredResult for Answer {
    fn encode(&self) -> Result<Vec<u8>, BoxError> {
        if self.text == "cannot be written" {
            return Err("no".into());
        }
        let Self {
            text,
            structured,
            is_error,
            is_interim,
            state,
            ..
        } = self;
        let parts = (text, structured, is_error, is_interim, state);
        Ok(serde_json::to_vec(&parts)?)
    }

    fn decode(bytes: &[u8]) -> Result<Self, BoxError> {
        let (text, structured, is_error, is_interim, state) = serde_json::from_slice(bytes)?;
        Ok(Self {
            text,
            structured,
            is_error,
            is_interim,
            state,
            is_replayed: false,
        })
    }

    fn request_state_mut(&mut self) -> Option<&mut Option<String>> {
        self.is_interim.then_some(&mut self.state)
    }

    fn mark_replayed(&mut self) {
        self.is_replayed = true;
    }
}

/// The fault of one operation of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is done after this many milliseconds, and answered after this many more.
    Slow(u64, u64),
    /// It fails, and is not done.
    Before,
    /// It fails, and is done.
    After,
    /// It is not done and never answers.
    Hang,
}

/// A store with faults; after the last of them it works.
#[derive(Clone, Debug)]
pub(crate) struct Faulty<S> {
    store: S,
    faults: Arc<Mutex<VecDeque<Fault>>>,
}

impl<S: Store + Clone> Faulty<S> {
    pub(crate) fn new(store: S, faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            store,
            faults: Arc::new(Mutex::new(faults.into_iter().collect())),
        }
    }

    pub(crate) fn heal(&self) {
        self.faults.lock().unwrap().clear();
    }

    fn meet<'a, T: 'a + Send>(&'a self, operation: impl AsyncOp<'a, T>) -> StoreFuture<'a, T> {
        let fault = self.faults.lock().unwrap().pop_front();
        Box::pin(async move {
            let refused = || StoreError::new("the test wants it so");
            match fault {
                None => operation.run().await,
                Some(Fault::Slow(before, after)) => {
                    sleep(Duration::from_millis(before)).await;
                    let answer = operation.run().await;
                    sleep(Duration::from_millis(after)).await;
                    answer
                }
                Some(Fault::Before) => Err(refused()),
                Some(Fault::After) => {
                    let _ = operation.run().await;
                    Err(refused())
                }
                Some(Fault::Hang) => std::future::pending().await,
            }
        })
    }
}

trait AsyncOp<'a, T>: Send + 'a {
    fn run(self) -> StoreFuture<'a, T>;
}

impl<'a, T, F: FnOnce() -> StoreFuture<'a, T> + Send + 'a> AsyncOp<'a, T> for F {
    fn run(self) -> StoreFuture<'a, T> {
        self()
    }
}

impl<S: Store + Clone> Store for Faulty<S> {
    fn claim<'a>(&'a self, record: &'a RecordId, claim: Claim) -> StoreFuture<'a, Claimed> {
        self.meet(move || self.store.claim(record, claim))
    }

    fn renew<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        self.meet(move || self.store.renew(record, token, lease))
    }

    fn complete<'a>(
        &'a self,
        record: &'a RecordId,
        token: Token,
        ending: Ending,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        self.meet(move || self.store.complete(record, token, ending, keep))
    }

    fn release<'a>(&'a self, record: &'a RecordId, token: Token) -> StoreFuture<'a, bool> {
        self.meet(move || self.store.release(record, token))
    }

    fn settle<'a>(
        &'a self,
        record: &'a RecordId,
        outcome: Option<Stored>,
        keep: Duration,
    ) -> StoreFuture<'a, bool> {
        self.meet(move || self.store.settle(record, outcome, keep))
    }
}
