//! The text access log of PingDirectory (UnboundID, Alcatel-Lucent 8661) and of the SDK's in-memory server.
//!
//! ```text
//! [01/Jan/2024:00:00:00 -0600] CONNECT instanceName="ds1:389" startupID="ABC" conn=1 from="1.2.3.4" to="5.6.7.8"
//! [01/Jan/2024:00:00:00 -0600] SEARCH RESULT instanceName="ds1:389" startupID="ABC" conn=1 op=2 msgID=3 base="dc=b" \
//! scope=2 filter="(cn=x)" attrs="ALL" resultCode=0 qtime=0 etime=0.456 entriesReturned=5 unindexed=true
//! [01/Jan/2024:00:00:00 -0600] DISCONNECT instanceName="ds1:389" startupID="ABC" conn=1 reason="Client Unbind"
//! ```
//!
//! The line of the result contains the request, too; with log-requests there is also a REQUEST line, which is passed
//! over. Only the in-memory server's RESULT does not repeat the request; its lines have no instanceName and no startupID.
//! etime and qtime are in milliseconds. requesterIP and requesterDN are the client and the account. Only a new startupID
//! shows a restart. conn=-1, ... are internal.
//! Source: com.unboundid.ldap.sdk.unboundidds.logs (LogMessage), com.unboundid.ldap.listener.AccessLogRequestHandler.

mod fields;
mod values;

use std::borrow::Cow;

use fields::{Record, is_of_certificate};
pub use values::{decoded, host_of, scaled};

use crate::opends::{Clock, Kind, each_line};
use crate::operation_kinds::{ADD, BIND, COMPARE, DELETE, EXTENDED, MODIFY, MODRDN, OperationKind, SEARCH};
use crate::result_fields::ResultFields;
use crate::scan::Scan;
use values::milliseconds;

/// The result code of a result without one; the server omits unknown fields.
pub const NO_RESULT_CODE: i64 = -1;
const UNKNOWN: &[u8] = b"?";

/// Reads whole records.
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = Clock::default();
    each_line(data, log, |log, text| match Record::read(text) {
        Some((stamp, record)) => {
            let time = clock.time(log, &stamp);
            time.map_or(Kind::Misread, |time| record.count(log, time))
        }
        None if is_of_certificate(text) => Kind::PassedOver,
        None => Kind::Misread,
    });
}

/// A client and an account.
type Named<'a> = (Cow<'a, [u8]>, Option<Cow<'a, [u8]>>);

/// What a record is counted as.
enum Event<'a> {
    Connect(&'a [u8]),
    Disconnect,
    Negotiated,
    Abandon(i64),
    Unbind(i64),
    Operation(Operation<'a>),
}

/// An operation that has a result: its request and its result, as far as the record has them.
struct Operation<'a> {
    op: i64,
    request: Option<Request<'a>>,
    elapsed: i64,
    result: Option<ResultFields<'a>>,
    /// The account of a successful BIND, which may contain escapes.
    account: Option<&'a [u8]>,
}

enum Request<'a> {
    Search { base: &'a [u8], scope: i64, filter: &'a [u8] },
    Bind { dn: &'a [u8], mechanism: Cow<'a, [u8]> },
    Other { kind: OperationKind, target: &'a [u8] },
}

