use super::end;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

/// The ledger: a file that outlives the process.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: Mutex<Appended>,
}

/// The file, and its content so far.
#[derive(Debug)]
struct Appended {
    writer: File,
    reader: File,
    read: u64,
    events: Vec<Event>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    Started { pid: u32 },
    Initialized,
    Listed,
    Arrived(Call),
    Executed(Call),
    Cancelled { id: Value },
    Deleted,
    Subscribed { uri: String },
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) key: String,
    pub(crate) id: Value,
}

impl Ledger {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let writer = File::options().append(true).create(true).open(path)?;
        let file = Appended {
            reader: File::open(path)?,
            writer,
            read: 0,
            events: Vec::new(),
        };
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    /// Records a start, and returns its number, from 1.
    pub(crate) fn started(&self) -> usize {
        let pid = std::process::id();
        self.count(&Event::Started { pid }, |event| {
            matches!(event, Event::Started { .. })
        })
    }

    /// Records the arrival of a call, and returns how many arrivals its key has had.
    pub(crate) fn arrived(&self, call: &Call) -> usize {
        self.count(
            &Event::Arrived(call.clone()),
            |event| matches!(event, Event::Arrived(other) if other.key == call.key),
        )
    }

    /// Records the effect of a call, and returns how many effects its key has had.
    pub(crate) fn executed(&self, call: &Call) -> usize {
        self.count(
            &Event::Executed(call.clone()),
            |event| matches!(event, Event::Executed(other) if other.key == call.key),
        )
    }

    /// Records an event that is not counted.
    pub(crate) fn note(&self, event: &Event) {
        self.count(event, |_| false);
    }

    fn count(&self, event: &Event, is_counted: impl Fn(&Event) -> bool) -> usize {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.append(event) {
            // The server is useless without its ledger.
            end(1, &format!("hostile: {error}"));
        }
        file.events.iter().filter(|event| is_counted(event)).count()
    }
}

impl Appended {
    /// Appends one line, and reads all lines up to it. The position of the line in the file
    /// decides, so that two processes on one ledger never get the same count.
    fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.writer.write_all(&line)?;
        let new = self.writer.stream_position()? - self.read;
        let mut lines = vec![0; usize::try_from(new).map_err(io::Error::other)?];
        self.reader.read_exact(&mut lines)?;
        self.read += new;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.events.push(serde_json::from_slice(line)?);
        }
        Ok(())
    }
}
