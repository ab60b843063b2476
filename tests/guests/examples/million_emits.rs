//! Emits a million times for a record that says `many`, in calls of one row, and a hundred million rows
//! for one that says `wide`, in calls of a million. A record that says `again` goes on a million times
//! in one call, and one that says `made` makes a million empty ones.

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
        if let Some(row) = asks_for(&batch, "again") {
            emit::forward(0, &vec![row; 1_000_000]);
            return Ok(());
        }
        if let Some(row) = asks_for(&batch, "made") {
            emit::push(0, &records(vec![row; 1_000_000], (0..1_000_000).map(|_| "")));
            return Ok(());
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

export!(MillionEmits);