impl Record<'_> {
    /// Counts it: all of it is read before, so that a broken line counts nothing but its server.
    fn count(&self, log: &mut Scan, time: i64) -> Kind {
        let event = match self.kind() {
            Kind::Counted => self.conn.filter(|&conn| conn >= 0).and_then(|conn| Some((conn, self.event()?))),
            _ => None,
        };
        let Some((conn, event)) = event else {
            self.keep_server(log);
            return self.uncounted(log);
        };
        let requested = match &event {
            Event::Operation(Operation { request: Some(_), elapsed, .. }) => time - elapsed,
            _ => time,
        };
        let is_request_alone = matches!(&event, Event::Operation(Operation { result: None, .. }));
        let named = self.named();
        let last = if is_request_alone { requested } else { time };
        log.counted_as_one(requested, last, |log| {
            self.keep_server(log);
            self.count_event(log, conn, time, requested, event);
            if let Some((client, account)) = named {
                log.identified(conn, last, host_of(&client), account.as_deref());
            }
        });
        Kind::Counted
    }

    /// Returns whether a record is counted, as far as its words show it.
    fn kind(&self) -> Kind {
        const KNOWN: [&[u8]; 3] = [b"", b"REQUEST", b"RESULT"];
        if !is_known(self.word) || !KNOWN.contains(&self.half) {
            return if is_passed_over(self.word) || is_passed_over(self.half) {
                Kind::PassedOver
            } else {
                Kind::Misread
            };
        }
        let is_repeated = self.half == b"REQUEST" && self.word != b"UNBIND";
        if is_repeated && (self.instance.is_some() || self.startup.is_some()) {
            return Kind::PassedOver; // its result repeats it
        }
        Kind::Counted
    }

    /// Counts a record that is of no client's connection, or not understood.
    fn uncounted(&self, log: &mut Scan) -> Kind {
        match (self.kind(), self.conn) {
            (Kind::Counted, Some(..0)) if self.half.is_empty() => Kind::PassedOver,
            (Kind::Counted, Some(..0)) => {
                log.internal();
                Kind::Counted
            }
            (Kind::Counted, _) => Kind::Misread,
            (kind, _) => kind,
        }
    }

    fn keep_server(&self, log: &mut Scan) {
        if let Some(instance) = self.instance.filter(|instance| log.is_other_instance(instance)) {
            log.header(&decoded(instance), b"");
        }
        if let Some(startup) = self.startup {
            log.startup(startup);
        }
    }

    /// The client and the account that the line names; before a BIND this is another account.
    fn named(&self) -> Option<Named<'_>> {
        let account = self.requester_dn.filter(|_| self.word != b"BIND").map(decoded);
        let client = self.requester.unwrap_or_default();
        (!client.is_empty() || account.is_some()).then(|| (decoded(client), account))
    }

    /// What the record says; `None`: a field is missing or wrong.
    fn event(&self) -> Option<Event<'_>> {
        Some(match self.word {
            b"CONNECT" => Event::Connect(self.client?),
            b"DISCONNECT" => Event::Disconnect,
            b"SECURITY-NEGOTIATION" => Event::Negotiated,
            b"ABANDON" => Event::Abandon(self.op?),
            b"UNBIND" => Event::Unbind(self.op?),
            _ => Event::Operation(self.operation()?),
        })
    }

    fn operation(&self) -> Option<Operation<'_>> {
        let (op, etime, wait) = (self.op?, milliseconds(self.etime)?, milliseconds(self.qtime)?);
        let is_result = self.half == b"RESULT";
        let (kind, request) = match self.word {
            b"SEARCH" => (SEARCH, self.search()),
            b"BIND" => (BIND, self.dn.map(|dn| Request::Bind { dn, mechanism: self.mechanism() })),
            word => {
                let kind = request(word)?;
                let target = if kind == EXTENDED { self.oid } else { self.dn };
                let target = if is_result { target } else { Some(target.unwrap_or_default()) };
                (kind, target.map(|target| Request::Other { kind, target }))
            }
        };
        if request.is_none() && !is_result {
            return None;
        }
        let err = self.err.unwrap_or(NO_RESULT_CODE);
        let of_search = kind == SEARCH;
        let notes: &[u8] = if of_search && self.is_unindexed { b"unindexed" } else { b"" };
        let entries = self.entries.filter(|_| of_search).unwrap_or(0);
        let fields = ResultFields { kind, err, etime, wait, entries, notes, ..ResultFields::default() };
        Some(Operation {
            op,
            request,
            elapsed: etime.unwrap_or(0),
            result: is_result.then_some(fields),
            account: self.account.filter(|_| kind == BIND && err == 0),
        })
    }

    fn search(&self) -> Option<Request<'_>> {
        Some(Request::Search { base: self.base?, scope: self.scope?, filter: self.filter? })
    }

    fn mechanism(&self) -> Cow<'_, [u8]> {
        mechanism_of(self.kind_of_bind, self.mechanism)
    }

    fn count_event(&self, log: &mut Scan, conn: i64, time: i64, requested: i64, event: Event) {
        match event {
            Event::Connect(client) => {
                let server = self.server.unwrap_or_default();
                log.opened(conn, time, host_of(client), server, self.protocol == Some(b"LDAPS"));
            }
            Event::Disconnect => log.closed(conn, time, self.reason.unwrap_or_default()),
            Event::Negotiated => {
                let protocol = self.protocol.filter(|protocol| !protocol.is_empty()).unwrap_or(UNKNOWN);
                log.tls(conn, time, &decoded(protocol), self.cipher.unwrap_or_default());
                if let Some(account) = self.certificate {
                    log.authenticated(conn, time, &decoded(account));
                }
            }
            Event::Abandon(op) => log.abandon(conn, op, time, None),
            Event::Unbind(op) => log.unbind(conn, op, time),
            Event::Operation(operation) => operation.count(log, conn, time, requested),
        }
    }
}

