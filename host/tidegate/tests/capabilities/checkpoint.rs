//! From a checkpoint.

use crate::kit::Job;

const RUN: [&str; 2] = ["run", "job.yaml"];

#[test]
fn at_another_parallelism_every_key_finds_its_state() {
    let job = Job::counted();
    job.add("b", "a\nb\n");
    job.done(&["run", "job.yaml", "--parallelism", "3"]);
    assert_eq!(job.counts(), ["a 1", "a 2", "a 3", "b 1", "b 2"]);
}

#[test]
fn a_new_version_with_a_field_that_has_a_default_goes_on_and_so_does_the_old_one() {
    let job = Job::counted();
    for (version, count) in [("field", "a 3"), ("first", "a 4")] {
        job.is(&Job::with(version));
        job.add(version, "a\n");
        job.done(&RUN);
        assert!(job.has(count), "{version}: {:?}", job.counts());
    }
}

#[test]
fn a_new_version_with_its_states_in_another_order_finds_each_by_its_name() {
    let job = Job::counted();
    job.is(&Job::with("swapped"));
    job.add("b", "a\n");
    let said = job.done(&RUN);
    assert!(said.contains("state of `count` is as the job wants it"), "{said}");
    assert!(job.has("a 3"));
}

#[test]
fn a_new_version_of_another_type_migrates_and_the_old_one_is_refused_then() {
    let job = Job::counted();
    job.is(&Job::with("retyped"));
    job.add("b", "a\n");
    let said = job.done(&RUN);
    assert!(said.contains("2 of them migrated"), "{said}");
    assert!(job.has("a 21"), "{:?}", job.counts());
    job.is(&Job::with("first"));
    let said = job.refused(&RUN);
    assert!(said.contains("E0630") && said.contains("it has version 2 and the module knows version 1"), "{said}");
}

#[test]
fn a_new_version_whose_migrate_traps_or_never_ends_changes_nothing() {
    let job = Job::counted();
    job.is(&Job::with("traps"));
    let said = job.refused(&RUN);
    assert!(said.contains("E0631") && said.contains("`count/visits` from version 1: key `a`"), "{said}");
    job.is(&Job::with("loops"));
    let said = job.refused(&RUN);
    assert!(said.contains("E0631") && said.contains("out-of-fuel"), "{said}");
    // What ran before runs on, and what is right is accepted.
    job.is(&Job::with("first"));
    job.add("b", "a\n");
    job.done(&RUN);
    assert!(job.has("a 3"));
    job.is(&Job::with("retyped"));
    job.add("c", "a\n");
    job.done(&RUN);
    assert!(job.has("a 31"));
}

#[test]
fn a_new_version_without_a_state_is_refused_unless_the_state_is_named() {
    let job = Job::counted();
    job.is(&Job::with("without"));
    let said = job.refused(&RUN);
    assert!(said.contains("E0630") && said.contains("`count/words`: the module does not have it"), "{said}");
    job.add("b", "a\n");
    job.done(&["run", "job.yaml", "--allow-dropped-state", "count/words"]);
    assert!(job.has("a 3"));
    let shown = job.done(&["checkpoint", "show"]);
    assert!(!shown.contains("words"), "{shown}");
}

#[test]
fn a_state_of_another_name_is_not_found() {
    let job = Job::counted();
    job.is(&Job::with("renamed"));
    let said = job.refused(&RUN);
    assert!(said.contains("E0630") && said.contains("`count/visits`: the module does not have it"), "{said}");
}

#[test]
fn a_version_that_does_not_exist_is_refused_and_the_old_one_runs_on() {
    let job = Job::counted();
    job.is(&Job::with("missing"));
    job.refused(&RUN);
    job.is(&Job::with("first"));
    job.add("b", "a\n");
    job.done(&RUN);
    assert!(job.has("a 3"));
}

#[test]
fn an_operator_of_another_name_is_not_found() {
    let job = Job::counted();
    job.is(&Job::with("first").replace("count:", "tally:").replace("input: count", "input: tally"));
    let said = job.refused(&RUN);
    assert!(said.contains("E0436") && said.contains("`count`"), "{said}");
}
