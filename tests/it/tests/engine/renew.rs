//! Instances may be thrown away between any two batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::doubles::{MapBackend, MemorySink, port};
use contract::{Emit, Error, FunctionFactory, ProcessError, Task, Turn, UserFunction};
use model::{Descriptor, EventTime, ModuleDigest, OptionalColumn, OutputId, Values};

use crate::support::{Job, dedup, descriptor, numbered, sorted, values};

/// Counts how often it was renewed, and in how many turns each instance was used at most.
struct Counting {
    descriptor: Descriptor,
    renewals: Arc<AtomicU64>,
    most_turns: Arc<AtomicU64>,
}

struct Instance {
    turns: u64,
    renewals: Arc<AtomicU64>,
    most_turns: Arc<AtomicU64>,
}

impl FunctionFactory for Counting {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn digest(&self) -> Option<ModuleDigest> {
        None
    }

    fn instantiate(&self, _task: &Task) -> Result<Box<dyn UserFunction>, Error> {
        let (renewals, most_turns) = (Arc::clone(&self.renewals), Arc::clone(&self.most_turns));
        Ok(Box::new(Instance { turns: 0, renewals, most_turns }))
    }
}

impl UserFunction for Instance {
    fn process(&mut self, turn: &mut Turn) -> Result<(), ProcessError> {
        self.turns += 1;
        self.most_turns.fetch_max(self.turns, Ordering::SeqCst);
        let rows = (0..u32::try_from(turn.batch.records.len()).unwrap()).collect();
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    }

    fn assign(&mut self, _values: &Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> {
        unreachable!("it does not assign")
    }

    fn renew(&mut self) -> Result<(), Error> {
        self.turns = 0;
        self.renewals.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        self.turns == 0
    }

    fn fuel_used(&self) -> u64 {
        self.renewals.load(Ordering::SeqCst) * 10
    }
}

#[test]
fn an_instance_serves_one_batch_where_the_job_asks_for_it() {
    let (renewals, most_turns) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let descriptor = Descriptor { outputs: vec![port(0, "out")], ..descriptor(&[]) };
    let factory = Counting { descriptor, renewals: Arc::clone(&renewals), most_turns: Arc::clone(&most_turns) };
    let sink = MemorySink::default();
    let mut job = Job::new()
        .source("lines", values(numbered("a", 1_000)))
        .function("counting", &["lines"], crate::support::pass(), |node| node.factory = Arc::new(factory))
        .sink("out", &["counting"], sink.clone())
        .batch_rows(100);
    job.0.settings.renew_instances = true;
    let summary = job.finish();
    assert_eq!(sink.texts(), numbered("a", 1_000));
    assert_eq!((renewals.load(Ordering::SeqCst), most_turns.load(Ordering::SeqCst)), (10, 1));
    let counting = summary.operator("counting").unwrap();
    assert_eq!((counting.renewals, counting.fuel_used), (10, 90));
}

#[test]
fn state_outlives_the_instance() {
    let input: Vec<String> = numbered("a", 300).into_iter().cycle().take(900).collect();
    let sink = MemorySink::default();
    let mut job = Job::new()
        .source("lines", values(input))
        .function("dedup", &["lines"], dedup(), |node| node.state = Some(Arc::new(MapBackend)))
        .sink("out", &["dedup"], sink.clone())
        .batch_rows(50);
    job.0.settings.renew_instances = true;
    job.finish();
    assert_eq!(sorted(sink.texts()), sorted(numbered("a", 300)));
}

#[test]
fn the_state_log_gives_what_the_sorted_map_gives() {
    let input: Vec<String> = (0..20_000).map(|number| format!("value-{}", number * 7919 % 6_000)).collect();
    let sink = MemorySink::default();
    Job::new()
        .source("lines", values(input))
        .function("dedup", &["lines"], dedup(), |node| {
            node.state = Some(Arc::new(state::MemoryBackend::default()));
            node.parallelism = model::Parallelism(2);
        })
        .sink("out", &["dedup"], sink.clone())
        .finish();
    assert_eq!(sorted(sink.texts()), sorted(numbered("value", 6_000)));
}
