//! Streamable HTTP, by hand.

use super::{
    connection::{Connection, Head, Request, chunk},
    ledger::Event,
    options::Answer,
    post::{Next, Post, send},
    reply::{HttpReply, Reply, Response, error},
    say,
    server::Server,
};
use serde_json::Value;
use std::{
    collections::HashSet,
    io,
    net::SocketAddr,
    ops::ControlFlow::Break,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::net::{TcpListener, TcpStream};

/// Serves for ever.
pub(crate) async fn serve(server: Arc<Server>, address: SocketAddr) -> io::Result<()> {
    // On Unix this also binds a port on which a killed server had connections.
    let listener = TcpListener::bind(address).await?;
    say(&format!("http://{}/mcp", listener.local_addr()?));
    let http = Arc::new(Http {
        server,
        sessions: Mutex::default(),
    });
    loop {
        let (stream, _) = listener.accept().await?;
        let http = Arc::clone(&http);
        tokio::spawn(async move {
            // The client is gone or does not speak HTTP. The connection ends in both cases.
            let _ = http.converse(stream).await;
        });
    }
}

#[derive(Debug)]
struct Http {
    server: Arc<Server>,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    open: HashSet<String>,
    opened: u64,
}

impl Http {
    async fn converse(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut connection = Connection::new(stream);
        while let Some(request) = connection.request().await? {
            self.server.ready().await;
            let next = self.respond(&mut connection, &request).await?;
            if request.is_last || next.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn respond(&self, connection: &mut Connection, request: &Request) -> Next {
        if self.server.faults().not_mcp {
            return send(connection, Response::page()).await;
        }
        if request.path != "/mcp" {
            return send(connection, Response::text(404, "there is only /mcp")).await;
        }
        match request.method.as_str() {
            "POST" => self.post(connection, request).await,
            "GET" if self.server.options().get_stream => {
                if let Err(response) = self.known(request) {
                    return send(connection, response).await;
                }
                let stream = [Head::new(200).stream(), chunk(": nothing yet\n\n")];
                connection.write(&stream.concat()).await?;
                connection.hung_up().await?;
                Ok(Break(()))
            }
            "DELETE" => {
                if let Err(response) = self.known(request) {
                    return send(connection, response).await;
                }
                self.forget(request);
                self.server.ledger.note(&Event::Deleted);
                send(connection, Response::text(200, "")).await
            }
            _ => {
                let mut response = Response::text(405, "not with this method");
                response.headers = vec![("Allow", "POST, DELETE".to_owned())];
                send(connection, response).await
            }
        }
    }

    async fn post(&self, connection: &mut Connection, request: &Request) -> Next {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            let error = error(&Value::Null, -32700, "this is no JSON");
            return send(connection, Response::json(400, &error)).await;
        };
        let method = message["method"].as_str().unwrap_or_default();
        if !matches!(method, "initialize" | "server/discover")
            && let Err(response) = self.known(request)
        {
            return send(connection, response).await;
        }
        let reply = self.server.take(&message);
        let mut post = Post {
            connection,
            head: Head::new(200),
            streams: self.server.options().answer == Answer::Sse && method != "server/discover",
        };
        match (method, &reply) {
            // The session is in the head of the answer, so without an answer there is no head.
            ("initialize", Reply::Silence) => post.streams = false,
            ("initialize", Reply::Messages(_)) => {
                post.head = post.head.header("Mcp-Session-Id", &self.open());
            }
            (_, Reply::Http(HttpReply::Response(response))) if response.forgets => {
                self.forget(request);
            }
            _ => {}
        }
        post.answer(reply).await
    }

    /// Opens a session. Its name is unique among all processes on the ledger.
    fn open(&self) -> String {
        let mut sessions = self.sessions();
        sessions.opened += 1;
        let session = format!("start-{}-session-{}", self.server.number(), sessions.opened);
        sessions.open.insert(session.clone());
        session
    }

    /// Refuses a request without a session that is open.
    fn known(&self, request: &Request) -> Result<(), Response> {
        match &request.session {
            None => Err(Response::text(400, "Mcp-Session-Id is missing")),
            Some(session) if self.sessions().open.contains(session) => Ok(()),
            Some(_) if self.server.options().stale_400 => Err(Response::stale()),
            Some(_) => Err(Response::session_not_found(false)),
        }
    }

    fn forget(&self, request: &Request) {
        if let Some(session) = &request.session {
            self.sessions().open.remove(session);
        }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
