//! Counting of idle times, by client and account, and when they reach the timeouts that administrators set.

use crate::connection::{Account, Connection, Ending, IdleTime};
use crate::interner::OTHER;
use crate::segment::Segment;
use crate::stamps::SECOND;

/// Approximate bytes of an idle time kept for an unknown client or account.
const IDLE_TIME_BYTES: usize = 48;

/// Counts an idle time that a request ended, or keeps it with the connection until client and account are known.
#[inline(never)]
pub fn count_idle_time(segment: &mut Segment, number: i64, connection: &mut Connection, idle_time: IdleTime) {
    let IdleTime { account, since, ended, .. } = idle_time;
    if let (Some(client), Account::Dn(account)) = (connection.client, account) {
        segment.idle_row((client, account), ended - since).used.add(ended - since, ended, number);
        segment.timeline.idle_time(since, ended, 1, 0);
        return;
    }
    segment.added += IDLE_TIME_BYTES;
    connection.rare().uncertain_idle_times.push(idle_time);
}

/// Counts the idle times that were kept, now that everything before them is known; but not yet the client, perhaps.
///
/// Of an unknown client or account they stay with the connection, because a later record may name them.
pub fn count_certain_idle_times(segment: &mut Segment, number: i64, connection: &mut Connection) {
    let Some(rare) = connection.rare.as_mut() else { return };
    for IdleTime { mut account, since, ended, .. } in std::mem::take(&mut rare.uncertain_idle_times) {
        segment.timeline.idle_time(since, ended, 1, 0);
        if connection.opened.is_some() {
            account = account.or_anonymous(); // what came before the first BIND
        }
        if let (Some(client), Account::Dn(account)) = (connection.client, account) {
            segment.idle_row((client, account), ended - since).used.add(ended - since, ended, number);
            continue;
        }
        if !rare.idle_times.contains_key(&account) && rare.idle_times.len() >= segment.caps.owed {
            segment.cut_short("idle_times");
            account = Account::Dn(OTHER);
        }
        rare.idle_times.entry(account).or_default().add(ended - since, ended, number);
    }
}

/// Counts the idle times of a connection of which no record can follow, and the one before its end.
pub fn count_last_idle_time(segment: &mut Segment, number: i64, connection: &mut Connection, ending: Ending) {
    count_certain_idle_times(segment, number, connection);
    let (client, unbound) = (connection.client_at_end(), connection.unbound());
    if let Some(rare) = &connection.rare {
        for (account, idle_times) in &rare.idle_times {
            let row = segment.idle_row((client, account.known(unbound)), idle_times.longest.0);
            row.used.merge(idle_times);
        }
    }
    let is_open = matches!(ending, Ending::EndOfLog(_));
    let (Some(since), Some(until)) = (connection.idle_at_end(), connection.closed.or(ending.at())) else { return };
    if until - since < SECOND {
        return;
    }
    let row = segment.idle_row((client, connection.bound_as().known(unbound)), until - since);
    let times = if is_open { &mut row.open } else { row.before(connection.code) };
    times.add(until - since, until, number);
    segment.timeline.idle_time(since, until, 0, u64::from(!is_open));
}
