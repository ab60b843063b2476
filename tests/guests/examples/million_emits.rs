//! Emits a million times for a record that says `many`, in calls of one row, and a hundred million rows
//! for one that says `wide`, in calls of a million.

use testkit::*;

struct MillionEmits;

impl Behaviour for MillionEmits {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        if let Some(row) = asks_for(&batch, "many") {
            for _ in 0..1_000_000 {
                emit::forward(0, &[row]);
            }
        }
        if let Some(row) = asks_for(&batch, "wide") {
            let rows = vec![row; 1_000_000];
            for _ in 0..100 {
                emit::forward(0, &rows);
            }
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(MillionEmits);
