//! The JSON access log of OpenDJ, ForgeRock DS and PingDS (Common Audit, topic `ldap-access`): one object a line.
//!
//! ```text
//! {"eventName":"DJ-LDAP","client":{"ip":"127.0.0.11","port":60305},"server":{"ip":"127.0.0.1","port":13489},
//!  "request":{"protocol":"LDAP","operation":"SEARCH","connId":0,"msgId":2,"dn":"dc=example,dc=com","scope":"sub",
//!             "filter":"(cn=*jos*)","attrs":["cn"]},
//!  "response":{"status":"FAILED","statusCode":"4","elapsedTime":445,"elapsedTimeUnits":"MILLISECONDS","detail":"...",
//!              "additionalItems":" unindexed","nentries":100},
//!  "timestamp":"2026-11-20T08:58:04.076Z","_id":"418bd85e-cba7-4286-9d42-ec7f2674a13c-5"}
//! ```
//!
//! An event is written at the end of the operation; its request came elapsedTime earlier. There are no operation numbers;
//! the message id is used instead. Every event names its client.
//! Source: org.opends.server.loggers.CommonAuditAccessLogPublisher.

mod fields;

use fields::{Client, Event, Request, Response, Security, Server};
use memchr::memchr;

use crate::json::fields::Fields;
use crate::json::{self, Value, without_blanks};
use crate::json_lines::{Clock, Text, each_line, text_or, whole_of, whole_or};
use crate::opendj_text::{REJECTED, UNKNOWN, mechanism_of, request, scope_of};
use crate::opends::Kind;
use crate::operation_kinds::{BIND, EXTENDED, SEARCH};
use crate::result_fields::ResultFields;
use crate::scan::Scan;

/// The result code of a successful ABANDON (RFC 3909); it is only in the log.
const CANCELLED: i64 = 118;
/// No number of a log is larger.
const MOST: i128 = 1_000_000_000_000_000_000;

/// Reads whole records.
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = Clock::default();
    each_line(data, log, |log, line| read(log, &mut clock, line).unwrap_or(Kind::Misread));
}

/// Reads an event: all its fields before the first is counted, so that a broken line counts nothing.
fn read(log: &mut Scan, clock: &mut Clock, line: &[u8]) -> Option<Kind> {
    let line = without_blanks(line);
    let (event, end) = Event::read(line)?;
    if end < line.len() {
        return None;
    }
    let time = clock.time(log, event.timestamp)?;
    if event.name == Value::Missing {
        return None;
    }
    if event.name.text().as_deref() != Some(b"DJ-LDAP") {
        return Some(Kind::PassedOver);
    }
    let Value::Object(request) = event.request else { return None };
    let (request, _) = Request::read(request)?;
    let (operation, conn) = (request.operation, whole_of(request.conn)?);
    if operation == Value::Missing {
        return None;
    }
    match operation.text().as_deref() {
        Some(b"DISCONNECT") => disconnect(log, conn, time, &event)?,
        Some(b"TLS") if conn < 0 || event.security.given().is_none() => return Some(Kind::PassedOver),
        Some(b"TLS") => security(log, conn, time, &event)?,
        _ if conn < 0 => log.internal(),
        Some(b"CONNECT") => connect(log, conn, time, &event, &request)?,
        Some(b"UNBIND") => {
            let (op, client, account) = (whole_of(request.message)?, client(&event)?, account(&event)?);
            log.identified(conn, time, &client, account.as_deref());
            log.unbind(conn, op, time);
        }
        Some(name) => operation_of(log, conn, time, &event, &request, name)?,
        None => return None,
    }
    Some(Kind::Counted)
}

