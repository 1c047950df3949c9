//! The cost of each layer, compared with `tower::retry`, `tower-resilience-retry`, and a loop by
//! hand.
//!
//! ```text
//! cargo bench --bench overhead
//! ```
//!
//! The rows of a table answer the same request with the same tool. Making the request is not measured,
//! copying it for a repeat is: that is what a retry cannot do without. The peers do not look at results, and the
//! loop is for this one request: neither has limits of time, a budget (but for `tower::retry`, except where each call is
//! repeated), or a log.

mod overhead {
    pub(crate) mod layers;
    pub(crate) mod peers;
}
mod support;

use mcp_resilience::call_log::CallLogLayer;
use overhead::{layers, peers};
use support::{Call, Kind, measure};

const BASELINE: &str = "tower::retry";

fn main() {
    let mut rows = peers::rows(Kind::Text, Call::new);
    rows.extend(layers::alone());
    rows.extend(layers::preset(Kind::Text, Call::new));
    measure("overhead: success", &mut rows, BASELINE, 400, 250);

    for (group, kind, request) in [
        (
            "overhead: flagged result",
            Kind::Flagged,
            Call::new as fn() -> Call,
        ),
        ("overhead: structured result", Kind::Structured, Call::new),
        ("overhead: one repeat", Kind::SecondAttempt, Call::new),
        ("overhead: 64 KiB of arguments", Kind::Text, Call::large),
    ] {
        let mut rows = peers::rows(kind, request);
        rows.extend(layers::preset(kind, request));
        measure(group, &mut rows, BASELINE, 50, 50);
    }
}

/// No line is made.
fn off() -> CallLogLayer {
    CallLogLayer::off()
}
