//! Damaged files, full disks, files that cannot be opened: the table ends by name, and one that is restored from
//! what the checkpoint holds works.

use std::fs;
use std::path::{Path, PathBuf};

use contract::compliance::state as suite;
use contract::{KeyedState, SlotKeys};
use model::{Blame, HostTime, OptionalColumn, Retry};

use super::*;
use crate::rocks::helper::Job;

const KEYS: u32 = 20_000;

fn keys() -> Arc<SlotKeys> {
    suite::slots(&(0..KEYS).map(|nth| format!("{nth:036}")).collect::<Vec<_>>())
}

fn fill(table: &mut dyn KeyedState, value: &[u8]) -> Result<StateDelta, Error> {
    let writes: Vec<_> = (0..KEYS).map(|slot| (slot, Some(value))).collect();
    table.apply(&keys(), &[suite::values(suite::VALUE, &writes)], HostTime(1))?;
    table.snapshot()
}

fn known(table: &mut dyn KeyedState) -> Result<usize, Error> {
    let mut out = OptionalColumn::default();
    table.load(suite::VALUE, &keys(), &mut out)?;
    Ok(out.iter().filter(Option::is_some).count())
}

fn ssts(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("db")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).collect()
}

/// Flips a bit in every block of the files.
fn damage(table: &RocksTable) {
    let files = ssts(table.base.folder());
    assert!(!files.is_empty());
    for file in &files {
        let mut bytes = fs::read(file).unwrap();
        let blocks = bytes.len() / 2;
        for at in (0..blocks).step_by(512) {
            bytes[at] ^= 0x40;
        }
        fs::write(file, bytes).unwrap();
    }
}

/// Restores what `delta` says with a backend over `setup`, as a restart in the same process does.
fn assert_restored(backend: &RocksBackend, delta: StateDelta) {
    let mut again = suite::restored(backend, suite::scope(), &[delta]);
    assert_eq!(known(again.as_mut()).unwrap(), KEYS as usize);
}

#[test]
fn a_damaged_block_is_named_so_by_who_makes_the_filter_anew() {
    let setup = Setup::new();
    let mut backend = backend(&setup);
    backend.cache = Cache::new_lru_cache(0);
    let mut table = backend.table(suite::scope()).unwrap();
    fill(&mut table, b"value").unwrap();
    damage(&table);
    table.helper.give(Job::Refilter).unwrap();
    let error = table.settle_all().expect_err("what was read is not what was written");
    assert_eq!((error.code(), error.retry()), (Some("E0606"), Retry::RestoreFirst));
}

#[test]
fn a_flipped_byte_ends_the_table_by_name_and_a_restore_brings_everything_back() {
    // A cache without room, so that blocks are read from the disk.
    let setup = Setup::new();
    let mut backend = backend(&setup);
    backend.cache = Cache::new_lru_cache(0);
    let mut table = backend.table(suite::scope()).unwrap();
    let delta = fill(&mut table, b"value").unwrap();
    while table.give_up(usize::MAX) > 0 {}
    assert_eq!(known(&mut table).unwrap(), KEYS as usize);
    let delta_again = delta.clone();
    while table.give_up(usize::MAX) > 0 {}
    damage(&table);
    let error = known(&mut table).expect_err("what was read is not what was written");
    assert_eq!((error.code(), error.blame(), error.retry()), (Some("E0606"), Blame::External, Retry::RestoreFirst));
    let folder = table.base.folder().to_owned();
    assert!(error.to_string().contains(folder.to_str().unwrap()), "{error}");
    drop(table);
    assert!(!folder.exists(), "nothing damaged is left");
    assert_restored(&backend, delta_again);
}

#[test]
fn a_lost_file_ends_the_table_and_a_restore_brings_everything_back() {
    let setup = Setup::new();
    let backend = backend(&setup);
    let mut table = backend.table(suite::scope()).unwrap();
    let delta = fill(&mut table, b"value").unwrap();
    let parked = table.base.folder().join("db-parked");
    fs::rename(table.base.folder().join("db"), parked).unwrap();
    // The next file has nowhere to go.
    let error = fill(&mut table, b"other").expect_err("the database is not where it was");
    assert_eq!((error.code(), error.retry()), (Some("E0605"), Retry::RestoreFirst));
    assert!(known(&mut table).is_err(), "it stays an error");
    assert!(table.image().is_err(), "no image of a base that misses something");
    drop(table);
    assert_restored(&backend, delta);
}

