//! The parts of the lines of 389-ds and DSEE after the connection and operation numbers, which the dialects read.
//!
//! ```text
//! BIND dn="uid=quickr,dc=x" method=128 version=3
//! BIND dn="" method=sasl version=3 mech=GSSAPI
//! MODRDN dn="cn=a,dc=x" newrdn="cn=b" newsuperior="(null)"
//! SRCH base="dc=x" scope=2 filter="(cn=a", Bad search filter
//! ABANDON targetop=3 msgid=4 nentries=0 etime=0.000091731
//! fd=64 Disconnect - Cleanly Closed Connection - U1
//! fd=64 closed error 104 (Connection reset by peer) - B1
//! fd=64 Disconnect - Connection reset by peer - TCP connection reset by peer.
//! STAT read index: attribute=displayName key(sub)=jos --> count 20212
//!
//! fd=64 slot=64 SSL connection from 127.0.0.11 to 127.0.0.1
//! TLS1.3 256-bit AES-GCM
//! AUTOBIND dn="cn=Directory Manager"
//! ```
//!
//! Source: ldap/servers/slapd/result.c, opshared.c, bind.c, abandon.c, connection.c, auth.c.

mod closes;
mod connections;
mod requests;
mod results;

pub use closes::close_code;
pub use connections::{address, read_event};
pub use requests::{base_and_scope, filter, is_request, mechanism_of, read_request};
pub use results::{duration_of, read_result, result_head};
