use rmcp::model::ProgressNotificationParam;
use std::io::{self, IsTerminal, Write};

/// The width of the bar.
const WIDTH: usize = 30;

/// Shows each report on stderr: as a bar on a terminal, else as a line.
pub(crate) fn shown() -> impl Fn(&ProgressNotificationParam) + Send + Sync {
    let is_terminal = io::stderr().is_terminal();
    move |report| {
        let text = line(report);
        // If stderr is closed, progress cannot be shown.
        let _ = if is_terminal {
            write!(io::stderr(), "\r\x1b[K{text}")
        } else {
            writeln!(io::stderr(), "{text}")
        };
    }
}

/// Ends the line of the bar.
pub(crate) fn end() {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr());
    }
}

fn line(report: &ProgressNotificationParam) -> String {
    let message: String = report
        .message
        .iter()
        .flat_map(|text| text.escape_debug())
        .collect();
    let progress = report.progress;
    let Some(total) = report.total.filter(|total| *total > 0.0) else {
        return format!("{progress} {message}").trim_end().to_owned();
    };
    let share = (progress / total).clamp(0.0, 1.0);
    let mark = |at: usize| {
        #[expect(clippy::cast_precision_loss, reason = "it is at most 30")]
        let is_done = (at as f64) < share * WIDTH as f64;
        if is_done { '#' } else { '.' }
    };
    let bar: String = (0..WIDTH).map(mark).collect();
    let line = format!("[{bar}] {progress} of {total} {message}");
    line.trim_end().to_owned()
}
