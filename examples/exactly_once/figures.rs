use super::{booker::Ending, say};
use std::collections::{HashMap, HashSet};

/// The outcomes of all bookings for their callers, compared with the ledger.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    booked: usize,
    replayed: usize,
    unknown_with_effect: usize,
    unknown_without: usize,
    failed: Vec<String>,
    effects: usize,
    /// Violations.
    twice: usize,
    wrong: usize,
    unknown_of_the_living: usize,
}

impl Figures {
    pub(crate) fn count(endings: &[(String, Ending)], ledger: &str, killed: &HashSet<u32>) -> Self {
        let mut effects: HashMap<&str, Vec<(&str, u32)>> = HashMap::new();
        for line in ledger.lines() {
            let mut words = line.split(' ');
            if let (Some(number), Some(process), Some(key)) =
                (words.next(), words.next(), words.next())
            {
                let process = process.parse().unwrap_or_default();
                effects.entry(key).or_default().push((number, process));
            }
        }
        let mut figures = Self {
            effects: effects.values().map(Vec::len).sum(),
            twice: effects.values().filter(|effects| effects.len() > 1).count(),
            ..Self::default()
        };
        for (key, ending) in endings {
            let of_key = effects.get(&**key).map_or(&[][..], Vec::as_slice);
            match ending {
                Ending::Booked {
                    number,
                    is_replayed,
                } => {
                    figures.booked += 1;
                    figures.replayed += usize::from(*is_replayed);
                    let is_the_effect = matches!(of_key, [(only, _)] if only == number);
                    figures.wrong += usize::from(!is_the_effect);
                }
                Ending::Unknown => match of_key {
                    [] => figures.unknown_without += 1,
                    [(_, process), ..] => {
                        figures.unknown_with_effect += 1;
                        figures.unknown_of_the_living += usize::from(!killed.contains(process));
                    }
                },
                Ending::Failed(text) => figures.failed.push(format!("{key}: {text}")),
            }
        }
        figures
    }

    /// Prints the figures. Returns whether there is no violation.
    pub(crate) fn report(&self) -> bool {
        say(&format!(
            "booked {} (of these {} answered from the store), effects {}",
            self.booked, self.replayed, self.effects
        ));
        say(&format!(
            "unknown {}: {} with an effect, {} without",
            self.unknown_with_effect + self.unknown_without,
            self.unknown_with_effect,
            self.unknown_without
        ));
        say(&format!(
            "failed for all attempts {}, keys with two effects {}, successes without exactly their effect {}, unknown though the server lived {}",
            self.failed.len(),
            self.twice,
            self.wrong,
            self.unknown_of_the_living
        ));
        for failed in self.failed.iter().take(10) {
            say(&format!("  {failed}"));
        }
        self.failed.is_empty()
            && self.twice == 0
            && self.wrong == 0
            && self.unknown_of_the_living == 0
    }
}
