use super::{Options, Others, Usage};
use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
    time::Duration,
};

/// Calls that take longer are listed.
const SLOW: Duration = Duration::from_secs(5);

/// The answer to one call.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) key: usize,
    pub(crate) must_not_run_twice: bool,
    pub(crate) took: Duration,
    /// The failure, unless the call succeeded.
    pub(crate) failure: Option<String>,
}

pub(crate) struct Figures {
    pub(crate) options: Options,
    pub(crate) answers: Vec<Answer>,
    pub(crate) lasted: Duration,
    pub(crate) kills: usize,
    pub(crate) generation: u64,
    pub(crate) lines: u64,
    pub(crate) others: Others,
    /// Whether the last connection has the subscription of the first.
    pub(crate) is_subscribed: bool,
    /// How often each key ran.
    pub(crate) ran: HashMap<String, usize>,
    pub(crate) early: Usage,
    pub(crate) end: Usage,
    pub(crate) left: Usage,
}

impl Figures {
    fn tell_slow(&self, ran: &dyn Fn(&Answer) -> usize) {
        for slow in self.answers.iter().filter(|answer| answer.took > SLOW) {
            let Answer {
                key, took, failure, ..
            } = slow;
            say(&format!(
                "slow: {key} took {took:.1?}, ran {} time(s), {failure:?}",
                ran(slow)
            ));
        }
    }

    /// Prints the figures. Returns whether all checks hold.
    pub(crate) fn report(&self) -> bool {
        let count = |is_one: &dyn Fn(&Answer) -> bool| {
            self.answers.iter().filter(|answer| is_one(answer)).count()
        };
        let ran = |answer: &Answer| self.ran.get(&answer.key.to_string()).copied().unwrap_or(0);
        let is_good = |answer: &Answer| answer.failure.is_none();
        let good = count(&is_good);
        let double = count(&|answer| answer.must_not_run_twice && ran(answer) > 1);
        let missing = count(&|answer| is_good(answer) && ran(answer) == 0);
        let mut failed = BTreeMap::<_, usize>::new();
        for failure in self
            .answers
            .iter()
            .filter_map(|answer| answer.failure.as_deref())
        {
            *failed.entry(failure).or_default() += 1;
        }
        let mut times: Vec<_> = self.answers.iter().map(|answer| answer.took).collect();
        times.sort_unstable();
        let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
        let Usage {
            memory_kib, files, ..
        } = self.early;

        let wire = if self.options.http { "http" } else { "stdio" };
        let figures = [
            ("wire", wire.to_owned()),
            (
                "calls",
                format!("{} by {} callers", times.len(), self.options.callers),
            ),
            ("lasted", format!("{:.1?}", self.lasted)),
            ("kills", self.kills.to_string()),
            ("connections", self.generation.to_string()),
            ("good answers", good.to_string()),
            ("flagged", format!("{failed:?}")),
            ("log lines", self.lines.to_string()),
            ("lists, reads, pings", self.others.to_string()),
            (
                "median, longest call",
                format!("{median:.1?}, {longest:.1?}"),
            ),
            ("ran twice, must not", double.to_string()),
            ("good, but never ran", missing.to_string()),
            (
                "memory",
                format!(
                    "{memory_kib} KiB after a fifth, {} KiB at the end",
                    self.end.memory_kib
                ),
            ),
            (
                "file descriptors",
                format!("{files} after a fifth, {} at the end", self.end.files),
            ),
            (
                "when closed",
                format!(
                    "{} files, {} children, {} zombies",
                    self.left.files, self.left.children, self.left.zombies
                ),
            ),
        ];
        for (name, figure) in figures {
            say(&format!("{name:24} {figure}"));
        }
        self.tell_slow(&ran);
        let checks = [
            ("every call was answered", times.len() == self.options.calls),
            (
                "every call left one line",
                usize::try_from(self.lines.saturating_sub(self.others.reads))
                    == Ok(self.options.calls),
            ),
            (
                "no list or read was stuck",
                self.others.longest < Duration::from_secs(61),
            ),
            ("the subscription was restored", self.is_subscribed),
            ("no call was stuck", longest < Duration::from_secs(56)),
            ("nothing ran twice that must not", double == 0),
            ("no good answer without a run", missing == 0),
            ("no process is left", self.left.children == 0),
            ("file descriptors are flat", self.end.files <= files + 16),
            (
                "memory is flat",
                self.end.memory_kib < memory_kib + 8 * 1024,
            ),
        ];
        for (check, holds) in checks {
            say(&format!(
                "{:8} {check}",
                if holds { "ok" } else { "FAILED" }
            ));
        }
        checks.iter().all(|(_, holds)| *holds)
    }
}

pub(crate) fn say(text: &str) {
    // The reader of stdout may have gone away.
    let _ = writeln!(io::stdout(), "{text}");
}
