//! Points at which a test ends or holds up this process: `FAILPOINTS=before-manifest=kill(2);after-state-write=sleep(4)`.
//!
//! A point that is `kill(n)` ends the process the n-th time it is reached, as a loss of power does to a process: with
//! a signal that nothing can handle. Other actions are those of the crate `fail`.
//!
//! # Invariants
//! 1. A binary that is not built for tests has no points, and does not read the variable.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::report::CliError;

const VARIABLE: &str = "FAILPOINTS";

/// Arms what the environment asks for. An error: it asks for what there is not.
pub(crate) fn arm() -> Result<(), CliError> {
    if !fail::has_failpoints() {
        return Ok(());
    }
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    for entry in wanted.split(';').filter(|entry| !entry.is_empty()) {
        let (point, action) = entry.split_once('=').ok_or_else(|| not_understood(entry))?;
        match action.strip_prefix("kill(").and_then(|rest| rest.strip_suffix(')')) {
            Some(hit) => {
                let hit: u64 = hit.parse().map_err(|_| not_understood(entry))?;
                let reached = AtomicU64::new(0);
                let kill = move || {
                    if reached.fetch_add(1, Ordering::SeqCst) + 1 == hit {
                        end();
                    }
                };
                fail::cfg_callback(point, kill).map_err(CliError::usage)?;
            }
            None => fail::cfg(point, action).map_err(CliError::usage)?,
        }
    }
    Ok(())
}

fn not_understood(entry: &str) -> CliError {
    CliError::usage(format!("{VARIABLE} has `{entry}`, expected `point=kill(n)` or an action of the crate `fail`"))
}

/// Never returns: the signal is delivered before the call does.
fn end() {
    if kill_process(getpid(), Signal::KILL).is_err() {
        std::process::abort();
    }
}
