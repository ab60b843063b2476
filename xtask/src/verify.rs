//! `cargo xtask verify`, and the commands that are one call of cargo: `bench`, `doc`, `fuzz`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, has, root, run};
use crate::stages::{Outcome, Stages};
use crate::tally::Tally;
use crate::{native, setup, test};

/// Everything that has to hold. Every stage runs, so that one failure does not hide another.
pub(crate) fn command(fast: bool) -> Result<()> {
    let root = root()?;
    let mut stages = Stages::default();
    let mut tally = Tally::default();
    let ready = stages.run("setup", setup::stage) && stages.run("setup for C++", native::stage);
    stages.run("format", || for_each_workspace(&root, &every_workspace(&root), &["fmt", "--all", "--check"], &[]));
    stages.run("tidy", || cargo_stage(&root, &["test", "--quiet", "--package", "tidy"]));
    stages.run("lints", || cargo_stage(&root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    stages.run("lints of guests", || {
        let guests = guest_workspaces(&root);
        for_each_workspace(&root, &guests, &["clippy", "--workspace", "--all-targets"], &["--", "-D", "warnings"])
    });
    if fast {
        stages.run("tests", || Ok(Outcome::Skipped("asked for by --fast".to_owned())));
    } else if ready {
        test::stages_of(&mut stages, &mut tally, &test::Scope { packages: &[], features: &[] }, &[])?;
    }
    stages.run("documentation", || document(&root, true));
    stages.run("licences", || licences(&root));
    stages.run("web UI", || Ok(Outcome::Skipped("not available yet".to_owned())));
    let finished = stages.finish("verify");
    if !fast {
        println!("\n{tally}");
    }
    finished
}

/// `cargo xtask doc`.
pub(crate) fn doc() -> Result<()> {
    let root = root()?;
    let mut stages = Stages::default();
    stages.run("documentation", || document(&root, false));
    let pages = crate::shell::target_directory(&root)?.join("doc");
    stages.finish("doc")?;
    println!("\nopen {}", pages.join("tidegate/index.html").display());
    Ok(())
}

/// `cargo xtask bench`.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    let root = root()?;
    let mut stages = Stages::default();
    if stages.run("setup", setup::stage) {
        stages.run("bench", || {
            run(cargo(&root).args(["run", "--release", "--quiet", "--package", "bench", "--"]).args(arguments))?;
            Ok(Outcome::done())
        });
    }
    stages.finish("bench")
}

/// Fuzz targets that wasmtime is built for.
const FUZZ_GUESTS: [&str; 2] = ["guest_data", "module_file"];

/// `cargo xtask fuzz`.
pub(crate) fn fuzz(target: Option<&str>, seconds: u32) -> Result<()> {
    let folder = root()?.join("fuzz");
    let targets = fuzz_targets(&folder)?;
    let Some(target) = target else {
        println!("fuzz targets: {}", targets.join(", "));
        return Ok(());
    };
    if !targets.iter().any(|it| it == target) {
        bail!("no fuzz target `{target}`; there are {}", targets.join(", "));
    }
    if !has("cargo-fuzz") {
        bail!("cargo-fuzz is not installed: run `cargo install cargo-fuzz`, and have a nightly compiler");
    }
    let limit = format!("-max_total_time={seconds}");
    // What it finds goes into the first folder; the seeds are read.
    let (found, seeds) = (format!("corpus/{target}"), format!("seeds/{target}"));
    std::fs::create_dir_all(folder.join(&found)).with_context(|| format!("make `{found}` in `fuzz`"))?;
    let mut command = cargo(&folder);
    command.args(["+nightly", "fuzz", "run", "--fuzz-dir", "."]);
    if FUZZ_GUESTS.contains(&target) {
        command.args(["--features", "guest"]);
    }
    command.args([target, &found]);
    if folder.join(&seeds).is_dir() {
        command.arg(&seeds);
    }
    run(command.args(["--", &limit]))
}

fn fuzz_targets(folder: &Path) -> Result<Vec<String>> {
    let sources = folder.join("fuzz_targets");
    let entries = std::fs::read_dir(&sources).with_context(|| format!("read `{}`", sources.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|it| it == "rs"))
        .filter_map(|entry| entry.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// The workspaces of guests: the examples, those of tests and benchmarks.
fn guest_workspaces(root: &Path) -> Vec<PathBuf> {
    let folders = [root.join("examples"), root.join("tests/guests"), root.join("bench/guests")];
    folders.into_iter().filter(|folder| folder.join("Cargo.toml").is_file()).collect()
}

/// Ours, those, and the fuzz targets.
fn every_workspace(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.to_path_buf()];
    folders.extend(guest_workspaces(root));
    folders.push(root.join("fuzz"));
    folders
}

fn for_each_workspace(root: &Path, folders: &[PathBuf], arguments: &[&str], last: &[&str]) -> Result<Outcome> {
    let mut failed = Vec::new();
    for folder in folders {
        if run(cargo(folder).args(arguments).args(last)).is_err() {
            failed.push(folder.strip_prefix(root).unwrap_or(folder).join("Cargo.toml").display().to_string());
        }
    }
    if failed.is_empty() {
        return Ok(Outcome::done());
    }
    bail!("`cargo {}` refuses {}", arguments.join(" "), failed.join(", "));
}

fn cargo_stage(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    run(cargo(root).args(arguments)).map(|()| Outcome::done())
}

fn document(root: &Path, strict: bool) -> Result<Outcome> {
    let mut command = cargo(root);
    command.args(["doc", "--workspace", "--no-deps"]);
    if strict {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    run(&mut command).map(|()| Outcome::done())
}

fn licences(root: &Path) -> Result<Outcome> {
    if !has("cargo-deny") {
        return Ok(Outcome::Skipped("cargo-deny is not installed: run `cargo install cargo-deny`".to_owned()));
    }
    cargo_stage(root, &["deny", "--all-features", "check", "licenses", "bans", "sources"])
}
