//! Segment: the counts of a chunk of an access log; all integers: nanoseconds and counts.
//!
//! `plain.rs` converts it for Python, where chunks are merged.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::client_row::{CLIENT_BYTES, ClientRow};
use crate::connection::ResultCounts;
use crate::idle_times::{IDLE_BYTES, IdleRow};
use crate::interner::{Interner, OTHER, Symbol};
use crate::operation_kinds::{self, OperationKind};
use crate::operation_row::{OperationRow, ShapeKey, TargetKey};
use crate::period::Place;
use crate::runs::Run;
use crate::shape_row::ShapeRow;
use crate::substrings::has_substrings;
use crate::tables::{CappedTable, Caps, LookupCounts, RankedTable};
use crate::timeline::Timeline;
use crate::write_times::WriteTimes;

/// Sample lines kept of those that no rule matches.
pub const SAMPLES: usize = 5;
/// Bytes kept of a sample, and of a text that the server writes.
const SAMPLE_BYTES: usize = 200;

/// A text of the server, cut to the bytes kept.
pub fn sample_of(text: &[u8]) -> &[u8] {
    &text[..text.len().min(SAMPLE_BYTES)]
}

/// Approximate bytes of an unusual result code.
const CODE_BYTES: usize = 32;

/// Results by code; nearly all codes are small numbers.
pub struct CodeCounts {
    small: [u64; 128],
    others: FxHashMap<i64, u64>,
}

impl CodeCounts {
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

    /// Approximate bytes in use.
    fn weight(&self) -> usize {
        self.others.len() * CODE_BYTES
    }
}

/// Kind of operation, filter shape or target, client, account, result code.
pub type AttributionKey = (OperationKind, Symbol, Symbol, Symbol, i64);

/// The counts of consecutive records in one place of the period.
pub type Part = (Place, Segment);

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
    pub results: CodeCounts,
    pub continued: u64,
    pub holes: i128,
    pub timeline: Timeline,
    pub longest_wait: (i64, i64),
    pub waited: i128,
    pub took: i128,
    pub writes: WriteTimes,
    pub opened: u64,
    pub cut_short: BTreeSet<&'static str>,
    pub servers: CappedTable<Symbol, u64>,
    pub instances: CappedTable<(Symbol, Symbol), u64>,
    pub closed: CappedTable<Symbol, u64>,
    pub noted: CappedTable<Symbol, u64>,
    pub ciphers: CappedTable<(Symbol, Symbol), u64>,
    pub refused: RankedTable<(Symbol, Symbol), u64>,
    pub clear_binds: RankedTable<(Symbol, Symbol), u64>,
    pub not_indexed: RankedTable<(Symbol, Symbol), u64>,
    pub lookups: RankedTable<(Symbol, Symbol), LookupCounts>,
    pub modified: RankedTable<Symbol, u64>,
    pub shapes: RankedTable<ShapeKey, ShapeRow>,
    pub targets: RankedTable<TargetKey, OperationRow>,
    pub attribution: RankedTable<AttributionKey, ResultCounts>,
    pub clients: RankedTable<Symbol, ClientRow>,
    pub accounts: RankedTable<Symbol, u64>,
    pub idle_times: RankedTable<(Symbol, Symbol), IdleRow>,
    /// Approximate bytes of what the rows refer to, and of what is undecided.
    pub added: usize,
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
            results: CodeCounts { small: [0; 128], others: FxHashMap::default() },
            continued: 0,
            holes: 0,
            timeline: Timeline::default(),
            longest_wait: (0, 0),
            waited: 0,
            took: 0,
            writes: WriteTimes::default(),
            opened: 0,
            cut_short: BTreeSet::new(),
            servers: CappedTable::new(caps.codes, OTHER),
            instances: CappedTable::new(caps.codes, (OTHER, OTHER)),
            closed: CappedTable::new(caps.codes, OTHER),
            noted: CappedTable::new(caps.notes, OTHER),
            ciphers: CappedTable::new(caps.codes, (OTHER, OTHER)),
            refused: RankedTable::default(),
            clear_binds: RankedTable::default(),
            not_indexed: RankedTable::default(),
            lookups: RankedTable::default(),
            modified: RankedTable::default(),
            shapes: RankedTable::default(),
            targets: RankedTable::default(),
            attribution: RankedTable::default(),
            clients: RankedTable::default(),
            accounts: RankedTable::default(),
            idle_times: RankedTable::default(),
            added: 0,
        }
    }

    /// The index of the row of a shape.
    pub fn shape(&mut self, key: ShapeKey) -> u32 {
        let texts = &self.texts;
        self.shapes.place(key, || ShapeRow::new(has_substrings(texts.resolve(key.0)))) as u32
    }

    /// The index of the row of a kind of operation and its target.
    pub fn target(&mut self, key: TargetKey) -> u32 {
        self.targets.place(key, OperationRow::default) as u32
    }

    /// The row that counts the requests of a kind.
    pub fn operations_at(&mut self, kind: OperationKind, row: u32) -> &mut OperationRow {
        match kind {
            operation_kinds::SEARCH => &mut self.shapes.at(row as usize).operations,
            _ => self.targets.at(row as usize),
        }
    }

    /// The index of the row of a client.
    pub fn client(&mut self, address: Symbol) -> u32 {
        self.clients.place(address, ClientRow::default) as u32
    }

    /// The idle times of a client and an account.
    pub fn idle_row(&mut self, of: (Symbol, Symbol)) -> &mut IdleRow {
        let place = self.idle_times.place(of, IdleRow::default);
        self.idle_times.at(place)
    }

    /// Counts an index lookup, with the longest and the shortest ID list.
    pub fn index_lookup(&mut self, key: (Symbol, Symbol), ids: i64) {
        let place = self.lookups.place(key, || LookupCounts { count: 0, most: ids, least: ids });
        let counts = self.lookups.at(place);
        *counts = LookupCounts { count: counts.count + 1, most: counts.most.max(ids), least: counts.least.min(ids) };
    }

    /// The index of the counts of results by kind, shape or target, client, account and result code.
    pub fn attribution_index(&mut self, key: AttributionKey) -> usize {
        self.attribution.place(key, ResultCounts::default)
    }

    /// Approximate bytes in use: with too many, the chunk should be taken. The same records weigh the same everywhere.
    pub fn weight(&self) -> usize {
        let counts = [&self.refused, &self.clear_binds, &self.not_indexed].map(RankedTable::weight);
        self.added
            + self.texts.weight()
            + self.results.weight()
            + counts.iter().sum::<usize>()
            + self.lookups.weight()
            + self.modified.weight()
            + self.shapes.weight()
            + self.targets.weight()
            + self.attribution.weight()
            + self.clients.weight()
            + self.clients.len() * CLIENT_BYTES
            + self.accounts.weight()
            + self.idle_times.weight()
            + self.idle_times.len() * IDLE_BYTES
    }
}
