/// Latencies in buckets that grow by 2 %, which bounds the error of a quantile.
///
/// Memory is bounded: there are buckets for latencies up to about a year.
#[derive(Clone, Debug, Default)]
pub(super) struct Quantiles {
    buckets: Vec<u32>,
    count: u64,
}

const GROWTH: f64 = 1.02;
const MOST: usize = 1_300;

impl Quantiles {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a logarithm of at most 64 bits"
    )]
    pub(super) fn add(&mut self, value: u64) {
        let bucket = ((value as f64 + 1.0).ln() / GROWTH.ln()).floor() as usize;
        let bucket = bucket.min(MOST);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.count += 1;
    }

    /// The quantile for this share. `None` without values.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a count, and a value that came from 64 bits"
    )]
    pub(super) fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, count) in (0_i32..).zip(&self.buckets) {
            below += u64::from(*count);
            if below >= rank {
                // The middle of the bucket.
                let value = GROWTH.powf(f64::from(bucket) + 0.5) - 1.0;
                return Some(value.round() as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_two_percent() {
        let mut quantiles = Quantiles::default();
        assert_eq!(quantiles.quantile(0.5), None);
        (0..100_000).for_each(|value| quantiles.add(value));
        for (share, expected) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.99, 99_000.0)] {
            let found = quantiles.quantile(share).map_or(0.0, |value| value as f64);
            assert!((found / expected - 1.0).abs() < 0.02, "{share}: {found}");
        }
    }

    #[test]
    fn small_values_are_exact_and_huge_ones_do_not_cost_memory() {
        let mut quantiles = Quantiles::default();
        quantiles.add(0);
        assert_eq!(quantiles.quantile(0.99), Some(0));
        quantiles.add(u64::MAX);
        assert!(quantiles.buckets.len() <= MOST + 1);
    }
}
