use super::instrument::Instrument;
use crate::call::Method;

/// Records numbers.
pub(super) trait Backend: Send + Sync {
    fn add(&self, counter: Instrument, by: u64, labels: &Labels<'_>);
    fn record(&self, histogram: Instrument, value: f64, labels: &Labels<'_>);
    fn set(&self, gauge: Instrument, value: f64, labels: &Labels<'_>);
}

/// Names and values. No call has more.
pub(super) struct Labels<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Labels<'a> {
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// The labels of a call, whose name is bounded already.
    pub(super) fn of_call(method: Method, name: &'a str) -> Self {
        let mut labels = Self(Vec::with_capacity(8));
        labels.push("mcp.method.name", method.as_str());
        match method {
            Method::CallTool => {
                labels.push("gen_ai.operation.name", "execute_tool");
                labels.push("gen_ai.tool.name", name);
            }
            Method::GetPrompt => labels.push("gen_ai.prompt.name", name),
            Method::ReadResource => {}
        }
        labels
    }

    pub(super) fn with(mut self, name: &'static str, value: &'a str) -> Self {
        self.push(name, value);
        self
    }

    pub(super) fn with_some(self, name: &'static str, value: Option<&'a str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn push(&mut self, name: &'static str, value: &'a str) {
        self.0.push((name, value));
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, &'a str)> {
        self.0.iter().copied()
    }
}
