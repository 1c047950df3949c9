//! A tool that calls another server. Errors for that server's host do not reach the tool's own
//! host.

use crate::support::{
    Log, Scripted, call, reconnect, resilience, retry,
    scripted::{error, status},
    within,
};
use axum::response::Response;
use mcp_resilience::{
    Failure, ResilienceLayer,
    call_log::CallLogLayer,
    failure::RpcError,
    rmcp::{
        AnyError, Resilient,
        client::{Client, Http},
    },
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{CallToolRequestParams, CallToolResponse, ClientConfig},
    service::{RequestContext, ServiceError},
};
use serde_json::json;
use std::io;

type PassOn = fn(Failure) -> ErrorData;

/// A server whose tools call another.
struct Gateway {
    inner: Client,
    pass_on: PassOn,
}

impl ServerHandler for Gateway {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.inner.call_tool(request).await.map_err(self.pass_on)
    }
}

/// The answer of a gateway to its host, if the server behind it answers like this.
async fn outer_answer(
    inner: fn(&serde_json::Value) -> Response,
    pass_on: PassOn,
) -> Result<CallToolResponse, ServiceError> {
    let server = Scripted::start(move |seen, _| {
        (seen.method() == "tools/call").then(|| inner(&seen.message["id"]))
    });
    let server = server.await;
    let client = Client::builder(Http::new(&*server.url))
        .resilience(resilience(&Log::default(), retry()).build().unwrap())
        .reconnect(reconnect().build().unwrap());
    let inner = within("a connection", client.connect()).await.unwrap();
    let preset = ResilienceLayer::builder().log(CallLogLayer::new(Log::default()));
    let gateway = Resilient::with_preset(Gateway { inner, pass_on }, &preset.build().unwrap());
    let (near, far) = tokio::io::duplex(1 << 16);
    let serving = tokio::spawn(gateway.run(near));
    let host = ClientConfig::default().serve(far).await.unwrap();
    let look = call("look", &json!(null), 0);
    let answer = within("an answer", host.call_tool(look)).await;
    host.cancel().await.unwrap();
    within("the end", serving).await.unwrap().unwrap();
    answer.map(CallToolResponse::from)
}

const WAYS: [PassOn; 3] = [
    Into::into,
    |failure| AnyError::from(failure).into(),
    |failure| AnyError::from(io::Error::other(failure)).into(),
];

fn asks(code: u16, challenge: &str) -> Response {
    let mut response = status(code);
    let value = challenge.parse().unwrap();
    response.headers_mut().insert("www-authenticate", value);
    response
}

#[tokio::test]
async fn neither_a_challenge_nor_an_error_object_of_an_inner_server_reaches_the_outer_host() {
    let inner: [fn(&serde_json::Value) -> Response; 5] = [
        |_| asks(401, "Bearer error=\"invalid_token\""),
        |_| asks(403, "Bearer error=\"insufficient_scope\", scope=\"x\""),
        |id| {
            error(
                id,
                200,
                &json!({"code": -32602, "message": "no such shelf"}),
            )
        },
        |id| {
            error(
                id,
                200,
                &json!({"code": -32601, "message": "no such method"}),
            )
        },
        |id| {
            error(
                id,
                200,
                &json!({"code": -32800, "message": "cancelled there"}),
            )
        },
    ];
    for inner in inner {
        for pass_on in WAYS {
            let answer = outer_answer(inner, pass_on).await;
            match answer {
                Ok(CallToolResponse::Complete(result)) => assert_eq!(result.is_error, Some(true)),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn an_error_object_that_the_author_of_the_tool_gives_reaches_the_host() {
    let own: [PassOn; 3] = [
        |_| Failure::protocol(-32001, "of the gateway", None).into(),
        |failure| {
            let own = RpcError::new(-32001, "of the gateway", None);
            failure.with_rpc_error(own).into()
        },
        |_| ErrorData::new(rmcp::model::ErrorCode(-32001), "of the gateway", None),
    ];
    for pass_on in own {
        let inner: fn(&serde_json::Value) -> Response = |id| {
            let said = json!({"code": -32601, "message": "no such method"});
            error(id, 200, &said)
        };
        let answer = outer_answer(inner, pass_on).await;
        match answer {
            Err(ServiceError::McpError(error)) => assert_eq!(error.message, "of the gateway"),
            other => panic!("{other:?}"),
        }
    }
}
