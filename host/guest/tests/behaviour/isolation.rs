//! The search for a bad record, through real instances: the verdict is on the record, not on its batch.

use contract::{FailureKind, ProcessError, UserFunction};
use guest::GuestFunction;
use protocol::isolation::{Outcome, Search, Step};

use crate::kit::*;

/// What came of the records: which were forwarded, which condemned and why.
#[derive(Debug, Default, PartialEq)]
struct Settled {
    forwarded: Vec<u32>,
    condemned: Vec<(u32, FailureKind)>,
}

fn settle(function: &mut GuestFunction, values: &[&str], batch_rows: usize) -> Settled {
    let mut settled = Settled::default();
    let mut first = 0;
    for batch in values.chunks(batch_rows) {
        settle_batch(function, batch, first, &mut settled);
        first += u32::try_from(batch.len()).unwrap();
    }
    settled
}

fn settle_batch(function: &mut GuestFunction, values: &[&str], first: u32, settled: &mut Settled) {
    let mut search = Search::new(u32::try_from(values.len()).unwrap());
    let mut last = None;
    loop {
        match search.next() {
            Step::Done => return,
            Step::Condemn { row } => settled.condemned.push((first + row, last.unwrap())),
            Step::Try { rows, fresh } => {
                if fresh {
                    function.renew().unwrap();
                }
                let fresh = function.is_fresh();
                let mut turn = turn(&values[rows.start as usize..rows.end as usize]);
                match function.process(&mut turn) {
                    Ok(()) => {
                        settled.forwarded.extend(forwarded(&turn).iter().map(|row| first + rows.start + row));
                        search.report(Outcome::Applied);
                    }
                    Err(ProcessError::Function(failure)) => {
                        last = Some(failure.kind);
                        let hint = failure.row.map(|row| rows.start + row);
                        search.report(Outcome::Failed { hint, fresh });
                    }
                    Err(ProcessError::Host(error)) => panic!("the host is blamed: {error}"),
                }
            }
        }
    }
}

fn check(guest: &str, values: &[&str], condemned: &[(u32, FailureKind)]) {
    for batch_rows in [1, 2, 7, values.len()] {
        let settled = settle(&mut function(guest), values, batch_rows);
        assert_eq!(settled.condemned, condemned, "`{guest}` in batches of {batch_rows}");
        let good = (0u32..).take(values.len()).filter(|row| condemned.iter().all(|(bad, _)| bad != row));
        assert_eq!(settled.forwarded, good.collect::<Vec<_>>(), "`{guest}` in batches of {batch_rows}");
    }
}

#[test]
fn only_records_that_trap_are_condemned_whatever_the_batch() {
    let values = ["a", "b", "trap", "c", "d", "e", "trap", "trap", "f", "g", "h"];
    let trapped = [2, 6, 7].map(|row| (row, FailureKind::Trap));
    check("probe", &values, &trapped);
}

#[test]
fn only_records_that_are_rejected_are_condemned_whatever_the_batch() {
    let values = ["reject", "a", "b", "c", "reject", "d", "e", "f", "reject"];
    check("probe", &values, &[0, 4, 8].map(|row| (row, FailureKind::Rejected)));
}

#[test]
fn only_the_record_that_spins_is_condemned_whatever_the_batch() {
    check("loop_in_process", &["a", "b", "spin", "c"], &[(2, FailureKind::OutOfFuel)]);
}

#[test]
fn only_the_record_that_takes_the_memory_is_condemned_whatever_the_batch() {
    check("memory_bomb", &["a", "b", "c", "d", "bomb"], &[(4, FailureKind::Memory)]);
}
