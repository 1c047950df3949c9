use super::{Hints, Method, ToolCall};
use arrayvec::ArrayString;

/// How much of a name is held in place. Longer ones cost an allocation.
const IN_PLACE: usize = 48;

/// Where a call went, for who has to name it after the call itself is gone.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    method: Method,
    hints: Hints,
    name: Name,
}

#[derive(Clone, Debug)]
enum Name {
    InPlace(ArrayString<IN_PLACE>),
    OnHeap(Box<str>),
}

impl Target {
    #[inline]
    pub(crate) fn of(call: &impl ToolCall) -> Self {
        let name = call.name();
        Self {
            method: call.method(),
            hints: call.hints(),
            name: match ArrayString::from(name) {
                Ok(name) => Name::InPlace(name),
                Err(_) => Name::OnHeap(name.into()),
            },
        }
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    pub(crate) fn hints(&self) -> Hints {
        self.hints
    }

    pub(crate) fn name(&self) -> &str {
        match &self.name {
            Name::InPlace(name) => name,
            Name::OnHeap(name) => name,
        }
    }
}
