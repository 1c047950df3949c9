//! Hints come from the server's own list of tools.

use super::{Adapter, OK, Served, Tool, call, flagged, for_the_adapter, success};
use crate::support::assert_has;
use mcp_resilience::Failure;
use serde_json::{Value, json};

for_the_adapter! {
    a_read_only_tool_is_repeated
    a_tool_that_may_do_harm_is_not_repeated
    hints_hold_if_the_client_has_listed_the_tools
    the_envelope_of_a_tool_with_an_output_schema_is_in_meta
}

/// The connection is lost once the tool has begun.
fn lost_once<E: From<Failure> + 'static>() -> Tool<E> {
    Tool::new(async |run| match run {
        1 => Err(Failure::connection("the shelf hung up").into()),
        _ => Ok(OK),
    })
}

async fn a_read_only_tool_is_repeated<A: Adapter>() {
    let served = Served::<A>::new(lost_once().read_only());
    assert_eq!(success(&served.call().await), "fine");
    assert_eq!(served.runs.so_far(), 2);
    let wanted = json!({"outcome": "success", "attempts": 2});
    assert_has(&served.log.only(), &wanted);
}

async fn a_tool_that_may_do_harm_is_not_repeated<A: Adapter>() {
    for tool in [lost_once(), lost_once().destructive()] {
        let served = Served::<A>::new(tool);
        let answer = served.call().await;
        assert!(flagged(&answer).contains("may have run"), "{answer:#}");
        assert_eq!(served.runs.so_far(), 1);
        let wanted = json!({"attempts": 1, "retry_stopped": "may_have_run"});
        assert_has(&served.log.only(), &wanted);
    }
}

async fn hints_hold_if_the_client_has_listed_the_tools<A: Adapter>() {
    for (tool, runs) in [(lost_once().read_only(), 2), (lost_once().destructive(), 1)] {
        let served = Served::<A>::new(tool);
        let mut client = served.client().await;
        client.request("tools/list", json!({})).await;
        call(&mut client).await;
        assert_eq!(served.runs.so_far(), runs);
        served.log.only();
    }
}

async fn the_envelope_of_a_tool_with_an_output_schema_is_in_meta<A: Adapter>() {
    let lost = || Tool::failing(|| Failure::connection("the shelf hung up").into());
    let typed = lost().output_schema(json!({"type": "object"}));
    for (tool, is_typed) in [(lost(), false), (typed, true)] {
        let served = Served::<A>::new(tool);
        let answer = served.call().await;
        flagged(&answer);
        let result = &answer["result"];
        let (there, elsewhere) = (
            &result["structuredContent"],
            &result["_meta"][mcp_resilience::is_error::META_KEY],
        );
        let (there, elsewhere) = if is_typed {
            (elsewhere, there)
        } else {
            (there, elsewhere)
        };
        assert_eq!(there["code"], "connection", "{answer:#}");
        assert_eq!(*elsewhere, Value::Null, "{answer:#}");
    }
}
