//! Asks for more memory than there can ever be, again and again, then for a MiB that it is to get.

use testkit::*;

struct ProbesMemory;

impl Behaviour for ProbesMemory {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        for _ in 0..1000 {
            let before = grow_memory(52);
            assert_eq!(before, usize::MAX, "the memory ends before");
        }
        let before = grow_memory(16);
        assert_ne!(before, usize::MAX, "a MiB more fits");
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(ProbesMemory);
