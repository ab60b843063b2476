use tidegate::testing::{Harness, Record};

use super::Aliases;

fn feature(id: &str, ids: &str) -> Record {
    Record::json(&format!(
        r#"{{"id":"{id}","properties":{{"ids":"{ids}","updated":5,"mag":2.5,"place":"here","status":"automatic"}}}}"#
    ))
}

#[test]
fn a_quake_with_two_ids_comes_out_under_both() {
    let run = Harness::<Aliases>::new().run([feature("us1", ",us1,ci2,")]);
    let ids: Vec<String> = run.main().iter().map(|out| out.field::<String>("id")).collect();
    assert_eq!(ids, ["us1", "ci2"]);
    assert!(run.main().iter().all(|out| out.field::<String>("event") == "us1"));
}

#[test]
fn a_quake_without_ids_is_a_bad_record() {
    let run = Harness::<Aliases>::new().run([feature("us1", ","), feature("us2", ",us2,")]);
    assert_eq!(run.bad_records()[0].message(), "quake `us1` has no ids: expected `,id,id,`, found `,`");
    assert_eq!(run.main().len(), 1);
}
