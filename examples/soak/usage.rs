use std::{fs, process};

/// The resources of this process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) memory_kib: u64,
    pub(crate) files: usize,
    pub(crate) children: usize,
    pub(crate) zombies: usize,
}

impl Usage {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let own = process::id().to_string();
        let children: Vec<String> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
            .filter_map(|stat| {
                // The state and the parent come after the name, which may contain any character.
                let mut fields = stat.rsplit_once(") ")?.1.split(' ');
                let state = fields.next()?.to_owned();
                (fields.next()? == own).then_some(state)
            })
            .collect();
        Self {
            memory_kib: memory.unwrap_or(0),
            files,
            zombies: children.iter().filter(|state| *state == "Z").count(),
            children: children.len(),
        }
    }
}
