//! How do I …? One page for each task. Each page begins with code that runs.
//!
//! | I want to | Page |
//! |---|---|
//! | add the crate, with the features that I need | [`install`] |
//! | wrap a server: over stdio, over HTTP with axum, or both | [`wrap_a_server`] |
//! | map my errors: an HTTP API's, a database's, `anyhow`'s | [`map_errors`] |
//! | know which failures are repeated, and protect a tool that must not run twice | [`repeats`] |
//! | give a slow tool more time | [`slow_tools`] |
//! | know what the model reads, and change it | [`what_the_model_reads`] |
//! | call the servers of others | [`call_servers`] |
//! | put the layers around a tower service of mine | [`tower_service`] |
//! | add a circuit breaker, a rate limit or a concurrency limit | [`limits`] |
//! | see metrics in Grafana, and traces in Jaeger | [`metrics_and_traces`] |
//! | write the log to a file, and query it with DuckDB | [`logs`] |
//! | test my tools with the layers on | [`testing`] |
//! | upgrade to a newer version | [`upgrading`] |
//!
//! The pages of the other modules are the reference: each says what its part does, its defaults, and what
//! happens when a future is dropped.
#![cfg_attr(
    not(all(
        feature = "rmcp",
        feature = "rmcp-client-http",
        feature = "metrics",
        feature = "otel"
    )),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the pages link to items of features that this build leaves out"
    )
)]

// Each page is shown with any features. Its code is tested if its features are on.

#[cfg_attr(any(not(doctest), feature = "rmcp"), doc = include_str!("install.md"))]
pub mod install {}

#[cfg_attr(any(not(doctest), feature = "rmcp"), doc = include_str!("wrap_a_server.md"))]
pub mod wrap_a_server {}

#[cfg_attr(
    any(not(doctest), all(feature = "rmcp", feature = "reqwest")),
    doc = include_str!("map_errors.md")
)]
pub mod map_errors {}

#[cfg_attr(any(not(doctest), feature = "rmcp"), doc = include_str!("repeats.md"))]
pub mod repeats {}

#[cfg_attr(any(not(doctest), feature = "rmcp"), doc = include_str!("slow_tools.md"))]
pub mod slow_tools {}

#[cfg_attr(any(not(doctest), feature = "rmcp"), doc = include_str!("what_the_model_reads.md"))]
pub mod what_the_model_reads {}

#[cfg_attr(any(not(doctest), feature = "rmcp-client-http"), doc = include_str!("call_servers.md"))]
pub mod call_servers {}

#[doc = include_str!("tower_service.md")]
pub mod tower_service {}

#[doc = include_str!("limits.md")]
pub mod limits {}

#[cfg_attr(
    any(not(doctest), all(feature = "metrics", feature = "otel", feature = "rmcp")),
    doc = include_str!("metrics_and_traces.md")
)]
pub mod metrics_and_traces {}

#[doc = include_str!("logs.md")]
pub mod logs {}

#[cfg_attr(any(not(doctest), feature = "rmcp-client"), doc = include_str!("testing.md"))]
pub mod testing {}

#[cfg_attr(any(not(doctest), feature = "rmcp"), doc = include_str!("upgrading.md"))]
pub mod upgrading {}