/// A file system of so many MiB, unmounted when dropped; `None` where this process may not mount.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, mebibytes: u32) -> Option<Self> {
        let size = format!("size={mebibytes}m");
        let mounted = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
        mounted.ok().filter(|output| output.status.success()).map(|_| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

/// Fills the disk under a table until it fails, then shows that there is room again for one that is restored.
fn fill_up(setup: &Setup, ballast: &Path, fill_disk: impl FnOnce(&Path), free: impl FnOnce(&Path)) {
    let backend = backend(setup);
    let mut table = backend.table(suite::scope()).unwrap();
    let delta = fill(&mut table, b"value").unwrap();
    fill_disk(ballast);
    let error = (0..50u8).find_map(|round| fill(&mut table, &[round; 100]).err()).expect("the disk is full");
    assert_eq!((error.code(), error.blame(), error.retry()), (Some("E0605"), Blame::External, Retry::RestoreFirst));
    free(ballast);
    assert!(fill(&mut table, b"later").is_err(), "a table that missed a file never goes on as if it had it");
    drop(table);
    assert_restored(&backend, delta);
}

#[test]
fn a_full_disk_ends_the_table_by_name_and_with_room_again_a_restore_works() {
    let setup = Setup::new();
    let ballast = setup.folder.path().join("ballast");
    if let Some(disk) = SmallDisk::mount(setup.folder.path(), 16) {
        let fill_disk = |path: &Path| {
            let written = fs::write(path, vec![1; 32 << 20]);
            assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        };
        fill_up(&setup, &ballast, fill_disk, |path| fs::remove_file(path).unwrap());
        drop(disk);
    } else {
        // Not allowed to mount: a folder in the way of every file that is written does the same to the table.
        let setup = Setup::new();
        let backend = backend(&setup);
        let table = backend.table(suite::scope()).unwrap();
        let folder = table.base.folder().to_owned();
        drop(table);
        let block = |_: &Path| {
            for number in 1..60 {
                fs::create_dir_all(folder.with_file_name("t0002").join(format!("drained-{number}.sst"))).unwrap();
            }
        };
        fill_up(&setup, &ballast, block, |_| ());
    }
}

#[test]
fn a_killed_drain_leaves_nothing_that_is_read_again() {
    let setup = Setup { is_at_once: false, ..Setup::new() };
    let backend = backend(&setup);
    let mut table = backend.table(suite::scope()).unwrap();
    let delta = fill(&mut table, b"value").unwrap();
    // What a process that is killed while it writes a file leaves: half of one, under a lock that nobody holds.
    let left = setup.folder.path().join("p0007/t0001");
    fs::create_dir_all(left.join("db")).unwrap();
    fs::write(left.join("drained-0.sst"), vec![0; 1000]).unwrap();
    fs::write(left.join("db/CURRENT"), b"MANIFEST-000001\n").unwrap();
    assert_restored(&threaded(&setup), delta);
    assert!(!left.exists(), "it is removed at the next start");
    drop(table);
}

#[test]
fn a_base_that_cannot_be_opened_is_named() {
    let setup = Setup::new();
    let backend = backend(&setup);
    let folder = backend.folder().unwrap().table().unwrap();
    fs::write(folder.path.join("db"), b"a file, not a folder").unwrap();
    let scope = suite::scope();
    let error = Base::open(scope.operator, &scope.states, folder, &backend.cache).expect_err("it is in the way");
    assert_eq!(Error::from(error).code(), Some("E0605"));
}

#[test]
fn threads_that_drain_and_purge_keep_what_was_written() {
    let setup = Setup { young_bytes: 64 << 10, log: Options { segment_bytes: 64 << 10 }, ..Setup::new() };
    let backend = threaded(&setup);
    let mut table = backend.open(suite::scope()).unwrap();
    let mut deltas = Vec::new();
    for round in 0..12u32 {
        for start in (0..KEYS).step_by(500) {
            let keys: Vec<_> = (start..start + 500).map(|nth| format!("{nth:036}")).collect();
            let text = round.to_string();
            let value = |nth: u32| (nth % 12 != round).then_some(text.as_bytes());
            let writes: Vec<_> = (0..500).map(|slot| (slot, value(start + slot))).collect();
            table.apply(&suite::slots(&keys), &[suite::values(suite::VALUE, &writes)], HostTime(1)).unwrap();
            table.maintain(1 << 20).unwrap();
        }
        deltas.push(table.snapshot().unwrap());
    }
    let expected = (0..KEYS).filter(|nth| nth % 12 != 11).count();
    assert_eq!(known(table.as_mut()).unwrap(), expected);
    assert_eq!(table.stats().live_entries, expected as u64);
    let image = StateDelta { segments: table.image().unwrap().map(Result::unwrap).collect() };
    for parts in [deltas, vec![image]] {
        let mut again = suite::restored(&backend, suite::scope(), &parts);
        assert_eq!(known(again.as_mut()).unwrap(), expected);
    }
}
