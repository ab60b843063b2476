use std::collections::BTreeMap;

use proptest::prelude::*;

use model::{Epoch, KeyGroup, KeyGroupRange, Parallelism, SubtaskIndex};

use crate::key_group::Assignment;
use crate::manifest::samples::{object, range};
use crate::manifest::{Part, PartKind};

use super::{MAX_DELTAS, add_delta, gather, inherit, is_image_due, replace_by_image};

const GROUPS: u16 = 12;

/// What each subtask inherits, by subtask.
fn spread(parts: &[Part], assignment: Assignment) -> Vec<Vec<Part>> {
    (0..assignment.parallelism().0).map(|subtask| inherit(parts, &assignment.range_of(SubtaskIndex(subtask)))).collect()
}

/// What a part's objects hold: by key group, the writes of one epoch, or all that is there.
type Stored = BTreeMap<String, BTreeMap<u16, Vec<u64>>>;

/// A job whose state is, by key group, the list of writes it ever saw.
struct World {
    assignment: Assignment,
    subtasks: Vec<Vec<Part>>,
    stored: Stored,
    truth: BTreeMap<u16, Vec<u64>>,
    epoch: u64,
    objects: u64,
}

#[derive(Clone, Debug)]
enum Step {
    /// An epoch in which these groups were written.
    Epoch(Vec<u16>),
    /// A subtask's image of the last mark.
    Image(u32),
    Rescale(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(0..GROUPS, 0..8).prop_map(Step::Epoch),
        2 => (0u32..u32::from(GROUPS)).prop_map(Step::Image),
        2 => (1u32..=u32::from(GROUPS)).prop_map(Step::Rescale),
    ]
}

fn assignment(parallelism: u32) -> Assignment {
    Assignment::new(GROUPS, Parallelism(parallelism)).unwrap()
}

impl World {
    fn new() -> Self {
        let (assignment, truth) = (assignment(1), BTreeMap::new());
        Self { assignment, subtasks: vec![vec![]], stored: Stored::new(), truth, epoch: 0, objects: 0 }
    }

    fn store(&mut self, content: BTreeMap<u16, Vec<u64>>) -> Vec<model::ObjectHandle> {
        self.objects += 1;
        let name = format!("o{}", self.objects);
        self.stored.insert(name.clone(), content);
        vec![object(&name, 1)]
    }

    fn range_of(&self, subtask: usize) -> KeyGroupRange {
        self.assignment.range_of(SubtaskIndex(u32::try_from(subtask).unwrap()))
    }

    fn happen(&mut self, step: &Step) {
        match step {
            Step::Epoch(written) => self.epoch(written),
            Step::Image(subtask) => self.image(*subtask as usize % self.subtasks.len()),
            Step::Rescale(parallelism) => {
                let whole = gather(std::mem::take(&mut self.subtasks));
                self.assignment = assignment(*parallelism);
                self.subtasks = spread(&whole, self.assignment);
            }
        }
    }

    fn epoch(&mut self, written: &[u16]) {
        self.epoch += 1;
        let mut write = 1000 * self.epoch;
        let mut deltas = vec![BTreeMap::<u16, Vec<u64>>::new(); self.subtasks.len()];
        for group in written {
            write += 1;
            self.truth.entry(*group).or_default().push(write);
            let owner = self.assignment.subtask_of(KeyGroup(*group));
            deltas[owner.0 as usize].entry(*group).or_default().push(write);
        }
        for (subtask, delta) in deltas.into_iter().enumerate().filter(|(_, delta)| !delta.is_empty()) {
            let objects = self.store(delta);
            let range = self.range_of(subtask);
            add_delta(&mut self.subtasks[subtask], &range, Epoch(self.epoch), objects);
        }
    }

    fn image(&mut self, subtask: usize) {
        let range = self.range_of(subtask);
        let content = self.truth.iter().filter(|(group, _)| range.contains(KeyGroup(**group)));
        let content: BTreeMap<_, _> = content.map(|(group, writes)| (*group, writes.clone())).collect();
        let objects = if content.is_empty() { vec![] } else { self.store(content) };
        replace_by_image(&mut self.subtasks[subtask], &range, Epoch(self.epoch), objects);
    }

