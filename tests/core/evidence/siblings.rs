//! A refusal beside other content may be about a part of the tool's work.

use super::{runs, runs_with};
use crate::support::Answer;
use mcp_resilience::{
    Class,
    classify::{ClassifyLayer, Vocabulary},
    failure::RpcError,
};
use serde_json::{Value, json};

fn beside_other_things() -> Vec<Value> {
    vec![
        json!({"sent": 2, "error": {"code": "rate_limited"}}),
        json!({"results": [1, 2], "error": {"code": "at_capacity", "message": "x"}}),
        json!({"sent": 2, "error": {"retryable": true}}),
        json!({"sent": 2, "retryable": true}),
        json!({"booked": true, "code": "service_unavailable"}),
        json!({"error": {"code": "rate_limited", "sent": ["a"]}}),
        json!({"code": "rate_limited", "details": {"sent": 2}}),
        json!({"code": "rate_limited", "data": [1, 2]}),
        json!({"code": "rate_limited", "error": {"sent": 2, "message": "x"}}),
        json!({"ok": true, "code": "rate_limited"}),
        json!({"success": true, "error": {"code": "rate_limited"}}),
        json!({"id": 17, "code": "rate_limited"}),
        json!({"order": {"id": 17}, "code": "upstream_error", "error": "x", "status": 502}),
        json!({"error": {"data": {"mail": "sent", "code": "rate_limited"}}}),
        json!({"code": "rate_limited", "details": [{"mail": 1, "sent": true}, {"mail": 2}]}),
        json!({"code": "at_capacity", "errors": [{"id": 1, "result": "ok"}]}),
        json!({"mail_error": {"code": "rate_limited", "message": "x"}}),
        json!({"upstreamError": {"code": "service_unavailable", "status": 503}}),
        json!({"last_error": {"retryable": true}}),
        json!({"code": "rate_limited", "mail_error": "refused"}),
        json!({"code": "rate_limited", "message": "x", "provider": "mail.example"}),
        json!({"code": "rate_limited", "message": "2 of 5 sent", "status": "partial"}),
        json!({"code": "at_capacity", "status": "partially_completed"}),
        json!({"error": {"code": "service_unavailable", "status": "sent"}}),
        json!({"code": "rate_limited", "message": "x", "status": 201}),
        json!({"code": "rate_limited", "message": "x", "statusCode": "202 Accepted"}),
        json!({"code": "rate_limited", "message": "x", "status": "3 of 5 sent"}),
        json!({"code": "rate_limited", "message": "x", "status": "500 of 600 sent"}),
        json!({"code": "rate_limited", "message": "x", "status": "429 sent"}),
        json!({"code": "rate_limited", "message": "x", "status": "429 Sent"}),
        json!({"code": "rate_limited", "message": "x", "status": "500 Mails sent"}),
        json!({"code": "rate_limited", "message": "x", "status": "0 failed, 5 sent"}),
        json!({"code": "rate_limited", "message": "x", "status": "nan"}),
        json!({"code": "rate_limited", "message": "x", "status": "inf of them"}),
        json!({"isError": true, "retryable": true, "status": "done"}),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_refusal_beside_what_was_done_is_of_a_part() {
    for envelope in beside_other_things() {
        let structured = || Ok(Answer::envelope(envelope.clone()));
        assert_eq!(runs(structured).await, 1, "{envelope}");
        let data = || Err(RpcError::new(-32000, "x", Some(envelope.clone())).into());
        assert_eq!(runs(data).await, 1, "{envelope}, as the data of an error");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_beside_what_servers_tell_of_a_failure_is_of_the_call() {
    let envelopes = [
        json!({"ok": false, "error": {"code": "rate_limited", "message": "x"}, "requestId": "r"}),
        json!({"code": "at_capacity", "error": "x", "service": "single", "status": 503, "retryAfter": 1,
            "current": {"concurrency": 5}, "limits": {"maxConcurrency": 5}}),
        json!({"success": false, "data": null, "results": [], "error": {"code": "rate_limited"}}),
        json!({"isError": true, "tool": "mail", "attempts": 3, "retryable": true, "hint": "later"}),
        json!({"error": {"code": "rate_limited", "details": [{"retryDelay": "1s"}]}, "timestamp": 1}),
        json!({"code": "rate_limited", "details": [{"@type": "google.rpc.QuotaFailure", "violations": []}]}),
        json!({"toolError": {"code": "rate_limited", "errors": [{"path": "/a", "message": "x"}, "y"]}}),
        json!({"error": {"data": {"code": "rate_limited", "trace_id": "t", "retry_after_ms": 5}}}),
        json!({"code": "rate_limited", "message": "x", "status": "failed"}),
        json!({"code": "rate_limited", "message": "x", "status": "429 Too Many Requests"}),
        json!({"code": "rate_limited", "message": "x", "status": "RESOURCE_EXHAUSTED"}),
        json!({"code": "rate_limited", "message": "x", "status": 0, "statusText": "Too Many Requests"}),
        json!({"code": "rate_limited", "message": "x", "status": "", "statusMessage": null}),
    ];
    for envelope in envelopes {
        let structured = || Ok(Answer::envelope(envelope.clone()));
        assert_eq!(runs(structured).await, 3, "{envelope}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_code_of_the_user_counts_beside_other_content() {
    let words = || {
        let words = Vocabulary::new()
            .refusal_code("E_BUSY", Class::AtCapacity)
            .repeatable_code("E_AGAIN", Class::Upstream);
        ClassifyLayer::new().vocabulary(words)
    };
    for code in ["E_BUSY", "E_AGAIN"] {
        let envelope = json!({"queue": 7, "error": {"code": code}});
        let step = || Ok(Answer::envelope(envelope.clone()));
        assert_eq!(runs_with(words(), step).await, 3, "{envelope}");
    }
}
