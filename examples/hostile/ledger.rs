use super::end;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{self, Seek, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// What happened, in a file that outlives the process.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    file: Mutex<File>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    Started { pid: u32 },
    Initialized,
    Arrived(Call),
    Executed(Call),
    Cancelled { id: Value },
    Deleted,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) key: String,
    pub(crate) id: Value,
}

impl Ledger {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self {
            path: path.to_owned(),
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
        let upto_this = self.append(event).unwrap_or_else(|error| {
            // Without its ledger the server proves nothing.
            end(1, &format!("hostile: {}: {error}", self.path.display()))
        });
        upto_this.iter().filter(|event| is_counted(event)).count()
    }

    /// Appends one line, and gives all events up to it. The place that the file system gave to the
    /// line decides, so that also two processes on one ledger never count alike.
    fn append(&self, event: &Event) -> io::Result<Vec<Event>> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        let place = {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(&line)?;
            file.stream_position()?
        };
        let text = fs::read(&self.path)?;
        let place = usize::try_from(place).map_err(io::Error::other)?;
        let lines = text[..place].split_inclusive(|byte| *byte == b'\n');
        lines
            .map(|line| Ok(serde_json::from_slice(line)?))
            .collect()
    }
}
