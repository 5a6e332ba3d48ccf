//! Rows of searches by filter and base, remembered: millions of searches are a handful of these.

use crate::scan::Scan;
use crate::tables::LONGEST;
use crate::{bases, filters};

/// Shapes and bases whose row is remembered.
const MOST_BASES: usize = 20_000;

impl Scan {
    /// Returns where searches of this shape and base are counted, and remembers it unless they are very long.
    pub(crate) fn row(&mut self, filter: &[u8], base: &[u8], scope: i64) -> u32 {
        self.key.clear();
        filters::bare(filter, &mut self.key);
        let bare = self.key.len();
        self.bare_base(base, scope);
        if self.key.len() > LONGEST || !filter.starts_with(b"(") {
            return self.learn(filter, base, scope);
        }
        self.key.push(u8::from(filters::is_cut(filter)));
        self.key.extend_from_slice(&scope.to_le_bytes());
        self.key.extend_from_slice(&(bare as u16).to_le_bytes());
        if let Some(&row) = self.rows.get(&self.key[..]) {
            return row;
        }
        let row = self.learn(filter, base, scope);
        if self.rows.len() >= MOST_BASES {
            self.rows.clear();
        }
        self.rows.insert(self.key[..].into(), row);
        row
    }

    /// Appends what is left of a base; most searches have that of the one before.
    fn bare_base(&mut self, base: &[u8], scope: i64) {
        if self.base.0 != base || self.base.1 != scope {
            self.base.0.clear();
            self.base.0.extend_from_slice(base);
            self.base.1 = scope;
            self.base.2.clear();
            bases::bare(base, scope, &mut self.base.2);
        }
        self.key.extend_from_slice(&self.base.2);
    }

    fn learn(&mut self, filter: &[u8], base: &[u8], scope: i64) -> u32 {
        let shape = self.segment.texts.number(&filters::shape(filter));
        let class = self.segment.texts.number(&bases::base_class(base, scope));
        self.segment.shape((shape, class, scope))
    }
}
