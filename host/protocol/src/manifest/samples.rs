//! Records for tests: one full of everything, and any.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use model::{
    Delivery, Epoch, EventTime, Generation, HostTime, JobName, KeyGroup, KeyGroupRange, LineageId, ModuleDigest,
    ObjectHandle, OperatorUid, Position, Refresh, StagedOutput, StateDescriptor, StateId, StateKind, Ttl, TtlClock,
};

use crate::key_group::ALGORITHM;

use super::{
    CheckpointKind, Claim, LogRecord, Manifest, OperatorState, Part, PartKind, PendingEpoch, Rewound, SinkState,
    SourceState, SplitState,
};

pub(crate) fn range(first: u16, end: u16) -> KeyGroupRange {
    KeyGroupRange { first: KeyGroup(first), end: KeyGroup(end) }
}

pub(crate) fn uid(text: &str) -> OperatorUid {
    OperatorUid::new(text).unwrap()
}

pub(crate) fn object(name: &str, length_bytes: u64) -> ObjectHandle {
    ObjectHandle { name: name.to_owned(), length_bytes, checksum: 0x0123_4567_89ab_cdef }
}

pub(crate) fn claim(generation: u64, lineage: u64) -> LogRecord {
    LogRecord::Claim(Claim {
        job: JobName::new("orders").unwrap(),
        generation: Generation(generation),
        lineage: LineageId(lineage),
        owner: "host-7/4711".to_owned(),
    })
}

/// A manifest without state.
pub(crate) fn bare(generation: u64, epoch: u64) -> Manifest {
    Manifest {
        job: JobName::new("orders").unwrap(),
        lineage: LineageId(0xfeed),
        generation: Generation(generation),
        epoch: Epoch(epoch),
        parent: epoch.checked_sub(1).filter(|parent| *parent > 0).map(Epoch),
        kind: CheckpointKind::Periodic,
        rewound: None,
        key_groups: 128,
        key_hash: ALGORITHM.to_owned(),
        host_clock: HostTime(1_700_000_000_000),
        watermark: EventTime::UNKNOWN,
        sources: BTreeMap::new(),
        operators: BTreeMap::new(),
        sinks: BTreeMap::new(),
    }
}

/// A manifest in which every field says something.
pub(crate) fn full() -> Manifest {
    let split = SplitState {
        name: "in/a.json".to_owned(),
        position: Position(88_213),
        identity: vec![0, 127, 128, 255],
        greatest_event_time: EventTime(1_699_999_999_000),
        ended: true,
    };
    let state = StateDescriptor {
        id: StateId(1),
        name: "seen".to_owned(),
        kind: StateKind::Value,
        schema: r#"{"type":"u64"}"#.to_owned(),
        version: 2,
        ttl: Some(Ttl { millis: 604_800_000, clock: TtlClock::EventTime, refresh: Refresh::OnWrite }),
    };
    let parts = vec![
        Part {
            key_groups: range(0, 64),
            kind: PartKind::Image,
            epoch: Epoch(3),
            objects: vec![object("state/3-0", 9)],
        },
        Part {
            key_groups: range(0, 64),
            kind: PartKind::Delta,
            epoch: Epoch(7),
            objects: vec![object("state/7-0", 4)],
        },
    ];
    let staged = StagedOutput { slot: 1, records: 2, bytes: 300, body: vec![1, 200, 3] };
    let sink = SinkState {
        delivery: Delivery::ExactlyOnce,
        published: Some(Epoch(6)),
        pending: vec![PendingEpoch { epoch: Epoch(7), staged: vec![staged] }],
    };
    Manifest {
        parent: Some(Epoch(5)),
        kind: CheckpointKind::OnDemand,
        rewound: Some(Rewound { lineage: LineageId(0xbeef), epoch: Epoch(2) }),
        watermark: EventTime(1_699_999_989_000),
        sources: BTreeMap::from([(uid("orders"), SourceState { splits: vec![split] })]),
        operators: BTreeMap::from([(
            uid("dedup"),
            OperatorState {
                module: Some(ModuleDigest([0xab; 32])),
                key: Some("/event_id".to_owned()),
                states: vec![state],
                parts,
            },
        )]),
        sinks: BTreeMap::from([(uid("clean"), sink)]),
        ..bare(12, 7)
    }
}

fn any_uid() -> impl Strategy<Value = OperatorUid> {
    "[a-z][a-z0-9-]{0,20}".prop_map(|text| uid(&text))
}

fn any_object() -> impl Strategy<Value = ObjectHandle> {
    (".{0,20}", any::<u64>(), any::<u64>()).prop_map(|(name, length_bytes, checksum)| ObjectHandle {
        name,
        length_bytes,
        checksum,
    })
}

