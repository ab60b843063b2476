//! Hundreds of checkpoints over state that grows and shrinks: what is stored follows the state, not the past.

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::doubles::{ClosureFactory, MemorySink};
use contract::{CheckpointStore, ProcessError, SnapshotStore, StateBackend, StateWrites};
use model::{Descriptor, OptionalColumn, Parallelism, SlotIndex, StateId};
use protocol::manifest::{LogRecord, decode};
use runtime::FunctionNode;

use super::support::{LONG, Tap, World, count_state, drop_of};
use crate::support::{Job, descriptor};

const CHECKPOINTS: u64 = 500;
/// Checkpoints in which the state grows from nothing and shrinks to nothing.
const WAVE: u64 = 50;
/// Records between two checkpoints.
const STRIDE: u64 = 40;

/// Writes an entry for a key that has none, and removes that of a key that has one.
fn toggle() -> ClosureFactory {
    let descriptor = Descriptor { keyed: true, states: vec![count_state()], ..descriptor(&["out"]) };
    ClosureFactory::new(descriptor, |turn| {
        let mut known = OptionalColumn::default();
        let state = turn.state.as_mut().unwrap();
        state.load(StateId(0), &turn.batch.keys, &mut known).map_err(ProcessError::Host)?;
        let mut present: Vec<bool> = known.iter().map(|value| value.is_some()).collect();
        for &slot in &turn.batch.slots {
            present[slot as usize] = !present[slot as usize];
        }
        let mut writes = StateWrites { state: StateId(0), ..StateWrites::default() };
        for (slot, is_present) in (0u32..).zip(present) {
            writes.slots.push(SlotIndex(slot));
            writes.values.push(is_present.then_some(&[b'x'; 200][..]));
        }
        turn.staged.writes.push(writes);
        Ok(())
    })
}

/// What a wave took at most.
#[derive(Clone, Copy, Debug, Default)]
struct Most {
    records: usize,
    objects: usize,
    stored_bytes: u64,
    checkpoint_bytes: u64,
}

/// Waits until nothing is stored but what the manifests that stay list: old ones are removed beside the job.
fn sweep_is_done(world: &World) {
    for _ in 0..LONG.as_millis() {
        let bodies = world.log.list().unwrap().into_iter().filter_map(|number| world.log.read(number).unwrap());
        let manifests: Vec<_> = bodies
            .filter_map(|object| match decode(&object.body).unwrap() {
                LogRecord::Complete(manifest) => Some(manifest),
                LogRecord::Claim(_) => None,
            })
            .collect();
        let parts = manifests.iter().flat_map(|it| it.operators.values()).flat_map(|operator| &operator.parts);
        let listed: BTreeSet<&str> = parts.flat_map(|part| &part.objects).map(|object| object.name.as_str()).collect();
        let is_trimmed = manifests.len() <= runtime::Durability::RETAIN as usize;
        if is_trimmed && world.objects.names().iter().all(|name| listed.contains(name.as_str())) {
            return;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    panic!("what no manifest lists stays");
}

#[test]
fn what_five_hundred_checkpoints_store_does_not_grow() {
    let (world, sink) = (World::new(), MemorySink::default().exactly_once());
    let half = WAVE / 2 * STRIDE;
    let tap = Tap::new(1, CHECKPOINTS * STRIDE, move |_, at| drop_of(format!("k{}", at % half))).opened_to(0);
    let backend: Arc<dyn StateBackend> = Arc::new(state::MemoryBackend::default());
    let job = Job::new()
        .source("tap", tap.clone())
        .function("toggle", &["tap"], toggle(), |node: &mut FunctionNode| {
            node.parallelism = Parallelism(2);
            node.state = Some(backend);
        })
        .sink("out", &["toggle"], sink);
    let handle = world.start(&job);
    let mut waves = vec![Most::default()];
    for number in 1..=CHECKPOINTS {
        tap.open_to(number * STRIDE);
        let arrived =
            |handle: &runtime::JobHandle| handle.metrics().operator("toggle").unwrap().records_in == number * STRIDE;
        assert!(handle.wait_until(LONG, arrived));
        handle.checkpoint(LONG).unwrap();
        sweep_is_done(&world);
        let stored = world.objects.list("state").unwrap();
        let most = waves.last_mut().unwrap();
        most.records = most.records.max(world.log.list().unwrap().len());
        most.objects = most.objects.max(stored.len());
        most.stored_bytes = most.stored_bytes.max(stored.iter().map(|object| object.length_bytes).sum());
        let newest = handle.checkpoints()[0].subtasks.iter().map(|subtask| subtask.bytes).sum();
        most.checkpoint_bytes = most.checkpoint_bytes.max(newest);
        if number % WAVE == 0 && number < CHECKPOINTS {
            waves.push(Most::default());
        }
    }
    handle.abandon();
    // The first wave begins with nothing.
    let (early, late) = (waves[1], waves[waves.len() - 1]);
    assert!(late.records <= early.records, "{waves:?}");
    assert!(late.objects <= early.objects + early.objects / 4, "{waves:?}");
    assert!(late.stored_bytes <= early.stored_bytes + early.stored_bytes / 4, "{waves:?}");
    assert!(late.checkpoint_bytes <= early.checkpoint_bytes + early.checkpoint_bytes / 4, "{waves:?}");
    assert!(late.objects < 200 && late.records < 20, "{waves:?}");
}
