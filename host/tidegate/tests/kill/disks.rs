//! Disks that are full, that are read-only, and a process with too few file handles.
//!
//! A small disk is a file system in memory that only the process sees; where the machine lets nobody mount one, the
//! test says so and is done.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::kit::{LINES, PACE, World, said};
use crate::oracle::numbers;

/// Looks at a log that stands still, before it is held for stuck.
const LOOKS: u32 = 300;

/// A shell in the world's folder that sees mounts of its own. `None`: not on this machine.
fn shell(world: &World, points: &str, script: &str) -> Option<Child> {
    let shell = |script: &str| {
        let binary = world.command(points, &[]);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]).current_dir(world.path("."));
        command.env("RUN", binary.get_program());
        command.envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env_remove("TIDEGATE_STORAGE").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    match shell("mount -t tmpfs none in").output() {
        Ok(tried) if tried.status.success() => Some(shell(script).spawn().expect("it was there a moment ago")),
        Ok(tried) => {
            println!("not tried: nothing can be mounted here: {}", said(&tried));
            None
        }
        Err(error) => {
            println!("not tried: there is no `unshare`: {error}");
            None
        }
    }
}

/// Runs a script in which `$RUN` is the binary; panics unless it succeeds.
fn script(world: &World, points: &str, script: &str) {
    if let Some(child) = shell(world, points, script) {
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{}", said(&ended));
    }
}

/// Whether the log of a job whose files only its process sees stands still, with something in it, for as long as anything
/// here takes. False: the process ended.
fn stands_still(world: &World, child: &mut Child) -> bool {
    // The folder as the process sees it.
    let inside = format!("/proc/{}/root{}", child.id(), world.log().display());
    let (mut last, mut looks) = (None, 0);
    World::wait_for(child, || {
        let newest = numbers(inside.as_ref()).last().copied();
        looks = if newest == last { looks + u32::from(newest.is_some()) } else { 0 };
        last = newest;
        looks > LOOKS
    })
}

#[test]
fn a_storage_that_is_full_holds_checkpoints_up_until_there_is_room() {
    let mut world = World::new(70);
    world.append(3 * LINES);
    // The store is tried out with 64 KiB when it is opened.
    let script = "
        mount -t tmpfs -o size=4m none .tidegate && head -c 4000000 /dev/zero > .tidegate/filler || exit 99
        $RUN run job.yaml --quiet & job=$!
        read line; rm .tidegate/filler; wait $job; code=$?
        cp -a .tidegate/. saved; exit $code";
    std::fs::create_dir(world.path("saved")).expect("a folder can be made");
    let Some(mut child) = shell(&world, PACE, script) else { return };
    let is_stuck = stands_still(&world, &mut child);
    assert!(is_stuck, "it ends though there is no room: {}", said(&child.wait_with_output().expect("it ends")));
    drop(child.stdin.take());
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{}", said(&ended));
    world.check();
    std::fs::remove_dir(world.path(".tidegate")).expect("the mount is gone with the process");
    std::fs::rename(world.path("saved"), world.path(".tidegate")).expect("it can be put there");
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

#[test]
fn an_output_that_is_full_holds_the_job_up_until_there_is_room() {
    let mut world = World::new(71);
    world.append(2 * LINES);
    // Twice: in the course of the job, and from its start.
    for (filler, more) in [("150000", 0), ("290000", LINES)] {
        world.append(more);
        let script = format!(
            "mkdir -p small && mount -t tmpfs -o size=100m none small && cp -a out/. small && mount --move small out || exit 99
            used=$(du -sB1 out | cut -f1) && mount -o remount,size=$((used + 300000)) out || exit 99
            head -c {filler} /dev/zero > out/filler; $RUN run job.yaml & job=$!
            read line; mount -o remount,size=100m out; wait $job; code=$?
            rm out/filler; rm -rf saved; mkdir saved; cp -a out/. saved && umount out && cp -a saved/. out; exit $code"
        );
        let Some(mut child) = shell(&world, PACE, &script) else { return };
        let is_stuck = stands_still(&world, &mut child);
        assert!(is_stuck, "it ends though there is no room: {}", said(&child.wait_with_output().expect("it ends")));
        drop(child.stdin.take());
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{}", said(&ended));
        let says_so = ["waits for its target", "stage epoch", "publish epoch"];
        assert!(says_so.iter().any(|words| said(&ended).contains(words)), "nothing says why: {}", said(&ended));
        world.check();
    }
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

#[test]
fn a_disk_that_is_read_only_fails_the_job_and_changes_nothing() {
    let mut world = World::new(72);
    for folder in [".tidegate", "out"] {
        world.append(LINES);
        let text = format!(
            "mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} || exit 99
            $RUN run job.yaml --quiet; code=$?
            [ $code = 1 ] || {{ echo \"on a read-only disk it ended with $code\" >&2; exit 98; }}"
        );
        script(&world, "", &text);
        world.check_hidden();
        world.finish(&[]);
        world.check();
    }
}

#[test]
fn too_few_file_handles_fail_the_job_and_change_nothing() {
    let mut world = World::new(73);
    for handles in ["9", "16", "24", "32"] {
        world.append(LINES / 4);
        let mut limited = Command::new("sh");
        let binary = world.command(PACE, &[]);
        limited.args(["-c", "ulimit -n $0; exec \"$1\" run job.yaml --quiet", handles]).arg(binary.get_program());
        limited.envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = limited.current_dir(world.path(".")).output().expect("there is a shell");
        // It may be enough.
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{handles}: {:?} {}", ended.status, said(&ended));
        world.check_hidden();
    }
    world.finish(&[]);
    world.check();
}

/// A store that never comes back within the patience of a test does not end the job by itself: a signal does.
#[test]
fn a_job_that_waits_for_its_storage_can_be_killed_and_started_again() {
    let mut world = World::new(74);
    world.append(LINES);
    let mut child = world.spawn(PACE, &[]);
    World::wait_for(&mut child, || world.records() > 2);
    let (there, away) = (world.path(".tidegate"), world.path("away"));
    std::fs::rename(&there, &away).expect("it can be taken away");
    std::thread::park_timeout(Duration::from_millis(20));
    crate::kit::kill(child);
    // Nothing was made in its place but what the store could not have.
    std::fs::remove_dir_all(&there).ok();
    std::fs::rename(&away, &there).expect("it can be brought back");
    world.append(LINES);
    world.finish(&[]);
    world.check();
}
