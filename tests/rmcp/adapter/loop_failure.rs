//! A failure of rmcp's own service loop is not a normal end.

use crate::support::{Desk, Log, Run, assert_has, ok, preset, within};
use mcp_resilience::rmcp::Resilient;
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use serde_json::json;
use std::{
    convert::Infallible,
    future::{pending, ready},
    time::Duration,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Gives its messages and then panics, in the task of rmcp's service loop.
struct Panicking {
    messages: UnboundedReceiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for Panicking {
    type Error = Infallible;

    fn send(
        &mut self,
        _: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.messages.recv().await;
        Some(message.expect("the transport is broken"))
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_service_loop_of_rmcp_is_an_error_of_the_run() {
    let log = Log::default();
    let desk = Desk::new(|run: Run| async move {
        if run.params.name == "endless" {
            pending::<()>().await;
        }
        ok("fine")
    });
    let attempts = desk.attempts();
    let (say, messages) = unbounded_channel();
    let running = Resilient::with_preset(desk, &preset(&log)).run(Panicking { messages });
    let running = tokio::spawn(running);
    let said = [
        json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        }),
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "endless"},
        }),
    ];
    for message in said {
        say.send(serde_json::from_value(message).unwrap()).unwrap();
    }
    while attempts.so_far().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(say);
    let outcome = within("the end of `run`", running).await.unwrap();
    let fatal = outcome.unwrap_err();
    assert_eq!(
        fatal.to_string(),
        "the service loop of the connection failed"
    );
    let told = format!("{fatal:?}");
    assert!(told.contains("the transport is broken"), "{told}");
    assert_has(
        &log.only(),
        &json!({"tool": "endless", "outcome": "cancelled"}),
    );
}
