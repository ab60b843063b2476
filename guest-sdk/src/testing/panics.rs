//! Panics of a function as the text that the engine would see.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls `function`; the text and place of its panic where it panics.
pub(super) fn catch<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    install();
    CATCHING.set(true);
    let result = catch_unwind(AssertUnwindSafe(function));
    CATCHING.set(false);
    result.map_err(|_| TEXT.take())
}

/// Keeps the text of panics that are caught here, and leaves all others to the hook that was there.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if CATCHING.get() {
                TEXT.set(crate::glue::panic_text(panic));
            } else {
                others(panic);
            }
        }));
    });
}
