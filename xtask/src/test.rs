//! `cargo xtask test`.
//!
//! Cargo's own runner, not nextest: what many tests of a file share (a guest compiled, an engine made)
//! is made once per process, and nextest would make it once per test.

use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::{cargo, root, run_seeing};
use crate::stages::{Outcome, Stages};
use crate::tally::Tally;
use crate::{native, setup};

/// Runs the tests; the last line is their count.
pub(crate) fn command(packages: &[String], lean: bool, filter: &[String]) -> Result<()> {
    let mut stages = Stages::default();
    let mut tally = Tally::default();
    let features = native::features_of(packages, lean);
    let ready = stages.run("setup", setup::stage);
    if ready && (!native::is_needed(packages, lean) || stages.run("setup for C++", native::stage)) {
        stages_of(&mut stages, &mut tally, &Scope { packages, features: &features }, filter)?;
    }
    let finished = stages.finish("test");
    println!("\n{tally}");
    finished
}

/// Runs the simulation of the checkpoint protocol with so many seeds, or with one.
pub(crate) fn sim(seeds: u64, seed: Option<u64>) -> Result<()> {
    let root = root()?;
    let mut stages = Stages::default();
    stages.run("sim", || {
        let mut command = cargo(&root);
        command.args(["test", "--package", "sim"]).env("TIDEGATE_SIM_SEEDS", seeds.to_string());
        if let Some(seed) = seed {
            command.env("TIDEGATE_SIM_SEED", seed.to_string()).args(["--", "every_record_counts_once"]);
        }
        crate::shell::run(&mut command).map(|()| Outcome::done())
    });
    stages.finish("sim")
}

/// What is tested.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The rooms; none: all.
    pub(crate) packages: &'a [String],
    /// What names their features to cargo.
    pub(crate) features: &'a [String],
}

/// The stages of the tests, for commands that have others too.
pub(crate) fn stages_of(stages: &mut Stages, tally: &mut Tally, what: &Scope<'_>, filter: &[String]) -> Result<()> {
    let root = root()?;
    let Scope { packages, features } = *what;
    let mut scope: Vec<&str> = packages.iter().flat_map(|name| ["-p", name]).collect();
    if scope.is_empty() {
        scope.push("--workspace");
    }
    scope.extend(features.iter().map(String::as_str));
    let filter: Vec<&str> = filter.iter().map(String::as_str).collect();
    // Building apart from running shows where the time goes, and fails before the first test runs.
    let built = stages.run("build tests", || {
        let mut command = cargo(&root);
        command.args(["test", "--no-run", "--quiet"]).args(&scope);
        crate::shell::run(&mut command).map(|()| Outcome::done())
    });
    if !built {
        return Ok(());
    }
    counted(stages, tally, "tests", &root, &scope, &filter);
    if packages.is_empty() {
        let examples = root.join("examples");
        if examples.join("Cargo.toml").is_file() {
            counted(stages, tally, "example guests", &examples, &["--workspace"], &filter);
        }
    }
    Ok(())
}

/// A stage that runs tests and adds to the tally.
fn counted(stages: &mut Stages, tally: &mut Tally, name: &'static str, folder: &Path, scope: &[&str], filter: &[&str]) {
    stages.run(name, || {
        let mut seen = Tally::default();
        let mut command = cargo(folder);
        command.args(["test", "--no-fail-fast"]).args(scope);
        if !filter.is_empty() {
            command.arg("--").args(filter);
        }
        let good = run_seeing(&mut command, |line| seen.see(line))?;
        tally.add(seen);
        if !good || seen.failed > 0 {
            bail!("{seen}");
        }
        Ok(Outcome::Done(seen.to_string()))
    });
}
