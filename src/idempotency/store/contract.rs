//! The tests that every store has to pass.

use super::{Claim, Claimed, Ending, Store, Token, Value};
use crate::{
    call::IdempotencyKey,
    idempotency::{Fingerprint, RecordId},
};
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::sleep};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);
const AFTER_SHORT: Duration = Duration::from_millis(250);

const TOLD: Fingerprint = Fingerprint::from_bytes([7; 32]);
const OTHER: Fingerprint = Fingerprint::from_bytes([8; 32]);

/// Runs all tests against a store, on records with random names.
///
/// The store may hold records and be in use. Leases expire by the store's own clock, so this takes
/// about 1 s, unless the store uses tokio's clock and that is paused.
///
/// ```
/// # #[cfg(feature = "test-util")]
/// # {
/// use mcp_resilience::idempotency::store::{MemoryStore, contract};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
/// # runtime.block_on(async {
/// contract::check(MemoryStore::new()).await;
/// # });
/// # }
/// # Ok::<_, std::io::Error>(())
/// ```
///
/// # Panics
///
/// If the store breaks the contract; the message says where.
pub async fn check(store: impl Store) {
    let store = Arc::new(store);
    done_is_done(&*store).await;
    versions_and_bytes_come_back(&*store).await;
    another_call_is_a_conflict(&*store).await;
    a_claim_is_fenced(&*store).await;
    a_claim_may_be_made_again_by_its_own_token(&*store).await;
    a_released_claim_is_forgotten(&*store).await;
    a_lease_ends_in_the_dark(&*store).await;
    a_renewed_lease_holds(&*store).await;
    a_late_run_may_still_complete(&*store).await;
    what_may_run_twice_is_taken_over(&*store).await;
    an_unknown_call_is_settled(&*store).await;
    nothing_else_is_settled(&*store).await;
    one_of_many_claims_wins(&store).await;
}

fn record() -> RecordId {
    RecordId::new(Some(b"contract"), &IdempotencyKey::random())
}

fn claim(lease: Duration) -> Claim {
    Claim::new(TOLD, lease, LONG)
}

async fn claimed(store: &dyn Store, record: &RecordId, claim: &Claim) -> Claimed {
    let claimed = store.claim(record, claim.clone()).await;
    claimed.expect("`claim` failed")
}

async fn ours(store: &dyn Store, record: &RecordId, lease: Duration) -> Token {
    let claim = claim(lease);
    let answer = claimed(store, record, &claim).await;
    assert_eq!(answer, Claimed::Ours, "the first claim of a record");
    claim.token
}

async fn complete(store: &dyn Store, record: &RecordId, token: Token, ending: Ending) -> bool {
    let completed = store.complete(record, token, ending, LONG).await;
    completed.expect("`complete` failed")
}

async fn release(store: &dyn Store, record: &RecordId, token: Token) -> bool {
    let released = store.release(record, token).await;
    released.expect("`release` failed")
}

async fn renew(store: &dyn Store, record: &RecordId, token: Token, lease: Duration) -> bool {
    let renewed = store.renew(record, token, lease).await;
    renewed.expect("`renew` failed")
}

async fn settle(store: &dyn Store, record: &RecordId, outcome: Option<Value>) -> bool {
    let settled = store.settle(record, outcome, LONG).await;
    settled.expect("`settle` failed")
}

fn value() -> Value {
    Value::new(1, *b"R{\"answer\":42}")
}

async fn done_is_done(store: &dyn Store) {
    let record = record();
    let token = ours(store, &record, LONG).await;
    let done = Ending::Done(value());
    assert!(complete(store, &record, token, done.clone()).await);
    assert!(
        complete(store, &record, token, done).await,
        "the same again, as after an answer that was lost"
    );
    let other = Ending::Done(Value::new(1, *b"R{}"));
    let not_ours = complete(store, &record, Token::random(), other).await;
    assert!(!not_ours, "another token does not complete what is done");
    for twice in [false, true] {
        let claim = claim(LONG).may_run_twice(twice);
        let answer = claimed(store, &record, &claim).await;
        assert_eq!(answer, Claimed::Done(value()), "may run twice: {twice}");
    }
    assert!(
        !release(store, &record, token).await,
        "done is not released"
    );
    assert!(!renew(store, &record, token, LONG).await, "nor renewed");
}

async fn versions_and_bytes_come_back(store: &dyn Store) {
    let all: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for value in [
        Value::new(u16::MAX, all),
        Value::new(1, *b"\r\n\0"),
        Value::not_kept(),
    ] {
        let record = record();
        let token = ours(store, &record, LONG).await;
        let done = Ending::Done(value.clone());
        assert!(complete(store, &record, token, done).await);
        let answer = claimed(store, &record, &claim(LONG)).await;
        assert_eq!(answer, Claimed::Done(value));
    }
}

async fn another_call_is_a_conflict(store: &dyn Store) {
    let other = Claim::new(OTHER, LONG, LONG).may_run_twice(true);
    let record = record();
    let token = ours(store, &record, LONG).await;
    let running = claimed(store, &record, &other).await;
    assert_eq!(running, Claimed::Conflict, "while it runs");
    assert!(complete(store, &record, token, Ending::Unknown).await);
    let unknown = claimed(store, &record, &other).await;
    assert_eq!(unknown, Claimed::Conflict, "when it is unknown");
    assert!(settle(store, &record, Some(value())).await);
    let done = claimed(store, &record, &other).await;
    assert_eq!(done, Claimed::Conflict, "when it is done");
}

