use super::{
    clock::{now, timestamp},
    line::{Line, key},
};
use tracing::Level;

/// The line that says how many lines are missing, with its end.
pub(super) fn report(lost: u64) -> String {
    let mut line = Line::with_capacity(128);
    line.0.begin('{');
    line.word(key!("timestamp"), &timestamp(now()));
    line.word(key!("level"), Level::WARN.as_str());
    line.word(key!("event"), "lines_lost");
    line.number(key!("lost"), lost);
    line.0.end('}');
    let mut line = line.0.finish();
    line.push('\n');
    line
}
