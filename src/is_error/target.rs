use crate::{
    call::{HintSource, Hints, Method, ToolCall},
    failure::{NAME_LIMIT, escaped},
};
use arrayvec::ArrayString;

/// The longest name that needs no allocation.
const IN_PLACE: usize = 28;

/// The name and method of a call, kept after the call was passed on.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    InPlace {
        method: Method,
        hints: Hints,
        name: ArrayString<IN_PLACE>,
    },
    Boxed(Box<Large>),
}

/// A long name, or hints that may change while the call runs.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    method: Method,
    hints: Hints,
    hint_source: Option<HintSource>,
    name: Box<str>,
}

impl Large {
    #[cold]
    fn of(call: &impl ToolCall, hint_source: Option<HintSource>) -> Self {
        Self {
            method: call.method(),
            hints: call.hints(),
            hint_source,
            name: call.name().into(),
        }
    }
}

impl Target {
    #[inline]
    pub(crate) fn of(call: &impl ToolCall) -> Self {
        match (call.hint_source(), ArrayString::from(call.name())) {
            (None, Ok(name)) => Self::InPlace {
                method: call.method(),
                hints: call.hints(),
                name,
            },
            (hint_source, _) => Self::Boxed(Box::new(Large::of(call, hint_source))),
        }
    }

    pub(super) fn method(&self) -> Method {
        match self {
            Self::InPlace { method, .. } => *method,
            Self::Boxed(large) => large.method,
        }
    }

    /// The current hints of the tool.
    pub(super) fn hints(&self) -> Hints {
        match self {
            Self::InPlace { hints, .. } => *hints,
            Self::Boxed(large) => match &large.hint_source {
                Some(source) => source.hints(),
                None => large.hints,
            },
        }
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
        match self {
            Self::InPlace { name, .. } => name,
            Self::Boxed(large) => &large.name,
        }
    }
}
