//! What lies on the disk is not what was written.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::kit::{LINES, SLOW, World};
use crate::oracle::{names, newest_manifest, newest_visible, visible};

/// A world whose newest manifest lists output that is not published, below older checkpoints that are.
fn unpublished(seed: u64) -> World {
    let mut world = World::new(seed);
    world.append(2 * LINES);
    // Three sinks publish each epoch: the second is complete.
    assert!(world.run_armed(&format!("{SLOW};before-publish=kill(4)"), &[]), "it ended too early");
    world
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(path, bytes).expect("it can be written");
}

/// The job is refused with one of `codes`, and changes nothing that is visible.
fn refused(world: &World, codes: &[&str]) {
    let before = visible(&world.path("out"));
    let said = world.refused();
    assert!(codes.iter().any(|code| said.contains(code)), "{said}");
    assert_eq!(visible(&world.path("out")), before);
}

#[test]
fn a_newest_manifest_that_is_damaged_is_passed_over_or_refused() {
    let mut world = unpublished(60);
    let (newest, manifest) = newest_manifest(&world.log()).expect("there are checkpoints");
    assert!(newest_visible(&world.path("out")) < Some(manifest.epoch.0));
    flip(&newest);
    world.append(LINES);
    // The final checkpoint is the only one, so that it has output: a newest manifest without may be passed over.
    world.take_checkpoints("interval: 1h");
    world.finish(&[]);
    world.check();
    // Everything of it is visible now.
    let (newest, _) = newest_manifest(&world.log()).expect("there are checkpoints");
    let whole = fs::read(&newest).expect("it is there");
    flip(&newest);
    refused(&world, &["E0437"]);
    fs::write(&newest, &whole[..whole.len() / 2]).expect("it can be cut");
    refused(&world, &["E0437"]);
    fs::write(&newest, whole).expect("it can be put back");
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

#[test]
fn state_that_is_cut_or_changed_or_gone_is_not_restored() {
    let mut world = unpublished(61);
    let (_, manifest) = newest_manifest(&world.log()).expect("there are checkpoints");
    let parts = manifest.operators.values().flat_map(|operator| &operator.parts);
    let object = parts.flat_map(|part| &part.objects).next().expect("it keeps state").name.clone();
    let object = world.place().join(object);
    let whole = fs::read(&object).expect("it is there");
    File::options().write(true).open(&object).expect("it is there").set_len(whole.len() as u64 / 2).expect("it is cut");
    refused_or_failed(&world);
    fs::write(&object, &whole).expect("it can be put back");
    flip(&object);
    refused_or_failed(&world);
    fs::remove_file(&object).expect("it can be lost");
    refused_or_failed(&world);
    fs::write(&object, &whole).expect("it can be put back");
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

/// State is restored while what was pending is published: that may become visible, and nothing else.
fn refused_or_failed(world: &World) {
    let said = world.refused();
    assert!(["E0401", "E0404"].iter().any(|code| said.contains(code)), "{said}");
    world.check_hidden();
}

/// Output of one sink that is pending is lost or cut: the job is refused, though other sinks publish theirs.
fn staged_output_is_lost(seed: u64, staged_of: impl Fn(&World, &str) -> PathBuf) {
    let mut world = World::with_checkpoints(seed, "interval: 1h");
    world.append(LINES);
    // Nobody has come further: everything is pending.
    assert!(world.run_armed("before-publish=kill(1)", &[]), "it ended too early");
    let (_, manifest) = newest_manifest(&world.log()).expect("there is a checkpoint");
    let staged = staged_of(&world, &manifest.lineage.to_string());
    let file = staged.join(names(&staged).last().expect("something is staged"));
    let whole = fs::read(&file).expect("it is there");
    for damage in [|path: &Path| fs::remove_file(path), |path: &Path| fs::write(path, b"{}")] {
        damage(&file).expect("it can be lost or cut");
        let said = world.refused();
        assert!(said.contains("E0327"), "{said}");
        fs::write(&file, &whole).expect("it can be put back");
    }
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

#[test]
fn staged_output_that_is_gone_is_not_passed_over() {
    staged_output_is_lost(62, |world, lineage| world.path("out/figures/.tidegate").join(lineage).join("staged"));
    staged_output_is_lost(65, |world, lineage| world.path("out/clean/data").join(lineage));
}

#[test]
fn an_input_that_was_replaced_is_refused() {
    let mut world = unpublished(63);
    let input = world.path("in/a.jsonl");
    let whole = fs::read(&input).expect("it is there");
    fs::write(&input, b"{\"id\":\"other\"}\n").expect("it can be replaced");
    let said = world.refused();
    assert!(said.contains("E03"), "{said}");
    fs::write(&input, whole).expect("it can be put back");
    world.append(LINES);
    world.finish(&[]);
    world.check();
}

/// What a store and a sink have begun to write when the power goes.
#[test]
fn files_that_were_never_finished_are_no_part_of_anything() {
    let mut world = unpublished(64);
    let next = world.records();
    let generation = 1;
    let staged = names(&world.path("out/clean/data"));
    let half = [
        world.log().join(format!("{next:020}#1")),
        world.place().join(format!("state/{generation}-9999-dedup-0-0#1")),
        world.path("out/figures/.part.tmp"),
        world.path("out/clean/data").join(&staged[0]).join(format!("{generation:010}-00000-009999.jsonl")),
    ];
    for path in &half {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path).expect("it can be made");
        file.write_all(b"{\"id\":\"half").expect("it can be written");
    }
    fs::remove_file(&half[2]).expect("readers ignore names that begin with a dot");
    world.append(LINES);
    world.finish(&[]);
    world.check();
}
