use super::Fallible;
use serde_json::Value;
use std::{
    collections::HashMap,
    env, fs,
    io::{self, BufRead},
    path::Path,
    process,
    sync::{Arc, Mutex, PoisonError},
};

/// The server's ledger, over all its starts.
#[derive(Clone)]
pub(crate) struct Ledger {
    pub(crate) path: Arc<Path>,
}

impl Ledger {
    pub(crate) fn new() -> io::Result<Self> {
        let name = format!("soak-{}.jsonl", process::id());
        let path: Arc<Path> = env::temp_dir().join(name).into();
        fs::write(&path, "")?;
        Ok(Self { path })
    }

    /// How often each key ran.
    pub(crate) fn ran(&self) -> Fallible<HashMap<String, usize>> {
        let mut ran = HashMap::new();
        for line in fs::read_to_string(&self.path)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            if let ("executed", Some(key)) =
                (line["event"].as_str().unwrap_or(""), line["key"].as_str())
            {
                *ran.entry(key.to_owned()).or_default() += 1;
            }
        }
        Ok(ran)
    }

    /// Whether the last start knows of a subscription.
    pub(crate) fn is_subscribed(&self) -> Fallible<bool> {
        let mut is_subscribed = false;
        for line in fs::read_to_string(&self.path)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            match line["event"].as_str() {
                Some("started") => is_subscribed = false,
                Some("subscribed") => is_subscribed = true,
                _ => {}
            }
        }
        Ok(is_subscribed)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The starts of the server, as the ledger grows.
pub(crate) struct Starts {
    lines: Mutex<io::BufReader<fs::File>>,
    last: Option<String>,
}

impl Starts {
    pub(crate) fn of(ledger: &Ledger) -> io::Result<Self> {
        let file = fs::File::open(&ledger.path)?;
        Ok(Self {
            lines: Mutex::new(io::BufReader::new(file)),
            last: None,
        })
    }

    /// The process id of the last one.
    pub(crate) fn last(&mut self) -> Fallible<Option<String>> {
        let lines = self.lines.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut line = String::new();
        loop {
            line.clear();
            let length = lines.read_line(&mut line)?;
            if length == 0 {
                return Ok(self.last.clone());
            }
            if !line.ends_with('\n') {
                // The line is not complete yet.
                lines.seek_relative(-i64::try_from(length)?)?;
                return Ok(self.last.clone());
            }
            let event: Value = serde_json::from_str(&line)?;
            if event["event"] == "started" {
                self.last = Some(event["pid"].to_string());
            }
        }
    }
}
