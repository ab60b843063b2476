//! Spins instead of describing itself.

use testkit::*;

struct LoopInDescribe;

impl Behaviour for LoopInDescribe {
    fn describe() -> Descriptor {
        loop {
            core::hint::black_box(());
        }
    }
}

export!(LoopInDescribe);
