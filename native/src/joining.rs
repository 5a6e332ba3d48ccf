//! A late opening is applied to a connection here; joining two chunks is Python's part.

use crate::connection::{Account, Connection};
use crate::counting::attribute;
use crate::interner::{ANONYMOUS, Symbol};
use crate::segment::Segment;

/// Attributes to `client` what a connection did before its opening was written.
pub fn apply_late_opening(segment: &mut Segment, connection: &mut Connection, opened: i64, client: Symbol) {
    connection.opened = Some(opened);
    connection.client = Some(client);
    connection.row = Some(segment.client(client));
    if connection.account == Account::Inherited {
        connection.account = Account::Dn(ANONYMOUS);
    }
    let Some(mut rare) = connection.rare.take() else { return };
    for result in &mut rare.unmatched {
        result.bound_as = or_anonymous(result.bound_as);
    }
    let kept = std::mem::take(&mut rare.unattributed);
    for idle_time in &mut rare.idle_times {
        idle_time.account = or_anonymous(idle_time.account);
    }
    connection.rare = Some(rare);
    for ((subject, account, err), counts) in kept {
        attribute(segment, connection, subject, or_anonymous(account), err, counts);
    }
}

fn or_anonymous(account: Account) -> Account {
    if account == Account::Inherited { Account::Dn(ANONYMOUS) } else { account }
}
