//! Tens of thousands of damaged vectors: no panic (and no overflow, as in any test build), each line counted once, and
//! counts that do not depend on the edge of a chunk are the same wherever the log is cut.
//!
//! The mutations are always the same, so a failure is reproducible. `fuzz/` searches further.

use std::fs;
use std::path::Path;

use ldapdiag_native::dialects::{DIALECTS, Dialect};
use ldapdiag_native::period::Period;
use ldapdiag_native::scan::{Hints, Offset, Scan};
use ldapdiag_native::segment::Part;
use ldapdiag_native::segment::Segment;
use ldapdiag_native::tables::Caps;

const ROUNDS: usize = 150;
const CAPS: Caps = Caps { owed: 2, codes: 2, notes: 2, pages: 2, ..Caps::NONE };
const FORGED: [&[u8]; 24] = [
    b"\"",
    b"\\",
    b"\\\"",
    b"\r",
    b"\n",
    b"\0",
    b"\xff",
    b"\xe2\x80\xa8",
    b" ",
    b" notes=A",
    b"\" scope=2 filter=\"",
    b"\" attrs=ALL",
    b" deref=0 filter=\"",
    b" pr_idx=0 pr_cookie=-1",
    b"(|(a=b)(a=c))",
    b"(((",
    b"conn=-1 ",
    b"{",
    b"}",
    b"\\ud83d",
    b"999999999999999999",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"...",
];

/// A pseudo-random generator (xorshift) with a fixed seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }
}

fn scanned(dialect: &Dialect, chunks: &[&[u8]], period: Period) -> Vec<Part> {
    let hints = Hints { latest: 1_795_240_800_000_000_000, offset: Offset::Fixed(3600) };
    let mut scan = Scan::new(hints, CAPS, period);
    for chunk in chunks {
        (dialect.scan)(chunk, &mut scan);
    }
    scan.take()
}

fn whole(dialect: &Dialect, chunks: &[&[u8]]) -> Segment {
    scanned(dialect, chunks, Period { since: None, until: None }).pop().expect("a part").1
}

fn damaged(log: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut data = log.to_vec();
    for _ in 0..1 + chance.below(6) {
        let place = chance.below(data.len() + 1);
        let size = chance.below(40).min(data.len() - place);
        match chance.below(6) {
            0 if place < data.len() => data[place] = chance.below(256) as u8,
            1 => drop(data.drain(place..place + size)),
            2 => {
                let again = data[place..place + size].to_vec();
                data.splice(place..place, again);
            }
            3 => data.truncate(place),
            _ => drop(data.splice(place..place, FORGED[chance.below(FORGED.len())].iter().copied())),
        }
    }
    data
}

fn lines(data: &[u8]) -> u64 {
    let ends = data.iter().filter(|&&byte| byte == b'\n').count() as u64;
    ends + u64::from(data.last().is_some_and(|&last| last != b'\n'))
}

fn additive(segment: &Segment) -> (u64, u64, u64, u64, u64, u64) {
    let results = segment.results.iter().map(|(_, count)| count).sum();
    (segment.lines, segment.misread, segment.passed_over, segment.internal, segment.opened, results)
}

fn check(dialect: &Dialect, data: &[u8], chance: &mut Chance) {
    let all = whole(dialect, &[data]);
    assert_eq!(all.lines, lines(data), "{}: {}", dialect.name, data.escape_ascii());

    let (left, right) = data.split_at(dialect.cut(&data[..chance.below(data.len() + 1)]));
    let fed = whole(dialect, &[left, right]);
    assert_eq!(additive(&fed), additive(&all), "{}: {}", dialect.name, data.escape_ascii());

    let (one, other) = (whole(dialect, &[left]), whole(dialect, &[right]));
    let both = (additive(&one), additive(&other));
    let sum = (both.0.0 + both.1.0, both.0.1 + both.1.1, both.0.2 + both.1.2, both.0.3 + both.1.3);
    assert_eq!(sum, (all.lines, all.misread, all.passed_over, all.internal), "{}", data.escape_ascii());

    let border = all.first_time.saturating_add(chance.below(2_000_000_000) as i64);
    let period = Period { since: Some(border), until: Some(border.saturating_add(chance.below(1_000_000_000) as i64)) };
    let parts = scanned(dialect, &[left, right], period);
    assert_eq!(parts.iter().map(|(_, part)| part.lines).sum::<u64>(), all.lines, "{}", data.escape_ascii());
    assert!(parts.windows(2).all(|pair| pair[0].0 != pair[1].0), "{}", data.escape_ascii());
}

#[test]
fn damaged_vectors_are_read_to_their_end() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for dialect in &DIALECTS {
        let mut logs: Vec<_> = fs::read_dir(vectors.join(dialect.name))
            .expect("the vectors of each dialect")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "log"))
            .collect();
        logs.sort();
        for log in logs.iter().map(|path| fs::read(path).expect("a vector")) {
            check(dialect, &log, &mut chance);
            for _ in 0..ROUNDS {
                check(dialect, &damaged(&log, &mut chance), &mut chance);
            }
        }
    }
}
