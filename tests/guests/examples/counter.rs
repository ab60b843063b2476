//! Keeps a count in its memory and lets it out: what a function must not do. The state of an instance is
//! nobody's promise.

use std::sync::atomic::{AtomicU32, Ordering};

use testkit::*;

static CALLS: AtomicU32 = AtomicU32::new(0);

struct Counter;

impl Behaviour for Counter {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let call = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        if asks_for(&batch, "trap").is_some() {
            trap();
        }
        emit::push(0, &records(vec![0], [call.to_string()]));
        Ok(())
    }
}

export!(Counter);
