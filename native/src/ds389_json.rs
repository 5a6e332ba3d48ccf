//! The access log of 389-ds as JSON (3.0 and later, nsslapd-accesslog-log-format: json or json-pretty).
//!
//! ```text
//! {"local_time":"2025-02-10T13:49:28.425317898 -0500", "operation":"SEARCH", "key":"1739213368-1", "conn_id":1,
//!  "op_id":1, "base_dn":"dc=example,dc=com", "scope":2, "filter":"(uid=scarter)", "attrs":["cn"]}
//! {"local_time":"2025-02-10T13:49:28.503395725 -0500", "operation":"RESULT", "key":"1739213368-1", "conn_id":1,
//!  "op_id":1, "msg":"", "tag":101, "err":0, "nentries":1, "wtime":"0.000068", "optime":"0.011231", "etime":"0.011299",
//!  "client_ip":"10.0.0.1", "notes":[{"note":"U", "description":"Partially Unindexed Filter"}]}
//! ```
//!
//! An object is on one line, or on many (json-pretty). Each begins with a brace in the first column, so reading
//! continues with the next object after a broken one. [`crate::json`] has the grammar of an object.
//! Source: ldap/servers/slapd/accesslog.c.

mod clock;
mod fields;

use clock::JsonClock;
use fields::Record;
use memchr::memchr_iter;

use crate::ds389_lines::{address, close_code, duration_of, mechanism_of};
use crate::fields::{digits, number};
use crate::json::fields::Fields;
use crate::json::{self, Value, without_blanks};
use crate::operation_kinds::{ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OperationKind, of_tag};
use crate::result_fields::ResultFields;
use crate::scan::Scan;
use crate::sorting::{NO_VLV, Sorting};

const MOST_NOTES: usize = 20;

/// The client_ip of a result without a connection.
const NO_CLIENT: &[u8] = b"Internal";

/// An object begins with a brace in the first column; everything before it is whole.
pub const BORDER: &[u8] = b"\n{";

/// Reads whole objects.
pub fn scan(data: &[u8], log: &mut Scan) {
    let (mut clock, mut rest) = (JsonClock::new(), data);
    while !rest.is_empty() {
        let (length, lines) = first(rest);
        let (object, behind) = rest.split_at(length);
        let text = without_blanks(object);
        if text.is_empty() {
            log.passed_over(1);
        } else if read(log, &mut clock, text).is_none() {
            log.misread(text);
        }
        log.lines(lines);
        rest = behind;
    }
}

/// The length of the first object in bytes and in lines: up to the next line that begins with a brace.
fn first(data: &[u8]) -> (usize, u64) {
    let mut lines = 0;
    for end in memchr_iter(b'\n', data) {
        lines += 1;
        if matches!(data.get(end + 1), Some(b'{') | None) {
            return (end + 1, lines);
        }
    }
    (data.len(), lines + 1)
}

/// Reads one object; `None` if it is not understood.
fn read(log: &mut Scan, clock: &mut JsonClock, text: &[u8]) -> Option<()> {
    let (fields, end) = Record::read(text)?;
    let behind = without_blanks(text.get(end..).unwrap_or_default());
    if !behind.is_empty() {
        log.misread(behind);
    }
    if let Value::Object(header) = fields.header {
        log.header(&member(header, b"instance").bytes(), &member(header, b"version").bytes());
        return Some(());
    }
    let (conn, time) = (whole(fields.conn_id, -1).unwrap_or(-1), clock.time(log, &fields.local_time.bytes())?);
    let (Value::Symbol(_) | Value::Escaped(_)) = fields.operation else { return None };
    let operation = &*fields.operation.bytes();
    if fields.internal_op == Value::True || (conn < 0 && fields.op_internal_id != Value::Missing) {
        internal(log, operation);
        return Some(());
    }
    if conn < 0 {
        return None;
    }
    let read_record = if fields.op_id == Value::Missing { read_event } else { read_operation };
    read_record(log, &fields, operation, conn, time)
}

