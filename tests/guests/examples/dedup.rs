//! Sends the first record of each key on, and counts the others.

use testkit::*;

struct Dedup;

impl Behaviour for Dedup {
    fn describe() -> Descriptor {
        Descriptor { wants_values: false, ..keyed() }
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let slots = batch.keys.ends.len();
        let known = state::load(0);
        let mut seen: Vec<bool> = match known.present.as_slice() {
            [] => vec![slots > 0 && !known.items.ends.is_empty(); slots],
            present => present.iter().map(|&mark| mark == 1).collect(),
        };
        let mut first = Vec::new();
        let mut new = Vec::new();
        for (row, &slot) in batch.slots.iter().enumerate() {
            if !std::mem::replace(&mut seen[slot as usize], true) {
                first.push(row as u32);
                new.push(slot);
            }
        }
        telemetry::add(0, (batch.slots.len() - first.len()) as f64);
        let ends: Vec<u32> = (1..=new.len() as u32).collect();
        let items = Column { bytes: vec![1; new.len()], ends };
        state::store(0, &state::Writes { slots: new, entry_keys: None, values: present(items), rows: Vec::new() });
        emit::forward(0, &first);
        Ok(())
    }
}

export!(Dedup);
