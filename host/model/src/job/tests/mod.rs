mod fitting;
mod properties;
mod reading;
mod refusals;
mod schema;

use super::{JobFileErrors, JobSpec};

/// A file that uses every key there is something behind.
const FULL: &str = include_str!("full.yaml");

/// A small job with `functions` and further top-level keys put in.
fn job(functions: &str, more: &str) -> String {
    format!(
        "name: a\nsources:\n  orders:\n    file: {{ path: ./in }}\nfunctions:\n{functions}\nsinks:\n  out:\n    input: orders\n    stdout:\n{more}"
    )
}

fn parse(text: &str) -> Result<JobSpec, JobFileErrors> {
    JobSpec::parse(text, "jobs/a.yaml")
}

/// What a person is told about a text that is refused.
fn refusal(text: &str) -> String {
    parse(text).expect_err("the text is refused").to_string()
}

/// The codes of what is wrong, in the order of the file.
fn codes(text: &str) -> Vec<&'static str> {
    match parse(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.problems.iter().map(|problem| problem.code).collect(),
    }
}
