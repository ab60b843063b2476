//! Measures storing an object of 64 MiB against writing and syncing a plain file, one at a time and two at once.
//!
//! ```text
//! cargo run --release -p checkpoint --example put_speed -- DIR 8
//! ```
//! `DIR` lies on the disk in question; 8 rounds. The median of the rounds is printed.

#![expect(clippy::print_stdout, reason = "printing figures is what this program is for")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use checkpoint::LocalStore;
use model::JobName;

const PIECE_BYTES: usize = 4 * 1024 * 1024;
const PIECES: usize = 16;

type Pieces = Vec<Arc<Vec<u8>>>;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let rounds: usize = arguments.next().map_or(Ok(8), |it| it.parse())?;
    let root = folder.join("put-speed");
    fs::create_dir_all(&root)?;
    let objects = LocalStore::open(&root, &JobName::new("put-speed")?)?.objects;
    let pieces: Pieces = (0..PIECES).map(|piece| Arc::new(content(piece))).collect();
    for threads in [1, 2] {
        let (mut plain, mut stored) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            plain.push(timed(threads, |thread| write_plain(&root.join(format!("plain-{thread}")), &pieces))?);
            stored.push(timed(threads, |thread| {
                let name = format!("state/{threads}-{round}-{thread}");
                objects.put(&name, &pieces)?;
                Ok(())
            })?);
            (0..threads).try_for_each(|thread| fs::remove_file(root.join(format!("plain-{thread}"))))?;
            for object in objects.list("state")? {
                objects.delete(&object.name)?;
            }
        }
        let (plain, stored) = (median(plain), median(stored));
        let ratio = stored.as_secs_f64() / plain.as_secs_f64();
        println!("{threads} at once: plain file {plain:?}, object {stored:?}, ratio {ratio:.2}");
    }
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// Bytes that no file system makes smaller.
fn content(seed: usize) -> Vec<u8> {
    let mut state = seed as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56).to_le_bytes()[0]
    };
    (0..PIECE_BYTES).map(|_| next()).collect()
}

fn write_plain(path: &Path, pieces: &Pieces) -> anyhow::Result<()> {
    let mut file = File::create(path)?;
    for piece in pieces {
        file.write_all(piece)?;
    }
    file.sync_all()?;
    Ok(())
}

fn timed(threads: usize, act: impl Fn(usize) -> anyhow::Result<()> + Sync) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let act = &act;
                    move || act(thread)
                })
            })
            .collect();
        running.into_iter().try_for_each(|it| it.join().unwrap_or_else(|_| anyhow::bail!("a thread panicked")))
    })?;
    Ok(begin.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