    /// What a restore of every subtask gives.
    fn restored(&self) -> BTreeMap<u16, Vec<u64>> {
        let mut state = BTreeMap::<u16, Vec<u64>>::new();
        for (subtask, parts) in self.subtasks.iter().enumerate() {
            for part in parts {
                let range = self.range_of(subtask);
                assert!(
                    range.first <= part.key_groups.first && part.key_groups.end <= range.end,
                    "{part:?} in {range:?}"
                );
                for object in &part.objects {
                    for (group, writes) in &self.stored[&object.name] {
                        if part.key_groups.contains(KeyGroup(*group)) {
                            let group = state.entry(*group).or_default();
                            if part.kind == PartKind::Image {
                                assert!(group.is_empty(), "an image comes first");
                            }
                            group.extend(writes);
                        }
                    }
                }
            }
        }
        state
    }
}

fn part(first: u16, end: u16, kind: PartKind, epoch: u64, length_bytes: u64) -> Part {
    let objects = vec![object(&format!("state/{epoch}"), length_bytes)];
    Part { key_groups: range(first, end), kind, epoch: Epoch(epoch), objects }
}

#[test]
fn an_image_replaces_what_its_epoch_covers_and_keeps_later_deltas() {
    let mut parts: Vec<Part> = (1..=4).map(|epoch| part(0, 4, PartKind::Delta, epoch, 1)).collect();
    replace_by_image(&mut parts, &range(0, 4), Epoch(3), vec![object("image", 9)]);
    let left: Vec<_> = parts.iter().map(|part| (part.kind, part.epoch.0)).collect();
    assert_eq!(left, [(PartKind::Image, 3), (PartKind::Delta, 4)]);
}

#[test]
fn parts_that_were_split_are_joined_again() {
    let whole = vec![part(0, 12, PartKind::Image, 1, 1), part(0, 12, PartKind::Delta, 2, 1)];
    let back = gather(spread(&whole, assignment(5)));
    assert_eq!(back, whole);
}

#[test]
fn an_image_is_due_by_bytes_or_by_number() {
    let image = part(0, 4, PartKind::Image, 1, 1000);
    let deltas = |count: u64, bytes| -> Vec<Part> {
        let deltas = (0..count).map(|epoch| part(0, 4, PartKind::Delta, epoch + 2, bytes));
        std::iter::once(image.clone()).chain(deltas).collect()
    };
    assert!(!is_image_due(&deltas(5, 100), 1000));
    assert!(is_image_due(&deltas(6, 100), 1000));
    assert!(!is_image_due(&deltas(MAX_DELTAS as u64, 1), 1000));
    assert!(is_image_due(&deltas(MAX_DELTAS as u64 + 1, 1), 1000));
    assert!(!is_image_due(&[], 0));
}

proptest! {
    #[test]
    fn every_key_group_gets_exactly_its_own_history(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = World::new();
        for step in &steps {
            world.happen(step);
            prop_assert_eq!(&world.restored(), &world.truth, "after {:?}", step);
        }
    }

    #[test]
    fn epochs_rise_strictly_for_every_key_group(steps in prop::collection::vec(step(), 0..40)) {
        let mut world = World::new();
        steps.iter().for_each(|step| world.happen(step));
        let whole = gather(world.subtasks);
        prop_assert!(whole.is_sorted_by_key(|part| part.epoch));
        for group in 0..GROUPS {
            let of_group = inherit(&whole, &range(group, group + 1));
            prop_assert!(of_group.is_sorted_by(|a, b| a.epoch < b.epoch), "{of_group:?}");
        }
    }

    #[test]
    fn parts_do_not_pile_up_by_rescaling(
        steps in prop::collection::vec(step(), 0..30),
        scales in prop::collection::vec(1u32..=u32::from(GROUPS), 0..10),
    ) {
        let mut world = World::new();
        steps.iter().for_each(|step| world.happen(step));
        let before = gather(world.subtasks.clone());
        for parallelism in scales {
            world.happen(&Step::Rescale(parallelism));
        }
        prop_assert_eq!(gather(world.subtasks), before);
    }
}
