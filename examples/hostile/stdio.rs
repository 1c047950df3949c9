//! One JSON object on each line of stdin and stdout.

use super::{
    end,
    reply::{Reply, error},
    server::Server,
};
use serde_json::Value;
use std::{io, sync::Arc};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdout, stdin, stdout},
    sync::Mutex,
};

/// Invalid data that careless servers print to stdout.
const NOISE: &str = "[info] warming up the cache\n\n{\"this\": is no JSON\n";

type Out = Arc<Mutex<Stdout>>;

/// Serves until the end of stdin.
pub(crate) async fn serve(server: &Server) -> io::Result<()> {
    let out = Arc::new(Mutex::new(stdout()));
    if server.faults().start_noise {
        write(&out, NOISE.as_bytes()).await?;
    }
    server.ready().await;
    let mut lines = BufReader::new(stdin()).split(b'\n');
    while let Some(line) = lines.next_segment().await? {
        take(server, &out, &line).await?;
    }
    tokio::time::sleep(server.faults().linger.unwrap_or_default()).await;
    Ok(())
}

/// Answers one line. Only late answers are sent from another task, so that all others are written
/// before the end of stdin is noticed.
async fn take(server: &Server, out: &Out, line: &[u8]) -> io::Result<()> {
    if server.faults().not_mcp {
        return write(out, b"what is it that you want?\n").await;
    }
    let reply = match serde_json::from_slice(line) {
        Ok(message) => server.take(&message),
        Err(_) => Reply::one(error(&Value::Null, -32700, "this is no JSON")),
    };
    match reply {
        Reply::Messages(messages) => {
            for message in messages {
                write(out, &line_of(&message)).await?;
            }
        }
        Reply::Raw(mut line) => {
            if let Some(line) = line.strip_suffix(b"$STAY") {
                write(out, line).await?;
            } else {
                line.push(b'\n');
                write(out, &line).await?;
            }
        }
        Reply::Noisy(message) => {
            write(out, NOISE.as_bytes()).await?;
            write(out, &line_of(&message)).await?;
        }
        Reply::Late(message, wait) => {
            let out = Arc::clone(out);
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                // The client may be gone.
                let _ = write(&out, &line_of(&message)).await;
            });
        }
        Reply::DieAtByte(message, byte) => {
            let line = line_of(&message);
            write(out, &line[..byte.min(line.len())]).await?;
            end(9, &format!("dying at byte {byte}"));
        }
        // `Http` cannot happen here, because the tools refuse such a fault on stdio.
        Reply::Taken | Reply::Silence | Reply::Http(_) => {}
    }
    Ok(())
}

fn line_of(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

async fn write(out: &Out, bytes: &[u8]) -> io::Result<()> {
    let mut out = out.lock().await;
    out.write_all(bytes).await?;
    out.flush().await
}
