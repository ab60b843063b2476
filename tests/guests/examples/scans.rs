//! Writes entries (`fill COUNT BYTES`), scans them (`scan LIMIT`), loads one of them many times
//! (`again COUNT`), or reads the value of each slot (`values`), and emits how many there were.

use testkit::*;

struct Scans;

impl Behaviour for Scans {
    fn describe() -> Descriptor {
        keyed()
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let text = String::from_utf8_lossy(item(&batch.values.items, 0)).into_owned();
        let mut words = text.split(' ');
        let command = words.next();
        let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
        let key = |entry: u32| entry.to_be_bytes();
        let found = match command {
            Some("fill") => {
                let (count, bytes) = (number(), number());
                let entry_keys = Some(column((0..count).map(key)));
                let values = present(column((0..count).map(|_| vec![b'v'; bytes as usize])));
                state::store(
                    1,
                    &state::Writes { slots: vec![0; count as usize], entry_keys, values, rows: Vec::new() },
                );
                count as usize
            }
            Some("scan") => {
                let (keys, values) = state::scan(1, 0, Some(&[]), number());
                assert_eq!(keys.ends.len(), values.ends.len());
                for (index, expected) in (0..keys.ends.len()).zip(0u32..) {
                    assert_eq!(item(&keys, index), key(expected), "entries come in the order of their keys");
                }
                keys.ends.len()
            }
            Some("again") => {
                let count = number() as usize;
                let entry_keys = column((0..count).map(|_| key(0)));
                state::load_entries(1, &vec![0; count], &entry_keys).items.ends.len()
            }
            _ => state::load(0).items.ends.len(),
        };
        emit::push(0, &records(vec![0], [found.to_string()]));
        Ok(())
    }
}

export!(Scans);
