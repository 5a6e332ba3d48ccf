//! The text access log of OpenDJ, OpenDS, ForgeRock DS and Oracle OUD, in pairs of lines or combined.
//!
//! ```text
//! [20/Nov/2026:08:58:03 +0000] CONNECT conn=0 from=127.0.0.11:60305 to=127.0.0.1:13489 protocol=LDAP
//! [20/Nov/2026:08:58:03 +0000] SEARCH REQ conn=0 op=1 msgID=2 base="dc=a" scope=sub filter="(cn=*jos*)" attrs="cn"
//! [20/Nov/2026:08:58:03 +0000] SEARCH RES conn=0 op=1 msgID=2 result=4 message="..." nentries=100 unindexed etime=445
//! [20/Nov/2026:08:58:03 +0000] SEARCH conn=0 op=1 msgID=2 base="dc=a" scope=sub filter="(cn=x)" attrs="cn" result=0 \
//! nentries=1 etime=2
//! [20/Nov/2026:08:58:05 +0000] DISCONNECT conn=0 reason="Client Disconnect"
//! ```
//!
//! etime is in milliseconds. No text is escaped: a base, a filter and a DN are as the client sent them. So a request ends
//! at the end of its line or before a result; entries, `unindexed` and etime are read from the end of the line.
//! conn=-1, -2, ... are internal.
//! Source: org.opends.server.loggers.TextAccessLogPublisher, org.opends.server.types.AdditionalLogItem.

mod binds;
mod connections;
mod items;
mod searches;
mod targets;

use memchr::memmem::find;

use crate::fields::{any, digits, is_space, number, run, signed};
use crate::opends::{Clock, Kind, Stamp, each_line};
use crate::operation_kinds::{ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OperationKind};
use crate::scan::Scan;

/// The reason why a connection is closed that the server does not take: it has no CONNECT (LDAPRequestHandler).
pub const REJECTED: &[u8] = b"Connection Rejected";
/// The client of a refused connection that the line does not name.
pub const UNKNOWN: &[u8] = b"?";
/// Milliseconds from which on a duration is absurd.
const ABSURD: i64 = 1_000_000_000_000;
const MILLISECOND: i64 = 1_000_000;

/// Reads whole records.
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = Clock::default();
    each_line(data, log, |log, text| match Record::read(text) {
        None => Kind::Misread,
        Some((stamp, record)) => {
            let time = clock.time(log, &stamp);
            time.and_then(|time| record.count(log, time)).unwrap_or(Kind::Misread)
        }
    });
}

/// Which of the lines of an operation a line is.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    /// The request, REQ.
    Request,
    /// The result, RES.
    Result,
    /// The only one, with both.
    Both,
}

/// The times of a record, and how long the operation took.
struct Times {
    requested: i64,
    last: i64,
    etime: i64,
}

