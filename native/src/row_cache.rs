//! A cache of the rows of searches by filter and base, and of the targets of other operations: millions of requests use a
//! handful of them.

use crate::operation_kinds::{EXTENDED, OperationKind};
use crate::scan::Scan;
use crate::segment::sample_of;
use crate::tables::LONGEST;
use crate::{bases, filters};

/// Bytes of a filter from which on its row is not cached: most are longer than a key when they are reduced, too.
const LONGEST_FILTER: usize = 8 * LONGEST;
/// The scope of a search for one entry, which other operations name.
const BASE_SCOPE: i64 = 0;
/// The end of a key that is no search's: no filter in a key has this length.
const OF_TARGET: [u8; 2] = u16::MAX.to_le_bytes();

impl Scan {
    /// Returns the row that counts searches of this shape and base; caches it unless they are very long.
    #[inline]
    pub(crate) fn row(&mut self, filter: &[u8], base: &[u8], scope: i64) -> u32 {
        match self.templates.row(filter, base, scope) {
            Some(row) => row,
            None => self.row_without_template(filter, base, scope),
        }
    }

    fn row_without_template(&mut self, filter: &[u8], base: &[u8], scope: i64) -> u32 {
        if filter.len() > LONGEST_FILTER {
            return self.find_row(filter, base, scope);
        }
        self.key.clear();
        filters::reduce(filter, &mut self.key);
        let filter_length = self.key.len();
        let is_base_again = self.add_reduced_base(base, scope);
        if self.key.len() > LONGEST || !filter.starts_with(b"(") {
            return self.find_row(filter, base, scope);
        }
        self.key.push(u8::from(filters::is_cut(filter)));
        self.key.extend_from_slice(&scope.to_le_bytes());
        self.key.extend_from_slice(&(filter_length as u16).to_le_bytes());
        let known = self.rows.get(&self.key);
        let row = known.unwrap_or_else(|| self.new_row(filter_length, filters::is_cut(filter)));
        if is_base_again {
            self.templates.keep(filter, base, scope, row);
        }
        row
    }

    /// Returns the row of the search whose key this is, and caches it.
    fn new_row(&mut self, filter_length: usize, is_cut: bool) -> u32 {
        let shape = self.segment.texts.intern(&filters::shape_of_reduced(&self.key[..filter_length], is_cut));
        let (_, scope, reduced, class) = &mut self.base;
        let class = *class.get_or_insert_with(|| self.segment.texts.intern(&bases::base_class(reduced, *scope)));
        let row = self.segment.shape((shape, class, *scope));
        self.cache(row);
        row
    }

    /// Returns the row that counts requests of this kind for a target: the class of a DN, or an OID.
    pub(crate) fn target_row(&mut self, kind: OperationKind, target: &[u8]) -> u32 {
        if kind == EXTENDED {
            let text = self.segment.texts.intern(sample_of(target));
            return self.segment.target((kind, text));
        }
        self.key.clear();
        bases::reduce(target, BASE_SCOPE, &mut self.key);
        let is_short = self.key.len() <= LONGEST;
        self.key.push(kind as u8);
        self.key.extend_from_slice(&OF_TARGET);
        if let Some(row) = self.rows.get(&self.key).filter(|_| is_short) {
            return row;
        }
        let text = self.segment.texts.intern(&bases::base_class(target, BASE_SCOPE));
        let row = self.segment.target((kind, text));
        if is_short {
            self.cache(row);
        }
        row
    }

    fn cache(&mut self, row: u32) {
        self.rows.keep(&self.key, row);
    }

    /// Appends the reduced base to the key; returns whether it is that of the last search without a template.
    fn add_reduced_base(&mut self, base: &[u8], scope: i64) -> bool {
        let is_again = self.base.0 == base && self.base.1 == scope;
        if !is_again {
            self.base.0.clear();
            self.base.0.extend_from_slice(base);
            self.base.1 = scope;
            self.base.2.clear();
            bases::reduce(base, scope, &mut self.base.2);
            self.base.3 = None;
        }
        self.key.extend_from_slice(&self.base.2);
        is_again
    }

    fn find_row(&mut self, filter: &[u8], base: &[u8], scope: i64) -> u32 {
        let shape = self.segment.texts.intern(&filters::shape(filter));
        let class = self.segment.texts.intern(&bases::base_class(base, scope));
        self.segment.shape((shape, class, scope))
    }
}