fn disconnect(log: &mut Scan, conn: i64, time: i64, event: &Event) -> Option<()> {
    let reason = match event.response {
        Value::Missing => Text::default(),
        Value::Object(response) => text_or(Response::read(response)?.0.reason, b"")?,
        _ => return None,
    };
    let client = client(event)?;
    if conn < 0 || *reason == *REJECTED {
        log.refused(time, if client.is_empty() { UNKNOWN } else { &client }, &reason);
    } else {
        log.identified(conn, time, &client, None);
        log.closed(conn, time, &reason);
    }
    Some(())
}

/// Counts a TLS handshake.
fn security(log: &mut Scan, conn: i64, time: i64, event: &Event) -> Option<()> {
    let Value::Object(security) = event.security else { return None };
    let (security, _) = Security::read(security)?;
    let (protocol, cipher, client) = (security.protocol.text()?, text_or(security.cipher, b"")?, client(event)?);
    log.identified(conn, time, &client, None);
    log.tls(conn, time, &protocol, &cipher);
    Some(())
}

fn connect(log: &mut Scan, conn: i64, time: i64, event: &Event, request: &Request) -> Option<()> {
    let Value::Object(server) = event.server else { return None };
    let (server, _) = Server::read(server)?;
    let address = [&*server.ip.text()?, b":", whole_of(server.port)?.to_string().as_bytes()].concat();
    log.opened(conn, time, &client(event)?, &address, request.protocol.text().as_deref() == Some(b"LDAPS"));
    Some(())
}

fn operation_of(log: &mut Scan, conn: i64, time: i64, event: &Event, request: &Request, name: &[u8]) -> Option<()> {
    let Value::Object(response) = event.response else { return None };
    let (response, _) = Response::read(response)?;
    let (op, err) = (whole_of(request.message)?, whole_of(response.code)?);
    if name == b"ABANDON" {
        let abandoned = if err == CANCELLED { Some(whole_of(request.abandoned)?) } else { None };
        let (client, account) = (client(event)?, account(event)?);
        log.identified(conn, time, &client, account.as_deref());
        log.abandon(conn, op, time, abandoned);
        return Some(());
    }
    let unit = unit(response.units)?;
    let elapsed = duration(response.elapsed, unit)?;
    let [wait, optime] = [response.queueing, response.processing].map(|value| match value.given() {
        None => Some(None),
        Some(value) => duration(value, unit).map(Some),
    });
    let fields = ResultFields { err, etime: Some(elapsed), wait: wait?, optime: optime?, ..ResultFields::default() };
    let requested = time - elapsed;
    let asked = Asked::read(name, request, &response, fields, client(event)?, account(event)?)?;
    log.counted_as_one(requested, time, |log| asked.count(log, (conn, op), requested, time));
    Some(())
}

/// An operation with all that is counted of it.
struct Asked<'a> {
    client: Text<'a>,
    account: Option<Text<'a>>,
    request: Wanted<'a>,
    fields: ResultFields<'a>,
}

