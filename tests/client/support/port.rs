use std::net::SocketAddr;
use tokio::net::TcpSocket;

/// A closed port of 127.0.0.1 that stays reserved while this is kept.
///
/// A server may listen on it, end, and listen again.
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    _kept: Option<TcpSocket>,
}

impl Port {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = socket.local_addr().unwrap();
        // Linux lets two sockets share an address if both ask for reuse and only one listens. Other
        // systems do not: there the port is only unlikely to be given away.
        let kept = cfg!(target_os = "linux").then_some(socket);
        Self {
            address,
            _kept: kept,
        }
    }
}