async fn a_claim_is_fenced(store: &dyn Store) {
    let record = record();
    let token = ours(store, &record, LONG).await;
    let other = Token::random();
    let done = Ending::Done(value());
    assert!(!complete(store, &record, other, done).await);
    assert!(!complete(store, &record, other, Ending::Unknown).await);
    assert!(!release(store, &record, other).await);
    assert!(!renew(store, &record, other, LONG).await);
    match claimed(store, &record, &claim(LONG).may_run_twice(true)).await {
        Claimed::Running { lease_left } => {
            assert!(lease_left <= LONG, "the lease is {lease_left:?}");
            assert!(lease_left > LONG / 2, "the lease is {lease_left:?}");
        }
        other => panic!("claimed by another: {other:?}"),
    }
    assert!(complete(store, &record, token, Ending::Unknown).await);
    let absent = self::record();
    assert!(!complete(store, &absent, token, Ending::Unknown).await);
    assert!(!release(store, &absent, token).await);
    assert!(!renew(store, &absent, token, LONG).await);
}

async fn a_claim_may_be_made_again_by_its_own_token(store: &dyn Store) {
    let record = record();
    let claim = claim(LONG);
    for _ in 0..2 {
        let answer = claimed(store, &record, &claim).await;
        assert_eq!(answer, Claimed::Ours, "as after an answer that was lost");
    }
}

async fn a_released_claim_is_forgotten(store: &dyn Store) {
    let record = record();
    let token = ours(store, &record, LONG).await;
    assert!(release(store, &record, token).await);
    let other = Claim::new(OTHER, LONG, LONG);
    let answer = claimed(store, &record, &other).await;
    assert_eq!(answer, Claimed::Ours, "also for another call");
}

async fn a_lease_ends_in_the_dark(store: &dyn Store) {
    let record = record();
    ours(store, &record, SHORT).await;
    sleep(AFTER_SHORT).await;
    let answer = claimed(store, &record, &claim(LONG)).await;
    assert_eq!(answer, Claimed::Unknown, "after the end of its lease");
}

async fn a_renewed_lease_holds(store: &dyn Store) {
    let record = record();
    let token = ours(store, &record, SHORT).await;
    assert!(renew(store, &record, token, LONG).await);
    sleep(AFTER_SHORT).await;
    let answer = claimed(store, &record, &claim(LONG)).await;
    assert!(
        matches!(answer, Claimed::Running { .. }),
        "after a renewal: {answer:?}"
    );
}

async fn a_late_run_may_still_complete(store: &dyn Store) {
    let record = record();
    let token = ours(store, &record, SHORT).await;
    sleep(AFTER_SHORT).await;
    assert!(renew(store, &record, token, SHORT).await, "not taken over");
    sleep(AFTER_SHORT).await;
    assert!(complete(store, &record, token, Ending::Done(value())).await);
    let answer = claimed(store, &record, &claim(LONG)).await;
    assert_eq!(answer, Claimed::Done(value()));
}

async fn what_may_run_twice_is_taken_over(store: &dyn Store) {
    let record = record();
    let first = ours(store, &record, SHORT).await;
    sleep(AFTER_SHORT).await;
    let second = claim(LONG).may_run_twice(true);
    let answer = claimed(store, &record, &second).await;
    assert_eq!(answer, Claimed::Ours, "after the end of the lease");
    let late = Ending::Done(Value::new(1, *b"R{}"));
    assert!(!complete(store, &record, first, late).await, "too late");
    assert!(!release(store, &record, first).await, "too late");
    let done = Ending::Done(value());
    assert!(complete(store, &record, second.token, done).await);
    let answer = claimed(store, &record, &claim(LONG)).await;
    assert_eq!(answer, Claimed::Done(value()));
}

async fn an_unknown_call_is_settled(store: &dyn Store) {
    for is_marked in [false, true] {
        let unknown = async |store: &dyn Store| {
            let record = record();
            if is_marked {
                let token = ours(store, &record, LONG).await;
                assert!(complete(store, &record, token, Ending::Unknown).await);
            } else {
                ours(store, &record, SHORT).await;
                sleep(AFTER_SHORT).await;
            }
            let answer = claimed(store, &record, &claim(LONG)).await;
            assert_eq!(answer, Claimed::Unknown, "marked: {is_marked}");
            record
        };
        let record = unknown(store).await;
        assert!(settle(store, &record, Some(value())).await);
        let answer = claimed(store, &record, &claim(LONG)).await;
        assert_eq!(answer, Claimed::Done(value()), "settled as done");
        let record = unknown(store).await;
        assert!(settle(store, &record, None).await);
        let answer = claimed(store, &record, &claim(LONG)).await;
        assert_eq!(answer, Claimed::Ours, "settled as not run");
    }
}

async fn nothing_else_is_settled(store: &dyn Store) {
    let record = record();
    assert!(!settle(store, &record, Some(value())).await, "absent");
    let token = ours(store, &record, LONG).await;
    assert!(!settle(store, &record, None).await, "while it runs");
    assert!(complete(store, &record, token, Ending::Done(value())).await);
    assert!(!settle(store, &record, None).await, "when it is done");
    let answer = claimed(store, &record, &claim(LONG)).await;
    assert_eq!(answer, Claimed::Done(value()));
}

async fn one_of_many_claims_wins<S: Store>(store: &Arc<S>) {
    let record = record();
    let mut claims = JoinSet::new();
    for _ in 0..32 {
        let store = Arc::clone(store);
        claims.spawn(async move {
            let answer = claimed(&*store, &record, &claim(LONG)).await;
            answer == Claimed::Ours
        });
    }
    let answers = claims.join_all().await;
    let ours = answers.into_iter().filter(|is_ours| *is_ours).count();
    assert_eq!(ours, 1, "claims of one record at the same time");
}
