//! The Bookshop on stdio, with metrics for Prometheus on 127.0.0.1.
//!
//! ```text
//! prometheus [PORT]
//! ```
//!
//! stdout carries the protocol. The address of the metrics, `http://127.0.0.1:PORT/metrics`, is printed
//! on stderr. Without `PORT`, a free port is used. The server and the metrics endpoint end with the
//! client.

mod shop;
mod shop_rmcp;

use mcp_resilience::{
    ResilienceLayer,
    call_log::{CallLogLayer, JsonLines, Sink},
    fatal::{Fatal, startup::OrFatal},
    metrics::Metrics,
    observe::{Observer, TracingEvents},
    rmcp::Resilient,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use rmcp::transport::stdio;
use shop::{Catalog, Shop};
use shop_rmcp::Bookshop;
use std::{env, net::Ipv4Addr};
use tokio::net::TcpListener;

/// The buckets of OpenTelemetry's conventions, in seconds.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

#[tokio::main]
async fn main() -> Result<(), Fatal> {
    let port = match env::args().nth(1) {
        Some(port) => port.parse().or_fatal("usage: prometheus [PORT]")?,
        None => 0,
    };
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("duration".to_owned()), &BUCKETS)
        .and_then(PrometheusBuilder::install_recorder)
        .or_fatal("cannot record metrics")?;
    // Created after the recorder, which gets the descriptions.
    let log = JsonLines::stderr();
    let metrics = Metrics::facade().watching(&log);
    let resilience = ResilienceLayer::builder()
        .log(CallLogLayer::new(log.and(metrics.clone())))
        .observer(TracingEvents.and(metrics))
        .build()
        .or_fatal("invalid settings")?;

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .or_fatal("cannot listen")?;
    let address = listener.local_addr().or_fatal("no local address")?;
    eprintln!("metrics on http://{address}/metrics");
    let page = axum::routing::get(async move || recorder.render());
    let page = axum::Router::new().route("/metrics", page);
    let serving = tokio::spawn(async { axum::serve(listener, page).await });

    let server = Resilient::with_preset(Bookshop::new(Shop::new(Catalog::embedded())), &resilience);
    let end = Box::pin(server.run(stdio())).await;
    serving.abort();
    end
}
