//! How well a log could be read, and what it says besides its operations.

use memchr::memchr;
use rustc_hash::FxHashSet;

use crate::scan::Scan;
use crate::segment::{SAMPLES, beginning};

/// What was known of the log's clock before a line.
pub(crate) struct Clock {
    pub(crate) line: u64,
    /// The zone that the line was the first to tell.
    pub(crate) zone: Option<Vec<u8>>,
    pub(crate) resolution: i64,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { line: u64::MAX, zone: None, resolution: 1 }
    }
}

impl Scan {
    /// Counts lines; called after a record has been told.
    pub fn lines(&mut self, count: u64) {
        self.segment.lines += count;
    }

    /// Keeps what a header says of the server.
    pub fn named(&mut self, instance: &[u8], version: &[u8]) {
        let texts = &mut self.segment.texts;
        let key = (texts.number(beginning(instance)), texts.number(beginning(version)));
        self.segment.instances.count(key, 1);
    }

    /// Counts lines that the log itself says are missing.
    pub fn lost(&mut self, lines: i64) {
        self.segment.lost += i128::from(lines);
    }

    /// Counts slapd's word that a candidate lookup had no index.
    pub fn not_indexed(&mut self, attribute: &[u8], kind: &[u8]) {
        let texts = &mut self.segment.texts;
        let key = (texts.number(beginning(attribute)), texts.number(beginning(kind)));
        self.segment.not_indexed.count(key, 1);
    }

    /// Counts 389-ds' word on how many ids a key of an index holds.
    pub fn looked_up(&mut self, attribute: &[u8], kind: &[u8], ids: i64) {
        let texts = &mut self.segment.texts;
        let key = (texts.number(&type_of(attribute)), texts.number(beginning(kind)));
        self.segment.looked_up(key, ids);
    }

    /// Counts a MOD request for each attribute that it touches, however often; there are blanks between them.
    pub fn modified(&mut self, attributes: &[u8]) {
        let mut touched = FxHashSet::default();
        for attribute in attributes.split(|&byte| byte == b' ').filter(|attribute| !attribute.is_empty()) {
            let attribute = self.segment.texts.number(&type_of(attribute));
            if touched.insert(attribute) {
                self.segment.modified.count(attribute, 1);
            }
        }
    }

    /// Counts lines that are understood and of no use here.
    pub fn passed_over(&mut self, lines: u64) {
        self.segment.passed_over += lines;
    }

    /// Counts a line no rule fits, and keeps the first few.
    pub fn misread(&mut self, line: &[u8]) {
        self.segment.misread += 1;
        if self.segment.samples.len() < SAMPLES {
            self.segment.samples.push(beginning(line).to_vec());
        }
    }

    /// Keeps the zone that stamps are written in; none where the format has none.
    pub fn clock(&mut self, zone: Option<&[u8]>) {
        let zone = zone.unwrap_or_default();
        if !self.segment.zones.contains(zone) {
            self.remember_clock();
            self.clock_before.zone = Some(zone.to_vec());
            self.segment.zones.insert(zone.to_vec());
        }
    }

    /// Keeps how fine the stamps are.
    pub fn resolution(&mut self, nanoseconds: i64) {
        if nanoseconds > self.segment.resolution {
            self.remember_clock();
            self.segment.resolution = nanoseconds;
        }
    }

    /// Keeps what was known of the clock before this line, should it lie past a border.
    fn remember_clock(&mut self) {
        if self.clock_before.line != self.segment.lines {
            self.clock_before = Clock { line: self.segment.lines, zone: None, resolution: self.segment.resolution };
        }
    }

    /// Counts an operation of the server itself.
    pub fn internal(&mut self) {
        self.segment.internal += 1;
    }
}

/// The attribute type of an attribute description (RFC 4512, 2.5): lower case, without options.
fn type_of(attribute: &[u8]) -> Vec<u8> {
    let attribute = beginning(attribute);
    attribute[..memchr(b';', attribute).unwrap_or(attribute.len())].to_ascii_lowercase()
}
