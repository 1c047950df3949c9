//! Rust errors, by the name that a file uses for them.

use crate::{answer::Answer, case::Case, stack};
use mcp_resilience::failure::BoxError;
use std::io::{Error, ErrorKind};
use tower::{load_shed, timeout};

pub(crate) async fn check(case: &Case, name: &str) -> Vec<Result<(), String>> {
    if of(name).is_none() {
        return vec![Err(format!("no typed error is called `{name}`"))];
    }
    stack::check::<Answer>(case, &case.expect, || Err(of(name).unwrap())).await
}

fn of(name: &str) -> Option<BoxError> {
    Some(match name {
        "tower::timeout::error::Elapsed" => timeout::error::Elapsed::new().into(),
        "tower::load_shed::error::Overloaded" => load_shed::error::Overloaded::new().into(),
        "std::io::ErrorKind::ConnectionRefused" => io(ErrorKind::ConnectionRefused),
        "std::io::ErrorKind::ConnectionReset" => io(ErrorKind::ConnectionReset),
        "std::io::ErrorKind::BrokenPipe" => io(ErrorKind::BrokenPipe),
        "std::io::ErrorKind::UnexpectedEof" => io(ErrorKind::UnexpectedEof),
        "std::io::ErrorKind::TimedOut" => io(ErrorKind::TimedOut),
        "std::io::ErrorKind::PermissionDenied" => io(ErrorKind::PermissionDenied),
        "anybody's" => "rate limit exceeded, retry after 3 s (429)".into(),
        _ => return None,
    })
}

fn io(kind: ErrorKind) -> BoxError {
    Error::from(kind).into()
}
