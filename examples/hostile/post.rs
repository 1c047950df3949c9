use super::{
    connection::{Connection, Head, LAST_CHUNK, chunk, chunk_of},
    end,
    reply::{HttpReply, Reply, Response},
};
use serde_json::Value;
use std::{
    io,
    ops::ControlFlow::{self, Break, Continue},
};

/// Invalid data that careless servers write to a stream.
const NOISE: &str = ": a comment\n\ndata: [info] warming up the cache\n\n\
                     event: weather\ndata: {\"this\": is no JSON\n\n";

/// An event with an id and a delay, for resuming a broken stream.
const PRIMING: &str = "id: 1\nretry: 100\ndata:\n\n";

/// Whether the connection accepts another request.
pub(crate) type Next = io::Result<ControlFlow<()>>;

/// A POST that waits for its answer.
#[derive(Debug)]
pub(crate) struct Post<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) head: Head,
    /// Whether the answer is an event, or else the body.
    pub(crate) streams: bool,
}

impl Post<'_> {
    pub(crate) async fn answer(self, reply: Reply) -> Next {
        let (bytes, next) = match reply {
            Reply::Taken => return send(self.connection, Response::text(202, "")).await,
            Reply::Messages(messages) => {
                let streams = self.streams || messages.len() > 1;
                (whole(self.head, streams, &messages), Continue(()))
            }
            Reply::Raw(body) if self.streams => {
                let body: Vec<u8> = body
                    .split(|byte| *byte == b'\n')
                    .fold(b"event: message\n".to_vec(), |event, line| {
                        [&event, &b"data: "[..], line, b"\n"].concat()
                    });
                let event = chunk_of(&[&body, &b"\n"[..]].concat());
                let parts = [self.head.stream(), event, LAST_CHUNK.into()];
                (parts.concat(), Continue(()))
            }
            Reply::Raw(body) => (self.head.body_of("application/json", &body), Continue(())),
            Reply::Noisy(message) => {
                let answer = chunk(&event(&message));
                let parts = [self.head.stream(), chunk(NOISE), answer, LAST_CHUNK.into()];
                (parts.concat(), Continue(()))
            }
            Reply::Late(message, wait) => {
                let answer = if self.streams {
                    self.connection.write(&self.head.stream()).await?;
                    [&chunk(&event(&message)), LAST_CHUNK].concat()
                } else {
                    whole(self.head, false, &[message])
                };
                tokio::time::sleep(wait).await;
                (answer, Continue(()))
            }
            Reply::Silence => {
                if self.streams {
                    self.connection.write(&self.head.stream()).await?;
                }
                self.connection.hung_up().await?;
                (Vec::new(), Break(()))
            }
            Reply::DieAtByte(message, byte) => {
                let mut answer = whole(self.head, self.streams, &[message]);
                answer.truncate(byte);
                self.connection.write(&answer).await?;
                end(9, &format!("dying at byte {byte}"));
            }
            Reply::Http(HttpReply::Response(response)) => {
                return send(self.connection, response).await;
            }
            Reply::Http(HttpReply::CutBody(message, byte)) => {
                let body = message.to_string();
                let mut answer = self.head.body("application/json", &body);
                answer.truncate(answer.len() - body.len().saturating_sub(byte));
                (answer, Break(()))
            }
            Reply::Http(HttpReply::CutStream { priming, torn }) => {
                let first = chunk(if priming { PRIMING } else { ": a comment\n\n" });
                let mut stream = [self.head.stream(), first].concat();
                if !torn {
                    stream.extend(LAST_CHUNK);
                }
                (stream, Break(()))
            }
            Reply::Http(HttpReply::Drop) => {
                self.connection.reset()?;
                (Vec::new(), Break(()))
            }
        };
        self.connection.write(&bytes).await?;
        Ok(next)
    }
}

/// Sends a whole response.
pub(crate) async fn send(connection: &mut Connection, response: Response) -> Next {
    let mut head = Head::new(response.status);
    for (name, value) in &response.headers {
        head = head.header(name, value);
    }
    let bytes = head.body(response.content_type, &response.body);
    connection.write(&bytes).await?;
    Ok(Continue(()))
}

/// The bytes of a complete, valid answer.
fn whole(head: Head, streams: bool, messages: &[Value]) -> Vec<u8> {
    if let ([message], false) = (messages, streams) {
        return head.body("application/json", &message.to_string());
    }
    let mut response = head.stream();
    for message in messages {
        response.extend(chunk(&event(message)));
    }
    response.extend(LAST_CHUNK);
    response
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}
