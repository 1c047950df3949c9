//! The arguments of the tools.

use rmcp::schemars;
use serde::Deserialize;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Book {
    /// The book's title, as the catalog has it.
    pub(crate) title: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Quote {
    /// The book's title, as the catalog has it.
    pub(crate) title: String,
    /// How often the price service refuses before it answers.
    #[serde(default)]
    pub(crate) refusals: u32,
    /// How long it asks to wait each time, in seconds.
    #[serde(default = "one_second")]
    pub(crate) retry_after: f64,
}

fn one_second() -> f64 {
    1.0
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Reservation {
    /// The book's title, as the catalog has it.
    pub(crate) title: String,
    /// What goes wrong.
    #[serde(default)]
    pub(crate) fail: Fail,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fail {
    /// Nothing.
    #[default]
    None,
    /// The shelf is busy at the first attempt, and nothing is reserved by it.
    Refused,
    /// The book is reserved, but the payment service does not answer.
    Timeout,
    /// The book is reserved, but the connection breaks.
    Lost,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Nap {
    /// How long to sleep, in seconds.
    pub(crate) seconds: f64,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Print {
    /// How long it takes, in seconds.
    pub(crate) seconds: f64,
    /// After how many seconds it reports progress, again and again; 0 for never.
    #[serde(default)]
    pub(crate) report_every: f64,
}
