use super::traffic::Traffic;
use ::tower_mcp::{Error, client::ClientTransport, protocol::RequestId};
use async_trait::async_trait;

/// A transport, and what passes over it.
///
/// It does not recover a session, because tower-mcp's client would repeat a call even if its tool may
/// not run twice.
pub(super) struct Watched<T> {
    inner: T,
    traffic: Traffic,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, traffic: Traffic) -> Self {
        Self { inner, traffic }
    }
}

#[async_trait]
impl<T: ClientTransport> ClientTransport for Watched<T> {
    async fn send(&mut self, message: &str) -> Result<(), Error> {
        if !self.inner.is_connected() {
            return Err(Error::Transport("Transport closed".to_owned()));
        }
        self.traffic.sends(message);
        self.inner.send(message).await
    }

    async fn recv(&mut self) -> Result<Option<String>, Error> {
        let received = self.inner.recv().await;
        if let Ok(Some(message)) = &received {
            self.traffic.receives(message);
        }
        received
    }

    fn is_connected(&self) -> bool {
        self.inner.is_connected()
    }

    async fn close(&mut self) -> Result<(), Error> {
        self.inner.close().await
    }

    async fn reset_session(&mut self) {
        self.inner.reset_session().await;
    }

    async fn end_session(&mut self) {
        self.inner.end_session().await;
    }

    async fn cancel_request(&mut self, id: &RequestId) -> Result<(), Error> {
        self.inner.cancel_request(id).await
    }

    fn supports_session_recovery(&self) -> bool {
        false
    }
}
