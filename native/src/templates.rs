//! Templates: the last searches without the values of their filters. Most searches differ from one of them in these
//! alone, and have its row.
//!
//! ```text
//! (&(objectClass=person)(mail=joe@x))        (&(objectClass=person)(mail=   ))
//! (|(cn=*joe*)(sn=*joe*))                    (|(cn=*   *)(sn=*   *))
//! ```
//!
//! No value has a byte that ends one (`()*`), so a filter with these texts between its values has the same reduced
//! form.

use crate::filters::{end_of_value, values};
use crate::tables::LONGEST;

/// Templates kept; they are searched linearly, because a value begins at an unknown place.
const MOST: usize = 8;
/// The most values of a filter.
const MOST_VALUES: usize = 4;
/// With all templates in use, only one of so many searches without one replaces one: that costs more than to find a row
/// in the cache.
const PATIENCE: usize = 32;

/// The texts between the values of a filter; and its base, scope and row.
struct Template {
    /// The first eight bytes of the filter, as far as they come before its first value.
    first: u64,
    mask: u64,
    scope: i64,
    row: u32,
    base: Vec<u8>,
    /// What is before the first value from the ninth byte on, and the length of all of it.
    rest: Vec<u8>,
    before: usize,
    /// The text after each value, up to the next one.
    behind: Vec<Vec<u8>>,
}

impl Template {
    /// The template of a search; `None` for the few of which the search for one would cost more than it saves.
    fn of(filter: &[u8], base: &[u8], scope: i64, row: u32) -> Option<Self> {
        let eight = u64::from_le_bytes(*filter.first_chunk()?);
        let values = values(filter);
        if values.len() > MOST_VALUES || !filter.ends_with(b")") || base.len() > LONGEST {
            return None;
        }
        let before = values.first().map_or(filter.len(), |value| value.start);
        let ends = values.iter().skip(1).map(|value| value.start).chain([filter.len()]);
        let mask = u64::MAX >> (64 - 8 * before.clamp(1, 8));
        Some(Template {
            first: eight & mask,
            mask,
            scope,
            row,
            base: base.to_vec(),
            rest: filter[before.min(8)..before].to_vec(),
            before,
            behind: values.iter().zip(ends).map(|(value, end)| filter[value.end..end].to_vec()).collect(),
        })
    }

    /// Returns whether a filter, of which the first word fits, has these texts between its values.
    #[inline(always)]
    fn fits(&self, filter: &[u8]) -> bool {
        let mut at = self.before;
        if at > 8 && !filter[8..].starts_with(&self.rest) {
            return false;
        }
        for text in &self.behind {
            let end = end_of_value(filter, at);
            if end == at || !begins(&filter[end..], text) {
                return false;
            }
            at = end + text.len();
        }
        at == filter.len()
    }
}

/// The templates of a Segment.
#[derive(Default)]
pub struct Templates {
    all: Vec<Template>,
    /// Searches without a template.
    missed: usize,
}

impl Templates {
    /// The row of a search.
    #[inline]
    pub fn row(&self, filter: &[u8], base: &[u8], scope: i64) -> Option<u32> {
        let eight = u64::from_le_bytes(*filter.first_chunk()?);
        let is = |each: &&Template| {
            (eight ^ each.first) & each.mask == 0 && each.scope == scope && each.base == base && each.fits(filter)
        };
        self.all.iter().find(is).map(|each| each.row)
    }

    /// Keeps the row of a search for which there was no template, perhaps in the place of another.
    #[inline]
    pub fn keep(&mut self, filter: &[u8], base: &[u8], scope: i64, row: u32) {
        self.missed += 1;
        if self.all.len() == MOST && !self.missed.is_multiple_of(PATIENCE) {
            return;
        }
        if let Some(template) = Template::of(filter, base, scope, row) {
            self.put(template);
        }
    }

    #[cold]
    fn put(&mut self, template: Template) {
        if self.all.len() == MOST {
            self.all[self.missed / PATIENCE % MOST] = template;
        } else {
            self.all.push(template);
        }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.all.clear();
    }
}

