//! The kinds of LDAP operation (RFC 4511, 4.2 to 4.12) as small numbers.

/// A kind of operation, an index of `operations`; [`UNKNOWN`] for a result with an unknown tag.
pub type OperationKind = i8;

/// The kind of a result with an unknown tag.
pub const UNKNOWN: OperationKind = -1;
/// The kind of an `OperationResult` that is a SORT or VLV line, written before the result.
pub const SORTED: OperationKind = -2;
/// The kind of one that is the line with the SASL mechanism of a BIND, which slapd writes before the result.
pub const NAMED: OperationKind = -3;
/// BindRequest.
pub const BIND: OperationKind = 0;
/// UnbindRequest.
pub const UNBIND: OperationKind = 1;
/// SearchRequest.
pub const SEARCH: OperationKind = 2;
/// ModifyRequest.
pub const MODIFY: OperationKind = 3;
/// AddRequest.
pub const ADD: OperationKind = 4;
/// DelRequest.
pub const DELETE: OperationKind = 5;
/// ModifyDNRequest.
pub const MODRDN: OperationKind = 6;
/// CompareRequest.
pub const COMPARE: OperationKind = 7;
/// AbandonRequest.
pub const ABANDON: OperationKind = 8;
/// ExtendedRequest.
pub const EXTENDED: OperationKind = 9;
/// The number of kinds.
pub const COUNT: usize = 10;

/// The kind of a response by its tag (the BER tag of the protocolOp, as 389-ds and slapd log it).
pub fn of_tag(tag: i64) -> OperationKind {
    match tag {
        97 => BIND,
        101 => SEARCH,
        103 => MODIFY,
        105 => ADD,
        107 => DELETE,
        109 => MODRDN,
        111 => COMPARE,
        120 => EXTENDED,
        _ => UNKNOWN,
    }
}
