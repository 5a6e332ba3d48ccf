//! Any bytes for every dialect: the first byte selects the dialect, the second the cut and the period.
//!
//! For any input nothing panics or overflows, each line is counted once however the log is cut, and a scan that is taken
//! whenever it is heavy stays small (libFuzzer's memory limit checks that).
#![no_main]

use ldapdiag_native::segment::Part;
use ldapdiag_native::dialects::{DIALECTS, Dialect};
use ldapdiag_native::period::Period;
use ldapdiag_native::scan::{Hints, Offset, Scan};
use ldapdiag_native::tables::Caps;
use libfuzzer_sys::fuzz_target;

const CAPS: Caps = Caps { owed: 2, codes: 2, notes: 2, pages: 2, ..Caps::NONE };
const ALL: Period = Period { since: None, until: None };

fn scanned(dialect: &Dialect, chunks: &[&[u8]], period: Period) -> Vec<Part> {
    let hints = Hints { latest: 1_795_240_800_000_000_000, offset: Offset::Fixed(-5400) };
    let mut scan = Scan::new(hints, CAPS, period);
    for chunk in chunks {
        (dialect.scan)(chunk, &mut scan);
    }
    scan.take()
}

fn lines(parts: &[Part]) -> u64 {
    parts.iter().map(|(_, segment)| segment.lines).sum()
}

fuzz_target!(|data: &[u8]| {
    let [chosen, how, log @ ..] = data else { return };
    let dialect = &DIALECTS[usize::from(*chosen) % DIALECTS.len()];
    let whole = scanned(dialect, &[log], ALL);
    let ends =
        log.iter().filter(|&&byte| byte == b'\n').count() + usize::from(log.last().is_some_and(|&it| it != b'\n'));
    assert_eq!(lines(&whole), ends as u64);

    let (left, right) = log.split_at(dialect.cut(&log[..log.len() * usize::from(*how) / 255]));
    let fed = scanned(dialect, &[left, right], ALL);
    assert_eq!(lines(&fed), ends as u64);
    let one = scanned(dialect, &[left], ALL);
    let other = scanned(dialect, &[right], ALL);
    assert_eq!(lines(&one) + lines(&other), ends as u64);

    // Every fourth: four more scans would halve the number of inputs in a night.
    if how % 4 != 0 {
        return;
    }
    let Some(first) = whole.last().map(|(_, segment)| segment.first_time) else { return };
    let border = Some(first.saturating_add(i64::from(*how) * 10_000_000));
    for (since, until) in [(border, None), (None, border), (border, border)] {
        assert_eq!(lines(&scanned(dialect, &[left, right], Period { since, until })), ends as u64);
    }
});
