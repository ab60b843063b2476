//! Functions that give key and event time themselves.

use contract::doubles::{ClosureFactory, MemorySink};
use contract::{Failure, FailureKind, ProcessError};
use model::job::OnError;
use model::{EventTime, OptionalColumn, Parallelism, Values};

use crate::support::{Job, dedup, sorted, values};

/// Takes `key:time` apart; `none` has no key, `bad` cannot be handled, with or without a hint.
fn assign(values: &Values, hints: bool) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> {
    let (mut keys, mut times) = (OptionalColumn::default(), Vec::new());
    for (row, value) in (0u32..).zip(values.iter()) {
        let text = str::from_utf8(value.unwrap()).unwrap();
        if text == "bad" {
            let failure = Failure { kind: FailureKind::Trap, row: hints.then_some(row), message: "cannot".to_owned() };
            return Err(ProcessError::Function(failure));
        }
        match text.split_once(':') {
            Some((key, time)) => {
                keys.push(Some(key.as_bytes()));
                times.push(EventTime(time.parse().unwrap()));
            }
            None => {
                keys.push(None);
                times.push(EventTime::UNKNOWN);
            }
        }
    }
    Ok((keys, times))
}

fn assigning(hints: bool) -> ClosureFactory {
    dedup().assigning(move |values| assign(values, hints))
}

#[test]
fn assigned_keys_partition_and_assigned_times_stay() {
    for parallelism in [1, 2, 3] {
        let sink = MemorySink::default();
        let input: Vec<String> = (0..600).map(|number| format!("key-{}:{}", number % 200, number)).collect();
        Job::new()
            .source("lines", values(input.clone()))
            .function("dedup", &["lines"], assigning(true), |node| node.parallelism = Parallelism(parallelism))
            .sink("out", &["dedup"], sink.clone())
            .finish();
        assert_eq!(sorted(sink.texts()), sorted(input[..200].to_vec()));
        for record in sink.records() {
            assert_eq!(record.timestamp.0.to_string(), record.text().split_once(':').unwrap().1);
        }
    }
}

#[test]
fn a_record_that_cannot_be_assigned_is_the_only_one_lost() {
    for (hints, rows) in [(true, 4096), (false, 4096), (false, 1), (true, 7)] {
        let (sink, letters) = (MemorySink::default(), MemorySink::default());
        let mut input: Vec<String> = (0..100).map(|number| format!("key-{number}:{number}")).collect();
        input[3] = "bad".to_owned();
        input[40] = "none".to_owned();
        input[99] = "bad".to_owned();
        let summary = Job::new()
            .source("lines", values(input.clone()))
            .function("dedup", &["lines"], assigning(hints), |node| node.on_error = OnError::DeadLetter)
            .sink("out", &["dedup"], sink.clone())
            .dead_letters(&letters)
            .batch_rows(rows)
            .finish();
        let good: Vec<String> = input.into_iter().filter(|text| text.contains(':')).collect();
        assert_eq!(sink.texts(), good);
        let dedup = summary.operator("dedup").unwrap();
        assert_eq!((dedup.records_in, dedup.records_out, dedup.dead_letters), (100, 97, 3));
        assert_eq!((dedup.faults["trap"], dedup.faults["null-key"]), (2, 1));
        assert!(letters.texts()[0].contains("trapped in `assign`: cannot"), "{}", letters.texts()[0]);
    }
}
