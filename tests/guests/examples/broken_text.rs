//! Passes text that is not UTF-8, in the call that the first record names.

use testkit::*;

struct BrokenText;

impl Behaviour for BrokenText {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        match item(&batch.values.items, 0) {
            b"log" => telemetry::log(telemetry::Level::Info, None, &broken()),
            b"panic" => telemetry::panic(&broken()),
            b"reject" => return Err(BadRecord { row: 0, message: broken() }),
            _ => emit::forward(0, &rows(&batch)),
        }
        Ok(())
    }
}

fn broken() -> String {
    // SAFETY: none; nothing in this guest looks at the text, it only crosses.
    unsafe { String::from_utf8_unchecked(b"fine until \xff\xfe".to_vec()) }
}

export!(BrokenText);
