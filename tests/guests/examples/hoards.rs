//! Keeps as many MiB as a record says, for good, and says how many it keeps.

use std::sync::Mutex;

use testkit::*;

static HOARD: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

struct Hoards;

impl Behaviour for Hoards {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let text = String::from_utf8_lossy(item(&batch.values.items, 0)).into_owned();
        let mut hoard = HOARD.lock().unwrap();
        for _ in 0..text.parse().unwrap_or(0) {
            hoard.push(vec![1; 1 << 20]);
        }
        emit::push(0, &records(vec![0], [hoard.len().to_string()]));
        Ok(())
    }
}

export!(Hoards);
