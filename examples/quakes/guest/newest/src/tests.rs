use tidegate::testing::{Harness, Record};

use super::Newest;

fn version(key: &str, updated: i64) -> Record {
    Record::json(&format!(r#"{{"updated":{updated}}}"#)).key(key)
}

#[test]
fn a_version_passes_only_if_it_is_newer_than_all_before_it() {
    let mut newest = Harness::<Newest>::new();
    let run =
        newest.run_every_way([version("a", 5), version("a", 3), version("a", 5), version("b", 1), version("a", 9)]);
    let rows: Vec<usize> = run.main().iter().map(|out| out.index()).collect();
    assert_eq!(rows, [0, 3, 4]);
    assert_eq!(newest.metric("stale"), 2.0);
    assert_eq!(newest.state("newest").value::<i64>(b"a"), Some(9));
}
