//! An input far beyond the limit costs no more than one just beyond it.

use crate::checks::{Answer, classify};
use allocation_counter::{AllocationInfo, measure};
use mcp_resilience::Class;

/// A text of about this many bytes that looks like an envelope up to its end.
fn envelope(bytes: usize) -> String {
    let filling = "x".repeat(bytes);
    format!(r#"{{"code":"rate_limited","retryAfter":5,"error":"{filling}"}}"#)
}

/// The cost of classifying such a result, without creating it.
fn cost(text: String) -> AllocationInfo {
    let answer = Answer::flagged(&text);
    drop(text);
    let mut outcome = None;
    let cost = measure(|| outcome = Some(classify(Ok(answer))));
    let failure = outcome.unwrap().unwrap_err();
    assert_ne!(failure.class(), Class::RateLimited, "it was not read");
    assert_eq!(failure.retry_after(), None);
    cost
}

#[test]
fn a_text_beyond_the_scan_limit_costs_the_same_however_long_it_is() {
    let shapes: [fn(usize) -> String; 4] = [
        envelope,
        |bytes| "{".repeat(bytes),
        |bytes| format!("Error executing tool {}", "x".repeat(bytes)),
        |bytes| format!("1{} validation errors for x", "0".repeat(bytes)),
    ];
    for shape in shapes {
        // Once beforehand, for what is made once.
        cost(shape(17 * 1024));
        let just_too_long = cost(shape(17 * 1024));
        let far_too_long = cost(shape(4 * 1024 * 1024));
        assert_eq!(
            (far_too_long.count_total, far_too_long.bytes_total),
            (just_too_long.count_total, just_too_long.bytes_total)
        );
        assert!(far_too_long.bytes_max < 16 * 1024, "{far_too_long:?}");
    }
}

#[test]
fn a_text_within_the_limit_is_read() {
    let failure = classify(Ok(Answer::flagged(&envelope(15 * 1024)))).unwrap_err();
    assert_eq!(failure.class(), Class::RateLimited);
}
