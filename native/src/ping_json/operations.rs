//! Operations that have a result: their requests and results, as far as a message has them.

use super::fields::Message;
use crate::json::Value;
use crate::json_lines::{Decimal, Text, optional, text_or, whole_of, whole_or};
use crate::operation_kinds::{ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OperationKind, SEARCH};
use crate::ping_text::{NO_RESULT_CODE, mechanism_of, scaled};
use crate::result_fields::ResultFields;
use crate::scan::Scan;

/// Digits of the most milliseconds of a duration: thirty years.
const LONGEST: i64 = 12;
const MILLISECOND: i64 = 1_000_000;

/// An operation that has a result: its request and its result, as far as the message has them.
pub struct Operation<'a> {
    op: i64,
    request: Option<Request<'a>>,
    fields: ResultFields<'a>,
    answered: bool,
    bound: Option<Text<'a>>,
}

enum Request<'a> {
    Search { base: Text<'a>, scope: i64, filter: Text<'a> },
    Bind { dn: Text<'a>, mechanism: Vec<u8> },
    Other { target: Text<'a> },
}
impl<'a> Operation<'a> {
    /// Reads all of an operation; `None`: a field is missing or wrong.
    pub fn read(message: &Message<'a>, op: i64, kind: OperationKind, answered: bool) -> Option<Self> {
        let (etime, wait) = (milliseconds(message.etime)?, milliseconds(message.qtime)?);
        let has_request = [message.dn, message.filter, message.oid].iter().any(|value| *value != Value::Missing);
        let request = if answered && !has_request { None } else { Some(Request::read(message, kind)?) };
        let (err, entries) = (whole_or(message.err, NO_RESULT_CODE)?, whole_or(message.entries, 0)?);
        let notes: &[u8] = if message.indexed == Value::False { b"unindexed" } else { b"" };
        let bound = if kind == BIND && err == 0 { optional(message.account)? } else { None };
        let fields = ResultFields { kind, err, etime, wait, entries, notes, ..ResultFields::default() };
        Some(Operation { op, request, fields, answered, bound })
    }

    /// The times of the request, and of the last of request and result.
    pub fn times(&self, time: i64) -> (i64, i64) {
        let requested = if self.request.is_some() { time - self.fields.etime.unwrap_or(0) } else { time };
        (requested, if self.answered { time } else { requested })
    }

    /// Counts its request and its result.
    pub fn count(&self, log: &mut Scan, conn: i64, time: i64, requested: i64) {
        match &self.request {
            None => {}
            Some(Request::Search { base, scope, filter }) => log.search(conn, self.op, requested, base, *scope, filter),
            Some(Request::Bind { dn, mechanism }) => log.bind(conn, self.op, requested, dn, mechanism),
            Some(Request::Other { target }) => log.request(conn, self.op, requested, self.fields.kind, target),
        }
        if self.answered {
            log.result(conn, self.op, time, &ResultFields { account: self.bound.as_deref(), ..self.fields });
        }
    }
}

impl<'a> Request<'a> {
    fn read(message: &Message<'a>, kind: OperationKind) -> Option<Self> {
        Some(match kind {
            SEARCH => Request::Search {
                base: text_or(message.base, b"")?,
                scope: whole_of(message.scope)?,
                filter: message.filter.text()?,
            },
            BIND => {
                let (dn, kind) = (text_or(message.dn, b"")?, optional(message.kind_of_bind)?);
                let mechanism = optional(message.mechanism)?;
                Request::Bind { dn, mechanism: mechanism_of(kind.as_deref(), mechanism.as_deref()).into_owned() }
            }
            _ => Request::Other { target: text_or(if kind == EXTENDED { message.oid } else { message.dn }, b"")? },
        })
    }
}

/// The kind of an operation by its name, in capitals.
pub fn kind_of(name: &str) -> Option<OperationKind> {
    Some(match name {
        "ADD" => ADD,
        "BIND" => BIND,
        "COMPARE" => COMPARE,
        "DELETE" => DELETE,
        "EXTENDED" => EXTENDED,
        "MODDN" | "MODIFY-DN" | "MODIFYDN" => MODRDN,
        "MODIFY" => MODIFY,
        "SEARCH" => SEARCH,
        _ => return None,
    })
}

/// The nanoseconds of a number of milliseconds, where there is one; `None` for a negative or absurd duration.
fn milliseconds(value: Value) -> Option<Option<i64>> {
    Some(Some(match value {
        Value::Missing | Value::Null => return Some(None),
        Value::Whole(number @ 0..1_000_000_000_000) => number * MILLISECOND,
        Value::Number(text) => {
            let number = Decimal::read(text)?;
            let is_duration = (!number.is_negative || number.digits.is_empty()) && number.width() <= LONGEST;
            i64::try_from(scaled(&number.digits, number.power + 6).filter(|_| is_duration)?).ok()?
        }
        Value::True => MILLISECOND, // a number, for Python
        Value::False => 0,
        _ => return None,
    }))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (value, duration) in [
            (Value::Missing, Some(None)),
            (Value::Whole(3), Some(Some(3_000_000))),
            (Value::Number(b"0.456"), Some(Some(456_000))),
            (Value::Number(b"1e-999999"), Some(Some(0))),
            (Value::Number(b"999999999999.99999999999999999999"), Some(Some(1_000_000_000_000_000_000))),
            (Value::Number(b"1e12"), None),
            (Value::Number(b"-0.1"), None),
            (Value::Number(b"-0.0"), Some(Some(0))),
            (Value::Whole(-1), None),
            (Value::Symbol(b"1"), None),
        ] {
            assert_eq!(milliseconds(value), duration, "{value:?}");
        }
    }
}
