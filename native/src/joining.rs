//! A late opening is applied to a connection here; joining two chunks is Python's part.

use crate::connection::{Account, Connection};
use crate::counting::{attribute, count_failed_bind};
use crate::interner::{ANONYMOUS, Symbol};
use crate::segment::Segment;

/// Attributes to `client` what a connection did before its opening was written.
pub fn apply_late_opening(segment: &mut Segment, connection: &mut Connection, opened: i64, client: Symbol) {
    connection.opened = Some(opened);
    connection.client = Some(client);
    let row = segment.client(client);
    connection.row = Some(row);
    if connection.account == Account::Inherited {
        connection.account = Account::Dn(ANONYMOUS);
    }
    let Some(mut rare) = connection.rare.take() else { return };
    for result in &mut rare.unmatched {
        result.bound_as = or_anonymous(result.bound_as);
    }
    let kept = std::mem::take(&mut rare.unattributed);
    let failures = std::mem::take(&mut rare.failures);
    let idle_times = std::mem::take(&mut rare.idle_times);
    connection.rare = Some(rare);
    for ((shape, account), counts) in kept {
        attribute(segment, connection, shape, or_anonymous(account), counts);
    }
    for ((dn, err), count) in failures {
        count_failed_bind(segment, connection, dn, err, count);
    }
    for one in idle_times.values() {
        segment.clients.at(row as usize).idle_times.merge(one);
    }
}

fn or_anonymous(account: Account) -> Account {
    if account == Account::Inherited { Account::Dn(ANONYMOUS) } else { account }
}
