//! Takes memory without end where a record says `bomb`.

use testkit::*;

struct MemoryBomb;

impl Behaviour for MemoryBomb {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let mut hoard = Vec::new();
        while asks_for(&batch, "bomb").is_some() {
            hoard.push(vec![1u8; 1 << 20]);
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(MemoryBomb);
