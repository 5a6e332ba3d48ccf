//! Segment: the counts of a chunk of an access log; all integers: nanoseconds and counts.
//!
//! Adjacent chunks of one stream are merged in `merge`; `plain.rs` converts a finished one for Python.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::client_row::{CLIENT_BYTES, ClientRow};
use crate::connection::ResultCounts;
use crate::idle_times::{IDLE_BYTES, IdleRow};
use crate::interner::{Interner, OTHER, Symbol};
use crate::operation_kinds::{self, OperationKind};
use crate::operation_row::{OperationRow, ShapeKey, TargetKey};
use crate::pending_requests::REMOVED;
use crate::period::Place;
use crate::ranked_table::RankedTable;
use crate::runs::Run;
use crate::shape_row::ShapeRow;
use crate::substrings::has_substrings;
use crate::tables::{CappedTable, Caps, LookupCounts};
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
#[derive(Clone, Serialize, Deserialize)]
pub struct CodeCounts {
    #[serde(with = "small_codes")]
    small: [u64; 128],
    others: FxHashMap<i64, u64>,
}

impl CodeCounts {
    /// Counts a code.
    #[inline]
    pub fn count(&mut self, err: i64) {
        self.add(err, 1);
    }

    /// Returns whether results of a code may be counted under it, where there may be `most` different ones.
    pub fn admits(&self, err: i64, most: usize) -> bool {
        let is_there =
            usize::try_from(err).ok().and_then(|small| self.small.get(small)).is_some_and(|&count| count > 0)
                || self.others.contains_key(&err);
        is_there || self.len() < most
    }

    /// The number of different codes.
    fn len(&self) -> usize {
        self.others.len() + self.small.iter().filter(|&&count| count > 0).count()
    }