/// Returns whether a text begins with another, which is often a single byte.
#[inline(always)]
fn begins(text: &[u8], with: &[u8]) -> bool {
    match with {
        [byte] => text.first() == Some(byte),
        _ => text.starts_with(with),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::{is_cut, reduce};

    fn reduced(filter: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        reduce(filter, &mut out);
        out
    }

    fn fits(one: &[u8], other: &[u8]) -> bool {
        let mut templates = Templates::default();
        templates.keep(one, b"dc=x", 2, 7);
        templates.row(other, b"dc=x", 2) == Some(7)
    }

    #[test]
    fn filters_that_differ_in_their_values_have_one_template() {
        for (one, other) in [
            ("(uid=joe)", "(uid=ann=\"x\" attrs=)"),
            ("(&(objectClass=person)(mail=joe@x))", "(&(objectClass=person)(mail=a))"),
            ("(|(cn=*joe*)(sn=*joe*))", "(|(cn=*ann*)(sn=*b*))"),
            ("(objectClass=*)", "(objectClass=*)"),
        ] {
            assert!(fits(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
        for (one, other) in [
            ("(uid=joe)", "(uid=*joe)"),
            ("(uid=joe)", "(uid=)))))"),
            ("(uid=joe)", "(uid=joe..."),
            ("(uid=joe...", "(uid=joe..."),
            ("(uid=joe)", "(uid=joe))"),
            ("(objectClass=person)", "(objectClass=groups)"),
            ("(a=b)", "(a=b)"),
        ] {
            assert!(!fits(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
    }

    #[test]
    fn filters_of_one_template_have_one_reduced_form() {
        const PARTS: [&str; 16] = [
            "(uid=",
            "(objectClass=",
            "(OBJECTCLASS=",
            "objectclass=",
            ")",
            "*",
            "=",
            "(&",
            "...",
            "(",
            "a",
            "(b=c)",
            "joe",
            ")(",
            "*)",
            "\"",
        ];
        let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
        let mut drawn = |most: usize| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            (chance % most as u64) as usize
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let parts: Vec<_> = (0..2 + drawn(5)).map(|_| PARTS[drawn(PARTS.len())]).collect();
            let mut others = parts.clone();
            let changed = drawn(parts.len());
            others[changed] = PARTS[drawn(PARTS.len())];
            let (one, other) = (format!("({})", parts.concat()), format!("({})", others.concat()));
            if fits(one.as_bytes(), other.as_bytes()) {
                found += 1;
                assert_eq!(reduced(one.as_bytes()), reduced(other.as_bytes()), "{one} {other}");
                assert_eq!(is_cut(one.as_bytes()), is_cut(other.as_bytes()), "{one} {other}");
            }
        }
        assert!(found > 1_000, "{found}");
    }

    #[test]
    fn a_base_and_a_scope_have_templates_of_their_own() {
        let mut templates = Templates::default();
        templates.keep(b"(uid=joe)", b"dc=x", 2, 1);
        templates.keep(b"(uid=joe)", b"dc=y", 2, 2);

        let row = |base, scope| templates.row(b"(uid=ann)", base, scope);
        assert_eq!((row(b"dc=x", 2), row(b"dc=y", 2), row(b"dc=x", 1)), (Some(1), Some(2), None));
    }

    #[test]
    fn new_searches_replace_old_ones_in_time() {
        let mut templates = Templates::default();
        let filter = |number: usize| format!("(a{number:02}=joe)");
        for number in 0..MOST {
            templates.keep(filter(number).as_bytes(), b"", 2, number as u32);
        }
        for _ in 0..PATIENCE {
            templates.keep(filter(90).as_bytes(), b"", 2, 90);
        }

        assert_eq!(templates.row(filter(90).as_bytes(), b"", 2), Some(90));
        assert_eq!((0..MOST).filter(|&number| templates.row(filter(number).as_bytes(), b"", 2).is_some()).count(), 7);
        templates.clear();
        assert_eq!(templates.row(filter(90).as_bytes(), b"", 2), None);
    }
}