enum Wanted<'a> {
    Search { base: Text<'a>, scope: i64, filter: Text<'a> },
    Bind { dn: Text<'a>, mechanism: Vec<u8> },
    Other { target: Text<'a> },
}

impl<'a> Asked<'a> {
    fn read(
        name: &[u8],
        asked: &Request<'a>,
        response: &Response<'a>,
        fields: ResultFields<'a>,
        client: Text<'a>,
        account: Option<Text<'a>>,
    ) -> Option<Self> {
        let (request, fields) = match name {
            b"SEARCH" => {
                let (base, scope, filter) = (asked.dn.text()?, scope_of(&asked.scope.text()?)?, asked.filter.text()?);
                let entries = whole_or(response.entries, 0)?;
                let notes: &[u8] = if is_unindexed(response.items) { b"unindexed" } else { b"" };
                (Wanted::Search { base, scope, filter }, ResultFields { kind: SEARCH, entries, notes, ..fields })
            }
            b"BIND" => {
                let (dn, mechanism) = (asked.dn.text()?, mechanism_of(&text_or(asked.kind, b"?")?));
                (Wanted::Bind { dn, mechanism }, ResultFields { kind: BIND, ..fields })
            }
            _ => {
                let kind = request(name)?;
                let target = text_or(if kind == EXTENDED { asked.oid } else { asked.dn }, b"")?;
                (Wanted::Other { target }, ResultFields { kind, ..fields })
            }
        };
        Some(Asked { client, account, request, fields })
    }

    fn count(&self, log: &mut Scan, (conn, op): (i64, i64), requested: i64, time: i64) {
        let account = self.account.as_deref();
        log.identified(conn, requested, &self.client, account.filter(|_| self.fields.kind != BIND));
        let bound = account.filter(|_| self.fields.kind == BIND && self.fields.err == 0);
        match &self.request {
            Wanted::Search { base, scope, filter } => log.search(conn, op, requested, base, *scope, filter),
            Wanted::Bind { dn, mechanism } => log.bind(conn, op, requested, dn, mechanism),
            Wanted::Other { target } => log.request(conn, op, requested, self.fields.kind, target),
        }
        log.result(conn, op, time, &ResultFields { account: bound, ..self.fields });
    }
}

fn client<'a>(event: &Event<'a>) -> Option<Text<'a>> {
    match event.client {
        Value::Missing => Some(Text::default()),
        Value::Object(client) => text_or(Client::read(client)?.0.ip, b""),
        _ => None,
    }
}

/// The DN as which the connection is bound; `runAs`, that of the proxied authorization, is another.
fn account<'a>(event: &Event<'a>) -> Option<Option<Text<'a>>> {
    if event.user == Value::Missing { Some(None) } else { event.user.text().map(Some) }
}

/// Nanoseconds in each of java.util.concurrent.TimeUnit.
fn unit(name: Value) -> Option<i64> {
    Some(match &*name.text()? {
        b"MILLISECONDS" => 1_000_000,
        b"MICROSECONDS" => 1_000,
        b"NANOSECONDS" => 1,
        b"SECONDS" => 1_000_000_000,
        _ => return None,
    })
}

/// Nanoseconds, 0 for a negative duration: the clock was set back. `None` for an absurd one.
fn duration(value: Value, unit: i64) -> Option<i64> {
    let nanoseconds = i128::from(whole_of(value)?) * i128::from(unit);
    (-MOST < nanoseconds && nanoseconds < MOST).then_some(nanoseconds.max(0) as i64)
}

/// Returns whether items, a string or an object, contain `unindexed`.
fn is_unindexed(items: Value) -> bool {
    if let Value::Object(items) = items {
        let mut found = Value::Missing;
        json::members(items, |name, value| {
            if name == b"unindexed" {
                found = value;
            }
        });
        return !matches!(found, Value::Missing | Value::False);
    }
    let Some(items) = items.text() else { return false };
    let is_blank = |character: char| character.is_whitespace() || matches!(character, '\x1c'..='\x1f');
    String::from_utf8_lossy(&without_quoted(&items)).split(is_blank).any(|item| item == "unindexed")
}

/// A text without what is in quotes of either kind.
fn without_quoted(mut text: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    while let Some((&byte, rest)) = text.split_first() {
        let end = if matches!(byte, b'\'' | b'"') { memchr(byte, rest) } else { None };
        match end {
            Some(end) => text = &rest[end + 1..],
            None => {
                made.push(byte);
                text = rest;
            }
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_words_outside_quotes() {
        for (items, expected) in [
            (" unindexed", true),
            ("a 'unindexed' b", false),
            ("a=\"x unindexed\"", false),
            ("it's unindexed", true),
            ("'' unindexed ''", true),
        ] {
            assert_eq!(is_unindexed(Value::Symbol(items.as_bytes())), expected, "{items}");
        }
        assert!(is_unindexed(Value::Object(b"{\"unindexed\":null}")));
        assert!(!is_unindexed(Value::Object(b"{\"unindexed\":false}")));
    }
}
