//! The imports of the contract.

use std::sync::Once;

use crate::bindings::{emit, state, telemetry, timers};

pub(crate) use emit::{forward, push};
pub(crate) use state::{load, load_entries, scan, store};
pub(crate) use telemetry::{add, log, set};
pub(crate) use timers::{cancel, enable};

/// Makes a panic tell the host its text and place before the instance traps.
pub(crate) fn report_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            telemetry::panic(&crate::glue::panic_text(panic));
        }));
    });
}
