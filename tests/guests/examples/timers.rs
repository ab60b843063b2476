//! Does with timers what the first record says, also what cannot be; says of a timer that fired when that was.

use testkit::*;

struct Timers;

impl Behaviour for Timers {
    fn describe() -> Descriptor {
        Descriptor { timers: true, ..keyed() }
    }

    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        if !batch.kinds.is_empty() && batch.watermark == 99 {
            emit::forward(0, &rows(&batch));
            return Ok(());
        }
        if !batch.kinds.is_empty() {
            let kind = if batch.kinds[0] == RowKind::EventTimer { "event" } else { "wall" };
            let texts = batch.timestamps.iter().map(|at| format!("{kind} {at}"));
            let all = rows(&batch);
            emit::push(0, &records(all, texts.collect::<Vec<_>>()));
            return Ok(());
        }
        let (event, wall) = (Clock::EventTime, Clock::ProcessingTime);
        match item(&batch.values.items, 0) {
            b"set" => {
                timers::enable(event, &[0, 0], &[1, 2]);
                timers::enable(wall, &[0], &[3]);
                timers::cancel(event, &[0], &[1]);
            }
            b"slot" => timers::enable(event, &[u32::MAX], &[1]),
            b"cancel-slot" => timers::cancel(wall, &[1], &[1]),
            b"lengths" => timers::enable(event, &[0], &[]),
            b"none" => timers::enable(event, &[0], &[i64::MIN]),
            b"ends" => timers::enable(event, &[0, 0], &[i64::MIN + 1, i64::MAX]),
            b"many" => {
                let (slots, times) = (vec![0; 1 << 16], vec![1; 1 << 16]);
                (0..17).for_each(|_| timers::enable(event, &slots, &times));
            }
            _ => {}
        }
        Ok(())
    }
}

export!(Timers);
