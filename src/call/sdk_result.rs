//! [`ToolResult`] for the types of SDKs.

/// The methods of a result with another one inside, which a function finds.
macro_rules! inner_result {
    ($inner:path) => {
        fn is_error(&self) -> bool {
            $inner(self).is_some_and($crate::call::ToolResult::is_error)
        }

        fn texts(&self) -> impl Iterator<Item = &str> {
            let inner = $inner(self).into_iter();
            inner.flat_map($crate::call::ToolResult::texts)
        }

        fn structured(&self) -> Option<&::serde_json::Value> {
            $inner(self).and_then($crate::call::ToolResult::structured)
        }

        fn meta(&self) -> Option<&::serde_json::Map<String, ::serde_json::Value>> {
            $inner(self).and_then($crate::call::ToolResult::meta)
        }

        fn is_empty(&self) -> bool {
            $inner(self).is_some_and($crate::call::ToolResult::is_empty)
        }
    };
}
pub(crate) use inner_result;

/// Results of resources and prompts: they have no flag, and nothing in them is a failure.
macro_rules! unflagged {
    ($($type:ty $(, interim unless $complete:path)?;)*) => {$(
        impl $crate::call::ToolResult for $type {
            fn is_error(&self) -> bool {
                false
            }

            $(fn is_interim(&self) -> bool {
                !matches!(self, $complete(_))
            })?

            fn is_empty(&self) -> bool {
                false
            }

            fn flag(&mut self) {}

            fn from_failure(_: $crate::call::Flagged) -> Option<Self> {
                None
            }
        }
    )*};
}
pub(crate) use unflagged;
