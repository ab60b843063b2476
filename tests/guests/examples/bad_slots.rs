//! Names a slot that is not there, in the call that the first record names.

use testkit::*;

struct BadSlots;

impl Behaviour for BadSlots {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let beyond = batch.keys.ends.len() as u32;
        let one = || column(["k"]);
        if asks_for(&batch, "store").is_some() {
            state::store(
                0,
                &state::Writes { slots: vec![beyond], entry_keys: None, values: present(one()), rows: Vec::new() },
            );
        }
        if asks_for(&batch, "store-max").is_some() {
            state::store(
                0,
                &state::Writes { slots: vec![u32::MAX], entry_keys: None, values: present(one()), rows: Vec::new() },
            );
        }
        if asks_for(&batch, "load-entries").is_some() {
            state::load_entries(1, &[beyond], &one());
        }
        if asks_for(&batch, "scan").is_some() {
            state::scan(1, beyond, None, 1);
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(BadSlots);
