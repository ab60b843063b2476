//! `cargo xtask demo`: a real job, checked; and `guests`.
//!
//! The job drops repeated deliveries from a file of flight records, in two subtasks, through a function
//! built from `examples/dedup/guest`. What must come out is in `examples/dedup/expected/counts.json`; it
//! was made by another program, and names the counts and the checksum of the sorted output, so that a
//! loss and a repeat cannot make up for each other. Then the same job, with checkpoints, is killed and started
//! again: see [`kills`].

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use console::style;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolchain::{BuildOptions, build_guest};

use crate::setup;
use crate::shell::{capture, cargo, root, run, target_directory};
use crate::stages::{Outcome, Stages};

mod kills;

/// `cargo xtask demo`.
pub(crate) fn command() -> Result<()> {
    let root = root()?;
    let mut stages = Stages::default();
    let mut result = String::new();
    let built = stages.run("setup", setup::stage)
        && stages.run("build tidegate", || {
            // A test beside the binary makes cargo decide the features as for the tests: no dependency is compiled twice.
            let arguments = ["build", "--workspace", "--no-default-features", "--bin", "tidegate", "--test", "tree"];
            run(cargo(&root).args(arguments)).map(|()| Outcome::done())
        })
        && stages.run("build the function", || {
            run(&mut tidegate(&root, &["build", "examples/dedup/guest"])?).map(|()| Outcome::done())
        });
    if built {
        stages.run("run and check", || {
            result = run_and_check(&root)?;
            Ok(Outcome::done())
        });
        stages.run("kill and check", || {
            let target = target_directory(&root)?;
            let checked = kills::run_and_check(&root, &target.join("debug/tidegate"), &target.join("demo"))?;
            result = format!("{result}\n{checked}");
            Ok(Outcome::done())
        });
    }
    stages.finish("demo")?;
    println!("\n{result}");
    Ok(())
}

/// The binary that was built, with arguments.
fn tidegate(root: &Path, arguments: &[&str]) -> Result<std::process::Command> {
    let mut command = std::process::Command::new(target_directory(root)?.join("debug/tidegate"));
    command.args(arguments).current_dir(root).stdin(std::process::Stdio::null());
    Ok(command)
}

/// Runs the job and returns what to print; an error if anything is not as expected.
fn run_and_check(root: &Path) -> Result<String> {
    let example = root.join("examples/dedup");
    let expected =
        read_json(&fs::read_to_string(example.join("expected/counts.json")).context("read what must come out")?)?;
    let printed = capture(&mut tidegate(root, &["run", "examples/dedup/job.yaml", "--output", "json"])?)?;
    let summary = read_json(printed.trim())?;
    let found = Found::of(&summary, &lines_below(&example.join("out/clean"))?)?;
    let wrong = found.differences(&expected);
    if !wrong.is_empty() {
        bail!("the result is wrong:\n  {}", wrong.join("\n  "));
    }
    let number = |name: &str| summary.get(name).and_then(Value::as_f64).unwrap_or_default();
    Ok(format!(
        "{}  {} records in, {} unique, {} duplicates, in {} subtasks\n         every line is one that must come out, and none is missing: sha256 {}…\n         {:.0} records per second, {:.2} s, {:.2} CPU-seconds",
        style("checked").green().bold(),
        found.records_in,
        found.unique,
        found.duplicates,
        found.subtasks,
        found.output_sha256.get(..16).unwrap_or_default(),
        number("records_per_second"),
        number("elapsed_seconds"),
        number("cpu_seconds"),
    ))
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    records_in: u64,
    unique: u64,
    duplicates: u64,
    subtasks: u64,
    /// Of the output's lines, sorted, each with its line feed.
    output_sha256: String,
}

impl Found {
    fn of(summary: &Value, lines: &[Vec<u8>]) -> Result<Self> {
        let operators =
            summary.get("operators").and_then(Value::as_array).context("find the operators in the summary")?;
        let dedup = operators
            .iter()
            .find(|operator| operator.get("uid").and_then(Value::as_str) == Some("dedup"))
            .context("find the operator `dedup` in the summary")?;
        let count = |of: &Value, name: &str| {
            let value = of.get(name).with_context(|| format!("find `{name}` in the summary"))?;
            // Counters of a function may be fractions, so they come as such.
            let as_whole = value.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0);
            let text = as_whole.map(|it| format!("{it:.0}")).with_context(|| format!("`{name}` is {value}"))?;
            text.parse::<u64>().with_context(|| format!("`{name}` is {value}"))
        };
        let counters = dedup.get("counters").context("find the counters of `dedup` in the summary")?;
        let mut digest = Sha256::new();
        for line in lines {
            digest.update(line);
            digest.update(b"\n");
        }
        Ok(Self {
            records_in: count(summary, "records_in")?,
            unique: count(dedup, "records_out")?,
            duplicates: count(counters, "duplicates")?,
            subtasks: count(dedup, "parallelism")?,
            output_sha256: digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// What is not as expected, a line each.
    fn differences(&self, expected: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, found) in [("records_in", self.records_in), ("unique", self.unique), ("duplicates", self.duplicates)]
        {
            match expected.get(name).and_then(Value::as_u64) {
                Some(number) if number == found => {}
                Some(number) => wrong.push(format!("{name}: {found}, expected {number}")),
                None => wrong.push(format!("{name}: {found}, and nothing is expected: counts.json is not complete")),
            }
        }
        let checksum = expected.get("sorted_output_sha256").and_then(Value::as_str).unwrap_or("nothing");
        if checksum != self.output_sha256 {
            wrong.push(format!("sha256 of the sorted output: {}, expected {checksum}", self.output_sha256));
        }
        if self.subtasks != 2 {
            wrong.push(format!("subtasks: {}, expected 2", self.subtasks));
        }
        wrong
    }
}

fn read_json(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("read `{text}` as JSON"))
}

