//! Joining two chunks of one connection: the left one decides what was open at the edge of the right one.
//!
//! Everything before the left one is known, so it keeps no unmatched result.

use rustc_hash::FxHashMap;

use crate::connection::{Account, Connection, FirstRequest, IdleAtClose, IdleTime, OperationResult, RareState};
use crate::counting::{
    attribute, attribute_kept, count_abandoned, count_clear_bind, count_kept_result, count_unattributed, name_mechanism,
};
use crate::idle_counting::count_idle_time;
use crate::interner::{ANONYMOUS, Symbol};
use crate::operation_kinds::{ABANDON, BIND, EXTENDED, NAMED, SORTED};
use crate::pending_requests::PendingRequests;
use crate::segment::Segment;
use crate::stamps::SECOND;

/// Attributes to `client` what a connection did before its opening was written.
pub fn apply_late_opening(segment: &mut Segment, connection: &mut Connection, opened: i64, client: Symbol) {
    connection.opened = Some(opened);
    connection.client = Some(client);
    connection.account = connection.account.or_anonymous();
    let Some(rare) = connection.rare.as_mut() else { return };
    for result in &mut rare.unmatched {
        result.bound_as = result.bound_as.or_anonymous();
    }
    for idle_time in &mut rare.uncertain_idle_times {
        idle_time.account = idle_time.account.or_anonymous();
    }
    attribute_kept(segment, connection);
}

/// Continues a connection with the client that a PROXY header names.
pub fn change_client(segment: &mut Segment, connection: &mut Connection, client: Symbol) {
    if let (Some(before), Some(_)) = (connection.client, connection.opened) {
        segment.client_row(before).opened -= 1;
        segment.client_row(client).opened += 1;
    }
    (connection.client, connection.last_attribution) = (Some(client), None);
}

/// The border between the two chunks: the results of the right one matched with the requests of the left one.
struct Seam {
    account: Account,
    /// DNs by the number of the BIND whose result is in the right chunk.
    bind_dns: FxHashMap<i64, Symbol>,
    /// By epoch of the right chunk: the number of its results so far without a request in the left one.
    left_over: Vec<usize>,
    /// The first epoch of the right chunk in which no operation of the left one is outstanding; `None`: never.
    quiet_from: Option<usize>,
    /// The first epoch of the right chunk in which the connection was secured in the left one; `None`: never.
    secured_from: Option<usize>,
}

impl Seam {
    fn new(
        segment: &mut Segment,
        number: i64,
        (left, right): (&mut Connection, &mut Connection),
        late: Option<&PendingRequests>,
    ) -> Self {
        let mut seam = Seam {
            account: left.bound_as(),
            bind_dns: FxHashMap::default(),
            left_over: vec![0],
            quiet_from: left.pending.is_empty().then_some(0),
            secured_from: left.secured.then_some(0),
        };
        let unmatched = right.rare.as_mut().map(|rare| std::mem::take(&mut rare.unmatched)).unwrap_or_default();
        let closed_from = match right.idle_at_close {
            _ if left.closed.is_some() => 0,
            Some(idle) => idle.epoch,
            None => unmatched.len(),
        };
        for (epoch, mut result) in (1..).zip(unmatched) {
            let account = if left.closed.is_none() { seam.resolve(result.bound_as) } else { left.bound_as() };
            let is_expired = left.is_expired(result.time) || right.is_expired(result.time);
            let is_of_late = epoch > closed_from
                && result.kind != ABANDON
                && result.kind != NAMED
                && late.is_some_and(|late| late.contains(result.op));
            if is_expired || is_of_late || !seam.matches(segment, number, left, &result, account) {
                result.bound_as = account;
                left.rare().unmatched.push(result);
            } else if left.pending.is_empty() {
                seam.quiet_from.get_or_insert(epoch);
            }
            if left.secured {
                seam.secured_from.get_or_insert(epoch);
            }
            seam.left_over.push(left.epoch());
        }
        seam
    }

    /// Matches a result of the right chunk with its request; returns whether this is in the left one.
    fn matches(
        &mut self,
        segment: &mut Segment,
        number: i64,
        left: &mut Connection,
        result: &OperationResult,
        account: Account,
    ) -> bool {
        match result.kind {
            SORTED => return result.sorting.is_some_and(|line| left.add_sorting(result.op, line)),
            NAMED => return name_mechanism(segment, left, result.op, result.account.unwrap_or(ANONYMOUS)),
            _ => {}
        }
        let Some(mut pending) = left.pending.take(result.op) else { return false };
        if result.kind == ABANDON {
            count_abandoned(segment, &pending);
            return true;
        }
        if result.kind == EXTENDED {
            left.end_extended(result.err, &pending.subject);
        }
        count_kept_result(segment, number, left, &mut pending, result, account);
        if result.kind == BIND {
            let requested = if pending.kind == BIND { pending.dn } else { ANONYMOUS };
            self.bind_dns.insert(result.op, left.confirmed_dn.take().unwrap_or(requested));
        }
        true
    }

