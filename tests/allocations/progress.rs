//! The allocations of a progress report.

use allocation_counter::measure;
use mcp_resilience::{
    ResilienceLayer,
    call::Progress,
    call_log::CallLogLayer,
    rmcp::{Resilient, Stop},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ProgressNotificationParam,
        ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};

/// A tool that reports progress this often.
struct Flood(u32);

impl ServerHandler for Flood {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = context.meta.get_progress_token().unwrap();
        for done in 0..self.0 {
            let report = ProgressNotificationParam::new(token.clone(), done.into());
            context.peer.notify_progress(report).await.unwrap();
        }
        Ok(CallToolResult::success(Vec::new()).into())
    }
}

/// The allocations of both ends of one call.
fn allocated(reports: u32, is_wrapped: bool) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (near, far) = tokio::io::duplex(1 << 20);
    let tool = Flood(reports);
    if is_wrapped {
        let preset = ResilienceLayer::builder().log(CallLogLayer::off());
        let server = Resilient::with_preset(tool, &preset.build().unwrap());
        runtime.spawn(async move { drop(server.run_with_stop(far, Stop::never()).await) });
    } else {
        runtime.spawn(async move { drop(tool.serve(far).await.unwrap().waiting().await) });
    }
    let client = runtime.block_on(().serve(near)).unwrap();
    let call = || runtime.block_on(client.call_tool(CallToolRequestParams::new("flood")));
    // Buffers have grown before the count begins.
    call().unwrap();
    measure(|| drop(call().unwrap())).count_total
}

#[test]
fn a_report_of_progress_allocates_nothing_beyond_what_the_sdk_does() {
    let each = |is_wrapped| allocated(2_000, is_wrapped) - allocated(1_000, is_wrapped);
    let (bare, wrapped) = (each(false), each(true));
    assert!(bare >= 1_000, "a report that costs nothing proves nothing");
    // Queues grow now and then.
    assert!(wrapped <= bare + 20, "{wrapped} instead of {bare}");
}

#[test]
fn a_tick_allocates_nothing() {
    let progress = Progress::new();
    let ticker = progress.ticker();
    ticker.tick();
    let counted = measure(|| (0..1_000).for_each(|_| ticker.tick()));
    assert_eq!(counted.count_total, 0);
}