/// The beginning of a line, and the rest of it.
struct Record<'a> {
    word: &'a [u8],
    half: Half,
    conn: i64,
    op: Option<i64>,
    body: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads `[...] [A-Z]{3,12} (RE[QS] )?conn=-?\d{1,18}`, and perhaps the numbers of the operation.
    fn read(text: &'a [u8]) -> Option<(Stamp<'a>, Self)> {
        let (stamp, text) = Stamp::read(text)?;
        let (word, text) = run(text, 12, |byte| byte.is_ascii_uppercase()).filter(|(word, _)| word.len() >= 3)?;
        let text = text.strip_prefix(b" ")?;
        let (half, text) = match (text.strip_prefix(b"REQ "), text.strip_prefix(b"RES ")) {
            (Some(text), _) => (Half::Request, text),
            (_, Some(text)) => (Half::Result, text),
            _ => (Half::Both, text),
        };
        let (conn, text) = signed(text.strip_prefix(b"conn=")?, 18)?;
        let (op, body) = operation(text).map_or((None, text), |(op, body)| (Some(op), body));
        Some((stamp, Record { word, half, conn, op, body }))
    }

    /// Counts it; `None`: it is not understood.
    fn count(&self, log: &mut Scan, time: i64) -> Option<Kind> {
        if self.conn < 0 && self.word != b"DISCONNECT" {
            if self.half == Half::Result || self.word == b"CONNECT" {
                return Some(Kind::PassedOver);
            }
            log.internal();
            return Some(Kind::Counted);
        }
        match self.word {
            b"CONNECT" => self.connect(log, time)?,
            b"DISCONNECT" => self.disconnect(log, time),
            b"SEARCH" => self.search(log, time)?,
            b"BIND" => self.bind(log, time)?,
            b"ABANDON" | b"UNBIND" if self.half == Half::Result => return Some(Kind::PassedOver),
            // The target is given by its message id, which need not run parallel to the operation numbers.
            b"ABANDON" => log.abandon(self.conn, self.op?, time, None),
            b"UNBIND" => log.unbind(self.conn, self.op?, time),
            word => self.other(log, time, request(word)?)?,
        }
        Some(Kind::Counted)
    }

    fn connect(&self, log: &mut Scan, time: i64) -> Option<()> {
        let opening = connections::opening(self.body)?;
        log.opened(self.conn, time, opening.client, opening.server, opening.protocol == b"LDAPS");
        Some(())
    }

    fn disconnect(&self, log: &mut Scan, time: i64) {
        let (reason, rejected) = connections::close(self.body).unwrap_or_default();
        if self.conn < 0 || reason == REJECTED {
            log.refused(time, rejected.unwrap_or(UNKNOWN), reason);
        } else {
            log.closed(self.conn, time, reason);
        }
    }

    fn search(&self, log: &mut Scan, time: i64) -> Option<()> {
        let (conn, op, (asked, answer)) = (self.conn, self.op?, searches::read(self.body)?);
        let times = self.times(time, answer.as_ref().map(|answer| answer.etime))?;
        let (asked, answer) = (self.needed_request(asked)?, self.needed_result(answer)?);
        let scope = asked.as_ref().map_or(Some(0), |asked| scope_of(asked.scope))?;
        log.counted_as_one(times.requested, times.last, |log| {
            if let Some(asked) = asked {
                log.search(conn, op, times.requested, asked.base, scope, asked.filter);
            }
            if let Some(answer) = answer {
                log.result(conn, op, time, &answer.fields(times.etime));
            }
        });
        Some(())
    }

    fn bind(&self, log: &mut Scan, time: i64) -> Option<()> {
        let (conn, op, (asked, answer)) = (self.conn, self.op?, self.bind_or_result()?);
        let times = self.times(time, answer.as_ref().map(|answer| answer.etime))?;
        let (asked, answer) = (self.needed_request(asked)?, self.needed_result(answer)?);
        if self.half == Half::Both && answer.as_ref().is_some_and(|answer| answer.is_forged()) {
            return None;
        }
        log.counted_as_one(times.requested, times.last, |log| {
            if let Some(asked) = asked {
                log.bind(conn, op, times.requested, asked.dn, &mechanism_of(asked.kind));
            }
            if let Some(answer) = answer {
                log.result(conn, op, time, &answer.fields(BIND, times.etime));
            }
        });
        Some(())
    }

    fn other(&self, log: &mut Scan, time: i64, kind: OperationKind) -> Option<()> {
        let (conn, op) = (self.conn, self.op?);
        if self.half == Half::Request {
            log.request(conn, op, time, kind, targets::target(self.body));
            return Some(());
        }
        let answer = self.bind_or_result()?.1?;
        let times = self.times(time, Some(answer.etime))?;
        log.counted_as_one(times.requested, times.last, |log| {
            if self.half == Half::Both {
                log.request(conn, op, times.requested, kind, targets::target(self.body));
            }
            log.result(conn, op, time, &answer.fields(kind, times.etime));
        });
        Some(())
    }

    /// The times of a record with a result after so many milliseconds; `None` for an absurd duration.
    fn times(&self, time: i64, milliseconds: Option<i64>) -> Option<Times> {
        let etime = duration(milliseconds)?;
        let requested = if self.half == Half::Result { time } else { time - etime };
        Some(Times { requested, last: if self.half == Half::Request { requested } else { time }, etime })
    }

    /// The request, where the line should have one; `None`: it has none.
    fn needed_request<Asked>(&self, asked: Option<Asked>) -> Option<Option<Asked>> {
        if self.half == Half::Result { Some(None) } else { asked.map(Some) }
    }

    /// The result, where the line should have one; `None`: it has none.
    fn needed_result<Answer>(&self, answer: Option<Answer>) -> Option<Option<Answer>> {
        if self.half == Half::Request { Some(None) } else { answer.map(Some) }
    }

    /// The parts of a line that is not that of a connection or a search.
    fn bind_or_result(&self) -> Option<(Option<binds::Asked<'a>>, Option<binds::Answer<'a>>)> {
        let is_other = connections::opening(self.body).is_some()
            || connections::close(self.body).is_some()
            || searches::read(self.body).is_some();
        if is_other { None } else { binds::read(self.body) }
    }
}

