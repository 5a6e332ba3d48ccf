//! What is known of a connection once its late opening is read; joining two pieces is Python's.

use crate::connection::{Account, Connection};
use crate::counting::{fail, owe};
use crate::segment::Segment;
use crate::texts::{ANONYMOUS, Text};

/// Says who a connection belongs to that had asked before its opening was written.
pub fn introduce(segment: &mut Segment, connection: &mut Connection, opened: i64, client: Text) {
    connection.opened = Some(opened);
    connection.client = Some(client);
    let row = segment.client(client);
    connection.row = Some(row);
    if connection.account == Account::Untold {
        connection.account = Account::Named(ANONYMOUS);
    }
    let Some(mut aside) = connection.aside.take() else { return };
    for held in &mut aside.held {
        held.who = known(held.who);
    }
    let owed = std::mem::take(&mut aside.owed);
    let failures = std::mem::take(&mut aside.failures);
    let rests = std::mem::take(&mut aside.rests);
    connection.aside = Some(aside);
    for ((shape, account), counts) in owed {
        owe(segment, connection, shape, known(account), counts);
    }
    for ((dn, err), count) in failures {
        fail(segment, connection, dn, err, count);
    }
    for rests in rests.values() {
        segment.clients.at(row as usize).rests.take(rests);
    }
}

fn known(account: Account) -> Account {
    if account == Account::Untold { Account::Named(ANONYMOUS) } else { account }
}
