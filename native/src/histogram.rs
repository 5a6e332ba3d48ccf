//! Counts by small numbers, dense: the numbers that one row counts are close together.

use serde::{Deserialize, Serialize};

/// Numbers by which the window grows at either end.
const STEP: u16 = 8;

/// Counts of small numbers, in a window around those that have been counted.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// The number of the first count.
    base: u16,
    counts: Vec<u64>,
}

impl Histogram {
    /// Counts a number; returns the bytes by which the window has grown.
    #[inline]
    pub fn count(&mut self, number: u16) -> usize {
        self.add(number, 1)
    }

    /// Counts a number so many times; returns the bytes by which the window has grown.
    #[inline]
    fn add(&mut self, number: u16, times: u64) -> usize {
        match self.counts.get_mut(usize::from(number.wrapping_sub(self.base))) {
            Some(count) => {
                *count += times;
                0
            }
            None => self.grow(number, times),
        }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (number, times) in other.iter() {
            self.add(number, times);
        }
    }

    #[cold]
    fn grow(&mut self, number: u16, times: u64) -> usize {
        let (first, before) = (number / STEP * STEP, self.counts.len());
        if before == 0 {
            self.base = first;
        }
        let in_front = usize::from(self.base.saturating_sub(first));
        let end = (usize::from(first.saturating_sub(self.base)) + usize::from(STEP)).max(before);
        self.counts.reserve_exact(in_front + end - before);
        self.counts.resize(end, 0);
        self.counts.splice(..0, std::iter::repeat_n(0, in_front));
        self.base = self.base.min(first);
        self.counts[usize::from(number - self.base)] += times;
        (self.counts.len() - before) * size_of::<u64>()
    }

    /// The numbers that were counted, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        (self.base..).zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_counted_wherever_the_window_began() {
        for order in [[300, 7, 975, 300, 0], [0, 8, 300, 975, 300], [975, 300, 8, 7, 300]] {
            let mut histogram = Histogram::default();
            let bytes: usize = order.iter().map(|&number| histogram.count(number)).sum();
            for number in order {
                let expected = order.iter().filter(|&&one| one == number).count() as u64;
                assert_eq!(histogram.iter().find(|&(one, _)| one == number), Some((number, expected)));
            }
            assert_eq!(histogram.iter().map(|(_, count)| count).sum::<u64>(), 5);
            assert_eq!(bytes, histogram.counts.len() * 8);
        }
    }
}
