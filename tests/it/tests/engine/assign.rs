//! Functions that give key and event time themselves.

use std::sync::Arc;

use contract::doubles::{ClosureFactory, MemorySink};
use contract::{
    Emit, Error, Failure, FailureKind, FunctionFactory, LogLevel, LogLine, ProcessError, Staged, Task, Turn,
    UserFunction,
};
use format::Format;
use model::job::OnError;
use model::{
    Descriptor, EventTime, FieldKind, MetricDescriptor, MetricId, MetricKind, ModuleDigest, OptionalColumn, OutputId,
    Parallelism, Values,
};

use crate::support::{Job, dedup, descriptor, field, pass, port_with, sorted, values};

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

/// Assigns the value as key, at a unit of fuel, a line and a count for each; cannot do so with `"bad"`.
struct Meter(Descriptor);

#[derive(Default)]
struct Metered {
    fuel: u64,
    said: Staged,
    was_used: bool,
}

impl FunctionFactory for Meter {
    fn descriptor(&self) -> &Descriptor {
        &self.0
    }

    fn digest(&self) -> Option<ModuleDigest> {
        None
    }

    fn instantiate(&self, _task: &Task) -> Result<Box<dyn UserFunction>, Error> {
        Ok(Box::new(Metered::default()))
    }
}

impl UserFunction for Metered {
    fn process(&mut self, turn: &mut Turn) -> Result<(), ProcessError> {
        let rows = (0..u32::try_from(turn.batch.records.len()).unwrap()).collect();
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    }

    fn assign(&mut self, values: &Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> {
        self.was_used = true;
        let (mut keys, mut times) = (OptionalColumn::default(), Vec::new());
        for (row, value) in (0u32..).zip(values.iter()) {
            let text = str::from_utf8(value.unwrap()).unwrap();
            assert!(!text.contains("dead"), "asked about a record that is lost");
            self.fuel += 1;
            self.said.logs.push(LogLine { level: LogLevel::Debug, row: Some(row), message: "seen".to_owned() });
            self.said.metrics.push((MetricId(0), 1.0));
            if text.contains("bad") {
                let message = "cannot".to_owned();
                return Err(ProcessError::Function(Failure { kind: FailureKind::Trap, row: None, message }));
            }
            keys.push(value);
            times.push(EventTime(i64::try_from(text.len()).unwrap()));
        }
        Ok((keys, times))
    }

    fn renew(&mut self) -> Result<(), Error> {
        self.was_used = false;
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        !self.was_used
    }

    fn fuel_used(&self) -> u64 {
        self.fuel
    }

    fn take_said(&mut self) -> Staged {
        std::mem::take(&mut self.said)
    }
}

#[test]
fn what_assigning_says_counts_and_costs_is_the_operators_and_lost_records_cost_nothing() {
    let input: Vec<String> = (0..300)
        .map(|number| match number {
            0 | 150 | 299 => format!(r#"{{"n":"dead-{number}"}}"#),
            200 => r#"{"n":7,"m":"bad"}"#.to_owned(),
            _ => format!(r#"{{"n":{number}}}"#),
        })
        .collect();
    let meter = Meter(Descriptor {
        keyed: true,
        assigns: true,
        inputs: vec![port_with(0, "in", vec![field("n", "/n", FieldKind::Integer, true)])],
        metrics: vec![MetricDescriptor { name: "asked".to_owned(), kind: MetricKind::Counter }],
        ..descriptor(&["out"])
    });
    let sink = MemorySink::default();
    let summary = Job::new()
        .source_node("lines", values(input.clone()), |node| node.format = Format::Json)
        .function("meter", &["lines"], pass(), |node| {
            node.factory = Arc::new(meter);
            node.state = None;
            node.on_error = OnError::Skip;
        })
        .sink("out", &["meter"], sink.clone())
        .finish();
    let is_good = |text: &String| !text.contains("dead") && !text.contains("bad");
    assert_eq!(sink.texts(), input.into_iter().filter(is_good).collect::<Vec<_>>());
    for record in sink.records() {
        assert_eq!(record.timestamp.0, i64::try_from(record.text().len()).unwrap());
    }
    let meter = summary.operator("meter").unwrap();
    assert!(meter.fuel_used > 297, "{}", meter.fuel_used);
    assert!((meter.counters["asked"] - 296.0).abs() < f64::EPSILON, "{:?}", meter.counters);
    assert_eq!(meter.log_lines_dropped, 297 - 100);
    assert_eq!((meter.records_in, meter.records_out, meter.skipped), (300, 296, 4));
}