    /// Returns whether no operation of the left chunk is outstanding any more.
    fn is_quiet(&self, epoch: usize) -> bool {
        self.quiet_from.is_some_and(|from| epoch >= from)
    }

    /// Returns whether the connection was secured in the left chunk, or by an operation requested there.
    fn is_secured(&self, epoch: usize) -> bool {
        self.secured_from.is_some_and(|from| epoch >= from)
    }

    /// The epoch in the joined chunks of an epoch of the right one.
    fn epoch(&self, epoch: usize) -> usize {
        self.left_over[epoch.min(self.left_over.len() - 1)]
    }

    /// The account that a symbol of the right chunk stands for, as far as the left one determines it.
    fn resolve(&self, account: Account) -> Account {
        match account {
            Account::Inherited => self.account,
            Account::OfBind(op) => self.bind_dns.get(&op).map_or(account, |&dn| Account::Dn(dn)),
            Account::Dn(_) => account,
        }
    }
}

/// Continues the left chunk of a connection with the right one.
///
/// `late`: the requests that were written after its close; results end these first.
pub fn join(
    segment: &mut Segment,
    number: i64,
    left: &mut Connection,
    right: &mut Connection,
    late: Option<&PendingRequests>,
) {
    if let Some(client) = right.client {
        match right.opened {
            Some(opened) => apply_late_opening(segment, left, opened, client),
            None => change_client(segment, left, client),
        }
    }
    let seam = Seam::new(segment, number, (left, right), late);
    if left.closed.is_some() {
        return count_unattributed(segment, right, true); // requests after the close belong to no connection
    }
    let mut rare = right.rare.take().unwrap_or_default();
    for ((subject, account, err), counts) in std::mem::take(&mut rare.unattributed) {
        attribute(segment, left, subject, seam.resolve(account), err, counts);
    }
    left.name(rare.named_client, rare.named_account);
    if right.account != Account::Inherited {
        (left.account, left.bind_dn) = (seam.resolve(right.account), None);
    }
    left.bind_dn = right.bind_dn.or(left.bind_dn);
    left.confirmed_dn = right.confirmed_dn.or(left.confirmed_dn);
    join_idle_times(segment, number, (left, right), &rare, &seam);
    join_pages(left, right.continued, *rare);
    for &((epoch, dn), count) in right.clear_binds.iter().filter(|&&((epoch, _), _)| !seam.is_secured(epoch)) {
        count_clear_bind(segment, left, (seam.epoch(epoch), dn), count);
    }
    left.secured |= right.secured;
    left.pending.add_all(&mut right.pending);
    take_close(left, right, &seam);
    left.operations += right.operations;
    left.requests += right.requests;
}

/// Takes over the close of the right chunk, and the time since which the connection is idle.
fn take_close(left: &mut Connection, right: &Connection, seam: &Seam) {
    if let Some(IdleAtClose { idle_since, epoch, quiet }) = right.idle_at_close {
        (left.closed, left.code) = (right.closed, right.code);
        left.idle_at_close = Some(IdleAtClose {
            idle_since: idle_since.or(left.idle_since),
            epoch: seam.epoch(epoch),
            quiet: quiet && seam.is_quiet(epoch),
        });
    }
    left.idle_since = right.idle_since.or(left.idle_since);
}

/// Counts the idle time between the chunks, and those of the right one.
///
/// Of the latter those count during which no operation of the left chunk was outstanding.
fn join_idle_times(
    segment: &mut Segment,
    number: i64,
    (left, right): (&mut Connection, &Connection),
    rare: &RareState,
    seam: &Seam,
) {
    if let Some(first) = right.first_request {
        let idle_since = first.idle_since.or(left.idle_since);
        let (epoch, account) = (seam.epoch(first.epoch), seam.resolve(first.account));
        let since = if left.last_op < 0 { left.opened } else { idle_since };
        let is_consecutive = first.op.checked_sub(1) == Some(left.previous_op) && right.opened.is_none();
        if let Some(since) = since.filter(|since| is_consecutive && first.time - since >= SECOND)
            && seam.is_quiet(first.epoch)
        {
            count_idle_time(segment, number, left, IdleTime { epoch, account, since, ended: first.time });
        }
        left.first_request.get_or_insert(FirstRequest { op: first.op, time: first.time, epoch, idle_since, account });
        left.previous_op = right.previous_op;
    }
    for &IdleTime { epoch, account, since, ended } in &rare.uncertain_idle_times {
        if seam.is_quiet(epoch) {
            let idle_time = IdleTime { epoch: seam.epoch(epoch), account: seam.resolve(account), since, ended };
            count_idle_time(segment, number, left, idle_time);
        }
    }
    left.last_op = left.last_op.max(right.last_op);
}

fn join_pages(left: &mut Connection, continued: u64, right: RareState) {
    left.continued += continued;
    if right.pages.is_empty() {
        return;
    }
    for page in right.uncertain_pages {
        if left.rare().pages.get(&page) == Some(&true) {
            left.continued += 1;
        }
    }
    left.rare().pages.extend(right.pages);
}
