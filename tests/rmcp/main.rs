//! The adapter for rmcp, over real clients, real child processes and real sockets.
