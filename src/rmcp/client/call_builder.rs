use super::{Client, ClientCall, client::inner, keys, progress::Sink};
use crate::{
    call::{CallOptions, IdempotencyKey, KEY_META, ToolResult},
    failure::{Class, Failure},
};
use ::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, MetaObject,
    ProgressNotificationParam, RequestMetaObject,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{borrow::Cow, fmt, pin::Pin, sync::Arc, time::Duration};

/// The default limit of rounds of questions in one call, as in rmcp.
const ROUNDS: usize = 10;

impl Client {
    /// Prepares a call of a tool by its name, with a JSON object as arguments. Await it to make the
    /// call, or set options first.
    ///
    /// ```no_run
    /// # use mcp_resilience::rmcp::client::Client;
    /// # use serde_json::json;
    /// # use std::time::Duration;
    /// # async fn run(client: Client) -> Result<(), mcp_resilience::Failure> {
    /// let result = client.call("search", json!({"query": "emma"})).await?;
    /// let result = client
    ///     .call("export", json!({"format": "pdf"}))
    ///     .deadline(Duration::from_secs(600))
    ///     .on_progress(|report| println!("{} of {:?}", report.progress, report.total))
    ///     .await?;
    /// # let _ = result;
    /// # Ok(())
    /// # }
    /// ```
    pub fn call(&self, tool: impl Into<Cow<'static, str>>, arguments: Value) -> CallBuilder {
        let mut params = CallToolRequestParams::new(tool);
        let mut problem = None;
        match arguments {
            Value::Object(arguments) => params.arguments = Some(arguments),
            Value::Null => {}
            _ => problem = Some("the arguments of a tool are a JSON object"),
        }
        CallBuilder {
            client: self.clone(),
            params,
            options: CallOptions::new(),
            on_progress: None,
            rounds: ROUNDS,
            problem,
        }
    }
}

/// A call of a tool that is not made yet. Made by [`Client::call`]. Awaiting it makes the call.
///
/// ```no_run
/// # use mcp_resilience::rmcp::client::Client;
/// # use serde_json::json;
/// # async fn run(client: Client) -> Result<(), mcp_resilience::Failure> {
/// let prices: Vec<f64> = client.call("prices", json!({"title": "Dune"})).max_attempts(1).typed().await?;
/// # let _ = prices;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of [`Client::call_tool`], and `InvalidInput` for invalid arguments or options. Dropping the
/// future cancels the call at the server.
#[must_use = "a call is not made until it is awaited"]
pub struct CallBuilder {
    client: Client,
    params: CallToolRequestParams,
    options: CallOptions,
    on_progress: Option<Sink>,
    rounds: usize,
    problem: Option<&'static str>,
}

