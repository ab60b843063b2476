use std::collections::BTreeSet;

use contract::doubles::{ClosureFactory, MapBackend, MemorySnapshots};
use contract::{StateBackend, StatePart};
use model::job::OnError;
use model::{Descriptor, StateDescriptor, StateKind};
use protocol::schema::compare;

use super::*;

const GROUPS: u16 = 16;

fn state() -> StateDescriptor {
    StateDescriptor {
        id: StateId(3),
        name: "seen".to_owned(),
        kind: StateKind::Value,
        schema: "{}".to_owned(),
        version: 1,
        ttl: None,
    }
}

#[test]
fn large_state_becomes_parts_of_their_own_key_groups() {
    let now = StateDescriptor { id: StateId(0), ..state() };
    let comparison = compare(&[state()], std::slice::from_ref(&now), &BTreeSet::new());
    let descriptor = Descriptor { keyed: true, states: vec![now], ..Descriptor::default() };
    let node = FunctionNode {
        uid: OperatorUid::new("keeps").unwrap(),
        inputs: Vec::new(),
        key: None,
        factory: Arc::new(ClosureFactory::new(descriptor, |_| Ok(()))),
        config: "{}".to_owned(),
        on_error: OnError::Fail,
        parallelism: Parallelism(1),
        state: Some(Arc::new(MapBackend)),
    };
    let objects = MemorySnapshots::new();
    let job = JobName::new("job").unwrap();
    let rewrite = Rewrite {
        job: &job,
        node: &node,
        comparison: &comparison,
        key_groups: GROUPS,
        objects: &objects,
        generation: Generation(1),
        epoch: Epoch(7),
        on_rewrite: None,
    };
    // Two and a half tables of a mebibyte a value, five to a key group.
    let value = vec![7; 1 << 20];
    let feed = &mut |visit: &mut dyn FnMut(StateEntry<'_>) -> Result<(), Error>| {
        for at in 0..80_u64 {
            let hash = at / 5 * (u64::MAX / u64::from(GROUPS) + 1);
            let key = at.to_be_bytes();
            visit(StateEntry {
                state: StateId(3),
                hash,
                key: &key,
                entry_key: None,
                value: &value,
                written_millis: 9,
            })?;
        }
        Ok(())
    };
    let parts = rewrite.run(feed).unwrap();
    assert_eq!(parts.len(), 3);
    let mut next = KeyGroup(0);
    for part in &parts {
        assert_eq!((part.kind, part.epoch, part.key_groups.first), (PartKind::Image, Epoch(7), next));
        next = part.key_groups.end;
    }
    assert_eq!(next, KeyGroup(GROUPS));
    let listed = parts.iter().flat_map(|part| part.objects.iter().map(move |object| (part, object)));
    let mut fetched = listed
        .map(|(part, object)| Ok(StatePart { key_groups: part.key_groups.clone(), segments: objects.get(object)? }));
    let mut table = MapBackend.restore(rewrite.scope(), &mut fetched).unwrap();
    let mut entries = 0;
    let visit = &mut |entry: StateEntry<'_>| {
        assert_eq!((entry.state, entry.written_millis, entry.value.len()), (StateId(0), 9, 1 << 20));
        entries += 1;
        Ok(())
    };
    table.export(visit).unwrap();
    assert_eq!(entries, 80);
}
