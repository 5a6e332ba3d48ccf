//! The lines of a chunk, its clock, and records that belong to no connection.

use memchr::memchr;
use rustc_hash::FxHashSet;

use crate::scan::Scan;
use crate::segment::{SAMPLES, sample_of};
use crate::tables::LookupCounts;

impl Scan {
    /// Counts lines; called after the record in them.
    pub fn lines(&mut self, count: u64) {
        self.segment.lines += count;
    }

    /// Keeps the name and version of the server; how often it is read depends on where a log is cut: not counted.
    pub fn header(&mut self, instance: &[u8], version: &[u8]) {
        let texts = &mut self.segment.texts;
        let key = (texts.intern(sample_of(instance)), texts.intern(sample_of(version)));
        self.segment.instances.count(key, 0);
    }

    /// Returns whether a record names another server than the one before in this part, and keeps the name as logged.
    pub fn is_other_instance(&mut self, logged: &[u8]) -> bool {
        let is_other = self.instance.as_deref() != Some(logged);
        if is_other {
            self.instance = Some(logged.into());
        }
        is_other
    }

    /// Counts lines that the log reports as lost.
    pub fn lost(&mut self, lines: i64) {
        self.segment.lost += i128::from(lines);
    }

    /// Counts a candidate lookup without an index, as slapd logs it.
    pub fn not_indexed(&mut self, attribute: &[u8], kind: &[u8]) {
        let texts = &mut self.segment.texts;
        let key = (texts.intern(sample_of(attribute)), texts.intern(sample_of(kind)));
        self.segment.not_indexed.count(key, 1);
    }

    /// Counts an index lookup of 389-ds (STAT) and the length of its ID list.
    pub fn index_lookup(&mut self, attribute: &[u8], kind: &[u8], ids: i64) {
        let texts = &mut self.segment.texts;
        let key = (texts.intern(type_of(attribute, &mut self.kept)), texts.intern(sample_of(kind)));
        self.segment.index_lookup(key, LookupCounts { count: 1, most: ids, least: ids });
    }

    /// Counts a MOD request once for each attribute in a list separated by blanks.
    pub fn modified_attributes(&mut self, attributes: &[u8]) {
        let (texts, mut touched) = (&mut self.segment.texts, FxHashSet::default());
        let known = texts.len();
        for attribute in attributes.split(|&byte| byte == b' ').filter(|attribute| !attribute.is_empty()) {
            let before = texts.len();
            let attribute = texts.intern(type_of(attribute, &mut self.kept));
            let is_first = if attribute.index() < known { touched.insert(attribute) } else { texts.len() > before };
            if is_first {
                self.segment.modified.count(attribute, 1);
            }
        }
    }

    /// Counts lines that are understood and not needed.
    pub fn passed_over(&mut self, lines: u64) {
        self.segment.passed_over += lines;
    }

    /// Counts a line that no rule matches, and keeps the first few.
    pub fn misread(&mut self, line: &[u8]) {
        self.segment.misread += 1;
        if self.segment.samples.len() < SAMPLES {
            self.segment.samples.push(sample_of(line).to_vec());
        }
    }

    /// Keeps the zone of the stamps; `None` where the format has none.
    pub fn clock(&mut self, zone: Option<&[u8]>) {
        let zone = zone.unwrap_or_default();
        if !self.segment.zones.contains(zone) {
            self.segment.zones.insert(zone.to_vec());
        }
    }

    /// Keeps the resolution of the stamps, that of the coarsest.
    pub fn resolution(&mut self, nanoseconds: i64) {
        if nanoseconds > self.segment.resolution {
            self.segment.resolution = nanoseconds;
        }
    }

    /// Counts an internal operation of the server.
    pub fn internal(&mut self) {
        self.segment.internal += 1;
    }
}

/// The attribute type of an attribute description (RFC 4512, 2.5): lower case, without options; written where it differs.
#[must_use]
fn type_of<'a>(attribute: &'a [u8], into: &'a mut Vec<u8>) -> &'a [u8] {
    let attribute = sample_of(attribute);
    if !attribute.iter().any(|&byte| byte == b';' || byte.is_ascii_uppercase()) {
        return attribute;
    }
    into.clear();
    into.extend_from_slice(&attribute[..memchr(b';', attribute).unwrap_or(attribute.len())]);
    into.make_ascii_lowercase();
    into
}
