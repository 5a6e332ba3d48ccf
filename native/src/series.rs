//! Series: results and their time over the time of the log, in at most 16 intervals: enough for a sparkline.
//!
//! The intervals are as long as the smallest power of two in seconds for which no more than 16 of them have a result. This
//! length depends on the results alone, not on their order, so Series are merged exactly.

use serde::{Deserialize, Serialize};

/// Intervals with results.
const MOST: usize = 16;
/// Approximate bytes of an interval, in a vector that grows by doubling.
const CELL_BYTES: usize = 48;

/// The results of one interval.
#[derive(Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The number of the interval since 1970.
    pub number: i64,
    /// Results.
    pub count: u64,
    /// Nanoseconds they took.
    pub etime: i128,
}

/// Results by interval.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Series {
    /// An interval takes 2**shift seconds.
    pub shift: u32,
    /// The intervals with results.
    pub cells: Vec<Cell>,
    /// The index of the last interval counted in.
    last: usize,
}

impl Series {
    /// Counts a result of a second (since 1970); returns the approximate number of bytes added.
    #[inline]
    pub fn add(&mut self, second: i64, etime: i64) -> usize {
        let number = second >> self.shift;
        match self.cells.get_mut(self.last) {
            Some(cell) if cell.number == number => {
                cell.count += 1;
                cell.etime += i128::from(etime);
                0
            }
            _ => self.add_elsewhere(number, etime),
        }
    }

    #[inline(never)]
    fn add_elsewhere(&mut self, number: i64, etime: i64) -> usize {
        let before = self.cells.len();
        self.count(number, 1, i128::from(etime));
        while self.cells.len() > MOST {
            self.lengthen();
        }
        self.cells.len().saturating_sub(before) * CELL_BYTES
    }

    /// Adds the results of another Series.
    pub fn merge(&mut self, other: &Series) {
        while self.shift < other.shift {
            self.lengthen();
        }
        for cell in &other.cells {
            self.count(cell.number >> (self.shift - other.shift), cell.count, cell.etime);
            while self.cells.len() > MOST {
                self.lengthen();
            }
        }
    }

    fn lengthen(&mut self) {
        self.shift += 1;
        for cell in std::mem::take(&mut self.cells) {
            self.count(cell.number >> 1, cell.count, cell.etime);
        }
    }

    fn count(&mut self, number: i64, count: u64, etime: i128) {
        self.last = self.cells.iter().position(|cell| cell.number == number).unwrap_or(self.cells.len());
        match self.cells.get_mut(self.last) {
            Some(cell) => {
                cell.count += count;
                cell.etime += etime;
            }
            None => {
                if self.cells.is_empty() {
                    self.cells.reserve_exact(1); // most rows of a log with very many have one result
                }
                self.cells.push(Cell { number, count, etime });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(seconds: &[i64]) -> (u32, Vec<(i64, u64, i128)>) {
        let mut series = Series::default();
        for &second in seconds {
            series.add(second, second);
        }
        let mut cells: Vec<_> = series.cells.iter().map(|cell| (cell.number, cell.count, cell.etime)).collect();
        cells.sort_unstable();
        (series.shift, cells)
    }

    #[test]
    fn intervals_are_the_shortest_of_which_sixteen_suffice_in_any_order() {
        let mut seconds: Vec<i64> = (0..17).chain([1 << 40, 1 << 40]).collect();
        let forward = cells(&seconds);
        seconds.reverse();
        assert_eq!(cells(&seconds), forward);
        assert_eq!(forward.0, 1);
        assert_eq!(forward.1.len(), 10);
        assert_eq!(forward.1[0], (0, 2, 1));
        assert_eq!(forward.1.iter().map(|cell| cell.1).sum::<u64>(), 19);
        assert_eq!(cells(&seconds[3..]).0, 0);
    }
}