impl CallBuilder {
    /// The longest that an attempt may go on without an answer or a report of progress.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.options.attempt_timeout = Some(limit);
        self
    }

    /// The longest that the whole call may go on without an answer or a report of progress: attempts,
    /// waits, and the wait for a connection. It starts again with each round of questions.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.options.deadline = Some(limit);
        self
    }

    /// How many attempts are made in all.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.options.max_attempts = Some(attempts);
        self
    }

    /// Sets whether a repeat with these arguments is safe. Overrides the hints of the tool.
    pub fn repeat_ok(mut self, may_run_twice: bool) -> Self {
        self.options.repeat_ok = Some(may_run_twice);
        self
    }

    /// Passes the server's reports of progress to a function, from all attempts. The values never
    /// decrease. The function must not block. If it panics, that is logged.
    pub fn on_progress(
        mut self,
        sink: impl Fn(&ProgressNotificationParam) + Send + Sync + 'static,
    ) -> Self {
        self.on_progress = Some(Arc::new(sink));
        self
    }

    /// Adds members to the request's `_meta`.
    pub fn meta(mut self, meta: JsonObject) -> Self {
        let all = self
            .params
            .meta
            .get_or_insert_with(|| RequestMetaObject(MetaObject::default()));
        all.0.0.extend(meta);
        self
    }

    /// Identifies the call across all its attempts, also those of another process: see
    /// [`idempotency`](crate::idempotency). With
    /// [`ClientBuilder::idempotency_keys`](super::ClientBuilder::idempotency_keys), the client
    /// repeats it even if it may have run.
    pub fn idempotency_key(self, key: &IdempotencyKey) -> Self {
        let member = (KEY_META.to_owned(), Value::from(key.as_str()));
        self.meta([member].into_iter().collect())
    }

    /// How many times the server may ask the connector's handler for input in this call. Default: 10.
    /// [`response`](Self::response) does not ask it.
    pub fn max_rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// Makes the call, and returns the server's answer as it is: a result, a request for input, or a
    /// task.
    ///
    /// # Errors
    ///
    /// See [above](Self#errors).
    pub async fn response(self) -> Result<CallToolResponse, Failure> {
        let params = self.params.clone();
        self.round(params).await
    }

    /// Makes the call, and reads the `structuredContent` of its result.
    ///
    /// # Errors
    ///
    /// `Tool` for a flagged result, with its text. `InvalidOutput` if there is no structured content,
    /// or it does not fit `T`: then the tool has run. For others see [above](Self#errors).
    pub async fn typed<T: DeserializeOwned>(self) -> Result<T, Failure> {
        let result = self.complete().await?;
        if result.is_error() {
            let text: Vec<_> = result.texts().collect();
            return Err(Failure::tool(text.join("\n")));
        }
        let Some(structured) = result.structured_content else {
            return Err(Failure::invalid_output(
                "the result has no structured content",
            ));
        };
        serde_json::from_value(structured).map_err(|error| {
            let failure = Failure::invalid_output("the structured content is of another type");
            failure.because(error)
        })
    }

    async fn complete(self) -> Result<CallToolResult, Failure> {
        let key = self.client.key_for(&self.params);
        let mut params = self.params.clone();
        let mut empty_rounds = 0;
        for round in 0.. {
            if let Some(key) = &key {
                let key = keys::of_round(key, round, self.client.catalog());
                let meta = params.meta.get_or_insert_default();
                meta.0.0.insert(KEY_META.to_owned(), key.as_str().into());
            }
            match self.round(params.clone()).await? {
                CallToolResponse::Complete(result) => return Ok(result),
                CallToolResponse::InputRequired(required) if round < self.rounds => {
                    let handle = &self.client.parts.handle;
                    let given = handle.with(|made| {
                        let connection = inner(&made);
                        async move { connection.give_input(required, empty_rounds).await }
                    });
                    let given = self.client.parts.shared.in_flight.counted(given).await?;
                    empty_rounds = given.responses.as_ref().map_or(empty_rounds + 1, |_| 0);
                    params.input_responses = given.responses;
                    params.request_state = given.state;
                }
                CallToolResponse::InputRequired(_) => break,
                _ => {
                    return Err(Failure::invalid_output(
                        "the server turned the call into a task, which goes on: read it with `response`",
                    ));
                }
            }
        }
        let rounds = self.rounds;
        Err(Failure::invalid_output(format!(
            "the server asked for input more than {rounds} times: raise `max_rounds`"
        )))
    }

    async fn round(&self, params: CallToolRequestParams) -> Result<CallToolResponse, Failure> {
        if let Some(problem) = self.problem.or_else(|| self.options.problem()) {
            return Err(Failure::new(Class::InvalidInput, problem));
        }
        let settings = |call: ClientCall| {
            let call = call.with_options(self.options.clone());
            call.telling(self.on_progress.clone())
        };
        self.client.send_tool(params, settings).await
    }
}

impl IntoFuture for CallBuilder {
    type Output = Result<CallToolResult, Failure>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.complete())
    }
}

/// Without the arguments, which may hold secrets.
impl fmt::Debug for CallBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBuilder")
            .field("name", &self.params.name)
            .field("options", &self.options)
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}
