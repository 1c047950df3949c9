//! Shared by the tests of the adapter: a Bookshop in another process, and a handler in this one,
//! both over real transports.

mod bookshop;
mod child;
mod exchange;
mod http;
mod lines;
mod local;
pub(crate) mod program;
mod raw;
#[allow(clippy::duplicate_mod, reason = "other test binaries have it too")]
#[path = "../../schema/mod.rs"]
mod schema;
mod traced;

pub(crate) use self::{
    bookshop::{Bookshop, Wire},
    child::{Child, within},
    exchange::Exchange,
    http::{Events, HttpWire, read},
    lines::{Lines, assert_has, log_line, log_lines},
    local::{
        Desk, Log, Run, WAIT, call, connect, connect_modern, ok, preset, retry, settings, text,
    },
    program::{Sdk, check as check_program},
    raw::{Raw, modern},
    traced::Traced,
};

/// Runs each scenario over both wires.
macro_rules! over_both_wires {
    ($($scenario:ident)*) => {
        mod over_stdio {
            $(#[tokio::test] async fn $scenario() {
                super::$scenario($crate::support::Wire::Stdio).await;
            })*
        }
        mod over_http {
            $(#[tokio::test] async fn $scenario() {
                super::$scenario($crate::support::Wire::Http).await;
            })*
        }
    };
}
pub(crate) use over_both_wires;
