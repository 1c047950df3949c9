//! Conversion of other errors, and of an HTTP API's answer, to a failure.

#[cfg(any(feature = "anyhow", feature = "eyre"))]
mod reports;
#[cfg(feature = "reqwest")]
mod requests;
#[cfg(feature = "http")]
mod status;

use mcp_resilience::{
    Class, Failure,
    convert::{IntoFailure, OrFailure},
};
use std::{error::Error, io};

#[test]
fn the_question_mark_converts_an_error_that_implements_into_failure() {
    struct Closed;

    impl IntoFailure for Closed {
        fn into_failure(self) -> Failure {
            Failure::unavailable(None)
        }
    }

    fn tool() -> Result<(), Failure> {
        Err(Closed)?;
        Ok(())
    }
    assert_eq!(tool().unwrap_err().class(), Class::Unavailable);
}

#[test]
fn any_other_error_is_a_crash_with_the_error_as_its_source() {
    let failure = "many".parse::<u32>().or_failure().unwrap_err();
    assert_eq!(failure.class(), Class::Crash);
    assert!(failure.source().unwrap().is::<std::num::ParseIntError>());
    assert_eq!(failure.message(), None);
}

#[test]
fn an_error_that_is_known_keeps_its_class_whatever_it_is_wrapped_in() {
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let plain: Result<(), _> = Err(refused());
    assert_eq!(plain.or_failure().unwrap_err().class(), Class::Connection);
    let wrapped: Result<(), _> = Err(io::Error::other(refused()));
    assert_eq!(wrapped.or_failure().unwrap_err().class(), Class::Connection);
    let failure: Result<(), _> = Err(Failure::not_found("no such book"));
    let failure = failure.or_failure().unwrap_err();
    assert_eq!(failure.class(), Class::NotFound);
    assert!(failure.source().is_none(), "it is the same one");
}
