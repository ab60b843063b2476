//! Jobs whose functions keep their state on disk: killed, rescaled, moved from backend to backend.

use std::fs;

use crate::kit::{LINES, PACE, SLOW, World};
use crate::oracle;
use crate::random::kills_at_random;

/// The folders of processes below the folder of state on disk.
fn process_folders(world: &World) -> Vec<String> {
    let Ok(entries) = fs::read_dir(world.path(".tidegate/state")) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    // Held by who starts; of no process.
    names.retain(|name| name != "lock");
    names.sort();
    names
}

#[test]
fn killed_at_times_that_a_seed_draws_with_state_on_disk() {
    for seed in [101, 102] {
        let mut world = World::new(seed);
        world.store_state_in("rocksdb");
        kills_at_random(&mut world, seed, 8, |world| {
            assert!(process_folders(world).len() <= 1, "a start removes what the last process left");
        });
        assert_eq!(process_folders(&world), Vec::<String>::new(), "a process that ends takes its folder with it");
    }
}

#[test]
fn a_checkpoint_of_either_backend_is_restored_by_the_other_across_kills_and_rescales() {
    let mut world = World::new(110);
    for (backend, parallelism) in [("memory", "2"), ("rocksdb", "8"), ("memory", "3"), ("rocksdb", "1")] {
        world.store_state_in(backend);
        for points in [format!("{PACE};before-manifest=kill(3)"), "before-publish=kill(1)".to_owned()] {
            world.append(LINES);
            world.run_armed(&points, &["--parallelism", parallelism]);
        }
    }
    world.store_state_in("memory");
    world.append(LINES);
    world.finish(&["--parallelism", "7"]);
    world.check();
}

#[test]
fn a_savepoint_of_either_backend_is_where_the_other_begins() {
    let mut world = World::new(120);
    world.store_state_in("memory");
    world.append(LINES);
    world.finish(&["--stop-with-savepoint", "of-memory"]);
    world.store_state_in("rocksdb");
    world.append(LINES);
    world.finish(&["--from-savepoint", "of-memory", "--stop-with-savepoint", "of-rocksdb"]);
    world.store_state_in("memory");
    world.append(LINES);
    world.finish(&["--from-savepoint", "of-rocksdb"]);
    world.check();
}

#[test]
fn killed_between_mark_and_manifest_what_lies_on_disk_is_not_gone_on_from() {
    let mut world = World::new(130);
    world.store_state_in("rocksdb");
    for point in
        ["after-snapshot=kill(4)", "before-manifest=kill(2)", "after-restore=kill(1)", "before-publish=kill(2)"]
    {
        world.append(LINES);
        world.run_armed(&format!("{PACE};{point}"), &[]);
    }
    world.finish(&[]);
    world.check();
}

#[test]
fn a_base_that_is_damaged_while_the_job_runs_is_made_anew_and_nothing_is_lost() {
    let mut world = World::new(140);
    world.store_state_in("rocksdb");
    world.append(4 * LINES);
    let mut child = world.spawn(SLOW, &[]);
    let folder = world.path(".tidegate/state");
    let tables = || {
        let processes = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        processes.flat_map(|path| fs::read_dir(path).into_iter().flatten().flatten()).map(|entry| entry.path())
    };
    let ingested = || {
        let files = tables().flat_map(|table| fs::read_dir(table.join("db")).into_iter().flatten().flatten());
        files.filter(|file| file.path().extension().is_some_and(|extension| extension == "sst")).count()
    };
    // The databases go away under the job: every file after that has nowhere to lie.
    assert!(World::wait_for(&mut child, || world.records() > 3 && ingested() > 0), "the job has drained something");
    for table in tables().collect::<Vec<_>>() {
        if table.join("db").exists() {
            fs::rename(table.join("db"), table.join("gone")).unwrap();
        }
    }
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "it restarts from its checkpoint: {}", String::from_utf8_lossy(&ended.stderr));
    let (_, manifest) = oracle::newest_manifest(&world.log()).unwrap();
    assert!(manifest.generation.0 > 1, "one process, started again within it");
    world.check();
}
