//! Exporters that hang or refuse.

use crate::support::{Answer, Call, Lines, Script};
use mcp_resilience::ResilienceLayer;
use mcp_resilience::call_log::CallLogLayer;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::{
    error::{OTelSdkError, OTelSdkResult},
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter},
};
use std::{
    sync::mpsc::{Receiver, channel},
    sync::{Arc, Mutex},
};
use tower::{Layer, ServiceExt};
use tracing_subscriber::layer::SubscriberExt;

/// Refuses, or hangs until the test is over.
#[derive(Debug)]
struct Bad(Option<Mutex<Receiver<()>>>);

impl SpanExporter for Bad {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        if let Some(over) = &self.0 {
            let _ = over.lock().unwrap().recv();
        }
        Err(OTelSdkError::InternalFailure("refused".to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_while_an_exporter_hangs_or_refuses() {
    for hangs in [true, false] {
        let (over, waits) = channel();
        let exporter = Bad(hangs.then(|| Mutex::new(waits)));
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(16)
            .with_max_export_batch_size(4)
            .build();
        let processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(config)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let subscriber = Arc::new(tracing_subscriber::registry().with(layer));
        let default = tracing::subscriber::set_default(subscriber);
        let lines = Lines::default();
        let preset = ResilienceLayer::builder().log(CallLogLayer::new(lines.clone()));
        let preset = preset.build().unwrap();
        // Many more than the queue holds.
        for _ in 0..200 {
            let stack = preset.layer(Script::new([Ok(Answer::ok("fine"))]));
            stack.oneshot(Call::tool("t")).await.unwrap();
        }
        assert_eq!(lines.all().len(), 200);
        drop(default);
        drop(over);
        let _ = provider.shutdown();
    }
}
