//! Spins while it is opened, if its config says `spin`.

use testkit::*;

struct LoopInOpen;

impl Behaviour for LoopInOpen {
    fn open(task: Task) -> Result<(), String> {
        while task.config.contains("spin") {
            core::hint::black_box(());
        }
        Ok(())
    }
}

export!(LoopInOpen);