fn read_operation(log: &mut Scan, fields: &Record, operation: &[u8], conn: i64, time: i64) -> Option<()> {
    let op = whole(fields.op_id, -1)?;
    match operation {
        b"RESULT" => return result(log, fields, conn, op, time),
        b"SEARCH" => {
            let scope = whole(fields.scope, -1)?;
            log.search(conn, op, time, &fields.base_dn.bytes(), scope, &fields.filter.bytes());
        }
        b"BIND" => {
            let (method, mechanism) = (fields.method.bytes(), fields.mech.bytes());
            log.bind(conn, op, time, &fields.bind_dn.bytes(), mechanism_of(&method, &mechanism));
        }
        b"UNBIND" => log.unbind(conn, op, time),
        b"ABANDON" => log.abandon(conn, op, time, target(&fields.target_op.bytes())),
        b"SORT" if !fields.sort_attrs.bytes().is_empty() => {
            let keys = fields.sort_attrs.bytes();
            log.sort(conn, op, time, keys.strip_prefix(b"SORT ").unwrap_or(&keys));
        }
        b"VLV" => match vlv_code(fields.vlv_response)? {
            vlv @ 0.. => log.sorting(conn, op, time, Sorting::of_vlv(vlv)),
            _ => log.passed_over(1),
        },
        _ => match request(operation) {
            Some(EXTENDED) => log.request(conn, op, time, EXTENDED, &fields.oid.bytes()),
            Some(kind) => log.request(conn, op, time, kind, &fields.target_dn.bytes()),
            None => return read_event(log, fields, operation, conn, time),
        },
    }
    Some(())
}

/// Reads a record of a connection; `None` if it is not understood.
fn read_event(log: &mut Scan, fields: &Record, operation: &[u8], conn: i64, time: i64) -> Option<()> {
    match operation {
        b"CONNECTION" => {
            let (client, server) = (fields.client_ip.bytes(), fields.server_ip.bytes());
            let server = if *client == *b"local" { b"" } else { &*server };
            log.opened(conn, time, address(&client), server, fields.tls == Value::True);
        }
        b"DISCONNECT" => {
            let why = [&fields.close_error.bytes(), &b" - "[..], &fields.close_reason.bytes()].concat();
            log.closed(conn, time, close_code(&why));
        }
        b"HAPROXY" => log.proxied_client(conn, time, address(&fields.haproxy_ip.bytes())),
        b"AUTOBIND" => log.authenticated(conn, time, &fields.bind_dn.bytes()),
        b"TLS_CLIENT_INFO" if !fields.client_dn.bytes().is_empty() => {
            log.authenticated(conn, time, &fields.client_dn.bytes());
        }
        b"TLS_INFO" | b"TLS_CLIENT_INFO" => match whole(fields.keysize, 0)? {
            bits @ 1.. => {
                let cipher = [format!("{bits}-bit ").as_bytes(), &fields.cipher.bytes()].concat();
                log.tls(conn, time, &fields.tls_version.bytes(), &cipher);
            }
            _ => log.passed_over(1),
        },
        b"STAT" => match whole(fields.stat_count, -1)? {
            ids @ 0.. => log.index_lookup(&fields.stat_attr.bytes(), &fields.stat_key.bytes(), ids),
            _ => log.passed_over(1),
        },
        b"SORT" | b"VLV" | b"ENTRY" | b"REFERRAL" | b"ERROR" | b"EXTENDED_OP_INFO" | b"SESSION" => log.passed_over(1),
        _ => return None,
    }
    Some(())
}

