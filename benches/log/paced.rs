use crate::support::{Answer, Call, is_test};
use std::{fmt::Debug, hint::black_box, time::Duration};
use tokio::{runtime::Builder, time::Instant};
use tower::{Service, ServiceExt};

const EVERY: Duration = Duration::from_micros(100);

/// Prints the median of a single call, of many with a pause before each.
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
pub(crate) fn print_median<S>(name: &str, service: &mut S)
where
    S: Service<Call, Response = Answer, Error: Debug>,
{
    let calls = if is_test() { 10 } else { 20_000 };
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime to measure on");
    let mut took = runtime.block_on(async {
        let mut took = Vec::new();
        let mut next = Instant::now();
        for _ in 0..calls {
            let request = Call::new();
            next += EVERY;
            // Does not sleep, because a processor that wakes up is slow at first.
            while Instant::now() < next {
                std::hint::spin_loop();
            }
            let begun = Instant::now();
            let ready = service.ready().await.expect("ready");
            let answer = black_box(ready.call(request).await);
            took.push(begun.elapsed());
            answer.expect("a result");
        }
        took
    });
    took.sort_unstable();
    println!("{name:<36} {:>10}", took[took.len() / 2].as_nanos());
}
