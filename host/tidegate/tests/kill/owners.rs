//! Two processes and one job: who owns it, and what the other may still do.

use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{LINES, PACE, SLOW, World, kill, said};
use crate::oracle::visible;

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a process of ours takes signals");
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("it ends")
}

#[test]
fn of_two_that_start_together_one_owns_the_job_and_the_other_says_that_it_does_not() {
    let mut world = World::new(50);
    world.append(4 * LINES);
    let both = [world.spawn(SLOW, &[]), world.spawn(SLOW, &[])].map(ended);
    let winners = both.iter().filter(|ended| ended.status.success()).count();
    let said = both.each_ref().map(said);
    assert!(winners >= 1, "{said:?}");
    // The second of them may have come when the first had ended.
    for (ended, said) in both.iter().zip(&said).filter(|(ended, _)| !ended.status.success()) {
        assert_eq!(ended.status.code(), Some(1));
        assert!(said.contains("E0433"), "{said}");
    }
    world.finish(&[]);
    world.check();
}

#[test]
fn an_owner_that_is_overtaken_ends_and_says_so() {
    let mut world = World::new(51);
    world.append(4 * LINES);
    let mut first = world.spawn(SLOW, &[]);
    assert!(World::wait_for(&mut first, || world.records() > 2), "it ended too early");
    world.finish(&[]);
    let first = ended(first);
    assert_eq!(first.status.code(), Some(1), "{}", said(&first));
    assert!(said(&first).contains("E0433") && !said(&first).contains("starts again"), "{}", said(&first));
    world.finish(&[]);
    world.check();
}

/// Stopped anywhere, or where it is often about to write, and continued when another has done everything.
#[test]
fn a_zombie_publishes_nothing_new_and_ends_as_fenced() {
    for (seed, point) in
        [(52, ""), (53, "before-publish=sleep(5)"), (54, "before-manifest=sleep(5)"), (55, "mid-publish=sleep(5)")]
    {
        let mut world = World::new(seed);
        world.append(2 * LINES);
        let mut zombie = world.spawn(&format!("{SLOW};{point}"), &[]);
        let is_running = World::wait_for(&mut zombie, || world.records() > 2);
        if !is_running {
            panic!("it ended too early: {}", said(&ended(zombie)));
        }
        send(&zombie, Signal::STOP);
        world.append(LINES);
        world.finish(&["--parallelism", "3"]);
        let before = visible(&world.path("out"));
        send(&zombie, Signal::CONT);
        let zombie = ended(zombie);
        assert_eq!(zombie.status.code(), Some(1), "{}", said(&zombie));
        assert!(said(&zombie).contains("E0433"), "{}", said(&zombie));
        assert_eq!(visible(&world.path("out")), before, "seed {seed}");
        // What it staged goes with the next start.
        world.append(LINES);
        world.finish(&[]);
        world.check();
    }
}

/// The same checkpoint is restored again and again: what it lists is published once.
#[test]
fn a_checkpoint_that_is_restored_twice_is_published_once() {
    let mut world = World::new(56);
    world.append(LINES);
    assert!(world.run_armed(&format!("{PACE};before-publish=kill(3)"), &[]));
    for points in ["after-publish=kill(1)", "before-manifest=kill(1)", "before-manifest=kill(1)"] {
        assert!(world.run_armed(points, &[]), "{points} is never reached");
    }
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

/// Two at once with kills: whoever is left must find a job that is whole.
#[test]
fn killed_while_another_takes_over() {
    let mut world = World::new(57);
    for point in ["after-claim=sleep(20)", "before-publish=sleep(10)", "before-manifest=sleep(10)"] {
        world.append(LINES);
        let mut first = world.spawn(&format!("{PACE};{point}"), &[]);
        let records = world.records() + 2;
        World::wait_for(&mut first, || world.records() >= records);
        let mut second = world.spawn(&format!("{PACE};{point}"), &[]);
        World::wait_for(&mut second, || world.records() > records + 1);
        kill(first);
        kill(second);
        world.check_hidden();
    }
    world.finish(&[]);
    world.check();
}
