//! Reads what is committed, and compares it with the model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use protocol::manifest::{LogRecord, Manifest, decode};
use serde_json::Value;

use crate::input::{Letter, Model};
use crate::kit::{LINES, World};

/// Bytes of a record of the log before and after its body.
const FRAME_HEAD: usize = 30;
const FRAME_TAIL: usize = 8;

/// The names in a folder, sorted; none where there is no folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The numbers of a log, rising.
pub(crate) fn numbers(log: &Path) -> Vec<u64> {
    names(log).iter().filter_map(|name| name.parse().ok()).collect()
}

/// What stands under a number of a log, where it can be read.
pub(crate) fn record(log: &Path, number: u64) -> Option<LogRecord> {
    let frame = fs::read(log.join(format!("{number:020}"))).ok()?;
    decode(frame.get(FRAME_HEAD..frame.len().checked_sub(FRAME_TAIL)?)?).ok()
}

/// The newest manifest of a log, and its file.
pub(crate) fn newest_manifest(log: &Path) -> Option<(PathBuf, Manifest)> {
    numbers(log).into_iter().rev().find_map(|number| match record(log, number)? {
        LogRecord::Complete(manifest) => Some((log.join(format!("{number:020}")), *manifest)),
        LogRecord::Claim(_) => None,
    })
}

/// Panics unless every object that a manifest lists is there, as long as it says.
pub(crate) fn check_objects(place: &Path, manifest: &Manifest) {
    let parts = manifest.operators.values().flat_map(|operator| &operator.parts);
    for object in parts.flat_map(|part| &part.objects) {
        let found = fs::metadata(place.join(&object.name)).map(|there| there.len()).ok();
        assert_eq!(found, Some(object.length_bytes), "epoch {} lists `{}`", manifest.epoch, object.name);
    }
}

/// The parts of a plain folder in the order of their epochs: epoch and path.
fn parts(folder: &Path) -> Vec<(u64, PathBuf)> {
    let names = names(folder).into_iter().filter(|name| name.starts_with("part-"));
    names.map(|name| (name[5..15].parse().expect("a part names its epoch"), folder.join(name))).collect()
}

/// The files that the commits of a folder list, in the order of their epochs; each is as its commit says.
fn committed(folder: &Path) -> Vec<(u64, PathBuf)> {
    let mut found = Vec::new();
    for lineage in names(&folder.join("_commits")) {
        let commits = folder.join("_commits").join(lineage);
        for name in names(&commits).iter().filter(|name| !name.starts_with('.')) {
            let text = fs::read_to_string(commits.join(name)).expect("a commit can be read");
            let commit: Value = serde_json::from_str(&text).expect("a commit is JSON");
            for file in commit["files"].as_array().expect("a commit lists files") {
                let path = folder.join(file["name"].as_str().expect("a file has a name"));
                let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                assert_eq!(file["bytes"], bytes.len(), "{}", path.display());
                found.push((commit["epoch"].as_u64().expect("a commit has an epoch"), path));
            }
        }
    }
    found
}

