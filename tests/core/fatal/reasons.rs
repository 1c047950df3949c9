//! From a reason to a failure and back.

use super::cause;
use crate::support::{Call, Script};
use mcp_resilience::{
    Class, Delivery, Failure,
    classify::ClassifyLayer,
    failure::BoxError,
    fatal::{Fatal, FatalLayer},
};
use std::{error::Error, io};
use tower::{Layer, ServiceBuilder, ServiceExt};

fn reason() -> Fatal {
    Fatal::new("the index is corrupt").because(io::Error::other("bad checksum"))
}

const OUT_OF_SERVICE: &str = "the tool server is out of service";
const WHOLE: &str = "the index is corrupt: bad checksum";

#[test]
fn a_reason_becomes_a_fatal_failure_whose_text_is_the_operators_alone() {
    for failure in [Failure::from(reason()), Failure::from(&reason())] {
        assert_eq!(failure.class(), Class::Fatal);
        assert_eq!(failure.delivery(), Delivery::Unknown);
        assert_eq!(failure.message(), None);
        assert_eq!(failure.to_string(), OUT_OF_SERVICE);
        let source = failure.source().unwrap();
        assert!(source.is::<Fatal>());
        assert_eq!(source.to_string(), "the index is corrupt");
        let chain = failure.chain().to_string();
        assert_eq!(chain, format!("{OUT_OF_SERVICE}: {WHOLE}"));
    }
}

#[test]
fn a_reason_that_was_a_failure_is_the_same_on_stderr() {
    for again in [
        Fatal::from(Failure::from(reason())),
        Fatal::from(Failure::from(&reason())),
        Fatal::from(Failure::from(Fatal::from(Failure::from(reason())))),
    ] {
        assert_eq!(again.to_string(), "the index is corrupt");
        assert_eq!(format!("{again:?}"), WHOLE);
    }
}

#[test]
fn a_failure_becomes_the_reason_that_it_gave() {
    let disk = || io::Error::other("the disk is full");
    #[rustfmt::skip]
    let cases = [
        (Failure::fatal("no catalog"), "no catalog", "no catalog"),
        (Failure::fatal("no catalog").because(disk()), "no catalog", "no catalog: the disk is full"),
        (Failure::fatal("").because(disk()), "the disk is full", "the disk is full"),
        (Failure::fatal(" \n"), OUT_OF_SERVICE, OUT_OF_SERVICE),
        (Failure::crash(disk()), "the disk is full", "the disk is full"),
        (Failure::unauthorized("401"), "401", "401"),
        (Failure::connection(""), "the connection was lost", "the connection was lost"),
        (Failure::protocol(-32000, "gone", None), "gone", "gone"),
    ];
    for (failure, shown, whole) in cases {
        let fatal = Fatal::from(failure);
        assert_eq!(fatal.to_string(), shown);
        assert_eq!(format!("{fatal:?}"), whole);
    }
}

#[tokio::test]
async fn a_reason_that_a_tool_throws_ends_the_stack_also_from_within_another_error() {
    let wrapped = || BoxError::from(io::Error::other(reason()));
    for error in [reason().into(), wrapped()] {
        let layer = FatalLayer::new();
        let stack = ServiceBuilder::new()
            .layer(layer.clone())
            .layer(ClassifyLayer::new())
            .service(Script::new([Err(error)]));
        let failure = stack.oneshot(Call::tool("t")).await.unwrap_err();
        assert_eq!(failure.class(), Class::Fatal);
        assert_eq!(failure.to_string(), OUT_OF_SERVICE, "no caller reads it");
        let told = cause(&layer.handle()).unwrap();
        assert_eq!(told, "the index is corrupt");
    }
}

#[tokio::test]
async fn the_handle_gives_the_same_reason_each_time() {
    let layer = FatalLayer::new();
    let handle = layer.handle();
    assert!(handle.cause().is_none());
    handle.shut(reason());
    handle.shut(Fatal::new("too late"));
    for fatal in [
        handle.cause().unwrap(),
        handle.wait().await,
        handle.wait().await,
    ] {
        assert_eq!(format!("{fatal:?}"), WHOLE);
    }
    let mut stack = layer.layer(Script::new([]));
    let failure = stack.ready().await.map(drop).unwrap_err();
    assert_eq!(format!("{:?}", Fatal::from(failure)), WHOLE);
}
