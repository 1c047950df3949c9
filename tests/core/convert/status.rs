#![allow(
    clippy::match_overlapping_arm,
    reason = "the first range that holds a status counts"
)]
use http::{HeaderMap, HeaderValue, Response, StatusCode, header::RETRY_AFTER};
use mcp_resilience::{Class, Delivery, Failure, convert::ResponseExt};
use std::time::Duration;

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap()
}

fn waits(values: &[&'static str]) -> HeaderMap {
    let values = values.iter().copied();
    values
        .map(|value| (RETRY_AFTER, HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn every_status_from_400_is_a_failure_of_a_class_and_no_other_is_one() {
    for number in 100..1000 {
        let failure = Failure::from_status(status(number), &HeaderMap::new());
        let class = match number {
            ..400 => None,
            401 => Some(Class::Unauthorized),
            403 => Some(Class::Forbidden),
            404 | 410 => Some(Class::NotFound),
            408 => Some(Class::Timeout),
            429 => Some(Class::RateLimited),
            ..500 => Some(Class::InvalidInput),
            503 => Some(Class::Unavailable),
            _ => Some(Class::Upstream),
        };
        assert_eq!(failure.as_ref().map(Failure::class), class, "{number}");
        if let Some(failure) = failure {
            assert_eq!(failure.status(), Some(number));
            assert_eq!(failure.retry_after(), None);
        }
    }
}

#[test]
fn the_longest_retry_after_is_kept_and_an_unreadable_one_is_ignored() {
    let cases: [(&[&str], Option<u64>); 5] = [
        (&["120"], Some(120)),
        (&["1", "30", "7"], Some(30)),
        (&["Sun, 06 Nov 1994 08:49:37 GMT"], Some(0)),
        (&["soon"], None),
        (&["-1"], None),
    ];
    for (values, seconds) in cases {
        for number in [429, 503, 408, 403, 500] {
            let failure = Failure::from_status(status(number), &waits(values)).unwrap();
            let wait = seconds.map(Duration::from_secs);
            assert_eq!(failure.retry_after(), wait, "{number} {values:?}");
        }
    }
}

#[test]
fn a_header_that_is_not_text_is_not_a_hint() {
    let value = HeaderValue::from_bytes(b"3\xff0").unwrap();
    let headers = HeaderMap::from_iter([(RETRY_AFTER, value)]);
    let failure = Failure::from_status(status(429), &headers).unwrap();
    assert_eq!(failure.retry_after(), None);
}

#[test]
fn only_the_author_can_say_whether_the_tool_ran() {
    for number in 400..600 {
        let failure = Failure::from_status(status(number), &waits(&["1"])).unwrap();
        assert_eq!(failure.delivery(), Delivery::Unknown, "{number}");
        assert_eq!(failure.before_running().delivery(), Delivery::Refused);
    }
}

#[test]
fn a_response_of_success_passes_and_any_other_is_its_failure() {
    let response = |number| {
        let response = Response::builder().status(status(number));
        let response = response.header(RETRY_AFTER, "30");
        response.body("a page").unwrap()
    };
    assert_eq!(
        response(200).failure_for_status().unwrap().body(),
        &"a page"
    );
    assert!(response(304).failure_for_status().is_ok());
    let failure = response(503).failure_for_status().unwrap_err();
    assert_eq!(failure.class(), Class::Unavailable);
    assert_eq!(failure.retry_after(), Some(Duration::from_secs(30)));
    assert_eq!(
        failure.to_string(),
        "the service behind the tool answered 503 Service Unavailable"
    );
}