fn lines(files: &[(u64, PathBuf)]) -> Vec<String> {
    let texts = files.iter().map(|(_, path)| fs::read_to_string(path).expect("output is text"));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The newest epoch of which something is visible.
pub(crate) fn newest_visible(out: &Path) -> Option<u64> {
    let all = [committed(&out.join("clean")), parts(&out.join("figures")), parts(&out.join("dead"))].concat();
    all.into_iter().map(|(epoch, _)| epoch).max()
}

/// Everything visible, to be compared with a later look.
pub(crate) fn visible(out: &Path) -> [Vec<String>; 3] {
    [committed(&out.join("clean")), parts(&out.join("figures")), parts(&out.join("dead"))].map(|files| lines(&files))
}

/// Panics unless what is committed below `out` is the model's.
pub(crate) fn check(out: &Path, model: &Model) {
    let [clean, figures, dead] = visible(out);
    let wrong = difference(&model.clean, &clean);
    assert!(wrong.is_empty(), "clean: missing or doubled: {wrong:?}");
    let mut seen: BTreeMap<String, (i64, i64, i64)> = BTreeMap::new();
    for line in &figures {
        let figure: Value = serde_json::from_str(line).expect("figures are JSON");
        let number = |name: &str| figure[name].as_i64().expect("a figure is a number");
        let last = seen.entry(figure["origin"].as_str().expect("an airport has a name").to_owned()).or_default();
        assert_eq!(number("flights"), last.0 + 1, "after {last:?}: {line}");
        *last = (number("flights"), number("late"), number("worst_delay"));
    }
    assert_eq!(seen, model.figures);
    let letter = |line: &String| -> Letter {
        let letter: Value = serde_json::from_str(line).expect("a dead letter is JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let origin = &letter["origin"];
        (text(&origin["split"]), origin["position"].as_u64().expect("a number"), text(&letter["value"]))
    };
    let wrong = difference(&model.dead, &dead.iter().map(letter).collect::<Vec<_>>());
    assert!(wrong.is_empty(), "dead letters: missing or doubled: {wrong:?}");
}

/// What is not on both sides equally often, with how much more often it was found; not more than a few.
fn difference<T: Ord + Clone>(expected: &[T], found: &[T]) -> Vec<(T, i64)> {
    let mut counts: BTreeMap<&T, i64> = BTreeMap::new();
    expected.iter().for_each(|it| *counts.entry(it).or_default() -= 1);
    found.iter().for_each(|it| *counts.entry(it).or_default() += 1);
    counts.into_iter().filter(|(_, count)| *count != 0).map(|(it, count)| (it.clone(), count)).take(10).collect()
}

/// What is staged, unfinished or not listed, of a job that has ended well.
pub(crate) fn leftovers(out: &Path) -> Vec<PathBuf> {
    let listed: Vec<PathBuf> = committed(&out.join("clean")).into_iter().map(|(_, path)| path).collect();
    let mut left = Vec::new();
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        for name in names(&folder) {
            let path = folder.join(&name);
            let is_data = folder.components().any(|part| part.as_os_str() == "data");
            let is_staged = folder.ends_with("staged") || name.ends_with(".tmp") || name.starts_with("publishing-");
            if path.is_dir() {
                folders.push(path);
            } else if is_staged || (is_data && !listed.contains(&path)) {
                left.push(path);
            }
        }
    }
    left
}

#[test]
fn every_way_to_lose_or_double_is_seen() {
    let mut world = World::with_checkpoints(90, "interval: 10ms");
    world.append(LINES);
    world.finish(&[]);
    world.check();
    let out = world.path("out");
    let first = |files: Vec<(u64, PathBuf)>| files.into_iter().next().expect("something is published").1;
    let (part, listed) = (first(parts(&out.join("figures"))), first(committed(&out.join("clean"))));
    let dead = first(parts(&out.join("dead")));
    let is_seen = |what: &str| {
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.check()));
        assert!(seen.is_err(), "nobody sees {what}");
    };
    for (path, what) in [(&part, "figures"), (&listed, "clean"), (&dead, "dead letters")] {
        let whole = fs::read_to_string(path).expect("it is text");
        let (line, rest) = whole.split_once('\n').expect("it has lines");
        let changes = [("a loss in", rest.to_owned()), ("a double in", format!("{whole}{line}\n"))];
        for (how, changed) in changes {
            fs::write(path, changed).expect("it can be changed");
            is_seen(&format!("{how} {what}"));
        }
        if what == "figures" {
            let backwards: Vec<&str> = whole.lines().rev().collect();
            fs::write(path, backwards.join("\n")).expect("it can be changed");
            is_seen("another order of figures");
        }
        fs::write(path, &whole).expect("it can be put back");
        world.check();
    }
    let again = part.with_file_name("part-9999999999-00000-00000-0000000000000000.jsonl");
    fs::copy(&part, &again).expect("it can be doubled");
    is_seen("a part that is published twice");
    let early = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.check_hidden()));
    assert!(early.is_err(), "nobody sees an epoch without a manifest");
    fs::remove_file(&again).expect("it can be removed");
    for left in ["figures/.tidegate/.x.tmp", "clean/data/orphan.jsonl"] {
        fs::write(out.join(left), "").expect("it can be made");
        is_seen(left);
        fs::remove_file(out.join(left)).expect("it can be removed");
    }
    world.check();
}
