use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Forwards each connection to the next server that accepts it. Stops when it is dropped.
pub(crate) struct Balancer {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Balancer {
    pub(crate) async fn start(servers: Vec<SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let servers: Arc<[SocketAddr]> = servers.into();
        let next = Arc::new(AtomicUsize::new(0));
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, Arc::clone(&servers), Arc::clone(&next)));
            }
        });
        Ok(Self { address, serving })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn forward(mut client: TcpStream, servers: Arc<[SocketAddr]>, next: Arc<AtomicUsize>) {
    for _ in 0..servers.len() {
        let server = servers[next.fetch_add(1, Relaxed) % servers.len()];
        if let Ok(mut server) = TcpStream::connect(server).await {
            // Either side may be killed.
            let _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}
