//! Spins where a record says `spin`.

use testkit::*;

struct LoopInProcess;

impl Behaviour for LoopInProcess {
    fn process(batch: InputBatch) -> Result<(), BadRecord> {
        if asks_for(&batch, "spin").is_some() {
            spin();
        }
        emit::forward(0, &rows(&batch));
        Ok(())
    }
}

fn spin() {
    loop {
        core::hint::black_box(());
    }
}

export!(LoopInProcess);
