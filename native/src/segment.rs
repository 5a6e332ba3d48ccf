//! Segment: what a piece of an access log adds up to. Integers only: nanoseconds and counts.
//!
//! `plain.rs` hands it over to Python, where pieces are merged.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::connection::Cell;
use crate::kinds;
use crate::pieces::has_pieces;
use crate::runs::Run;
use crate::tables::{Caps, ClientRow, Histogram, Lookups, OTHER_SHAPE, ShapeKey, ShapeRow, Table};
use crate::texts::{OTHER, Text, Texts};

/// Lines that no rule fits are kept as samples.
pub const SAMPLES: usize = 5;
/// Bytes of a sample, and of a server's own words.
const SAMPLE_BYTES: usize = 200;

/// A text of the server, as far as it is kept.
pub fn beginning(text: &[u8]) -> &[u8] {
    &text[..text.len().min(SAMPLE_BYTES)]
}

/// Results by code: nearly all are small.
pub struct Codes {
    small: [u64; 128],
    others: FxHashMap<i64, u64>,
}

impl Codes {
    /// Counts a code.
    pub fn count(&mut self, err: i64) {
        match usize::try_from(err).ok().and_then(|small| self.small.get_mut(small)) {
            Some(count) => *count += 1,
            None => *self.others.entry(err).or_default() += 1,
        }
    }

    /// Codes and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let small = (0i64..).zip(self.small).filter(|&(_, count)| count > 0);
        small.chain(self.others.iter().map(|(&err, &count)| (err, count)))
    }

    /// How many codes of the unusual ones there are.
    pub fn unusual(&self) -> usize {
        self.others.len()
    }
}

/// What a piece of a log adds up to, and what waits at its edges (`runs`). Fields as in segment.py.
#[allow(missing_docs)]
pub struct Segment {
    pub caps: Caps,
    pub texts: Texts,
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
    pub operations: [u64; kinds::COUNT],
    pub internal: u64,
    pub results: Codes,
    pub continued: u64,
    pub holes: i128,
    pub waits: Histogram,
    pub longest_wait: (i64, i64),
    pub waited: i128,
    pub took: i128,
    pub opened: u64,
    pub cut_short: BTreeSet<&'static str>,
    pub servers: Table<Text, u64>,
    pub instances: Table<(Text, Text), u64>,
    pub closed: Table<Text, u64>,
    pub noted: Table<Text, u64>,
    pub not_indexed: Table<(Text, Text), u64>,
    pub lookups: Table<(Text, Text), Lookups>,
    pub modified: Table<Text, u64>,
    pub shapes: Table<ShapeKey, ShapeRow>,
    pub attribution: Table<(Text, Text, Text), Cell>,
    pub clients: Table<Text, ClientRow>,
    pub accounts: Table<Text, u64>,
    pub failures: Table<(Text, Text, i64), u64>,
    /// Bytes, about, of what waits at the edges.
    pub weight: usize,
}

impl Segment {
    /// A Segment that counts nothing yet.
    pub fn new(caps: Caps) -> Self {
        Segment {
            caps,
            texts: Texts::default(),
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
            operations: [0; kinds::COUNT],
            internal: 0,
            results: Codes { small: [0; 128], others: FxHashMap::default() },
            continued: 0,
            holes: 0,
            waits: Histogram::default(),
            longest_wait: (0, 0),
            waited: 0,
            took: 0,
            opened: 0,
            cut_short: BTreeSet::new(),
            servers: Table::new(caps.codes, OTHER),
            instances: Table::new(caps.codes, (OTHER, OTHER)),
            closed: Table::new(caps.codes, OTHER),
            noted: Table::new(caps.notes, OTHER),
            not_indexed: Table::new(caps.shapes, (OTHER, OTHER)),
            lookups: Table::new(caps.shapes, (OTHER, OTHER)),
            modified: Table::new(caps.shapes, OTHER),
            shapes: Table::new(caps.shapes, OTHER_SHAPE),
            attribution: Table::new(caps.attribution, (OTHER, OTHER, OTHER)),
            clients: Table::new(caps.clients, OTHER),
            accounts: Table::new(caps.accounts, OTHER),
            failures: Table::new(caps.failures, (OTHER, OTHER, -1)),
            weight: 0,
        }
    }

    /// Where searches of a shape are counted, or those of all others.
    pub fn shape(&mut self, key: ShapeKey) -> u32 {
        let texts = &self.texts;
        self.shapes.place(key, |key| ShapeRow::new(key, has_pieces(texts.at(key.0)))) as u32
    }

    /// Where the connections of a client are counted, or those of all others.
    pub fn client(&mut self, address: Text) -> u32 {
        self.clients.place(address, |_| ClientRow::default()) as u32
    }

    /// Counts a look-up in an index, and keeps how many ids it found.
    pub fn looked_up(&mut self, key: (Text, Text), ids: i64) {
        let place = self.lookups.place(key, |_| Lookups { count: 0, most: ids, least: ids });
        let told = self.lookups.at(place);
        *told = Lookups { count: told.count + 1, most: told.most.max(ids), least: told.least.min(ids) };
    }

    /// Where searches of a shape by a client and an account are counted, or those of all others.
    pub fn asker(&mut self, key: (Text, Text, Text)) -> usize {
        self.attribution.place(key, |_| Cell::default())
    }
}
