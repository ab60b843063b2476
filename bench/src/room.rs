//! Room on the disk and in memory: a case that needs more than there is is refused before it begins.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;

/// What a case needs at its peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Of the disk.
    pub(crate) disk_bytes: u64,
    /// Of memory.
    pub(crate) memory_bytes: u64,
}

/// Checks that `directory` and the machine have room for `what`. What the machine does not tell is not checked.
///
/// # Errors
/// What is missing, and how much.
pub(crate) fn ensure_room(what: &str, need: Need, directory: &Path) -> anyhow::Result<()> {
    check(what, need, free_disk_bytes(directory), free_memory_bytes())
}

fn check(what: &str, need: Need, disk_bytes: Option<u64>, memory_bytes: Option<u64>) -> anyhow::Result<()> {
    for (kind, needed, free) in [("disk", need.disk_bytes, disk_bytes), ("memory", need.memory_bytes, memory_bytes)] {
        let free = free.unwrap_or(u64::MAX);
        ensure!(
            needed <= free,
            "{what} needs {} MiB of {kind}, and {} MiB are free: choose less with --state-mib, or leave the case out",
            needed >> 20,
            free >> 20,
        );
    }
    Ok(())
}

/// Bytes that may still be written below `directory`.
fn free_disk_bytes(directory: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(directory).output().ok()?;
    free_of_df(&String::from_utf8(output.stdout).ok()?)
}

/// The fourth number of the last line: available blocks of 1024 bytes.
fn free_of_df(text: &str) -> Option<u64> {
    let blocks: u64 = text.lines().last()?.split_whitespace().nth(3)?.parse().ok()?;
    blocks.checked_mul(1024)
}

/// Bytes of memory that a process may still take without swapping.
fn free_memory_bytes() -> Option<u64> {
    free_of_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn free_of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests;
