//! Sends every record on without looking at any.

use testkit::*;

struct EchoKeys;

impl Behaviour for EchoKeys {
    fn describe() -> Descriptor {
        Descriptor { wants_values: false, ..unkeyed() }
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        assert!(batch.values.items.ends.is_empty(), "no values were asked for");
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(EchoKeys);
