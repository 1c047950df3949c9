use std::{
    hash::{BuildHasher, DefaultHasher, Hasher},
    sync::{Mutex, PoisonError},
};
use tower::util::rng::{HasherRng, Rng};

/// Makes tower's random numbers the same in each run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeded(pub(super) u64);

impl BuildHasher for Seeded {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}

/// Random numbers from a seed.
pub(super) fn numbers(seed: u64) -> HasherRng<Seeded> {
    HasherRng::with_hasher(Seeded(seed))
}

/// Random numbers between 0 and 1, from a seed.
pub(super) fn shares(seed: u64) -> impl Fn() -> f64 + Send + Sync + 'static {
    let numbers = Mutex::new(numbers(seed));
    move || {
        let mut numbers = numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.next_f64()
    }
}
