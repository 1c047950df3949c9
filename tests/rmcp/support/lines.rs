use super::{schema, within};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    sync::watch,
};

/// The lines of a stream, as they come.
#[derive(Clone)]
pub(crate) struct Lines(watch::Receiver<Vec<String>>);

impl Lines {
    /// Reads in another task, so that the writer never blocks.
    pub(crate) fn read(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let (all, lines) = watch::channel(Vec::new());
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            loop {
                let mut line = Vec::new();
                match stream.read_until(b'\n', &mut line).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let line = String::from_utf8(line).expect("a process writes UTF-8");
                all.send_modify(|all| all.push(line.trim_end_matches('\n').to_owned()));
            }
        });
        Self(lines)
    }

    /// The lines so far.
    pub(crate) fn so_far(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    /// The first line that is wanted, once it is there.
    pub(crate) async fn first(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let is_there = |lines: &Vec<String>| lines.iter().any(|line| wanted(line));
        let found = match within(what, self.0.wait_for(is_there)).await {
            Ok(lines) => lines.iter().find(|line| wanted(line)).cloned(),
            Err(_) => None,
        };
        found.unwrap_or_else(|| panic!("no {what} in {:#?}", self.so_far()))
    }

    /// All lines, once the stream is closed.
    pub(crate) async fn all(&mut self) -> Vec<String> {
        // Only the end of the stream ends this wait.
        let closed = self.0.wait_for(|_| false);
        let _ = within("the end of a stream", closed).await.map(drop);
        self.so_far()
    }
}

/// The lines of the call log among others. Every line that looks like one has to be one.
pub(crate) fn log_lines(lines: &[String]) -> Vec<Value> {
    let lines = lines.iter().filter(|line| line.starts_with('{'));
    lines.map(|line| log_line(line)).collect()
}

/// A line of the call log.
#[track_caller]
pub(crate) fn log_line(line: &str) -> Value {
    let value = schema::line(line);
    assert_eq!(value["event"], "call");
    value
}

/// Fails unless an object has these members; one that is null here must be absent there.
#[track_caller]
pub(crate) fn assert_has(object: &Value, members: &Value) {
    for (key, wanted) in members.as_object().unwrap() {
        let found = object.get(key);
        match wanted {
            Value::Null => assert_eq!(found, None, "`{key}` of {object:#}"),
            wanted => assert_eq!(found, Some(wanted), "`{key}` of {object:#}"),
        }
    }
}
