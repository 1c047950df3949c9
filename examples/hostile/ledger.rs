use super::end;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

/// What happened, in a file that outlives the process.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: Mutex<Appended>,
}

/// The file, and what is in it so far.
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

    /// Notes a start, and gives its number: the first is 1.
    pub(crate) fn started(&self) -> usize {
        let pid = std::process::id();
        self.count(&Event::Started { pid }, |event| {
            matches!(event, Event::Started { .. })
        })
    }

    /// Notes the arrival of a call, and gives its number among those of the key.
    pub(crate) fn arrived(&self, call: &Call) -> usize {
        self.count(
            &Event::Arrived(call.clone()),
            |event| matches!(event, Event::Arrived(other) if other.key == call.key),
        )
    }

    /// Notes the effect of a call, and says how often its key has had one.
    pub(crate) fn executed(&self, call: &Call) -> usize {
        self.count(
            &Event::Executed(call.clone()),
            |event| matches!(event, Event::Executed(other) if other.key == call.key),
        )
    }

    /// Notes what need not be counted.
    pub(crate) fn note(&self, event: &Event) {
        self.count(event, |_| false);
    }

    fn count(&self, event: &Event, is_counted: impl Fn(&Event) -> bool) -> usize {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.append(event) {
            // Without its ledger the server proves nothing.
            end(1, &format!("hostile: {error}"));
        }
        file.events.iter().filter(|event| is_counted(event)).count()
    }
}

impl Appended {
    /// Appends one line, and reads all up to it. The place that the file system gave to the line
    /// decides, so that also two processes on one ledger never count alike.
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
