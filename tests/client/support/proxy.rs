use std::sync::{Arc, Mutex};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinHandle},
};

/// Stands between a client and a server, and can cut what runs through it.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    running: Arc<Mutex<Vec<AbortHandle>>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let running = Arc::<Mutex<Vec<AbortHandle>>>::default();
        let all = Arc::clone(&running);
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let run = tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await {
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
                all.lock().unwrap().push(run.abort_handle());
            }
        });
        Self {
            port,
            running,
            accepting,
        }
    }

    /// Cuts all current connections. Later ones pass.
    pub(crate) fn cut(&self) {
        for run in self.running.lock().unwrap().drain(..) {
            run.abort();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}
