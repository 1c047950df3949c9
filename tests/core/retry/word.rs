//! Which sources decide whether a call may run twice.

use super::{SECOND, exact, fine, lost, make, times};
use crate::support::{Call, Script};
use mcp_resilience::{
    Class, Delivery, Failure,
    call::Hints,
    failure::Stopped,
    policy::Policy,
    retry::{RetryBuilder, RetryLayer},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Says the same of everything, and remembers what it was asked.
fn says(word: Option<bool>) -> (RetryBuilder, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let names = Arc::clone(&asked);
    let retry = exact().repeat_ok(move |name| {
        names.lock().unwrap().push(name.to_owned());
        word
    });
    (retry, asked)
}

#[tokio::test(start_paused = true)]
async fn repeat_ok_is_called_once_a_call_and_only_for_tools() {
    let hinted = |call: Call| Call {
        hints: Hints::new().read_only(true),
        ..call
    };
    let may_have_run = Some(Stopped::MayHaveRun);
    // A resource or a prompt may well have the name of a tool.
    #[rustfmt::skip]
    let cases = [
        ("a tool, yes", Call::tool("pay"), Some(true), 1, Ok(())),
        ("a tool, no", Call::read_only("pay"), Some(false), 1, Err(may_have_run)),
        ("a tool, nothing said", Call::read_only("pay"), None, 1, Ok(())),
        ("a resource, yes", Call::resource("pay"), Some(true), 0, Err(may_have_run)),
        ("a resource, no", hinted(Call::resource("pay")), Some(false), 0, Ok(())),
        ("a prompt, yes", Call::prompt("pay"), Some(true), 0, Err(may_have_run)),
        ("a prompt, no", hinted(Call::prompt("pay")), Some(false), 0, Ok(())),
    ];
    for (case, call, word, times_asked, expected) in cases {
        let (retry, asked) = says(word);
        let tool = Script::new([lost(), lost(), Ok(fine())]);
        let outcome = make(retry, &tool, call).await;
        let outcome = outcome.map(drop).map_err(|failure| failure.stopped());
        assert_eq!(outcome, expected, "{case}");
        assert_eq!(*asked.lock().unwrap(), vec!["pay"; times_asked], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_call_that_was_not_sent_is_repeated_if_the_server_is_not_trusted() {
    use Delivery::{Executed, NotSent, Refused, Unknown};
    let read_only = || Call::read_only("get_book");
    let no = || exact().repeat_ok(|_| Some(false));
    for class in Class::all() {
        for delivery in [NotSent, Refused, Unknown, Executed] {
            for retry in [exact(), no()] {
                let failure = Failure::new(class, "").with_delivery(delivery);
                let failure = failure.with_retryable(true);
                let tool = Script::new([Err(failure.into()), Ok(fine())]);
                let _ = make(retry.distrust_server(), &tool, read_only()).await;
                let is_worth_it = class.heals() || class == Class::Tool;
                let repeats = is_worth_it && delivery == NotSent;
                let calls = 1 + usize::from(repeats);
                assert_eq!(tool.calls().len(), calls, "{class}, {delivery}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_trusted_may_still_ask_for_time() {
    let failure = Failure::connection("refused")
        .with_delivery(Delivery::NotSent)
        .with_retry_after(9 * SECOND);
    let tool = Script::new([Err(failure.into()), Ok(fine())]);
    let outcome = make(exact().distrust_server(), &tool, Call::tool("pay")).await;
    assert!(outcome.is_ok());
    assert_eq!(times(&tool), [0, 9000]);
}

#[test]
fn a_layer_knows_how_long_a_call_may_take() {
    let deadline = |settings: RetryBuilder| settings.build().unwrap().deadline();
    assert_eq!(RetryLayer::new().deadline(), None);
    assert_eq!(RetryLayer::default().deadline(), None);
    assert_eq!(deadline(RetryLayer::builder()), None);
    let nano = Duration::from_nanos(1);
    assert_eq!(deadline(exact().deadline(nano)), Some(nano));
    assert_eq!(
        deadline(exact().deadline(SECOND).policy(Policy::new().no_deadline())),
        None
    );
    assert_eq!(
        deadline(exact().policy(Policy::new().no_deadline()).deadline(SECOND)),
        Some(SECOND)
    );
}
