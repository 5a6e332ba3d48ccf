//! The row of the searches of one shape, base class and scope in a Segment. Times in nanoseconds.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::interner::{ANONYMOUS, OTHER, Symbol};
use crate::operation_row::{OTHER_RESULT, OperationRow};
use crate::sorting::Sorting;
use crate::tables::CappedTable;

/// Different substring lengths in one row: more than all combinations of two substrings.
const MOST_LENGTHS: usize = 100;

/// Different combinations of code and notes in one row.
const MOST_STOPPED: usize = 100;

/// Different sorts in one row; an application has a few, but a client may ask for any.
const MOST_SORTS: usize = 100;
/// The candidates of a sort in memory, where sorts are counted by how they were done.
const IN_MEMORY: i64 = 0;

/// Entries of the largest result, where there is no such result.
const NONE: i64 = -1;

/// Results of searches whose substrings have the same lengths.
#[derive(Clone, Serialize, Deserialize)]
pub struct SubstringCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Results with notes.
    pub noted: u64,
    /// Entries of the largest result.
    pub most: i64,
}

/// Results that a limit or a refusal stopped.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct StoppedCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Nanoseconds of waiting for a worker thread.
    pub wait: i128,
    /// Entries returned.
    pub entries: i128,
    /// Entries of the largest result.
    pub most: i64,
}

/// Results of searches that were to be sorted in the same way.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct SortCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Results noted unindexed.
    pub unindexed: u64,
    /// Candidates sorted.
    pub candidates: i128,
    /// The most candidates of one search.
    pub most: i64,
}

/// What few rows have, kept apart to keep the others small.
#[derive(Clone, Serialize, Deserialize)]
pub struct Details {
    /// Results by notes.
    pub noted: FxHashMap<Symbol, u64>,
    /// Results by the lengths of the substrings; [`ANONYMOUS`], the empty text, where they are unknown.
    pub substring_lengths: CappedTable<Symbol, SubstringCounts>,
    /// Results that a limit or a refusal stopped, by code and notes; they are in the other counts, too.
    pub stopped: CappedTable<(i64, Symbol), StoppedCounts>,
    /// Results by their SORT and VLV lines, candidates only as far as they are special.
    pub sorts: CappedTable<Sorting, SortCounts>,
}

impl Default for Details {
    fn default() -> Self {
        Details {
            noted: FxHashMap::default(),
            substring_lengths: CappedTable::new(MOST_LENGTHS, ANONYMOUS),
            stopped: CappedTable::new(MOST_STOPPED, (OTHER_RESULT, OTHER)),
            sorts: CappedTable::new(MOST_SORTS, Sorting::OTHER),
        }
    }
}

/// The searches of one shape, base class and scope.
#[derive(Clone, Serialize, Deserialize)]
pub struct ShapeRow {
    /// The counts that every kind of operation has.
    pub operations: OperationRow,
    /// Entries of the largest complete result: code 0, no page.
    pub most_entries: i64,
    /// Entries of the largest result that a limit or a page ended: at least so many match.
    pub most_limited: i64,
    /// The shape has substrings.
    pub has_substrings: bool,
    /// What few rows have.
    pub details: Option<Box<Details>>,
}

impl ShapeRow {
    /// A row without counts.
    pub fn new(has_substrings: bool) -> Self {
        ShapeRow {
            operations: OperationRow::default(),
            most_entries: NONE,
            most_limited: NONE,
            has_substrings,
            details: None,
        }
    }

    fn details(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    /// Counts results by notes.
    pub fn note(&mut self, notes: Symbol, results: u64) {
        *self.details().noted.entry(notes).or_default() += results;
    }

    /// Counts results by the lengths of their filter's substrings; returns the number of rows added.
    pub fn measured(&mut self, lengths: Symbol, results: SubstringCounts) -> usize {
        let nothing = |_| SubstringCounts { answered: 0, etime: 0, noted: 0, most: NONE };
        let table = &mut self.details().substring_lengths;
        let before = table.len();
        let place = table.place(lengths, nothing);
        let counts = table.at(place);
        counts.answered += results.answered;
        counts.etime += results.etime;
        counts.noted += results.noted;
        counts.most = counts.most.max(results.most);
        table.len() - before
    }

    /// Counts results that a limit or a refusal stopped, by code and notes; returns the number of rows added.
    pub fn stop(&mut self, key: (i64, Symbol), results: StoppedCounts) -> usize {
        let table = &mut self.details().stopped;
        let before = table.len();
        let place = table.place(key, |_| StoppedCounts::default());
        let counts = table.at(place);
        counts.answered += results.answered;
        counts.etime += results.etime;
        counts.wait += results.wait;
        counts.entries += results.entries;
        counts.most = counts.most.max(results.most);
        table.len() - before
    }

    /// Counts results by their SORT and VLV lines; returns the number of rows added.
    pub fn sorted(&mut self, sorting: Sorting, results: SortCounts) -> usize {
        let key = Sorting { candidates: sorting.candidates.min(IN_MEMORY), ..sorting };
        let table = &mut self.details().sorts;
        let before = table.len();
        let place = table.place(key, |_| SortCounts::default());
        let counts = table.at(place);
        counts.answered += results.answered;
        counts.etime += results.etime;
        counts.unindexed += results.unindexed;
        counts.candidates += results.candidates;
        counts.most = counts.most.max(results.most);
        table.len() - before
    }

    /// Adds the counts of another row; `text` translates its texts, and notes that `notes` lacks are counted as other.
    pub fn merge(&mut self, mut other: ShapeRow, notes: &CappedTable<Symbol, u64>, text: impl FnMut(Symbol) -> Symbol) {
        let details = other.details.take().map(|details| *details);
        self.most_entries = self.most_entries.max(other.most_entries);
        self.most_limited = self.most_limited.max(other.most_limited);
        self.operations.merge(other.operations);
        self.merge_details(details, notes, text);
    }

    /// The row in a table whose texts are others, as `merge` translates them.
    pub fn translated(mut self, notes: &CappedTable<Symbol, u64>, text: impl FnMut(Symbol) -> Symbol) -> Self {
        let details = self.details.as_deref_mut().map(std::mem::take);
        self.merge_details(details, notes, text);
        self
    }

    fn merge_details(
        &mut self,
        other: Option<Details>,
        notes: &CappedTable<Symbol, u64>,
        mut text: impl FnMut(Symbol) -> Symbol,
    ) {
        let Some(other) = other else { return };
        let kept = |noted| if noted == ANONYMOUS || notes.contains(noted) { noted } else { OTHER };
        for (noted, count) in other.noted {
            self.note(kept(text(noted)), count);
        }
        let (has_substrings, details) = (self.has_substrings, self.details());
        details.substring_lengths.full |= other.substring_lengths.full && has_substrings;
        details.stopped.full |= other.stopped.full;
        details.sorts.full |= other.sorts.full;
        for (lengths, results) in other.substring_lengths {
            if has_substrings {
                self.measured(text(lengths), results);
            }
        }
        for ((err, noted), results) in other.stopped {
            self.stop((err, kept(text(noted))), results);
        }
        for (sorting, results) in other.sorts {
            self.sorted(Sorting { keys: text(sorting.keys), ..sorting }, results);
        }
    }
}
