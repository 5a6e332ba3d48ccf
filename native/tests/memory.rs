//! Adversarial logs with as many different values as possible, 64 MB of each kind: the memory of a scan stays bounded, as
//! long as the caller takes the chunk when the scan is heavy, and so does that of all chunks merged.
//!
//! Built without optimisation it reads 4 MB of each; `cargo test --release --test memory` reads all.

use std::fmt::Write;
use std::fs;

use ldapdiag_native::dialects::named;
use ldapdiag_native::period::Period;
use ldapdiag_native::scan::{Hints, Offset, Scan};
use ldapdiag_native::segment::Segment;
use ldapdiag_native::tables::Caps;

const BYTES: usize = if cfg!(debug_assertions) { 4 << 20 } else { 64 << 20 };
const CHUNK: usize = 256 << 10;
const MOST_KIB: u64 = 256 << 10;
/// As HEAVY_BYTES of sources/logs/native.py.
const HEAVY: usize = 16 << 20;
/// As in tables.py.
const CAPS: Caps = Caps {
    shapes: 10_000,
    targets: 10_000,
    clients: 20_000,
    accounts: 20_000,
    attribution: 60_000,
    idle_times: 20_000,
    owed: 5_000,
    codes: 200,
    notes: 200,
    results: 1_000,
    pending: 300_000,
    pages: 1_000,
    connections: 100_000,
};

/// Takes the parts of a scan, and adds them up.
fn take_into(total: &mut Segment, scan: &mut Scan) {
    for (_, part) in scan.take() {
        total.merge(part);
    }
}

/// Writes the lines of one number, without their stamps.
type Lines = fn(u64, &mut Vec<String>);
/// Writes the stamp of the lines of one number.
type Stamp = fn(u64) -> String;

const TEXT: [(&str, Lines); 18] = [
    ("connections, never closed", |n, log| {
        log.push(format!("conn={n} fd=64 slot=64 connection from {} to ::1", client(n)))
    }),
    ("connections opened before", |n, log| {
        log.push(format!("conn={n} op=7 RESULT err=0 tag=101 nentries=0 etime=0.1"))
    }),
    ("searches, never answered", |n, log| log.push(search(n, n, &format!("(uid={n})")))),
    ("long filters, never answered", |n, log| log.push(search(1, n, &format!("(a{n}={})", "x".repeat(2000))))),
    ("searches after the close", |n, log| {
        if n % 500 == 0 {
            log.push(format!("conn={} fd=64 slot=64 connection from ::1 to ::1", n / 500));
            log.push(format!("conn={} op=1 fd=64 closed - U1", n / 500));
        }
        log.push(search(n / 500, n, "(a=b)"));
    }),
    ("results without request", |n, log| {
        log.push(format!("conn=1 op={n} RESULT err={n} tag=101 nentries=0 etime=0.1"))
    }),
    ("pages", |n, log| {
        log.push(search(1, n, "(a=b)"));
        log.push(format!("conn=1 op={n} RESULT err=0 tag=101 nentries=0 etime=0.1 notes=P pr_idx={n} pr_cookie=0"));
    }),
    ("shapes and bases", |n, log| {
        log.push(format!("conn={} op={n} SRCH base=\"ou=b{n},dc=x\" scope=2 filter=\"(a{n}=x)\" attrs=ALL", n % 9));
        log.push(format!("conn={} op={n} RESULT err=0 tag=101 nentries=0 etime=0.1", n % 9));
    }),
    ("lengths of substrings", |n, log| {
        let value = (0..8)
            .fold(String::from("*"), |value, digit| value + &"x".repeat((n >> (3 * digit) & 7) as usize + 1) + "*");
        log.push(search(n % 9, n, &format!("(a{}={value})", n % 20_000)));
        log.push(format!("conn={} op={n} RESULT err=0 tag=101 nentries=0 etime=0.1", n % 9));
    }),
    ("lookups of attributes", |n, log| {
        log.push(format!("conn=1 op={n} STAT read index: attribute=a{n}{} key(eq)={n} --> count {n}", "b".repeat(200)));
    }),
    ("failed binds", |n, log| {
        log.push(format!("conn={} op={n} BIND dn=\"uid={n},{}\" method=128 version=3", n % 9, "y".repeat(900)));
        log.push(format!("conn={} op={n} RESULT err=49 tag=97 nentries=0 etime=0.1", n % 9));
    }),
    ("short connections", |n, log| {
        log.push(format!("conn={n} fd=64 slot=64 connection from {} to {}", client(n), client(n)));
        log.push(format!("conn={n} op=0 fd=64 closed - reason {n}"));
    }),
    ("restarts", |n, log| {
        log.push(format!("conn={} fd=64 slot=64 connection from ::1 to ::1", 1_000_000_000 - n));
        log.push(search(1_000_000_000 - n, 0, "(a=b)"));
    }),
    ("one connection opened and closed again and again", |_, log| {
        log.push("conn=1 fd=64 slot=64 connection from ::1 to ::1".into());
        log.push("conn=1 op=1 fd=64 closed - U1".into());
        log.push(search(1, 1, "(a=b)"));
    }),
    ("requests after the close, and restarts", |n, log| {
        log.push(format!("conn={} fd=64 slot=64 connection from ::1 to ::1", n % 1000));
        log.push(format!("conn={} op=1 fd=64 closed - U1", n % 1000));
        log.push(format!("conn={} op=2 ABANDON targetop=NOTFOUND msgid=1", n % 1000));
    }),
    ("every second connection", |n, log| {
        log.push(format!("conn={} fd=64 slot=64 connection from ::1 to ::1", n * 2));
        log.push(format!("conn={} op=1 fd=64 closed - U1", n * 2));
    }),
    ("idle times of a connection opened before", |n, log| {
        log.push(format!("conn=1 op={} RESULT err=0 tag=101 nentries=0 etime=0.1", n * 2));
        log.push(search(1, n * 2 + 1, "(a=b)"));
    }),
    ("lines of no grammar", |n, log| log.push(format!("conn=1 op={n} {}", "what ".repeat(90)))),
];

