//! Writes for every slot, then traps where a record says `trap`.

use testkit::*;

struct TrapAfterStore;

impl Behaviour for TrapAfterStore {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let slots: Vec<u32> = (0..batch.keys.ends.len() as u32).collect();
        let values = present(column(slots.iter().map(|_| "written")));
        state::store(0, &state::Writes { slots, entry_keys: None, values, rows: Vec::new() });
        if asks_for(&batch, "trap").is_some() {
            trap();
        }
        Ok(())
    }
}

export!(TrapAfterStore);
