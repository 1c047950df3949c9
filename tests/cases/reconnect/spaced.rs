//! Lost connections that are noticed in different places.

use super::Answering;
use crate::{
    stack::{MS, SECOND, lost, reconnect},
    support::{Answer, Call},
};
use std::{
    future::ready,
    io::{Error, ErrorKind},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// Whether a connection breaks when it is asked for its readiness, or in the call.
#[derive(Clone, Debug)]
struct Breaks {
    at_readiness: bool,
}

impl Service<Call> for Breaks {
    type Response = Answer;
    type Error = BoxError;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let broken = || Err(Error::from(ErrorKind::BrokenPipe).into());
        Poll::Ready(if self.at_readiness { broken() } else { Ok(()) })
    }

    fn call(&mut self, _: Call) -> Answering {
        Box::pin(ready(lost()))
    }
}

#[tokio::test(start_paused = true)]
async fn case_057_however_the_loss_is_noticed_the_next_dials_are_spaced_by_the_same_backoff() {
    let modes: [fn(usize) -> bool; 3] = [|_| true, |_| false, |number| number % 2 == 0];
    for at_readiness in modes {
        let begun = Instant::now();
        let dials = Arc::<Mutex<Vec<Duration>>>::default();
        let connector = service_fn({
            let dials = Arc::clone(&dials);
            move |()| {
                let mut dials = dials.lock().unwrap();
                dials.push(begun.elapsed());
                let at_readiness = at_readiness(dials.len());
                ready(Ok::<_, BoxError>(Breaks { at_readiness }))
            }
        });
        let tools = reconnect().build().unwrap().layer(connector);
        // For a minute and a half there is always a waiting call.
        while begun.elapsed() < 90 * SECOND {
            let _ = tools.clone().oneshot(Call::tool("ask")).await;
            sleep(10 * MS).await;
        }
        let dials = dials.lock().unwrap().clone();
        let waits: Vec<_> = dials
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .collect();
        for (wait, least) in waits.iter().zip([0, 1, 2, 4, 8, 16]) {
            assert!(*wait >= least * SECOND, "{waits:?}");
        }
        assert!(dials.len() <= 10, "{waits:?}");
    }
}
