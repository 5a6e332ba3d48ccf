//! The fields of messages, by PingDirectory's names.

use crate::json::fields::{Fields, fields};
use crate::json::{Value, members};

fields! {
    Message {
        account b"authenticationDN"
        base b"baseDN"
        certificate b"autoAuthenticatedAs"
        cipher b"cipher"
        conn b"connectionID"
        dn b"dn"
        entries b"entriesReturned"
        err b"resultCode"
        etime b"processingTimeMillis"
        filter b"filter"
        from b"fromAddress"
        indexed b"isIndexed"
        instance b"instanceName"
        kind_of_bind b"authenticationType"
        mechanism b"saslMechanism"
        message_type b"messageType"
        oid b"requestOID"
        op b"operationID"
        operation b"operationType"
        port b"toPort"
        protocol b"protocol"
        qtime b"workQueueWaitTimeMillis"
        reason b"disconnectReason"
        requester b"requesterIP"
        requester_dn b"requesterDN"
        scope b"scope"
        startup b"startupID"
        timestamp b"timestamp"
        to b"toAddress"
    }
}

/// The names of the in-memory server, and PingDirectory's; the first distinguishes the two.
const SPELLINGS: [(&[u8], &[u8]); 14] = [
    (b"message-type", b"messageType"),
    (b"operation-type", b"operationType"),
    (b"connection-id", b"connectionID"),
    (b"operation-id", b"operationID"),
    (b"base", b"baseDN"),
    (b"from-address", b"fromAddress"),
    (b"to-address", b"toAddress"),
    (b"to-port", b"toPort"),
    (b"request-oid", b"requestOID"),
    (b"result-code-value", b"resultCode"),
    (b"processing-time-millis", b"processingTimeMillis"),
    (b"entries-returned", b"entriesReturned"),
    (b"authentication-type", b"authenticationType"),
    (b"sasl-mechanism", b"saslMechanism"),
];

/// Reads a message in either spelling; returns its end, too, and whether it is of the in-memory server.
pub fn read(text: &[u8]) -> Option<(Message<'_>, usize, bool)> {
    let (mut message, mut others) = (Message::default(), [Value::Missing; SPELLINGS.len()]);
    let end = members(text, |name, value| {
        if let Some(field) = message.named(name) {
            *field = value;
        } else if let Some(place) = SPELLINGS.iter().position(|(other, _)| *other == name) {
            others[place] = value;
        }
    })?;
    let in_memory = others[0] != Value::Missing;
    if in_memory {
        for ((other, ours), value) in SPELLINGS.iter().zip(others) {
            take_spelling(text, &mut message, (other, ours), value);
        }
    }
    Some((message, end, in_memory))
}

/// Takes the value in the other spelling: of both the one counts whose name is there later for the first time.
fn take_spelling<'a>(text: &[u8], message: &mut Message<'a>, (other, ours): (&[u8], &[u8]), value: Value<'a>) {
    if let Some(field) = message.named(ours)
        && value != Value::Missing
        && (*field == Value::Missing || first(text, other) > first(text, ours))
    {
        *field = value;
    }
}

/// Where a name is first among the members of an object.
fn first(text: &[u8], wanted: &[u8]) -> usize {
    let (mut place, mut found) = (0, usize::MAX);
    members(text, |name, _| {
        if name == wanted {
            found = found.min(place);
        }
        place += 1;
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_either_spelling() {
        let conn = |text: &'static [u8]| read(text).map(|(message, _, in_memory)| (message.conn, in_memory));
        assert_eq!(conn(br#"{"connection-id":1}"#), Some((Value::Missing, false)));
        assert_eq!(conn(br#"{"message-type":1,"connection-id":1}"#), Some((Value::Whole(1), true)));
        let both = br#"{"message-type":1,"connection-id":1,"connectionID":2,"connection-id":3}"#;
        assert_eq!(conn(both), Some((Value::Whole(2), true)));
    }
}
