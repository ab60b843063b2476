//! A bad record is one bad record, whatever its neighbours, under every policy.

use contract::doubles::{ClosureFactory, MapBackend, MemorySink};
use contract::{Emit, Failure, FailureKind, LogLevel, LogLine, OutputRecords, ProcessError, StateWrites};
use model::job::OnError;
use model::{
    Column, Descriptor, OptionalColumn, OutputId, Parallelism, SlotIndex, StateDescriptor, StateId, StateKind, Values,
};

use crate::support::{Job, descriptor, numbered, picky, values};

const BATCH_ROWS: [usize; 4] = [1, 7, 512, 4096];

fn mixed() -> Vec<String> {
    let poison = ["poison-reject", "poison-trap", "poison-fuel"];
    let value = |(number, text): (usize, String)| match number {
        0 | 1 | 1_000 | 1_999 => poison[number % 3].to_owned(),
        _ => text,
    };
    numbered("good", 2_000).into_iter().enumerate().map(value).collect()
}

fn good() -> Vec<String> {
    mixed().into_iter().filter(|text| !text.contains("poison")).collect()
}

#[test]
fn dead_letters_keep_every_bad_record_and_the_others_pass() {
    let mut letters_before: Option<Vec<String>> = None;
    for rows in BATCH_ROWS {
        let (sink, letters) = (MemorySink::default(), MemorySink::default());
        let summary = Job::new()
            .source("lines", values(mixed()))
            .function("picky", &["lines"], picky(), |node| node.on_error = OnError::DeadLetter)
            .sink("out", &["picky"], sink.clone())
            .dead_letters(&letters)
            .batch_rows(rows)
            .finish();
        assert_eq!(sink.texts(), good(), "batches of {rows}");
        let picky = summary.operator("picky").unwrap();
        assert_eq!((picky.records_in, picky.records_out, picky.dead_letters, picky.skipped), (2_000, 1_996, 4, 0));
        assert_eq!(picky.faults.values().sum::<u64>(), 4);
        assert!((picky.counters["seen"] - 1_996.0).abs() < f64::EPSILON, "a failed call counts nothing");
        assert_eq!(summary.operator("dead-letters").unwrap().records_out, 4);
        let letters = letters.texts();
        assert_eq!(letters.len(), 4);
        assert_eq!(letters_before.get_or_insert_with(|| letters.clone()), &letters, "batches of {rows}");
    }
}

#[test]
fn a_dead_letter_says_where_what_and_why() {
    let (sink, letters) = (MemorySink::default(), MemorySink::default());
    Job::new()
        .source("lines", values(["good", "poison-trap"]))
        .function("picky", &["lines"], picky(), |node| node.on_error = OnError::DeadLetter)
        .sink("out", &["picky"], sink)
        .dead_letters(&letters)
        .finish();
    let letter: serde_json::Value = serde_json::from_str(&letters.texts()[0]).unwrap();
    let expected = serde_json::json!({
        "error": { "code": "E0511", "kind": "trap", "message": "trapped in `process`: it is poison" },
        "operator": "picky",
        "subtask": 0,
        "module": null,
        "origin": { "source": "lines", "split": "split-0", "position": 1 },
        "timestamp": null,
        "key": null,
        "headers": [],
        "value": "poison-trap",
    });
    assert_eq!(letter, expected);
}

#[test]
fn skipped_records_are_counted_and_the_others_pass() {
    for rows in BATCH_ROWS {
        let sink = MemorySink::default();
        let summary = Job::new()
            .source("lines", values(mixed()))
            .function("picky", &["lines"], picky(), |node| node.on_error = OnError::Skip)
            .sink("out", &["picky"], sink.clone())
            .batch_rows(rows)
            .finish();
        assert_eq!(sink.texts(), good());
        let picky = summary.operator("picky").unwrap();
        assert_eq!((picky.skipped, picky.dead_letters), (4, 0));
        assert_eq!((picky.faults["rejected"], picky.faults["trap"]), (1, 3));
    }
}

