//! Lines of stdin that tower-mcp refuses as a whole, among calls with keys.

mod lines;
mod same_id;
mod sessions;

use self::lines::{
    NEW, OLD, Row, batch_rows, batches_and_garbage, call, declares, initialize, no_calls, row,
    single_rows,
};
use super::ResilientLayer;
use crate::{
    call::IdempotencyKey,
    call_log::{CallLogLayer, Record},
    idempotency::IdempotencyLayer,
    preset::ResilienceLayer,
    serve::Stop,
};
use ::tower_mcp::{
    CallToolResult, McpRouter, StdioTransport, ToolBuilder,
    extract::{Context, RawArgs},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex, split},
    time::sleep,
};

/// What a server did with some lines.
#[derive(Debug, Default)]
struct Served {
    /// The keys that the tool got, in the order of its runs.
    ran: Vec<String>,
    /// The id and the code of each line of the log.
    log: Vec<String>,
}

/// Sends the lines at once to a server that runs one call at a time.
async fn serve(lines: &[String]) -> Served {
    let kept = Arc::new(Mutex::new(Served::default()));
    let (runs, records) = (Arc::clone(&kept), Arc::clone(&kept));
    let tool = ToolBuilder::new("book")
        .extractor_handler((), move |context: Context, _: RawArgs| {
            let key = context.extension::<IdempotencyKey>();
            let key = key.map_or("no key", IdempotencyKey::as_str);
            runs.lock().expect("no panic").ran.push(key.to_owned());
            async {
                sleep(Duration::from_secs(1)).await;
                Ok(CallToolResult::text("booked"))
            }
        })
        .build();
    let log = move |record: &Record<'_>| {
        let id = record.request_id().unwrap_or("none");
        let code = record.code().map_or("ran".to_owned(), ToString::to_string);
        let line = format!("{id} {code}");
        records.lock().expect("no panic").log.push(line);
    };
    let preset = ResilienceLayer::builder()
        .log(CallLogLayer::new(log))
        .idempotency(IdempotencyLayer::new())
        .build();
    let layer = ResilientLayer::with_preset(&preset.expect("a preset"));
    let transport = StdioTransport::new(McpRouter::new().tool(tool)).max_concurrent_requests(1);
    let (near, far) = duplex(1 << 20);
    let client = async {
        let (mut reader, mut writer) = split(near);
        let text = lines.join("\n");
        let written = writer.write_all(text.as_bytes()).await;
        written.expect("a server that reads");
        writer.shutdown().await.expect("an end");
        let mut answers = String::new();
        reader.read_to_string(&mut answers).await.expect("answers");
    };
    let serving = Box::pin(layer.serve_one(transport, Stop::never(), split(far)));
    let (ended, ()) = tokio::join!(serving, client);
    ended.expect("a normal end");
    std::mem::take(&mut *kept.lock().expect("no panic"))
}

#[tokio::test(start_paused = true)]
async fn no_error_of_another_line_takes_the_keys_of_calls_that_wait() {
    let batch = format!("[{},{}]", call("2", "second"), call("3", "third"));
    let declared = format!("[{}]", declares(OLD, "4", "fourth"));
    // tower-mcp reads over what is around it.
    let single = format!("\u{feff}\u{a0}{}\r", call("5", "fifth"));
    for other in batches_and_garbage().into_iter().chain(no_calls()) {
        let mut lines = vec![
            initialize(OLD),
            call("1", "first"),
            other.clone(),
            batch.clone(),
            declared.clone(),
            single.clone(),
            other.clone(),
        ];
        let served = serve(&lines).await;
        let keys = ["first", "second", "third", "fourth", "fifth"];
        assert_eq!(served.ran, keys, "{other}");
        let log = ["1 ran", "2 ran", "3 ran", "4 ran", "5 ran"];
        assert_eq!(served.log, log, "{other}");

        // It is refused before the session begins.
        lines.insert(0, format!("[{}]", call("6", "sixth")));
        lines.insert(0, other.clone());
        let served = serve(&lines).await;
        assert_eq!(served.ran, keys, "{other}");
        assert_eq!(served.log.len(), 6, "{other}: {:?}", served.log);
        assert!(served.log.contains(&"6 -32600".to_owned()), "{other}");
    }
}

/// The log of the rows and some other lines, in several orders, and what it should be.
async fn logs(others: &[String]) -> Vec<(Vec<String>, Vec<&'static str>)> {
    let mut logs = Vec::new();
    let mut rows = single_rows();
    rows.extend(batch_rows());
    rows.extend(others.iter().map(|line| row(line, &[])));
    for revision in [OLD, NEW] {
        for seed in 1..=20 {
            shuffle(&mut rows, seed);
            let mut lines = vec![initialize(revision)];
            lines.extend(rows.iter().map(|row| row.line.clone()));
            let mut log = serve(&lines).await.log;
            let wanted = rows
                .iter()
                .flat_map(|row| if revision == OLD { &row.old } else { &row.new });
            let mut wanted: Vec<_> = wanted.copied().collect();
            log.sort_unstable();
            wanted.sort_unstable();
            logs.push((log, wanted));
        }
    }
    logs
}

#[tokio::test(start_paused = true)]
async fn each_call_leaves_one_line_with_the_code_that_its_line_got() {
    for (log, wanted) in logs(&batches_and_garbage()).await {
        assert_eq!(log, wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn each_call_leaves_one_line_among_invalid_messages_that_are_no_calls() {
    let id = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    for (log, wanted) in logs(&no_calls()).await {
        let log: Vec<_> = log.iter().map(|line| id(line)).collect();
        let wanted: Vec<_> = wanted.iter().map(|line| id(line)).collect();
        assert_eq!(log, wanted);
    }
}

/// In another order for each seed.
fn shuffle(rows: &mut [Row], seed: usize) {
    let mut state = seed;
    for last in (1..rows.len()).rev() {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        rows.swap(last, (state >> 16) % (last + 1));
    }
}
