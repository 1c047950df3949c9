use super::ClientCall;
use crate::{
    call::{Hints, ToolCall},
    rmcp::{Request, request},
};
use ::rmcp::model::Tool;
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// What is known of a server's tools: what its list says, and what you say instead.
///
/// Every dial fills it anew. Its clones are one and the same.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    shared: Arc<RwLock<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    tools: Arc<[Tool]>,
    listed: HashMap<String, Hints>,
    said: HashMap<String, Hints>,
}

impl Catalog {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says yourself whether a tool only reads, or may run twice; whatever the server says of it.
    pub fn say(&self, tool: impl Into<String>, hints: Hints) {
        self.write(|shared| shared.said.insert(tool.into(), hints));
    }

    /// What is known of a tool; nothing, of one that the server does not list.
    #[must_use]
    pub fn hints(&self, tool: &str) -> Option<Hints> {
        self.read(|shared| {
            let listed = shared.listed.get(tool).copied();
            let Some(said) = shared.said.get(tool) else {
                return listed;
            };
            // Whether there is a schema is no opinion.
            Some(said.with_schema_of(listed.unwrap_or_default()))
        })
    }

    /// The server's list at the last dial.
    #[must_use]
    pub fn tools(&self) -> Arc<[Tool]> {
        self.read(|shared| Arc::clone(&shared.tools))
    }

    /// A call of a tool, a resource or a prompt, with what is known of it now.
    #[must_use]
    pub fn call(&self, request: impl Into<Request>) -> ClientCall {
        let request = request.into();
        let known = match &request {
            Request::Tool(params) => self.hints(params.name()),
            Request::Resource(_) | Request::Prompt(_) => None,
        };
        let hints = request::hints(&request, known);
        ClientCall::new(request, hints)
    }

    pub(super) fn fill(&self, tools: Vec<Tool>) {
        let listed = tools
            .iter()
            .map(|tool| (tool.name.to_string(), request::said_of(tool)));
        let listed = listed.collect();
        self.write(|shared| {
            shared.tools = tools.into();
            shared.listed = listed;
        });
    }

    fn read<T>(&self, look: impl FnOnce(&Shared) -> T) -> T {
        look(&self.shared.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        change(&mut self.shared.write().unwrap_or_else(PoisonError::into_inner))
    }
}