#[test]
fn a_bad_record_fails_the_job_and_is_named() {
    for rows in BATCH_ROWS {
        let mut input = numbered("good", 900);
        input[800] = "poison-fuel".to_owned();
        let failure = Job::new()
            .source("lines", values(input))
            .function("picky", &["lines"], picky(), |_| ())
            .sink("out", &["picky"], MemorySink::default())
            .batch_rows(rows)
            .run()
            .unwrap_err();
        assert_eq!(failure.operator.as_str(), "picky");
        assert_eq!(failure.code.as_deref(), Some("E0512"));
        assert_eq!(failure.record.as_ref().unwrap().position.0, 800);
        let text = "E0512 `picky`/0: ran out of fuel in `process`: it is poison (record: `lines` split `split-0`, position 800)";
        assert_eq!(failure.to_string(), text);
    }
}

/// Counts the records of each key and pushes the count with each; a value that ends in `!` traps after it
/// has staged everything.
fn counting() -> ClosureFactory {
    let count = StateDescriptor {
        id: StateId(0),
        name: "count".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    };
    let descriptor = Descriptor { keyed: true, states: vec![count], ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, |turn| {
        let mut known = OptionalColumn::default();
        let keys = std::sync::Arc::clone(&turn.batch.keys);
        turn.state.as_mut().unwrap().load(StateId(0), &keys, &mut known).map_err(ProcessError::Host)?;
        let mut counts: Vec<u32> = known
            .iter()
            .map(|count| count.map_or(0, |count| str::from_utf8(count).unwrap().parse().unwrap()))
            .collect();
        let (mut rows, mut texts, mut bad) = (Vec::new(), Column::default(), false);
        for (row, &slot) in (0u32..).zip(&turn.batch.slots) {
            counts[slot as usize] += 1;
            let value = str::from_utf8(turn.batch.records.values.get(row as usize).unwrap()).unwrap();
            bad |= value.ends_with('!');
            texts.push(format!("{value}={}", counts[slot as usize]).as_bytes());
            rows.push(row);
        }
        let slots = (0u32..).take(counts.len()).map(SlotIndex).collect();
        let written: Column = counts.iter().map(ToString::to_string).collect();
        let values = OptionalColumn::from(written);
        turn.staged.writes.push(StateWrites { state: StateId(0), slots, values, ..StateWrites::default() });
        let records = OutputRecords { rows, values: Values::from(texts), ..OutputRecords::default() };
        turn.staged.emits.push(Emit::Push { output: OutputId(0), records });
        if bad {
            let message = "told to".to_owned();
            return Err(ProcessError::Function(Failure { kind: FailureKind::Trap, row: None, message }));
        }
        Ok(())
    })
}

#[test]
fn a_bad_record_leaves_no_trace_in_state_and_later_ones_see_what_came_before() {
    let input: Vec<String> = (0..600)
        .map(|number| if number % 50 == 7 { format!("k{}!", number % 3) } else { format!("k{}", number % 3) })
        .collect();
    let mut expected = Vec::new();
    let mut counts = std::collections::BTreeMap::new();
    for value in input.iter().filter(|value| !value.ends_with('!')) {
        let count = counts.entry(value.clone()).or_insert(0);
        *count += 1;
        expected.push(format!("{value}={count}"));
    }
    for rows in BATCH_ROWS {
        let sink = MemorySink::default();
        Job::new()
            .source("lines", values(input.clone()))
            .function("counting", &["lines"], counting(), |node| {
                node.on_error = OnError::Skip;
                node.state = Some(std::sync::Arc::new(MapBackend));
            })
            .sink("out", &["counting"], sink.clone())
            .batch_rows(rows)
            .finish();
        assert_eq!(sink.texts(), expected, "batches of {rows}");
    }
}

/// Forwards what is not `bad`, and traps on a turn that has a `bad` record or a row without its key.
fn keyed_without_state() -> ClosureFactory {
    let descriptor = Descriptor { keyed: true, ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, |turn| {
        let batch = &turn.batch;
        let rows = u32::try_from(batch.records.len()).unwrap();
        let keys: Vec<&[u8]> = batch.keys.keys.iter().collect();
        let is_broken = (0..rows as usize).any(|row| {
            let value = batch.records.values.get(row);
            let key = batch.slots.get(row).and_then(|slot| keys.get(*slot as usize).copied());
            value == Some(b"bad") || key != value
        });
        if is_broken {
            let message = "told to".to_owned();
            return Err(ProcessError::Function(Failure { kind: FailureKind::Trap, row: None, message }));
        }
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows: (0..rows).collect() });
        Ok(())
    })
}