fn any_source() -> impl Strategy<Value = SourceState> {
    let split = (".{0,12}", any::<u64>(), vec(any::<u8>(), 0..40), any::<i64>(), any::<bool>()).prop_map(
        |(name, position, identity, greatest, ended)| SplitState {
            name,
            position: Position(position),
            identity,
            greatest_event_time: EventTime(greatest),
            ended,
        },
    );
    vec(split, 0..4).prop_map(|splits| SourceState { splits })
}

fn any_state() -> impl Strategy<Value = StateDescriptor> {
    let kind = prop_oneof![Just(StateKind::Value), Just(StateKind::MapEntries), Just(StateKind::Appended)];
    let clock = prop_oneof![Just(TtlClock::EventTime), Just(TtlClock::ProcessingTime)];
    let refresh = prop_oneof![Just(Refresh::OnCreate), Just(Refresh::OnWrite), Just(Refresh::OnRead)];
    let ttl =
        option::of((any::<u64>(), clock, refresh).prop_map(|(millis, clock, refresh)| Ttl { millis, clock, refresh }));
    (any::<u16>(), ".{0,9}", kind, ".{0,30}", any::<u32>(), ttl).prop_map(|(id, name, kind, schema, version, ttl)| {
        StateDescriptor { id: StateId(id), name, kind, schema, version, ttl }
    })
}

fn any_operator() -> impl Strategy<Value = OperatorState> {
    let kind = prop_oneof![Just(PartKind::Image), Just(PartKind::Delta)];
    let part =
        (any::<(u16, u16, u64)>(), kind, vec(any_object(), 0..3)).prop_map(|((first, end, epoch), kind, objects)| {
            Part { key_groups: range(first, end), kind, epoch: Epoch(epoch), objects }
        });
    (option::of(any::<[u8; 32]>()), vec(any_state(), 0..3), vec(part, 0..4)).prop_map(|(module, states, parts)| {
        OperatorState { module: module.map(ModuleDigest), key: None, states, parts }
    })
}

fn any_sink() -> impl Strategy<Value = SinkState> {
    let delivery = prop_oneof![Just(Delivery::AtLeastOnce), Just(Delivery::Idempotent), Just(Delivery::ExactlyOnce)];
    let staged = (any::<u32>(), any::<u64>(), any::<u64>(), vec(any::<u8>(), 0..40))
        .prop_map(|(slot, records, bytes, body)| StagedOutput { slot, records, bytes, body });
    let pending =
        (any::<u64>(), vec(staged, 0..3)).prop_map(|(epoch, staged)| PendingEpoch { epoch: Epoch(epoch), staged });
    (delivery, option::of(any::<u64>()), vec(pending, 0..3)).prop_map(|(delivery, published, pending)| SinkState {
        delivery,
        published: published.map(Epoch),
        pending,
    })
}

pub(crate) fn any_manifest() -> impl Strategy<Value = Manifest> {
    let kind = prop_oneof![
        Just(CheckpointKind::Periodic),
        Just(CheckpointKind::OnDemand),
        Just(CheckpointKind::Final),
        Just(CheckpointKind::Restore),
    ];
    let head = (any::<(u64, u64, u16, i64, i64)>(), option::of(any::<u64>()), option::of(any::<(u64, u64)>()), kind);
    let maps = (
        prop::collection::btree_map(any_uid(), any_source(), 0..3),
        prop::collection::btree_map(any_uid(), any_operator(), 0..3),
        prop::collection::btree_map(any_uid(), any_sink(), 0..3),
    );
    (head, ".{0,12}", maps).prop_map(|((numbers, parent, rewound, kind), key_hash, (sources, operators, sinks))| {
        let (generation, epoch, key_groups, host_clock, watermark) = numbers;
        Manifest {
            parent: parent.map(Epoch),
            kind,
            rewound: rewound.map(|(lineage, epoch)| Rewound { lineage: LineageId(lineage), epoch: Epoch(epoch) }),
            key_groups,
            key_hash,
            host_clock: HostTime(host_clock),
            watermark: EventTime(watermark),
            sources,
            operators,
            sinks,
            ..bare(generation, epoch)
        }
    })
}

pub(crate) fn any_record() -> impl Strategy<Value = LogRecord> {
    prop_oneof![
        (any::<(u64, u64)>(), ".{0,40}").prop_map(|((generation, lineage), owner)| {
            let LogRecord::Claim(claim) = claim(generation, lineage) else { unreachable!("it is a claim") };
            LogRecord::Claim(Claim { owner, ..claim })
        }),
        any_manifest().prop_map(|manifest| LogRecord::Complete(Box::new(manifest))),
    ]
}
