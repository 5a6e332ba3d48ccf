//! The JSON access log of PingDirectory, and that of the UnboundID SDK's in-memory server: one object a line.
//!
//! ```text
//! {"timestamp":"2024-01-01T00:00:00.000Z","messageType":"RESULT","operationType":"SEARCH","startupID":"ABC",
//!  "connectionID":1,"operationID":2,"messageID":3,"baseDN":"dc=b","scope":2,"filter":"(cn=x)","resultCode":0,
//!  "processingTimeMillis":0.456,"workQueueWaitTimeMillis":0,"entriesReturned":5,"isIndexed":false}
//!
//! { "timestamp":"2026-11-20T17:08:00.341Z", "message-type":"request", "operation-type":"search", "connection-id":0,
//!   "operation-id":2, "message-id":3, "base":"dc=b", "scope":2, "filter":"(cn=1)" }
//! ```
//!
//! PingDirectory's message of a result contains the request, too, and a REQUEST message is passed over. The in-memory
//! server writes keys with hyphens, `response` for a result, and always requests.
//! Source: com.unboundid.ldap.sdk.unboundidds.logs.v2.json, com.unboundid.ldap.listener.JSONAccessLogRequestHandler.

mod fields;
mod operations;

use fields::Message;
use operations::{Operation, kind_of};

use crate::json::{Value, without_blanks};
use crate::json_lines::{Clock, Text, each_line, optional, text_or, whole_of, whole_or};
use crate::opends::Kind;
use crate::ping_text::host_of;
use crate::scan::Scan;

/// Reads whole records.
pub fn scan(data: &[u8], log: &mut Scan) {
    let mut clock = Clock::default();
    each_line(data, log, |log, line| read(log, &mut clock, line).unwrap_or(Kind::Misread));
}

/// Reads a message: all its fields before it is counted, so that a broken line counts nothing but its server.
fn read(log: &mut Scan, clock: &mut Clock, line: &[u8]) -> Option<Kind> {
    let line = without_blanks(line);
    let (message, end, in_memory) = fields::read(line)?;
    if end < line.len() {
        return None;
    }
    let time = clock.time(log, message.timestamp)?;
    let server = Server::read(&message)?;
    let event = match Event::read(&message, in_memory) {
        Some(Ok(event)) => event,
        other => {
            server.keep(log);
            return other?.err().map(|other| other.count(log));
        }
    };
    let (requested, last) = event.times(time);
    log.counted_as_one(requested, last, |log| {
        server.keep(log);
        event.count(log, time, requested);
    });
    Some(Kind::Counted)
}

/// The server that a message names.
struct Server<'a> {
    instance: Option<Text<'a>>,
    startup: Option<Text<'a>>,
}

impl<'a> Server<'a> {
    fn read(message: &Message<'a>) -> Option<Self> {
        Some(Server { instance: optional(message.instance)?, startup: optional(message.startup)? })
    }

    fn keep(&self, log: &mut Scan) {
        if let Some(instance) = self.instance.as_deref()
            && log.is_other_instance(instance)
        {
            log.header(instance, b"");
        }
        if let Some(startup) = self.startup.as_deref() {
            log.startup(startup);
        }
    }
}

/// A message that is of no client's connection.
enum Other {
    Internal,
    PassedOver,
}

impl Other {
    fn count(self, log: &mut Scan) -> Kind {
        match self {
            Other::PassedOver => Kind::PassedOver,
            Other::Internal => {
                log.internal();
                Kind::Counted
            }
        }
    }
}

/// A message of a client's connection.
struct Event<'a> {
    conn: i64,
    what: What<'a>,
    client: Text<'a>,
    account: Option<Text<'a>>,
}

enum What<'a> {
    Connect { client: Text<'a>, server: Vec<u8>, secured: bool },
    Disconnect { reason: Text<'a> },
    Negotiated { protocol: Text<'a>, cipher: Text<'a>, account: Option<Text<'a>> },
    Unbind { op: i64 },
    Abandon { op: i64 },
    Operation(Operation<'a>),
}
impl<'a> Event<'a> {
    fn read(message: &Message<'a>, in_memory: bool) -> Option<Result<Self, Other>> {
        let kind = upper(message.message_type)?;
        if !matches!(&*kind, "CONNECT" | "DISCONNECT" | "REQUEST" | "RESULT" | "RESPONSE" | "SECURITY-NEGOTIATION") {
            return Some(Err(Other::PassedOver));
        }
        if kind == "REQUEST" && !in_memory && upper(message.operation)? != "UNBIND" {
            return Some(Err(Other::PassedOver)); // its result repeats it
        }
        let conn = whole_of(message.conn)?;
        if conn < 0 {
            return Some(Err(Other::Internal));
        }
        let (mut client, mut account) = (Text::default(), None);
        let what = match &*kind {
            "CONNECT" => connect(message)?,
            "DISCONNECT" => What::Disconnect { reason: text_or(message.reason, b"")? },
            "SECURITY-NEGOTIATION" => What::Negotiated {
                protocol: text_or(message.protocol, b"?")?,
                cipher: text_or(message.cipher, b"")?,
                account: optional(message.certificate)?,
            },
            _ => {
                let operation = upper(message.operation)?;
                let op = whole_of(message.op)?;
                client = text_or(message.requester, b"")?;
                account = if operation == "BIND" { None } else { optional(message.requester_dn)? };
                match &*operation {
                    "UNBIND" => What::Unbind { op },
                    "ABANDON" => What::Abandon { op },
                    name => What::Operation(Operation::read(message, op, kind_of(name)?, kind != "REQUEST")?),
                }
            }
        };
        Some(Ok(Event { conn, what, client, account }))
    }

    /// The times of the request, and of the last of request and result.
    fn times(&self, time: i64) -> (i64, i64) {
        match &self.what {
            What::Operation(operation) => operation.times(time),
            _ => (time, time),
        }
    }

    fn count(&self, log: &mut Scan, time: i64, requested: i64) {
        let conn = self.conn;
        match &self.what {
            What::Connect { client, server, secured } => log.opened(conn, time, client, server, *secured),
            What::Disconnect { reason } => log.closed(conn, time, reason),
            What::Negotiated { protocol, cipher, account } => {
                log.tls(conn, time, protocol, cipher);
                if let Some(account) = account {
                    log.authenticated(conn, time, account);
                }
            }
            What::Unbind { op } => log.unbind(conn, *op, time),
            What::Abandon { op } => log.abandon(conn, *op, time, None),
            What::Operation(operation) => operation.count(log, conn, time, requested),
        }
        let client = host_of(&self.client);
        if !client.is_empty() || self.account.is_some() {
            log.identified(conn, requested, client, self.account.as_deref());
        }
    }
}
fn connect<'a>(message: &Message<'a>) -> Option<What<'a>> {
    let port = match whole_or(message.port, 0)? {
        0 => String::new(),
        port => format!(":{port}"),
    };
    let server = [&*text_or(message.to, b"")?, port.as_bytes()].concat();
    let secured = message.protocol.text().as_deref() == Some(b"LDAPS");
    Some(What::Connect { client: message.from.text()?, server, secured })
}

/// A word in capitals; `None` for what is no string.
fn upper(value: Value) -> Option<String> {
    value.text().map(|text| String::from_utf8_lossy(&text).to_uppercase())
}