#[test]
fn a_keyed_function_without_state_keeps_the_keys_of_the_rows_that_are_tried_again() {
    let mut input = numbered("good", 600);
    input[300] = "bad".to_owned();
    let good: Vec<String> = input.iter().filter(|value| *value != "bad").cloned().collect();
    for rows in [1, 7, 512] {
        let (sink, letters) = (MemorySink::default(), MemorySink::default());
        Job::new()
            .source("lines", values(input.clone()))
            .function("keyed", &["lines"], keyed_without_state(), |node| {
                node.on_error = OnError::DeadLetter;
                node.state = None;
            })
            .sink("out", &["keyed"], sink.clone())
            .dead_letters(&letters)
            .batch_rows(rows)
            .finish();
        assert_eq!(sink.texts(), good, "batches of {rows}");
        let letters = letters.texts();
        assert_eq!(letters.len(), 1, "{letters:?}");
        assert!(letters[0].contains(r#""key":"bad""#), "{letters:?}");
    }
}

#[test]
fn emits_that_break_the_contract_are_found_like_any_failure() {
    let (sink, letters) = (MemorySink::default(), MemorySink::default());
    let wild = ClosureFactory::new(descriptor(&["out"]), |turn| {
        let is_wild = turn.batch.records.values.iter().any(|value| value == Some(b"wild"));
        let rows = u32::try_from(turn.batch.records.len()).unwrap();
        let rows = if is_wild { vec![rows] } else { (0..rows).collect() };
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    });
    Job::new()
        .source("lines", values(["a", "b", "wild", "c"]))
        .function("wild", &["lines"], wild, |node| {
            node.on_error = OnError::DeadLetter;
            node.parallelism = Parallelism(1);
        })
        .sink("out", &["wild"], sink.clone())
        .dead_letters(&letters)
        .finish();
    assert_eq!(sink.texts(), ["a", "b", "c"]);
    assert!(letters.texts()[0].contains(r#""code":"E0515""#), "{:?}", letters.texts());
}

#[test]
fn an_expensive_function_is_soon_given_no_more_than_it_can_take() {
    for kind in [FailureKind::OutOfFuel, FailureKind::Deadline, FailureKind::Memory, FailureKind::Contract] {
        let sink = MemorySink::default();
        let expensive = ClosureFactory::new(descriptor(&["out"]), move |turn| {
            let rows = u32::try_from(turn.batch.records.len()).unwrap();
            if rows > 100 {
                let message = "too much for one record".to_owned();
                return Err(ProcessError::Function(Failure { kind, row: None, message }));
            }
            turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows: (0..rows).collect() });
            Ok(())
        });
        let summary = Job::new()
            .source("lines", values(numbered("a", 20_000)))
            .function("expensive", &["lines"], expensive, |_| ())
            .sink("out", &["expensive"], sink.clone())
            .batch_rows(1_000)
            .finish();
        assert_eq!(sink.texts(), numbered("a", 20_000));
        let failed = summary.operator("expensive").unwrap().failed_calls;
        assert!(failed < 20, "{kind}: {failed} failed calls in 20 batches");
    }
}

#[test]
fn a_record_is_logged_once_however_often_it_is_tried() {
    let loud = ClosureFactory::new(descriptor(&["out"]), |turn| {
        for (row, value) in (0u32..).zip(turn.batch.records.values.iter()) {
            let line = LogLine { level: LogLevel::Debug, row: Some(row), message: "seen".to_owned() };
            turn.staged.logs.push(line);
            if value == Some(b"bad") {
                let message = "told to".to_owned();
                return Err(ProcessError::Function(Failure { kind: FailureKind::Trap, row: None, message }));
            }
        }
        Ok(())
    });
    let mut input = numbered("good", 500);
    input[300] = "bad".to_owned();
    let summary = Job::new()
        .source("lines", values(input))
        .function("loud", &["lines"], loud, |node| node.on_error = OnError::Skip)
        .sink("out", &["loud"], MemorySink::default())
        .batch_rows(500)
        .finish();
    // The clock stands still: in its one second 100 lines are let through.
    assert_eq!(summary.operator("loud").unwrap().log_lines_dropped, 400);
}
