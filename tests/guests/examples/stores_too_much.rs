//! Writes more than a batch may, in the way that the first record names.

use testkit::*;

struct StoresTooMuch;

impl Behaviour for StoresTooMuch {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let value = |bytes: usize| present(column([vec![b'v'; bytes]]));
        let one = |bytes| state::Writes { slots: vec![0], entry_keys: None, values: value(bytes), rows: Vec::new() };
        match item(&batch.values.items, 0) {
            b"long-value" => state::store(0, &one(1 << 20)),
            b"longest-value" => state::store(0, &one((1 << 20) - 1)),
            b"long-entry-key" => {
                let entry_keys = Some(column([vec![b'k'; (1 << 16) + 1]]));
                state::store(1, &state::Writes { entry_keys, ..one(1) });
            }
            b"many-bytes" => (0..100).for_each(|_| state::store(0, &one((1 << 20) - 1))),
            b"many-writes" => {
                let count = 100_000;
                let items = Column { bytes: Vec::new(), ends: vec![0; count] };
                let writes =
                    state::Writes { slots: vec![0; count], entry_keys: None, values: present(items), rows: Vec::new() };
                (0..100).for_each(|_| state::store(0, &writes));
            }
            b"many-calls" => (0..1_000_000).for_each(|_| state::store(0, &one(1))),
            _ => {}
        }
        Ok(())
    }
}

export!(StoresTooMuch);
