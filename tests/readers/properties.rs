//! The checks, over generated inputs that resemble the texts of servers.

use crate::{
    checks::{self, Parts, Story},
    inputs::{numbers, parts, stories, texts},
};
use chrono::{DateTime, SecondsFormat, Utc};
use mcp_resilience::{
    call_log::JsonLines,
    classify::retry_after::{in_header, in_json},
};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::Config};
use serde_json::json;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

/// Without a file for what failed: a failure shows its input.
fn config() -> Config {
    Config {
        // More by the variable `PROPTEST_CASES`.
        cases: Config::default().cases.max(1024),
        failure_persistence: None,
        ..Config::default()
    }
}

const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// The bytes of each write.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<String>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        self.0.lock().unwrap().push(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a date is the wall clock's")]
fn now() -> SystemTime {
    SystemTime::now()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_text_is_read_as_a_shorter_wait_than_it_asks_for(text in texts()) {
        checks::text(&text);
    }

    #[test]
    fn no_number_is_read_as_a_shorter_wait_than_it_asks_for(number in numbers()) {
        checks::number(&number);
    }

    #[test]
    fn amounts_with_units_add_up_to_no_less_than_they_are(
        amounts in vec(("[0-9]{1,12}", "[0-9]{0,12}", select(UNITS)), 1..4)
    ) {
        let amounts = amounts.into_iter();
        let amounts: Vec<_> = amounts
            .map(|(whole, fraction, (unit, nanos))| (whole, fraction, unit, nanos))
            .collect();
        checks::amounts(&amounts);
    }

    #[test]
    fn a_date_is_never_read_as_an_earlier_one(seconds in 1_u64..4_000_000_000, nanos in 0_u32..1_000_000_000) {
        let date = now() + Duration::new(seconds, nanos);
        let rfc3339 = DateTime::<Utc>::from(date).to_rfc3339_opts(SecondsFormat::Nanos, true);
        let http = httpdate::fmt_http_date(date);
        let whole = httpdate::parse_http_date(&http).unwrap();
        for (text, date) in [(rfc3339, date), (http, whole)] {
            let before = date.duration_since(now()).unwrap_or_default();
            let waits = [in_header(&text), in_json(&json!({"resetAt": &text}))];
            let after = date.duration_since(now()).unwrap_or_default();
            for wait in waits {
                let wait = wait.unwrap();
                prop_assert!(wait >= after && wait <= before, "{text}: {wait:?}");
            }
        }
    }

    #[test]
    fn no_detail_of_a_flagged_result_is_lost_and_no_wait_is_shortened(parts in parts()) {
        parts.check();
    }

    #[test]
    fn no_detail_of_a_json_rpc_error_is_lost_and_no_wait_is_shortened(
        parts in parts(), code in prop_oneof![Just(-32602), Just(-32023), -32800..-31999, any::<i32>()], message in texts()
    ) {
        parts.check_as_rpc_error(code, &message);
    }

    #[test]
    fn every_line_of_the_log_is_one_json_object_within_its_limits(story in stories()) {
        story.check();
        crate::schema::line(&story.line());
    }

    #[test]
    fn each_call_writes_one_line_of_json(stories in vec(stories(), 0..4)) {
        let written = Written::default();
        let sink = JsonLines::new(written.clone());
        for story in &stories {
            story.happen(sink.clone());
        }
        drop(sink);
        let writes = written.0.lock().unwrap().clone();
        prop_assert_eq!(writes.len(), stories.len(), "one write each");
        for write in writes {
            crate::schema::line(write.strip_suffix('\n').unwrap());
        }
    }

    #[test]
    fn the_checks_hold_for_bytes_of_a_fuzzer(data in vec(any::<u8>(), 0..400)) {
        checks::text(&String::from_utf8_lossy(&data));
        Parts::of_bytes(&data).check();
        Story::of_bytes(&data).check();
    }
}
