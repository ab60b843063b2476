//! A kill at every step, the same one again and again, and inside the recovery from it.

use crate::kit::{LINES, PACE, World};

/// Kills at `point`, three times in a row with kills inside recovery between them, at its first, second and third
/// time; then lets the job end, at another parallelism.
fn survives(seed: u64, point: &str) {
    survives_in(World::new(seed), point);
}

fn survives_in(mut world: World, point: &str) {
    let first = format!("{PACE};{point}=kill(1)");
    let second = format!("{PACE};{point}=kill(2)");
    let third = format!("{PACE};{point}=kill(3)");
    let mut reached = 0;
    for (points, is_sure) in [
        (first.as_str(), true),
        (&first, true),
        ("after-claim=kill(1)", true),
        (&second, false),
        ("after-restore=kill(1)", false),
        (&third, false),
    ] {
        world.append(LINES);
        let was_killed = world.run_armed(points, &[]);
        assert!(was_killed || !is_sure, "{points} is never reached");
        reached += u32::from(was_killed);
    }
    println!("{point} ended {reached} of 6");
    assert!(reached >= 5, "{point} and recovery ended {reached} of 6");
    world.append(LINES);
    world.finish(&["--parallelism", "3"]);
    world.check();
}

#[test]
fn killed_between_a_state_write_and_the_emit_of_the_same_record() {
    survives(1, "after-state-write");
}

#[test]
fn killed_between_the_barrier_of_a_source_and_the_snapshot_of_an_operator() {
    survives(2, "before-snapshot");
}

#[test]
fn killed_when_one_of_several_subtasks_has_its_snapshot() {
    survives(3, "after-snapshot");
}

#[test]
fn killed_when_staged_output_is_written_and_not_synced() {
    survives(5, "mid-upload");
}

#[test]
fn killed_when_some_state_is_uploaded() {
    survives(6, "after-upload");
}

#[test]
fn killed_when_everything_is_durable_and_no_manifest_lists_it() {
    survives(7, "before-manifest");
}

#[test]
fn killed_when_the_manifest_is_there_and_nobody_knows() {
    survives(8, "after-manifest");
}

#[test]
fn killed_between_the_manifest_and_its_publication() {
    survives(9, "before-publish");
}

#[test]
fn killed_when_a_file_that_is_to_appear_whole_has_not_got_its_name() {
    survives(10, "mid-create");
}

#[test]
fn killed_when_it_is_noted_that_an_epoch_is_being_published() {
    survives(11, "after-intent");
}

#[test]
fn killed_when_some_files_of_an_epoch_are_visible() {
    survives(12, "mid-publish");
}

#[test]
fn killed_when_an_epoch_is_visible_and_not_in_the_ledger() {
    survives(13, "before-ledger");
}

#[test]
fn killed_when_an_epoch_is_published_and_nobody_has_noted_it() {
    survives(14, "after-publish");
}

#[test]
fn killed_while_old_checkpoints_are_removed() {
    survives_in(World::with_checkpoints(15, "interval: 10ms, retain: 1"), "mid-sweep");
}

#[test]
fn killed_when_it_owns_the_job_and_has_done_nothing_with_it() {
    let mut world = World::new(16);
    for points in ["after-claim=kill(1)", "before-publish=kill(1)", "after-claim=kill(1)", "after-claim=kill(1)"] {
        world.append(LINES);
        assert!(world.run_armed(points, &[]), "{points} is never reached");
    }
    world.finish(&[]);
    world.check();
}

/// Without an interval the only checkpoint is the final one.
#[test]
fn killed_between_the_final_manifest_and_its_publication() {
    for (seed, point) in [(20, "after-manifest"), (21, "before-publish"), (22, "mid-publish"), (23, "after-publish")] {
        let mut world = World::with_checkpoints(seed, "interval: 1h");
        for _ in 0..3 {
            world.append(LINES);
            assert!(world.run_armed(&format!("{point}=kill(1)"), &[]), "{point} is never reached");
        }
        world.finish(&[]);
        world.check();
    }
}

/// A savepoint is made of the final checkpoint once its output is published: a kill before that leaves none.
#[test]
fn killed_before_the_savepoint_that_it_was_to_stop_with() {
    let mut world = World::with_checkpoints(24, "interval: 1h");
    let stop = ["--stop-with-savepoint", "savepoint"];
    for point in ["before-manifest", "after-manifest", "before-publish", "after-publish"] {
        world.append(LINES);
        assert!(world.run_armed(&format!("{point}=kill(1)"), &stop), "{point} is never reached");
        assert!(!world.path("savepoint").exists());
    }
    world.finish(&stop);
    world.check();
    assert!(world.path("savepoint/savepoint.json").is_file());
    world.append(LINES);
    world.finish(&["--parallelism", "3"]);
    world.check();
}

/// State is restored at another parallelism, and the process ends before the first manifest that has it so.
#[test]
fn killed_while_it_is_restored_at_another_parallelism() {
    let mut world = World::new(30);
    let steps = [
        (format!("{PACE};after-manifest=kill(3)"), "2"),
        ("after-claim=kill(1)".to_owned(), "5"),
        ("after-restore=kill(1)".to_owned(), "5"),
        ("after-restore=kill(3)".to_owned(), "4"),
        ("before-manifest=kill(1)".to_owned(), "3"),
        (format!("{PACE};after-manifest=kill(2)"), "3"),
        ("after-restore=kill(2)".to_owned(), "1"),
    ];
    for (points, parallelism) in steps {
        world.append(LINES);
        world.run_armed(&points, &["--parallelism", parallelism]);
    }
    world.finish(&["--parallelism", "2"]);
    world.check();
}