impl Operation<'_> {
    fn count(self, log: &mut Scan, conn: i64, time: i64, requested: i64) {
        match self.request {
            None => {}
            Some(Request::Search { base, scope, filter }) => {
                log.search(conn, self.op, requested, &decoded(base), scope, &decoded(filter));
            }
            Some(Request::Bind { dn, mechanism }) => log.bind(conn, self.op, requested, &decoded(dn), &mechanism),
            Some(Request::Other { kind, target }) => log.request(conn, self.op, requested, kind, &decoded(target)),
        }
        if let Some(fields) = self.result {
            let account = self.account.map(decoded);
            log.result(conn, self.op, time, &ResultFields { account: account.as_deref(), ..fields });
        }
    }
}

/// SASL's mechanism, or the type of authentication in lower case: `simple`.
pub fn mechanism_of<'a>(kind: Option<&'a [u8]>, mechanism: Option<&'a [u8]>) -> Cow<'a, [u8]> {
    match mechanism {
        Some(mechanism) if !mechanism.is_empty() => Cow::Borrowed(mechanism),
        _ => {
            kind.filter(|kind| !kind.is_empty()).map_or(Cow::Borrowed(UNKNOWN), |kind| kind.to_ascii_lowercase().into())
        }
    }
}

/// The kind of a request that is neither a BIND nor a search, by its name.
fn request(word: &[u8]) -> Option<OperationKind> {
    Some(match word {
        b"ADD" => ADD,
        b"COMPARE" => COMPARE,
        b"DELETE" => DELETE,
        b"EXTENDED" => EXTENDED,
        b"MODDN" | b"MODIFYDN" => MODRDN,
        b"MODIFY" => MODIFY,
        _ => return None,
    })
}

fn is_known(word: &[u8]) -> bool {
    const OTHERS: [&[u8]; 7] =
        [b"CONNECT", b"DISCONNECT", b"SECURITY-NEGOTIATION", b"SEARCH", b"BIND", b"ABANDON", b"UNBIND"];
    OTHERS.contains(&word) || request(word).is_some()
}

/// Returns whether a word is that of a proxy's forwarding, of entries returned, or of certificates.
fn is_passed_over(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] = [
        b"FORWARD",
        b"FORWARD-FAILED",
        b"ENTRY",
        b"REFERENCE",
        b"ASSURANCE-COMPLETE",
        b"ASSURANCE-COMPLETED",
        b"INTERMEDIATE-RESPONSE",
        b"RESPONSE",
        b"CLIENT-CERTIFICATE",
        b"ENTRY-REBALANCING",
    ];
    WORDS.contains(&word)
}
