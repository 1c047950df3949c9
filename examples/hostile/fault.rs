use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use std::time::Duration;

/// The arguments of `look` and `book`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    pub(crate) key: String,
    pub(crate) fault: Option<Fault>,
    #[serde(default = "once")]
    pub(crate) times: usize,
}

fn once() -> usize {
    1
}

/// The fault of a call. The page of the example describes each.
#[derive(Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Fault {
    #[default]
    None,
    Refuse {
        retry_after: Option<Value>,
    },
    DieBefore,
    DieAfter,
    DieAtByte {
        byte: usize,
    },
    HangBefore,
    Hang,
    NoId,
    NullId,
    ForeignId,
    ErrorNoId,
    ErrorNullId,
    Twice,
    Late {
        #[serde(deserialize_with = "seconds")]
        seconds: Duration,
    },
    Noise,
    WrongResult,
    Raw {
        text: String,
    },
    // The faults from here on exist only over HTTP.
    NotFound {
        #[serde(default)]
        silent: bool,
    },
    NotFoundAfter {
        #[serde(default)]
        silent: bool,
    },
    Stale,
    Status(Status),
    Html {
        #[serde(default)]
        after: bool,
    },
    CutBody {
        byte: usize,
    },
    CutStream {
        #[serde(default)]
        priming: bool,
        #[serde(default)]
        torn: bool,
    },
    DropBefore,
    DropAfter,
}

/// An answer with an HTTP status.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    #[serde(rename = "status")]
    pub(crate) code: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) authenticate: Option<String>,
    #[serde(default)]
    pub(crate) rpc: bool,
    #[serde(default)]
    pub(crate) after: bool,
}

impl Fault {
    /// Whether it exists only over HTTP.
    pub(crate) fn needs_http(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::NotFoundAfter { .. }
                | Self::Stale
                | Self::Status(_)
                | Self::Html { .. }
                | Self::CutBody { .. }
                | Self::CutStream { .. }
                | Self::DropBefore
                | Self::DropAfter
        )
    }

    /// Whether it prevents the effect.
    pub(crate) fn is_before_the_effect(&self) -> bool {
        match self {
            Self::Refuse { .. }
            | Self::DieBefore
            | Self::HangBefore
            | Self::ErrorNoId
            | Self::ErrorNullId
            | Self::NotFound { .. }
            | Self::Stale
            | Self::DropBefore => true,
            Self::Status(Status { after, .. }) | Self::Html { after } => !after,
            _ => false,
        }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
}
