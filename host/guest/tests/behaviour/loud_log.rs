//! `loud_log` logs and counts more than anybody wants.

use contract::LogLevel;
use guest::{Limits, caps};

use crate::kit::*;

fn roomy() -> Limits {
    Limits { fuel_per_record: Some(1_000_000_000), ..tight() }
}

#[test]
fn a_huge_line_is_cut_at_a_character() {
    let turn = run(&mut function_within("loud_log", roomy()), &["huge"]).unwrap();
    let line = &turn.staged.logs.first().unwrap().message;
    assert!(line.len() <= caps::LOG_LINE_BYTES + '…'.len_utf8(), "{} bytes", line.len());
    assert!(line.ends_with("é…"));
}

#[test]
fn lines_beyond_the_cap_are_dropped_and_counted_and_the_records_pass() {
    let turn = run(&mut function_within("loud_log", roomy()), &["many"]).unwrap();
    let last = turn.staged.logs.last().unwrap();
    assert_eq!(turn.staged.logs.len(), caps::LOG_LINES + 1);
    assert_eq!(last.level, LogLevel::Warn);
    assert!(last.message.starts_with(&format!("{} log lines dropped", 100_000 - caps::LOG_LINES)), "{last:?}");
    assert_eq!(forwarded(&turn), [0]);
}

#[test]
fn what_is_no_number_or_too_often_is_dropped_and_said_so() {
    let turn = run(&mut function_within("loud_log", roomy()), &["nan"]).unwrap();
    assert!(turn.staged.metrics.is_empty());
    assert!(turn.staged.logs.last().unwrap().message.starts_with("2 values of metrics dropped"));
    let turn = run(&mut function_within("loud_log", roomy()), &["often"]).unwrap();
    assert_eq!(turn.staged.metrics.len(), caps::METRIC_CALLS);
}
