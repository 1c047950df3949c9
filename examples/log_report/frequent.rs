use std::collections::HashMap;

/// The most frequent texts, in bounded memory (Space-Saving, Metwally et al. 2005).
///
/// Counts are exact up to the capacity. Beyond it, a count is too high by at most the lowest count
/// that is kept.
#[derive(Clone, Debug)]
pub(super) struct Frequent {
    counts: HashMap<String, u64>,
    capacity: usize,
}

impl Frequent {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            counts: HashMap::new(),
            capacity,
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        if let Some(count) = self.counts.get_mut(text) {
            *count += 1;
            return;
        }
        let mut before = 0;
        if self.counts.len() >= self.capacity {
            let least = self.counts.iter().min_by_key(|(_, count)| **count);
            let Some((least, count)) = least.map(|(text, count)| (text.clone(), *count)) else {
                return;
            };
            self.counts.remove(&least);
            before = count;
        }
        self.counts.insert(text.to_owned(), before + 1);
    }

    pub(super) fn top(&self, most: usize) -> Vec<(String, u64)> {
        let mut all: Vec<_> = self.counts.clone().into_iter().collect();
        all.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_frequent_stays_among_any_number_of_others() {
        let mut frequent = Frequent::new(8);
        for number in 0..1_000 {
            frequent.add("often");
            frequent.add(&format!("once {number}"));
        }
        assert_eq!(frequent.top(1)[0].0, "often");
        assert!(frequent.top(1)[0].1 >= 1_000);
        assert_eq!(frequent.counts.len(), 8);
    }
}
