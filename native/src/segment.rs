//! Segment: the counts of a chunk of an access log; all integers: nanoseconds and counts.
//!
//! `plain.rs` converts it for Python, where chunks are merged.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::connection::SearchCounts;
use crate::interner::{Interner, OTHER, Symbol};
use crate::operation_kinds;
use crate::runs::Run;
use crate::substrings::has_substrings;
use crate::tables::{CappedTable, Caps, ClientRow, Histogram, LookupCounts, OTHER_SHAPE, ShapeKey, ShapeRow};

/// Sample lines kept of those that no rule matches.
pub const SAMPLES: usize = 5;
/// Bytes kept of a sample, and of a text that the server writes.
const SAMPLE_BYTES: usize = 200;

/// A text of the server, cut to the bytes kept.
pub fn sample_of(text: &[u8]) -> &[u8] {
    &text[..text.len().min(SAMPLE_BYTES)]
}

/// Results by code; nearly all codes are small numbers.
pub struct ResultCounts {
    small: [u64; 128],
    others: FxHashMap<i64, u64>,
}

impl ResultCounts {
    /// Counts a code.
    pub fn count(&mut self, err: i64) {
        match usize::try_from(err).ok().and_then(|small| self.small.get_mut(small)) {
            Some(count) => *count += 1,
            None => *self.others.entry(err).or_default() += 1,
        }
    }

    /// Codes with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let small = (0i64..).zip(self.small).filter(|&(_, count)| count > 0);
        small.chain(self.others.iter().map(|(&err, &count)| (err, count)))
    }

    /// The number of different large codes.
    pub fn unusual(&self) -> usize {
        self.others.len()
    }
}

/// The counts of a chunk of a log, and the connections that are undecided at its edges (`runs`). Fields as in segment.py.
#[allow(missing_docs)]
pub struct Segment {
    pub caps: Caps,
    pub texts: Interner,
    pub runs: Vec<Run>,
    pub lines: u64,
    pub misread: u64,
    pub samples: Vec<Vec<u8>>,
    pub passed_over: u64,
    pub lost: i128,
    pub first_time: i64,
    pub last_time: i64,
    pub zones: BTreeSet<Vec<u8>>,
    pub resolution: i64,
    pub operations: [u64; operation_kinds::COUNT],
    pub internal: u64,
    pub results: ResultCounts,
    pub continued: u64,
    pub holes: i128,
    pub waits: Histogram,
    pub longest_wait: (i64, i64),
    pub waited: i128,
    pub took: i128,
    pub opened: u64,
    pub cut_short: BTreeSet<&'static str>,
    pub servers: CappedTable<Symbol, u64>,
    pub instances: CappedTable<(Symbol, Symbol), u64>,
    pub closed: CappedTable<Symbol, u64>,
    pub noted: CappedTable<Symbol, u64>,
    pub not_indexed: CappedTable<(Symbol, Symbol), u64>,
    pub lookups: CappedTable<(Symbol, Symbol), LookupCounts>,
    pub modified: CappedTable<Symbol, u64>,
    pub shapes: CappedTable<ShapeKey, ShapeRow>,
    pub attribution: CappedTable<(Symbol, Symbol, Symbol), SearchCounts>,
    pub clients: CappedTable<Symbol, ClientRow>,
    pub accounts: CappedTable<Symbol, u64>,
    pub failures: CappedTable<(Symbol, Symbol, i64), u64>,
    /// Approximate bytes of the undecided state.
    pub weight: usize,
}

impl Segment {
    /// A Segment without counts.
    pub fn new(caps: Caps) -> Self {
        Segment {
            caps,
            texts: Interner::default(),
            runs: Vec::new(),
            lines: 0,
            misread: 0,
            samples: Vec::new(),
            passed_over: 0,
            lost: 0,
            first_time: i64::MAX,
            last_time: i64::MIN,
            zones: BTreeSet::new(),
            resolution: 1,
            operations: [0; operation_kinds::COUNT],
            internal: 0,
            results: ResultCounts { small: [0; 128], others: FxHashMap::default() },
            continued: 0,
            holes: 0,
            waits: Histogram::default(),
            longest_wait: (0, 0),
            waited: 0,
            took: 0,
            opened: 0,
            cut_short: BTreeSet::new(),
            servers: CappedTable::new(caps.codes, OTHER),
            instances: CappedTable::new(caps.codes, (OTHER, OTHER)),
            closed: CappedTable::new(caps.codes, OTHER),
            noted: CappedTable::new(caps.notes, OTHER),
            not_indexed: CappedTable::new(caps.shapes, (OTHER, OTHER)),
            lookups: CappedTable::new(caps.shapes, (OTHER, OTHER)),
            modified: CappedTable::new(caps.shapes, OTHER),
            shapes: CappedTable::new(caps.shapes, OTHER_SHAPE),
            attribution: CappedTable::new(caps.attribution, (OTHER, OTHER, OTHER)),
            clients: CappedTable::new(caps.clients, OTHER),
            accounts: CappedTable::new(caps.accounts, OTHER),
            failures: CappedTable::new(caps.failures, (OTHER, OTHER, -1)),
            weight: 0,
        }
    }

    /// The row of a shape; beyond the cap, the row of all others.
    pub fn shape(&mut self, key: ShapeKey) -> u32 {
        let texts = &self.texts;
        self.shapes.place(key, |key| ShapeRow::new(key, has_substrings(texts.resolve(key.0)))) as u32
    }

    /// The row of a client; beyond the cap, the row of all others.
    pub fn client(&mut self, address: Symbol) -> u32 {
        self.clients.place(address, |_| ClientRow::default()) as u32
    }

    /// Counts an index lookup, with the longest and the shortest ID list.
    pub fn index_lookup(&mut self, key: (Symbol, Symbol), ids: i64) {
        let place = self.lookups.place(key, |_| LookupCounts { count: 0, most: ids, least: ids });
        let counts = self.lookups.at(place);
        *counts = LookupCounts { count: counts.count + 1, most: counts.most.max(ids), least: counts.least.min(ids) };
    }

    /// The index of the counts of searches by shape, client and account; beyond the cap, that of all others.
    pub fn attribution_index(&mut self, key: (Symbol, Symbol, Symbol)) -> usize {
        self.attribution.place(key, |_| SearchCounts::default())
    }
}
