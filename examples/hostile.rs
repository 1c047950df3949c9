//! A hostile MCP server for tests of clients. It fails in the way that a call asks for, and writes
//! to a ledger how often each call ran.
//!
//! It writes its own bytes and uses no SDK, because an SDK would correct the faults.
//!
//! ```text
//! hostile --ledger FILE [--http ADDR] [--life SECONDS] [OPTIONS]
//! ```
//!
//! # Where it is reached
//!
//! On stdio by default, one JSON object on each line. When its stdin ends, the server exits with
//! code 0. Answers that are late then are lost.
//!
//! With `--http ADDR` it serves streamable HTTP at `/mcp`, and prints `http://ADDR/mcp`, with the
//! port that it got, as a line on stderr. A fixed port can be bound again right after a kill.
//!
//! | Option | |
//! |---|---|
//! | `--life SECONDS` | it ends by then at the latest, with code 0; 120, unless given |
//! | `--annotations swapped` | from the second start on, `look` and `book` have each other's hints |
//! | `--annotations lying` | the same from the first start on |
//! | `--no-annotations` | no tool has any |
//! | `--answer json\|sse` | how a POST is answered over HTTP: `sse`, unless given |
//! | `--get-stream` | a GET opens a stream that stays open and silent; without it a GET gets 405 |
//! | `--stale-400` | a request of an unknown session gets what the fault `stale` gives, not 404 |
//!
//! Over HTTP `initialize` gives a session. A request without one gets 400, a DELETE forgets it.
//! No session outlives the process. Request bodies need a `Content-Length`.
//!
//! It knows the protocols 2025-06-18 and 2025-11-25, and answers `initialize`, `ping`, `tools/list`
//! and `tools/call`. Any other request gets -32601, also `server/discover`: over HTTP as JSON with
//! status 200, and without a session. A cancelled call goes on, and a late answer still comes.
//!
//! # The ledger
//!
//! JSON lines. Each is appended at once, so it survives a kill at any point. All counts of the
//! server come from this file, so they go on after a restart.
//!
//! | Line | When |
//! |---|---|
//! | `{"event":"started","pid":1}` | first of all, even if the start then fails |
//! | `{"event":"initialized"}` | on `notifications/initialized` |
//! | `{"event":"listed"}` | on `tools/list` |
//! | `{"event":"arrived","tool":"book","key":"k","id":1}` | a call of `look` or `book` is there |
//! | `{"event":"executed","tool":"book","key":"k","id":1}` | its effect, as often as it happens |
//! | `{"event":"cancelled","id":1}` | on `notifications/cancelled`; the id is the request's |
//! | `{"event":"deleted"}` | on a DELETE of a session that there is |
//!
//! # The tools
//!
//! | Tool | readOnlyHint | destructiveHint | idempotentHint | |
//! |---|---|---|---|---|
//! | `look` | true | | true | has a ledger's line as its only effect |
//! | `book` | false | true | false | the same |
//! | `pid` | true | | true | answers the process id, and leaves no line |
//!
//! `look` and `book` take `{"key": "k", "fault": {"kind": "die_after"}, "times": 1}`. The fault
//! happens at the first `times` arrivals of this key (default: 1). Later ones succeed: text `k ran
//! 2 time(s)`, structured content `{"executions": 2}`. Invalid arguments get -32602 and leave no
//! line.
//!
//! # Faults of a call
//!
//! The effect is the line `executed`. `none` is no fault.
//!
//! | `kind` | Effect | What happens |
//! |---|---|---|
//! | `refuse` | no | flagged: `{"code":"rate_limited","error":"slow down","retryAfter":..}`; the field `retry_after` is any JSON, and without it there is no hint |
//! | `die_before` | no | `dying before` on stderr, exit code 9 |
//! | `die_after` | yes | `dying after` on stderr, exit code 9, not a byte of an answer |
//! | `die_at_byte` | yes | writes the first `byte` bytes of the answer, then exit code 9. On stdio the answer is a line with its end, over HTTP the whole response from its status line on |
//! | `hang_before` | no | never answers |
//! | `hang` | yes | never answers |
//! | `no_id`, `null_id`, `foreign_id` | yes | the answer has no id, a null for it, or one that nobody uses |
//! | `error_no_id`, `error_null_id` | no | a JSON-RPC error -32000 without an id, or with a null for it |
//! | `twice` | yes | the answer comes twice |
//! | `late` | yes | the answer comes `seconds` later |
//! | `noise` | yes | lines (over HTTP: events) that are no JSON, then the answer |
//! | `wrong_result` | yes | the result is a string |
//! | `raw` | yes | the line, the body or the data of the event is the `text` given. In it `$ID` is the request's id, `$BYTES` two bytes that are no UTF-8, `$LONG` 17 MiB of x, and `$DEEP` 500 opening brackets; with `$STAY` at its end a line stays without one |
//!
//! Over HTTP with `--answer sse`, `hang`, `hang_before` and `late` open the stream first, as SDKs
//! do. With `json`, no byte is written before the answer. `twice` and `noise` always make a stream.
//! An answer or error without its id has the status 200. A call that hangs occupies only its own
//! connection, until the client closes it.
//!
//! These exist only over HTTP. On stdio, a call that asks for one gets -32602:
//!
//! | `kind` | Effect | What happens |
//! |---|---|---|
//! | `not_found` | no | 404 with the text `Session not found`, or none with `silent`; the session is forgotten |
//! | `not_found_after` | yes | the same |
//! | `stale` | no | 400 with a JSON-RPC error -32000 without an id, `Bad Request: No valid session ID provided`, and the session is forgotten |
//! | `status` | if `after` | the `status` given; `retry_after` and `authenticate` are the texts of the headers `Retry-After` and `WWW-Authenticate`; with `rpc` the body is a JSON-RPC error -32000 with the request's id, and the hint in its `data` (a number, if it is one), else it is a text |
//! | `html` | if `after` | 200 with a page |
//! | `cut_body` | yes | a JSON answer with its whole `Content-Length`, but only `byte` bytes of it, then the end |
//! | `cut_stream` | yes | a stream with a comment (with `priming`: an event with an id, no data and `retry: 100`), then its end; with `torn` without its last chunk |
//! | `drop_before` | no | the socket is reset without a byte |
//! | `drop_after` | yes | the same |
//!
//! # Faults of a start
//!
//! | Option | What happens |
//! |---|---|
//! | `--mute` | `initialize` is never answered |
//! | `--slow-start SECONDS` | nothing is answered before that time; a port is bound at once |
//! | `--crash-starts N` | the first N starts print `crashed at start` on stderr and exit with code 3 |
//! | `--start-noise` | lines that are no JSON on stdout, before anything else |
//! | `--start-status N` | over HTTP `initialize` is answered with this status |
//! | `--protocol VERSION` | `initialize` is answered with this version |
//! | `--not-mcp` | every line is answered by a line of text, every HTTP request by a page |
//! | `--list-error` | `tools/list` is answered with the error -32603 `registry locked` |
//! | `--list-mute` | `tools/list` is never answered |
//! | `--linger SECONDS` | it runs that long after the end of its stdin, and ignores SIGTERM |
//! | `--start-fault-from N` | all these only from the N-th start of this ledger on |

#[path = "hostile/mod.rs"]
mod hostile;

use clap::Parser;
use hostile::{Options, Server, end, http, stdio};
use std::{io, process, sync::Arc};

/// One thread is enough, since nothing here uses much CPU.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    if let Err(error) = run(Options::parse()).await {
        end(1, &format!("hostile: {error}"));
    }
    // Exit here, because the thread that reads stdin would keep the process alive.
    process::exit(0);
}

async fn run(options: Options) -> io::Result<()> {
    let life = options.life;
    tokio::spawn(async move {
        tokio::time::sleep(life).await;
        end(0, "hostile: lived long enough");
    });
    let server = Server::start(options)?;
    if server.faults().linger.is_some() {
        ignore_sigterm()?;
    }
    match server.options().http {
        None => stdio::serve(&server).await,
        Some(address) => http::serve(Arc::new(server), address).await,
    }
}

#[cfg(unix)]
fn ignore_sigterm() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // The first listener replaces the default action of the signal for good.
    signal(SignalKind::terminate()).map(drop)
}

#[cfg(not(unix))]
fn ignore_sigterm() -> io::Result<()> {
    Ok(())
}
