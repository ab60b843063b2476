use super::{Runs, report, steps};
use crate::measure::Cost;
use crate::restarts::{RestartFound, Step};

fn runs(step: Step, wall_ns: u64) -> Runs {
    let cost = Cost { wall_ns, cpu_ns: 1 };
    let found = RestartFound { first: cost, last: cost, stored_bytes: 1, resident_peak_bytes: 1 };
    Runs { state_bytes: 1 << 30, step, found: vec![found] }
}

#[test]
fn a_restart_is_judged_by_the_slower_of_the_bare_loops() {
    let restart = Step::Restart { parallelism: 1 };
    let all = [runs(Step::ReadFiles, 100), runs(Step::BuildTable, 400), runs(restart, 800)];
    let text = report("recovery", &all).text();
    assert!(
        text.contains("met    1024 MiB: speed of the slower of reading and building: 0.500 (bound 0.500)"),
        "{text}"
    );
}

#[test]
fn the_bare_loops_stand_before_the_restarts_and_after_them_in_turn() {
    let restarts = [1, 2, 4].map(|parallelism| Step::Restart { parallelism });
    assert_eq!(steps(4, 0), [&[Step::ReadFiles, Step::BuildTable][..], &restarts].concat());
    assert_eq!(steps(4, 1), [&restarts[..], &[Step::ReadFiles, Step::BuildTable]].concat());
    assert_eq!(steps(1, 0).len(), 3);
}