const OTHERS: [(&str, &str, Stamp, Lines); 6] = [
    ("attributes without index", "openldap-stderr", hexadecimal, |n, log| {
        log.push(format!("<= mdb_equality_candidates: (a{n}{}) not indexed", "b".repeat(200)));
    }),
    ("modified attributes", "openldap-stderr", hexadecimal, |n, log| {
        let attributes: Vec<_> = (0..500).map(|place| format!("a{}", n * 500 + place)).collect();
        log.push(format!("conn=1 op={n} MOD attr={}", attributes.join(" ")));
    }),
    ("accounts of slapd", "openldap-stderr", hexadecimal, |n, log| {
        log.push(format!("conn={n} op=0 BIND dn=\"uid={n},{}\" method=128", "c".repeat(900)));
    }),
    ("server processes", "ping-text", stamp, |n, log| {
        log.push(format!("CONNECT instanceName=\"ds\" startupID=\"{n}{}\" conn={n} from=\"::1\"", "d".repeat(900)));
    }),
    (
        "long objects",
        "389-json",
        |_| String::new(),
        |n, log| {
            let filter = "d\\u00e4".repeat(50_000);
            log.push(format!(
                "{{\"local_time\":\"2026-11-20T08:00:00.000000000 +0000\",\"operation\":\"SEARCH\",\"conn_id\":1,\
             \"op_id\":{n},\"base_dn\":\"dc=x\",\"scope\":2,\"filter\":\"(a={filter}{n})\"}}"
            ));
        },
    ),
    ("deep objects", "389-json", |_| String::new(), |_, log| log.push("{\"a\":[".repeat(30_000))),
];

fn client(n: u64) -> String {
    format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255)
}

fn search(conn: u64, op: u64, filter: &str) -> String {
    format!("conn={conn} op={op} SRCH base=\"dc=x\" scope=2 filter=\"{filter}\" attrs=ALL")
}

fn stamp(n: u64) -> String {
    let second = n / 50;
    format!("[20/Nov/2026:{:02}:{:02}:{:02}.{:09} +0000] ", second / 3600 % 24, second / 60 % 60, second % 60, n)
}

fn hexadecimal(n: u64) -> String {
    format!("{:08x}.{:08x} 0x1 ", 0x6b00_0aac + n / 50, n % 1_000_000_000)
}

/// The peak resident memory of this process, KiB; `None` where the system does not report it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn feed(dialect: &str, stamp: Stamp, lines: Lines) -> u64 {
    let dialect = named(dialect).expect("the dialect");
    let all = Period { since: None, until: None };
    let mut scan = Scan::new(Hints { latest: 0, offset: Offset::Fixed(0) }, CAPS, all);
    scan.heavy = HEAVY;
    let (mut written, mut number, mut total) = (0, 0, Segment::start(CAPS));
    while written < BYTES {
        let mut chunk = String::with_capacity(CHUNK + 4096);
        while chunk.len() < CHUNK {
            let mut texts = Vec::new();
            lines(number, &mut texts);
            number += 1;
            for line in texts {
                let _ = writeln!(chunk, "{}{line}", stamp(number));
            }
        }
        (dialect.scan)(chunk.as_bytes(), &mut scan);
        written += chunk.len();
        if scan.is_heavy() {
            take_into(&mut total, &mut scan);
        }
    }
    take_into(&mut total, &mut scan);
    total.finish();
    total.lines
}

#[test]
fn memory_is_bounded_whatever_is_read() {
    let Some(before) = peak() else {
        let why = b"not measured: this system does not report the peak memory of a process in /proc/self/status\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), why); // println! is shown only where a test fails
        return;
    };
    let text = TEXT.iter().map(|&(what, lines)| (what, "389-text", stamp as Stamp, lines));
    for (what, dialect, stamp, lines) in text.chain(OTHERS) {
        let _ = fs::write("/proc/self/clear_refs", "5"); // reset the peak
        let began = std::time::Instant::now();
        assert!(feed(dialect, stamp, lines) > 0);
        let grown = peak().unwrap_or(before).saturating_sub(before);
        println!("{what}: {grown} KiB {:?}", began.elapsed());
        assert!(grown < MOST_KIB, "{what}: {grown} KiB");
    }
}
