//! Kills at times that a seed draws, and restarts at other parallelisms.

use crate::input::Draws;
use crate::kit::{LINES, PACE, World, kill};

/// Kills until `kills` processes have been, each after a drawn number of records in the log and a drawn number of
/// looks, with a look by `after` at what each left; then lets the job end.
pub(crate) fn kills_at_random(world: &mut World, seed: u64, kills: u64, after: impl Fn(&World)) {
    println!("seed {seed}");
    let mut draws = Draws::new(seed);
    for _ in 0..kills {
        world.append(LINES);
        let parallelism = (1 + draws.below(4)).to_string();
        let (records, mut looks) = (world.records() + draws.below(5), draws.below(25));
        let mut child = world.spawn(PACE, &["--parallelism", &parallelism]);
        World::wait_for(&mut child, || {
            let is_late = world.records() >= records;
            looks = looks.saturating_sub(u64::from(is_late));
            is_late && looks == 0
        });
        kill(child);
        world.check_hidden();
        after(world);
    }
    world.finish(&["--parallelism", "2"]);
    world.check();
}

/// How many seeds are tried: `TIDEGATE_SEEDS`, or few.
fn seeds() -> u64 {
    std::env::var("TIDEGATE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

#[test]
fn killed_at_times_that_a_seed_draws() {
    for seed in 1..=seeds() {
        kills_at_random(&mut World::new(seed), seed, 10, |_| ());
    }
}

/// In each width: killed in the middle, when it has completed checkpoints at it, and with an epoch that is pending.
#[test]
fn rescaled_from_one_to_eight_to_three_to_seven_across_kills() {
    let mut world = World::new(40);
    for parallelism in ["1", "8", "3", "7"] {
        for points in [format!("{PACE};before-manifest=kill(3)"), "before-publish=kill(1)".to_owned()] {
            world.append(LINES);
            world.run_armed(&points, &["--parallelism", parallelism]);
        }
    }
    world.append(LINES);
    world.finish(&["--parallelism", "7"]);
    world.check();
}
