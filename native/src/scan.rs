//! SCAFFOLD: records calls until the core lands. The method signatures are final.

use std::fmt::Write;

use crate::kinds::Kind;

/// What the text of a log does not say, and whoever opened the file knows.
pub struct Hints {
    /// Nanoseconds since 1970: stamps without a year are of the last such time before this.
    pub latest: i64,
    /// Of stamps without a zone: seconds east of UTC at (year, month, day, hour, minute) of the wall clock there.
    pub offset: Offset,
}

/// How far a zone lies east of UTC.
pub enum Offset {
    /// Always so many seconds.
    Fixed(i64),
    /// Seconds by (year, month, day, hour, minute).
    At(Box<dyn Fn(i32, u8, u8, u8, u8) -> i64 + Send>),
}

/// The fields of a result.
#[derive(Clone, Copy, Default)]
pub struct Outcome<'a> {
    pub kind: Kind,
    pub err: i64,
    pub etime: Option<i64>,
    pub wait: Option<i64>,
    pub entries: i64,
    pub notes: &'a [u8],
    pub account: Option<&'a [u8]>,
    pub page: Option<i64>,
    pub pages_end: bool,
}

pub struct Scan {
    pub hints: Hints,
    pub calls: Vec<String>,
}

pub fn hex(text: &[u8]) -> String {
    let mut told = String::from("x");
    for byte in text {
        write!(told, "{byte:02x}").unwrap();
    }
    told
}

fn optional(number: Option<i64>) -> String {
    number.map_or("None".into(), |n| n.to_string())
}

impl Scan {
    pub fn new(hints: Hints) -> Self {
        Scan { hints, calls: Vec::new() }
    }
    /// A record past `--until` came: nothing more is read.
    pub fn is_over(&self) -> bool {
        false
    }
    /// Count lines; called after a record has been told.
    pub fn lines(&mut self, count: u64) {
        self.calls.push(format!("lines {count}"));
    }
    pub fn opened(&mut self, number: i64, time: i64, client: &[u8], server: &[u8]) {
        self.calls.push(format!("opened {number} {time} {} {}", hex(client), hex(server)));
    }
    pub fn client_is(&mut self, number: i64, time: i64, client: &[u8]) {
        self.calls.push(format!("client_is {number} {time} {}", hex(client)));
    }
    pub fn closed(&mut self, number: i64, time: i64, code: &[u8]) {
        self.calls.push(format!("closed {number} {time} {}", hex(code)));
    }
    pub fn banner(&mut self, time: i64, version: &[u8]) {
        self.calls.push(format!("banner {time} {}", hex(version)));
    }
    pub fn request(&mut self, number: i64, op: i64, time: i64, kind: Kind) {
        self.calls.push(format!("request {number} {op} {time} {kind}"));
    }
    pub fn bind(&mut self, number: i64, op: i64, time: i64, dn: &[u8]) {
        self.calls.push(format!("bind {number} {op} {time} {}", hex(dn)));
    }
    pub fn search(&mut self, number: i64, op: i64, time: i64, base: &[u8], scope: i64, filter: &[u8]) {
        self.calls.push(format!("search {number} {op} {time} {} {scope} {}", hex(base), hex(filter)));
    }
    pub fn unbound(&mut self, number: i64, op: i64, time: i64) {
        self.calls.push(format!("unbound {number} {op} {time}"));
    }
    pub fn abandoned(&mut self, number: i64, op: i64, time: i64, target: Option<i64>) {
        self.calls.push(format!("abandoned {number} {op} {time} {}", optional(target)));
    }
    pub fn internal(&mut self) {
        self.calls.push("internal".into());
    }
    pub fn result(&mut self, number: i64, op: i64, time: i64, outcome: &Outcome) {
        self.calls.push(format!(
            "result {number} {op} {time} {} {} {} {} {} {} {} {} {}",
            outcome.kind,
            outcome.err,
            optional(outcome.etime),
            optional(outcome.wait),
            outcome.entries,
            hex(outcome.notes),
            outcome.account.map_or("None".into(), hex),
            optional(outcome.page),
            outcome.pages_end as u8
        ));
    }
    pub fn bound(&mut self, number: i64, time: i64, account: &[u8]) {
        self.calls.push(format!("bound {number} {time} {}", hex(account)));
    }
    pub fn binds(&mut self, number: i64, time: i64, account: &[u8]) {
        self.calls.push(format!("binds {number} {time} {}", hex(account)));
    }
    pub fn named(&mut self, instance: &[u8], version: &[u8]) {
        self.calls.push(format!("named {} {}", hex(instance), hex(version)));
    }
    pub fn lost(&mut self, lines: i64) {
        self.calls.push(format!("lost {lines}"));
    }
    pub fn not_indexed(&mut self, attribute: &[u8], kind: &[u8]) {
        self.calls.push(format!("not_indexed {} {}", hex(attribute), hex(kind)));
    }
    pub fn passed_over(&mut self, lines: u64) {
        self.calls.push(format!("passed_over {lines}"));
    }
    pub fn misread(&mut self, line: &[u8]) {
        self.calls.push(format!("misread {}", hex(&line[..line.len().min(200)])));
    }
    pub fn clock(&mut self, zone: Option<&[u8]>) {
        self.calls.push(format!("clock {}", zone.map_or("None".into(), hex)));
    }
    pub fn resolution(&mut self, nanoseconds: i64) {
        self.calls.push(format!("resolution {nanoseconds}"));
    }
}
