use crate::{
    call::{HintSource, Hints, Method, ToolCall},
    failure::{NAME_LIMIT, escaped},
};
use arrayvec::ArrayString;

/// The longest name that needs no allocation.
const IN_PLACE: usize = 48;

/// The name and method of a call, kept after the call was passed on.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    method: Method,
    hints: Hints,
    // Only if they may change while the call runs.
    hint_source: Option<HintSource>,
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
            hint_source: call.hint_source(),
            name: match ArrayString::from(name) {
                Ok(name) => Name::InPlace(name),
                Err(_) => Name::OnHeap(name.into()),
            },
        }
    }

    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// The current hints of the tool.
    pub(super) fn hints(&self) -> Hints {
        let now = self.hint_source.as_ref().map(HintSource::hints);
        now.unwrap_or(self.hints)
    }

    /// The name, escaped.
    pub(super) fn name(&self) -> String {
        self.name_within(NAME_LIMIT)
    }

    /// The same, with a higher limit: a program needs the whole name.
    pub(super) fn name_within(&self, limit: usize) -> String {
        escaped(self.raw_name(), limit, &[])
    }

    /// The name as the caller gave it.
    pub(super) fn raw_name(&self) -> &str {
        match &self.name {
            Name::InPlace(name) => name,
            Name::OnHeap(name) => name,
        }
    }
}