/// Reads a result, unless one of its numbers is none; the durations are strings, and the cookie of the last page is -1.
fn result(log: &mut Scan, fields: &Record, conn: i64, op: i64, time: i64) -> Option<()> {
    let (kind, err) = (of_tag(whole(fields.tag, 0)?), whole(fields.err, 0)?);
    let account = (kind == BIND && err == 0).then(|| fields.bind_dn.bytes());
    let is_paged = fields.pr_cookie != Value::Missing || fields.pr_idx != Value::Missing;
    let (page, cookie) = (whole(fields.pr_idx, 0)?, whole(fields.pr_cookie, 0)?);
    let (wait, queued) = (duration(fields.wtime)?, duration(fields.wqtime)?);
    let (notes, named_by_note) = notes(fields.notes);
    let outcome = ResultFields {
        kind,
        err,
        etime: duration(fields.etime)?,
        wait: wait.or(queued),
        optime: duration(fields.optime)?,
        entries: whole(fields.nentries, 0)?.max(0),
        notes: &notes,
        account: account.as_deref(),
        page: is_paged.then_some(page),
        pages_end: is_paged && cookie == -1,
    };
    let workers = (whole(fields.wbusy, -1)?, whole(fields.wmax, -1)?, whole(fields.wqdepth, -1)?);
    if let (busy @ 0.., threads @ 0.., queued @ 0..) = workers {
        log.workers_busy(time, busy, threads, queued);
    }
    let mut client = fields.client_ip.bytes();
    if client.is_empty() {
        client = named_by_note.bytes();
    }
    if !client.is_empty() && *client != *NO_CLIENT {
        log.identified(conn, time, address(&client), None);
    }
    log.result(conn, op, time, &outcome);
    Some(())
}

/// The notes as in the text log, `P,A`, and the first client that one names.
fn notes(list: Value) -> (Vec<u8>, Value) {
    let (mut letters, mut client, mut seen) = (Vec::new(), Value::Missing, 0);
    let Value::List(list) = list else { return (letters, client) };
    let mut is_first = true;
    json::elements(list, |note| {
        seen += 1;
        if let (Value::Object(note), ..=MOST_NOTES) = (note, seen) {
            if !is_first {
                letters.push(b',');
            }
            is_first = false;
            letters.extend_from_slice(&member(note, b"note").bytes());
            if client.bytes().is_empty() {
                client = member(note, b"client_ip");
            }
        }
    });
    (letters, client)
}

/// The result code of a virtual list view; -1 if there is none, `None` if it is no number.
fn vlv_code(response: Value) -> Option<i64> {
    let Value::Object(response) = response else { return Some(NO_VLV) };
    whole(member(response, b"response_result"), NO_VLV)
}

fn internal(log: &mut Scan, operation: &[u8]) {
    if request(operation).is_some() || matches!(operation, b"BIND" | b"SEARCH") {
        log.internal();
    } else {
        log.passed_over(1);
    }
}

fn request(operation: &[u8]) -> Option<OperationKind> {
    Some(match operation {
        b"ADD" => ADD,
        b"DELETE" => DELETE,
        b"MODIFY" => MODIFY,
        b"MODRDN" => MODRDN,
        b"COMPARE" => COMPARE,
        b"EXTENDED_OP" => EXTENDED,
        _ => return None,
    })
}

/// `-?\d{1,9}(\.\d{1,12})?` as nanoseconds, where there is one; `None` for what is no duration.
fn duration(value: Value) -> Option<Option<i64>> {
    if value == Value::Missing {
        return Some(None);
    }
    let text = &*value.bytes();
    let (_, mut rest) = digits(text.strip_prefix(b"-").unwrap_or(text), 9)?;
    if let Some(fraction) = rest.strip_prefix(b".") {
        (_, rest) = digits(fraction, 12)?;
    }
    rest.is_empty().then(|| Some(duration_of(text)))
}

/// The operation that an ABANDON names; `None` if it names none.
fn target(text: &[u8]) -> Option<i64> {
    number(text, 18).filter(|(_, rest)| rest.is_empty()).map(|(op, _)| op)
}

/// One member of an object.
fn member<'a>(object: &'a [u8], wanted: &[u8]) -> Value<'a> {
    let mut found = Value::Missing;
    json::members(object, |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

/// An integer, `missing` where there is none; `None` for any other value.
fn whole(value: Value, missing: i64) -> Option<i64> {
    match value {
        Value::Whole(number) => Some(number),
        Value::Missing => Some(missing),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_ends_before_the_next_brace_in_the_first_column() {
        assert_eq!(first(b"{\n }\n{}\n"), (5, 2));
        assert_eq!(first(b"{}\n\n"), (4, 2));
        assert_eq!(first(b"{}"), (2, 1));
    }
}
