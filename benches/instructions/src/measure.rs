//! Makes the calls that are counted.
//!
//! Without arguments, a program lists its cases. With the name of a case and a number, it makes that many calls within
//! [`counted`], which is where the counting starts and ends. Making the requests is not counted, nor is dropping the
//! answers.

#![allow(
    clippy::print_stdout,
    reason = "the script reads the names of the cases"
)]

use std::{env, fmt::Debug, hint::black_box};
use tokio::runtime::{Builder, Runtime};
use tower::{Service, ServiceExt};

/// Calls before those that count: what is made once is made here.
const BEFORE: usize = 4;

pub(crate) type Run = fn(usize);

pub(crate) fn main(cases: &[(&str, Run)]) {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let named = |name: &str| cases.iter().find(|(case, _)| *case == name);
    if let [name, calls] = &arguments[..]
        && let Some((_, run)) = named(name)
    {
        run(calls.parse().expect("a number of calls"));
        return;
    }
    for (name, _) in cases {
        println!("{name}");
    }
}

/// Makes this many calls, one after the other.
pub(crate) fn run<S, C>(mut service: S, request: fn() -> C, calls: usize)
where
    S: Service<C>,
    S::Error: Debug,
{
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime to call on");
    let mut requests: Vec<_> = (0..BEFORE + calls).map(|_| request()).collect();
    let mut answers = Vec::with_capacity(requests.len());
    for calls in [BEFORE, calls] {
        let requests = requests.split_off(requests.len() - calls);
        let mut make = Some(|| answer(&runtime, &mut service, requests, &mut answers));
        let mut make = || make.take().map_or((), |make| make());
        if calls == BEFORE {
            make();
        } else {
            counted(&mut make);
        }
    }
}

/// The script counts what happens in here. No other function has this name.
#[inline(never)]
fn counted(make: &mut dyn FnMut()) {
    black_box(make)();
}

fn answer<S, C>(
    runtime: &Runtime,
    service: &mut S,
    requests: Vec<C>,
    answers: &mut Vec<S::Response>,
) where
    S: Service<C>,
    S::Error: Debug,
{
    runtime.block_on(async {
        for request in requests {
            let ready = service.ready().await.expect("ready");
            answers.push(ready.call(request).await.expect("a result"));
        }
    });
}