/// The lines of every file below a folder that is not hidden, sorted.
fn lines_below(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("read the output `{}`", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                // Hidden folders hold what is staged and the notes of a sink: no reader looks there.
                if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
                    folders.push(path);
                }
                continue;
            }
            let bytes = fs::read(&path).with_context(|| format!("read `{}`", path.display()))?;
            ensure!(bytes.is_empty() || bytes.ends_with(b"\n"), "`{}` ends within a line", path.display());
            lines.extend(
                bytes.split_inclusive(|it| *it == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line).to_vec()),
            );
        }
    }
    lines.sort_unstable();
    Ok(lines)
}

/// `cargo xtask guests`.
pub(crate) fn guests() -> Result<()> {
    let root = root()?;
    let mut stages = Stages::default();
    if stages.run("setup", setup::stage) {
        stages.run("guests of the examples", || build_all(&root.join("examples")));
        stages.run("guests of the tests", || build_all(&root.join("tests/guests")));
    }
    stages.finish("guests")
}

/// Builds every package of a workspace that makes a module.
fn build_all(folder: &Path) -> Result<Outcome> {
    if !folder.join("Cargo.toml").is_file() {
        return Ok(Outcome::Skipped(format!("`{}` has no guests", folder.display())));
    }
    let manifests = guest_manifests(folder)?;
    ensure!(!manifests.is_empty(), "`{}` has no package that makes a module", folder.display());
    let mut bytes = 0;
    for manifest in &manifests {
        let guest = build_guest(manifest, &BuildOptions { quiet: true, ..BuildOptions::default() })?;
        println!("{:>9} bytes  {}", guest.component.len(), guest.package);
        bytes += guest.component.len();
    }
    Ok(Outcome::Done(format!("{} components, {bytes} bytes", manifests.len())))
}

fn guest_manifests(folder: &Path) -> Result<Vec<PathBuf>> {
    let output = cargo(folder)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("run `cargo metadata`")?;
    let metadata = read_json(&String::from_utf8_lossy(&output.stdout))?;
    let packages = metadata.get("packages").and_then(Value::as_array).context("find the packages")?;
    let is_module = |package: &&Value| package.get("targets").is_some_and(|it| it.to_string().contains("\"cdylib\""));
    let paths = packages.iter().filter(is_module).filter_map(|package| package.get("manifest_path")?.as_str());
    Ok(paths.map(PathBuf::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = r#"{"records_in": 3, "operators": [
        {"uid": "flights"},
        {"uid": "dedup", "parallelism": 2, "records_out": 2, "counters": {"duplicates": 1.0}}]}"#;

    fn check(summary: &str, lines: &[&str]) -> Vec<String> {
        let expected = r#"{"records_in": 3, "unique": 2, "duplicates": 1,
            "sorted_output_sha256": "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2"}"#;
        let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        Found::of(&read_json(summary).unwrap(), &lines).unwrap().differences(&read_json(expected).unwrap())
    }

    #[test]
    fn a_right_result_has_no_differences() {
        assert_eq!(check(SUMMARY, &["a", "b"]), Vec::<String>::new());
    }

    #[test]
    fn a_loss_and_a_repeat_do_not_make_up_for_each_other() {
        let wrong = check(SUMMARY, &["a", "a"]);
        assert!(wrong.len() == 1 && wrong[0].contains("sha256"), "{wrong:?}");
    }

    #[test]
    fn every_wrong_count_is_named() {
        let wrong = check(&SUMMARY.replace("\"records_out\": 2", "\"records_out\": 1"), &["a", "b"]);
        assert_eq!(wrong, ["unique: 1, expected 2"]);
        let wrong = check(&SUMMARY.replace("\"parallelism\": 2", "\"parallelism\": 1"), &["a", "b"]);
        assert_eq!(wrong, ["subtasks: 1, expected 2"]);
    }

    #[test]
    fn lines_of_several_files_come_sorted_and_a_torn_one_is_an_error() {
        let folder = std::env::temp_dir().join(format!("xtask-demo-{}", std::process::id()));
        fs::create_dir_all(folder.join("deeper")).unwrap();
        fs::write(folder.join("1"), "b\n\n").unwrap();
        fs::write(folder.join("deeper/0"), "a\n").unwrap();
        assert_eq!(lines_below(&folder).unwrap(), [&b""[..], b"a", b"b"]);
        fs::write(folder.join("1"), "b\nhalf").unwrap();
        assert!(lines_below(&folder).unwrap_err().to_string().contains("ends within a line"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
