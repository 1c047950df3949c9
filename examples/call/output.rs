use super::{FLAGGED, NO_LIST, REJECTED};
use mcp_resilience::Failure;
use rmcp::model::{CallToolResponse, ReadResourceResponse};
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

/// The format of the result.
pub(crate) struct Output {
    /// Print on one line.
    pub(crate) is_short: bool,
}

impl Output {
    pub(crate) fn answer(&self, answer: Result<CallToolResponse, Failure>) -> u8 {
        match answer {
            Ok(CallToolResponse::Complete(result)) => {
                self.print(&result);
                if result.is_error == Some(true) {
                    return FLAGGED;
                }
            }
            Ok(CallToolResponse::InputRequired(result)) => self.print(&result),
            Ok(CallToolResponse::Task(result)) => self.print(&result),
            Ok(_) => {}
            Err(failure) => return rejected(&failure),
        }
        0
    }

    pub(crate) fn read(&self, answer: Result<ReadResourceResponse, Failure>) -> u8 {
        match answer {
            Ok(ReadResourceResponse::Complete(result)) => self.print(&result),
            Ok(ReadResourceResponse::InputRequired(result)) => self.print(&result),
            Ok(_) => {}
            Err(failure) => return rejected(&failure),
        }
        0
    }

    pub(crate) fn list<T: Serialize>(&self, items: Result<&[T], &Failure>) -> u8 {
        match items {
            Ok(items) => {
                self.print(&items);
                0
            }
            Err(failure) => {
                complain(&format!("no list: {}", failure.chain()));
                NO_LIST
            }
        }
    }

    fn print(&self, value: &impl Serialize) {
        let value = json!(value);
        // The reader of stdout may have gone away.
        let _ = if self.is_short {
            writeln!(io::stdout(), "{value}")
        } else {
            writeln!(io::stdout(), "{value:#}")
        };
    }
}

fn rejected(failure: &Failure) -> u8 {
    complain(&match failure.rpc_error() {
        Some(error) => format!("error {}: {}", error.code, error.message),
        None => format!("error: {}", failure.chain()),
    });
    REJECTED
}

/// Writes a text to stderr in one write, because the log uses stderr too.
pub(crate) fn complain(text: &str) {
    // If stderr is closed, the text cannot be shown.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}
