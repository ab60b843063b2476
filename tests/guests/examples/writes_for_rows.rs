//! Says of a write which row made it, rightly or wrongly, as the value of the first record asks.

use testkit::*;

struct WritesForRows;

impl Behaviour for WritesForRows {
    fn describe() -> Descriptor {
        let mut descriptor = keyed();
        let ttl = Ttl { millis: 1000, clock: Clock::EventTime, refresh: Refresh::OnWrite };
        descriptor.states[0].ttl = Some(ttl);
        descriptor
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        let all = rows(&batch);
        let beyond = all.len() as u32;
        let write = |slots: Vec<u32>, rows| {
            let values = present(column(vec!["x"; slots.len()]));
            state::store(0, &state::Writes { slots, entry_keys: None, values, rows });
        };
        match item(&batch.values.items, 0) {
            b"beyond" => write(vec![0], vec![beyond]),
            b"max" => write(vec![0], vec![u32::MAX]),
            b"of-another" => write(vec![0, 1], vec![0, 0]),
            b"too-few" => write(vec![0, 0], vec![0]),
            b"unsaid" => write(vec![0], Vec::new()),
            _ => write(batch.slots.clone(), all.clone()),
        }
        emit::forward(0, &all);
        Ok(())
    }
}

export!(WritesForRows);
