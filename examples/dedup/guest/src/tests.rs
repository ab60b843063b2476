use tidegate::testing::{Harness, Record};

use super::Dedup;

fn flight(id: &str, delivered_at: i64) -> Record {
    Record::json(&format!(r#"{{"id":"{id}","delivered_at":{delivered_at}}}"#))
}

#[test]
fn the_first_delivery_of_each_flight_passes() {
    let mut dedup = Harness::<Dedup>::new().key_at("/id");
    let deliveries = [flight("a", 1), flight("a", 1), flight("b", 2), flight("a", 900), flight("c", 3), flight("b", 2)];
    let run = dedup.run_every_way(deliveries);
    let passed: Vec<usize> = run.main().iter().map(|out| out.index()).collect();
    assert_eq!(passed, [0, 2, 4]);
    assert!(run.main().iter().all(|out| out.is_forwarded()));
    assert_eq!(dedup.metric("duplicates"), 3.0);
}