/// ` op=\d{1,18} msgID=-?\d+( transactionId=\S*)?`, and the rest of the line.
fn operation(text: &[u8]) -> Option<(i64, &[u8])> {
    let (op, text) = number(text.strip_prefix(b" op=")?, 18)?;
    let message = text.strip_prefix(b" msgID=")?;
    let (_, text) = digits(message.strip_prefix(b"-").unwrap_or(message), usize::MAX)?;
    let transaction = text.strip_prefix(b" transactionId=");
    Some((op, transaction.map_or(text, |text| any(text, usize::MAX, |byte| !is_space(byte)).1)))
}

/// The kind of a request that is neither a BIND nor a search, by its name.
pub fn request(word: &[u8]) -> Option<OperationKind> {
    Some(match word {
        b"ADD" => ADD,
        b"COMPARE" => COMPARE,
        b"DELETE" => DELETE,
        b"EXTENDED" => EXTENDED,
        b"MODIFY" => MODIFY,
        b"MODIFYDN" => MODRDN,
        _ => return None,
    })
}

/// The number of a scope, in the spellings of newer and older versions.
pub fn scope_of(name: &[u8]) -> Option<i64> {
    Some(match name {
        b"base" | b"baseObject" => 0,
        b"one" | b"singleLevel" => 1,
        b"sub" | b"wholeSubtree" => 2,
        b"subordinates" | b"subordinateSubtree" => 3,
        _ => return None,
    })
}

/// The mechanism of `SASL mechanism=GSSAPI`; any other type of BIND in lower case: `simple`.
pub fn mechanism_of(kind: &[u8]) -> Vec<u8> {
    const SASL: &[u8] = b"mechanism=";
    find(kind, SASL).map_or_else(|| kind.to_ascii_lowercase(), |at| kind[at + SASL.len()..].to_vec())
}

/// Nanoseconds; `None` for an absurd duration.
fn duration(milliseconds: Option<i64>) -> Option<i64> {
    let milliseconds = milliseconds.unwrap_or(0);
    (milliseconds < ABSURD).then(|| milliseconds * MILLISECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bind_has_a_mechanism_or_a_type() {
        assert_eq!(mechanism_of(b"SASL mechanism=GSSAPI"), b"GSSAPI");
        assert_eq!(mechanism_of(b"SIMPLE"), b"simple");
    }

    #[test]
    fn an_operation_has_two_numbers() {
        assert_eq!(operation(b" op=1 msgID=2 transactionId=0 x"), Some((1, &b" x"[..])));
        assert_eq!(operation(b" op=1 msgID=-2"), Some((1, &b""[..])));
        assert_eq!((operation(b" op=1"), operation(b" op=-1 msgID=2")), (None, None));
    }

    #[test]
    fn a_duration_has_an_end() {
        assert_eq!((duration(None), duration(Some(23)), duration(Some(ABSURD))), (Some(0), Some(23_000_000), None));
    }
}