    /// Counts results of a code.
    #[inline]
    pub fn add(&mut self, err: i64, results: u64) {
        match usize::try_from(err).ok().and_then(|small| self.small.get_mut(small)) {
            Some(count) => *count += results,
            None => *self.others.entry(err).or_default() += results,
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
#[derive(Clone, Serialize, Deserialize)]
pub struct Segment {
    pub caps: Caps,
    pub texts: Interner,
    pub runs: Vec<Run>,
    /// Lines of all chunks so far: what the order of records goes by.
    pub line_base: u64,
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
    pub dropped_requests: [u64; operation_kinds::COUNT],
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
    pub open_before: i64,
    pub open_at_end: u64,
    pub ended_by_restart: u64,
    pub server_processes: u64,
    pub peak: i64,
    pub maybe_clear: u64,
    pub cut_short: BTreeSet<String>,
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
    /// Bytes of texts at which those that no row has any more are dropped.
    pub compacted_at: usize,
    /// The keys of removed rows to which pending requests still refer.
    pub removed_rows: Vec<RowKey>,
    /// Approximate bytes of what the rows refer to, and of what is undecided.
    pub added: usize,
}

/// The key of a row that counts the operations of a kind.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum RowKey {
    /// Of searches.
    Shape(ShapeKey),
    /// Of other operations.
    Target(TargetKey),
}

/// The numbers of a Segment that add up when it is merged, and that Python receives as they are.
macro_rules! sums {
    ($($name:ident),*) => {
        impl Segment {
            /// Adds the sums of a later Segment.
            pub fn add_sums(&mut self, later: &Segment) {
                $(self.$name += later.$name;)*
            }

            /// The sums, by name.
            pub fn sums(&self) -> impl Iterator<Item = (&'static str, i128)> {
                [$((stringify!($name), i128::from(self.$name))),*].into_iter()
            }
        }
    };
}

#[rustfmt::skip]
sums!(
    lines, misread, passed_over, lost, internal, continued, holes, opened, waited, took, server_processes, open_at_end,
    open_before, ended_by_restart, maybe_clear
);

impl Segment {
    /// A Segment without counts.
    pub fn new(caps: Caps) -> Self {
        Segment {
            caps,
            texts: Interner::default(),
            runs: Vec::new(),
            line_base: 0,
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
            dropped_requests: [0; operation_kinds::COUNT],
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
            open_before: 0,
            open_at_end: 0,
            ended_by_restart: 0,
            server_processes: 0,
            peak: 0,
            maybe_clear: 0,
            cut_short: BTreeSet::new(),
            servers: CappedTable::new(caps.codes, OTHER),
            instances: CappedTable::new(caps.codes, (OTHER, OTHER)),
            closed: CappedTable::new(caps.codes, OTHER),
            noted: CappedTable::new(caps.notes, OTHER),
            ciphers: CappedTable::new(caps.codes, (OTHER, OTHER)),
            refused: RankedTable::new(caps.clients),
            clear_binds: RankedTable::new(caps.accounts),
            not_indexed: RankedTable::new(caps.shapes),
            lookups: RankedTable::new(caps.shapes),
            modified: RankedTable::new(caps.shapes),
            shapes: RankedTable::new(caps.shapes),
            targets: RankedTable::new(caps.targets),
            attribution: RankedTable::new(caps.attribution),
            clients: RankedTable::new(caps.clients),
            accounts: RankedTable::new(caps.accounts),
            idle_times: RankedTable::new(caps.idle_times),
            compacted_at: usize::MAX,
            removed_rows: Vec::new(),
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

    /// The row of a client.
    pub fn client_row(&mut self, address: Symbol) -> &mut ClientRow {
        let place = self.clients.place(address, ClientRow::default);
        self.clients.at(place)
    }

    /// The row of a client whose connection ends after so many operations.
    pub fn client_row_at_end(&mut self, address: Symbol, operations: u64) -> &mut ClientRow {
        let others: &[Symbol] = if operations == 0 { &[OTHER] } else { &[] }; // costs of operations add up
        let place = self.clients.place_costly(address, 0, others, ClientRow::default);
        self.clients.at(place)
    }

    /// The idle times of a client and an account, to which some are added, the longest of so many nanoseconds.
    pub fn idle_row(&mut self, of: (Symbol, Symbol), longest: i64) -> &mut IdleRow {
        let others = [(of.0, OTHER), (OTHER, OTHER)];
        let place = self.idle_times.place_costly(of, i128::from(longest), &others, IdleRow::default);
        self.idle_times.at(place)
    }

    /// The row of a request, which is made again where it was removed.
    pub fn row_again(&mut self, kind: OperationKind, row: u32) -> u32 {
        if row < REMOVED {
            return row;
        }
        match self.removed_rows[(row - REMOVED) as usize] {
            RowKey::Shape(key) if kind == operation_kinds::SEARCH => self.shape(key),
            RowKey::Shape(_) => self.target((kind, OTHER)),
            RowKey::Target(key) => self.target(key),
        }
    }

    /// The time of the last record.
    pub fn last_time_or_none(&self) -> Option<i64> {
        (self.last_time != i64::MIN).then_some(self.last_time)
    }

    /// Keeps the name of a cap that was hit, other than those of tables.
    pub fn cut_short(&mut self, cap: &str) {
        if !self.cut_short.contains(cap) {
            self.cut_short.insert(cap.to_owned());
        }
    }

    /// Counts lookups in an index, with the longest and the shortest ID list.
    pub fn index_lookup(&mut self, key: (Symbol, Symbol), lookups: LookupCounts) {
        let place = self.lookups.place(key, || LookupCounts { count: 0, ..lookups });
        self.lookups.at(place).add(lookups);
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

/// The counts of small codes as a list: serde knows no array of that length.
mod small_codes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(small: &[u64; 128], serializer: S) -> Result<S::Ok, S::Error> {
        small.to_vec().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; 128], D::Error> {
        let small = Vec::<u64>::deserialize(deserializer)?;
        small.try_into().map_err(|_| D::Error::custom("another number of codes"))
    }
}
