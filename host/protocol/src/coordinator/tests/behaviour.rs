use std::time::Duration;

use model::Epoch;

use crate::coordinator::{
    AbortReason, AskerId, Command, Coordinator, Fact, FailReason, Hold, MAX_ASKERS, Options, SinkNumber, Start,
    StorePhase, SubtaskFigures, SubtaskNumber, WaitsFor,
};
use crate::manifest::CheckpointKind;

const FIRST: SubtaskNumber = SubtaskNumber(0);
const SECOND: SubtaskNumber = SubtaskNumber(1);
const SINK: SinkNumber = SinkNumber(0);

/// Two subtasks, one sink; every 10 s, timeout 60 s, 1 s of pause, one failure survived.
fn two() -> Coordinator {
    let options = Options { tolerable_failures: 1, max_unpublished: 2, ..Options::default() };
    Coordinator::new(options, Start { subtasks: 2, sinks: vec![vec![]], first_epoch: Epoch(1) })
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn handed(subtask: SubtaskNumber, epoch: u64) -> Fact {
    Fact::HandedOver { subtask, epoch: Epoch(epoch) }
}

fn acknowledged(subtask: SubtaskNumber, epoch: u64) -> Fact {
    Fact::Acknowledged { subtask, epoch: Epoch(epoch), figures: SubtaskFigures::default() }
}

fn created(epoch: u64) -> Fact {
    Fact::ManifestCreated { epoch: Epoch(epoch) }
}

fn published(epoch: u64) -> Fact {
    Fact::Published { sink: SINK, epoch: Epoch(epoch) }
}

fn trigger(epoch: u64, kind: CheckpointKind) -> Command {
    Command::Trigger { epoch: Epoch(epoch), kind }
}

fn create(epoch: u64, kind: CheckpointKind, owed_from: u64) -> Command {
    Command::CreateManifest { epoch: Epoch(epoch), kind, owed_from: Epoch(owed_from) }
}

fn tick(coordinator: &mut Coordinator, at: u64) -> Vec<Command> {
    coordinator.step(seconds(at), Fact::Tick)
}

/// Steps through facts at one time; only the last may command anything.
fn steps(coordinator: &mut Coordinator, at: u64, facts: impl IntoIterator<Item = Fact>) -> Vec<Command> {
    let mut last = Vec::new();
    for fact in facts {
        assert_eq!(last, [], "before {fact:?}");
        last = coordinator.step(seconds(at), fact);
    }
    last
}

/// Everything of `epoch` becomes durable at `at`.
fn settle(coordinator: &mut Coordinator, at: u64, epoch: u64) -> Vec<Command> {
    let facts = [FIRST, SECOND].map(|subtask| [handed(subtask, epoch), acknowledged(subtask, epoch)]);
    steps(coordinator, at, facts.into_iter().flatten())
}

#[test]
fn a_checkpoint_is_triggered_collected_created_completed_and_published() {
    let mut two = two();
    assert_eq!(two.next_wake(), Some(seconds(10)));
    assert_eq!(tick(&mut two, 9), []);
    assert_eq!(tick(&mut two, 10), [trigger(1, CheckpointKind::Periodic)]);
    assert_eq!(two.next_wake(), Some(seconds(70)));
    assert_eq!(settle(&mut two, 11, 1), [create(1, CheckpointKind::Periodic, 1)]);
    assert_eq!(two.next_wake(), None);
    let epoch = Epoch(1);
    assert_eq!(
        two.step(seconds(12), created(1)),
        [
            Command::Complete { epoch, kind: CheckpointKind::Periodic },
            Command::Publish { sink: SINK, epoch },
            Command::Retain { newest: epoch },
        ]
    );
    assert_eq!(two.last_complete(), Some((epoch, seconds(12))));
    assert_eq!(two.unpublished(), 1);
    assert_eq!(two.step(seconds(13), published(1)), []);
    assert_eq!(two.unpublished(), 0);
    assert_eq!(two.next_wake(), Some(seconds(20)));
    let figures = two.history().next().unwrap();
    assert_eq!(
        (figures.triggered_at, figures.completed_at, figures.published_at),
        (seconds(10), Some(seconds(12)), Some(seconds(13)),)
    );
    assert_eq!(figures.subtasks.len(), 2);
}

#[test]
fn a_checkpoint_longer_than_the_interval_delays_the_next_and_none_is_made_up_for() {
    let mut two = two();
    tick(&mut two, 10);
    assert_eq!(tick(&mut two, 45), []);
    settle(&mut two, 46, 1);
    steps(&mut two, 47, [created(1)]);
    assert_eq!(tick(&mut two, 47), [], "the pause");
    assert_eq!(two.next_wake(), Some(seconds(48)));
    assert_eq!(tick(&mut two, 48), [trigger(2, CheckpointKind::Periodic)]);
    settle(&mut two, 49, 2);
    steps(&mut two, 49, [created(2)]);
    steps(&mut two, 49, [published(2)]);
    assert_eq!(two.next_wake(), Some(seconds(58)), "one interval after the last trigger");
}

#[test]
fn what_an_aborted_epoch_handed_over_is_owed_by_the_next() {
    let mut two = two();
    tick(&mut two, 10);
    steps(&mut two, 11, [handed(FIRST, 1)]);
    let reason = AbortReason::TimedOut { missing: 1, first: SECOND };
    assert_eq!(tick(&mut two, 70), [Command::Abort { epoch: Epoch(1), reason: reason.clone() }]);
    assert_eq!(two.history().next().unwrap().aborted, Some(reason));
    assert_eq!(tick(&mut two, 71), [trigger(2, CheckpointKind::Periodic)]);
    assert_eq!(settle(&mut two, 72, 2), [], "the first subtask still owes its part of epoch 1");
    assert_eq!(two.step(seconds(73), acknowledged(FIRST, 1)), [create(2, CheckpointKind::Periodic, 1)]);
    steps(&mut two, 74, [created(2)]);
    assert_eq!(tick(&mut two, 81), [trigger(3, CheckpointKind::Periodic)]);
    assert_eq!(settle(&mut two, 82, 3), [create(3, CheckpointKind::Periodic, 3)], "nothing is listed twice");
}

#[test]
fn late_and_repeated_acknowledgements_change_nothing() {
    let mut two = two();
    tick(&mut two, 10);
    assert_eq!(two.step(seconds(11), acknowledged(FIRST, 1)), [], "before the hand-over");
    steps(&mut two, 11, [handed(FIRST, 1), acknowledged(FIRST, 1), acknowledged(FIRST, 1)]);
    tick(&mut two, 70);
    tick(&mut two, 71);
    assert_eq!(two.step(seconds(72), acknowledged(FIRST, 1)), []);
    assert_eq!(settle(&mut two, 72, 2), [create(2, CheckpointKind::Periodic, 1)]);
    steps(&mut two, 73, [created(2)]);
    for fact in [acknowledged(SECOND, 2), acknowledged(SECOND, 9), created(2), created(9), published(9)] {
        assert_eq!(two.step(seconds(73), fact), []);
    }
}

#[test]
fn more_aborts_in_a_row_than_survived_fail_the_job() {
    let mut two = two();
    tick(&mut two, 10);
    tick(&mut two, 70);
    tick(&mut two, 71);
    steps(&mut two, 71, [handed(SECOND, 2)]);
    let last = AbortReason::TimedOut { missing: 1, first: FIRST };
    assert_eq!(
        tick(&mut two, 131),
        [
            Command::Abort { epoch: Epoch(2), reason: last.clone() },
            Command::Fail(FailReason::TooManyAborts { aborts: 2, epoch: Epoch(2), last }),
        ]
    );
    assert_eq!(tick(&mut two, 1000), []);
    assert_eq!(two.next_wake(), None);
}

#[test]
fn a_complete_checkpoint_forgives_the_aborts_before_it() {
    let mut two = two();
    for round in 0..5 {
        let at = round * 1000;
        tick(&mut two, at + 10);
        assert!(matches!(tick(&mut two, at + 200)[..], [Command::Abort { .. }]), "round {round}");
        let epoch = round * 2 + 2;
        assert_eq!(tick(&mut two, at + 300), [trigger(epoch, CheckpointKind::Periodic)]);
        settle(&mut two, at + 301, epoch);
        steps(&mut two, at + 302, [created(epoch)]);
        steps(&mut two, at + 302, [published(epoch)]);
    }
}

#[test]
fn a_manifest_of_unknown_outcome_is_created_again_and_never_aborted() {
    let mut two = two();
    tick(&mut two, 10);
    settle(&mut two, 11, 1);
    for at in [100, 200, 300] {
        assert_eq!(two.step(seconds(at), Fact::ManifestUnknown { epoch: Epoch(1) }), []);
        assert_eq!(two.next_wake(), Some(seconds(at + 1)));
        assert_eq!(tick(&mut two, at + 1), [create(1, CheckpointKind::Periodic, 1)]);
    }
    assert!(matches!(two.step(seconds(400), created(1))[..], [Command::Complete { .. }, ..]));
}

#[test]
fn a_refusal_after_an_unknown_outcome_leaves_the_decision_to_a_restart() {
    let mut two = two();
    tick(&mut two, 10);
    settle(&mut two, 11, 1);
    steps(&mut two, 12, [Fact::ManifestUnknown { epoch: Epoch(1) }]);
    let refused = Fact::ManifestRefused { epoch: Epoch(1), why: "too long".to_owned() };
    let commands = two.step(seconds(13), refused);
    assert_eq!(commands, [Command::Fail(FailReason::InDoubt { epoch: Epoch(1), why: "too long".to_owned() })]);
}

#[test]
fn a_refused_manifest_aborts_its_epoch() {
    let mut two = two();
    tick(&mut two, 10);
    settle(&mut two, 11, 1);
    let why = "too long".to_owned();
    let reason = AbortReason::ManifestRefused { why: why.clone() };
    let commands = two.step(seconds(12), Fact::ManifestRefused { epoch: Epoch(1), why });
    assert_eq!(commands, [Command::Abort { epoch: Epoch(1), reason }]);
    tick(&mut two, 20);
    assert_eq!(settle(&mut two, 21, 2), [create(2, CheckpointKind::Periodic, 1)]);
}

#[test]
fn a_number_taken_by_somebody_else_ends_the_incarnation() {
    let mut two = two();
    steps(&mut two, 5, [Fact::Asked { asker: AskerId(7) }]);
    settle(&mut two, 6, 1);
    let answer = Command::Answer { asker: AskerId(7), outcome: Err(AbortReason::JobFailed) };
    let commands = two.step(seconds(7), Fact::ManifestTaken { epoch: Epoch(1) });
    assert_eq!(commands, [answer, Command::Fail(FailReason::Fenced { epoch: Epoch(1) })]);
}

#[test]
fn an_asker_gets_a_checkpoint_that_began_after_they_asked() {
    let mut two = two();
    tick(&mut two, 10);
    assert_eq!(two.step(seconds(11), Fact::Asked { asker: AskerId(1) }), []);
    settle(&mut two, 12, 1);
    let commands = two.step(seconds(13), created(1));
    assert_eq!(commands.last(), Some(&trigger(2, CheckpointKind::OnDemand)), "at once, without a pause");
    settle(&mut two, 14, 2);
    let answer = Command::Answer { asker: AskerId(1), outcome: Ok(Epoch(2)) };
    assert!(two.step(seconds(15), created(2)).contains(&answer));
}

#[test]
fn askers_are_answered_when_their_checkpoint_is_aborted() {
    let mut two = two();
    assert_eq!(two.step(seconds(1), Fact::Asked { asker: AskerId(1) }), [trigger(1, CheckpointKind::OnDemand)]);
    let reason = AbortReason::TimedOut { missing: 2, first: FIRST };
    let answer = Command::Answer { asker: AskerId(1), outcome: Err(reason.clone()) };
    assert_eq!(tick(&mut two, 61)[..2], [Command::Abort { epoch: Epoch(1), reason }, answer]);
}

#[test]
fn askers_beyond_the_bound_are_turned_away() {
    let mut two = two();
    steps(&mut two, 1, [Fact::Store(StorePhase::Away)]);
    for asker in 0..MAX_ASKERS as u64 {
        assert_eq!(two.step(seconds(1), Fact::Asked { asker: AskerId(asker) }), []);
    }
    let answer = Command::Answer { asker: AskerId(99), outcome: Err(AbortReason::TooManyAskers) };
    assert_eq!(two.step(seconds(1), Fact::Asked { asker: AskerId(99) }), [answer]);
}

#[test]
fn the_end_of_all_sources_brings_a_final_checkpoint_and_then_the_end() {
    let mut two = two();
    assert_eq!(two.step(seconds(3), Fact::SourcesEnded), [trigger(1, CheckpointKind::Final)]);
    settle(&mut two, 4, 1);
    let commands = two.step(seconds(5), created(1));
    assert_eq!(commands.last(), Some(&Command::EndSources));
    assert_eq!(tick(&mut two, 100), []);
    assert_eq!(two.step(seconds(101), published(1)), [Command::Finish]);
    assert_eq!(two.step(seconds(102), Fact::Asked { asker: AskerId(1) }), []);
}

#[test]
fn the_final_checkpoint_is_tried_again_however_often_it_times_out() {
    let mut two = two();
    steps(&mut two, 3, [Fact::SourcesEnded]);
    for round in 0..10 {
        let at = 3 + round * 61;
        let aborted = tick(&mut two, at + 60);
        assert!(matches!(aborted[..], [Command::Abort { .. }]), "{aborted:?}");
        assert_eq!(tick(&mut two, at + 61), [trigger(round + 2, CheckpointKind::Final)]);
    }
    assert_eq!(settle(&mut two, 615, 11), [create(11, CheckpointKind::Final, 1)]);
}

#[test]
fn a_checkpoint_in_progress_ends_before_the_final_one_begins() {
    let mut two = two();
    tick(&mut two, 10);
    assert_eq!(two.step(seconds(11), Fact::SourcesEnded), []);
    settle(&mut two, 12, 1);
    assert_eq!(two.step(seconds(13), created(1)).last(), Some(&trigger(2, CheckpointKind::Final)));
}

#[test]
fn a_store_that_is_away_holds_checkpoints_and_costs_no_failures() {
    let mut two = two();
    tick(&mut two, 10);
    steps(&mut two, 11, [Fact::Store(StorePhase::Away)]);
    for _ in 0..5 {
        tick(&mut two, 70);
        assert_eq!(tick(&mut two, 500), []);
        assert_eq!((two.hold(), two.next_wake()), (Some(Hold::StoreAway), None));
    }
    steps(&mut two, 600, [Fact::Store(StorePhase::Full)]);
    assert_eq!(two.hold(), Some(Hold::StoreFull));
    let commands = two.step(seconds(700), Fact::Store(StorePhase::Ready));
    assert_eq!(commands, [trigger(2, CheckpointKind::Periodic)]);
}

#[test]
fn a_backlog_holds_checkpoints_until_it_shrinks() {
    let mut two = two();
    for epoch in 1..=2 {
        tick(&mut two, epoch * 10);
        settle(&mut two, epoch * 10 + 1, epoch);
        steps(&mut two, epoch * 10 + 2, [created(epoch)]);
    }
    assert_eq!(tick(&mut two, 100), []);
    assert_eq!((two.hold(), two.next_wake()), (Some(Hold::Backlog { unpublished: 2 }), None));
    assert_eq!(two.step(seconds(101), published(1)), [trigger(3, CheckpointKind::Periodic)]);
}

#[test]
fn what_the_manifest_started_from_lists_is_published_first() {
    let start = Start { subtasks: 2, sinks: vec![vec![Epoch(6), Epoch(7)], vec![]], first_epoch: Epoch(8) };
    let mut coordinator = Coordinator::new(Options::default(), start);
    let publish = |sink, epoch| Command::Publish { sink: SinkNumber(sink), epoch: Epoch(epoch) };
    assert_eq!(coordinator.step(seconds(0), Fact::Started), [publish(0, 6), publish(0, 7)]);
    assert_eq!(tick(&mut coordinator, 10), [trigger(8, CheckpointKind::Periodic)]);
    settle(&mut coordinator, 11, 8);
    let commands = coordinator.step(seconds(12), created(8));
    assert_eq!(commands[1..3], [publish(0, 8), publish(1, 8)]);
}

#[test]
fn what_can_never_be_durable_or_published_fails_the_job() {
    let lost = Fact::Lost { subtask: FIRST, epoch: Epoch(1), why: "gone".to_owned() };
    let refused = Fact::PublishRefused { sink: SINK, epoch: Epoch(1), why: "gone".to_owned() };
    for fact in [lost, refused, handed(FIRST, 1), handed(SubtaskNumber(2), 1)] {
        let mut two = two();
        assert!(matches!(two.step(seconds(1), fact)[..], [Command::Fail(_)]));
    }
}

#[test]
fn hand_overs_out_of_order_fail_the_job() {
    let mut two = two();
    tick(&mut two, 10);
    steps(&mut two, 11, [handed(FIRST, 1)]);
    let reason = FailReason::OutOfOrder { subtask: FIRST, epoch: Epoch(1) };
    assert_eq!(two.step(seconds(11), handed(FIRST, 1)), [Command::Fail(reason)]);
}

#[test]
fn an_upload_that_takes_longer_than_every_timeout_together_completes_its_checkpoint() {
    let mut two = two();
    tick(&mut two, 10);
    steps(&mut two, 11, [handed(FIRST, 1), handed(SECOND, 1), acknowledged(FIRST, 1)]);
    for at in [70, 131, 1_000, 100_000] {
        assert_eq!(tick(&mut two, at), [], "nothing is given up, and nothing else begun");
        let waiting = two.waiting().expect("it goes on");
        assert_eq!((waiting.wait, waiting.missing, waiting.first), (WaitsFor::Durability, 1, SECOND));
        assert_eq!((two.next_wake(), waiting.for_so_long), (None, seconds(at - 10)));
    }
    assert_eq!(two.step(seconds(100_001), acknowledged(SECOND, 1)), [create(1, CheckpointKind::Periodic, 1)]);
    assert_eq!(two.waiting().expect("it goes on").wait, WaitsFor::Manifest);
    steps(&mut two, 100_002, [created(1)]);
    assert_eq!(two.waiting(), None);
}

#[test]
fn who_asked_hears_after_the_timeout_that_uploads_go_on() {
    let mut two = two();
    steps(&mut two, 1, [Fact::Asked { asker: AskerId(1) }]);
    steps(&mut two, 1, [handed(FIRST, 1), handed(SECOND, 1)]);
    assert_eq!(two.next_wake(), Some(seconds(61)));
    let outcome = Err(AbortReason::StillUploading { missing: 2, first: FIRST });
    assert_eq!(tick(&mut two, 61), [Command::Answer { asker: AskerId(1), outcome }]);
    assert_eq!(tick(&mut two, 200), []);
    steps(&mut two, 201, [acknowledged(FIRST, 1), acknowledged(SECOND, 1)]);
    assert_eq!(
        steps(&mut two, 202, [created(1)])[0],
        Command::Complete { epoch: Epoch(1), kind: CheckpointKind::OnDemand }
    );
}

#[test]
fn a_sink_that_waits_for_its_target_holds_checkpoints_and_costs_no_failures() {
    let mut two = two();
    tick(&mut two, 10);
    for round in 0..10 {
        let (at, epoch) = (round * 902 + 11, round + 1);
        steps(&mut two, at, [Fact::SinkWaits { subtask: SECOND, is_so: true }, handed(FIRST, epoch)]);
        assert!(matches!(tick(&mut two, at + 100)[..], [Command::Abort { .. }]), "its barrier cannot pass");
        assert_eq!(tick(&mut two, at + 900), []);
        assert_eq!((two.hold(), two.next_wake()), (Some(Hold::SinksWait { subtasks: 1 }), None));
        let commands = two.step(seconds(at + 901), Fact::SinkWaits { subtask: SECOND, is_so: false });
        assert_eq!(commands, [trigger(epoch + 1, CheckpointKind::Periodic)], "round {round}");
    }
}

#[test]
fn the_history_is_bounded() {
    let options = Options { history: 3, tolerable_failures: 100, ..Options::default() };
    let mut coordinator = Coordinator::new(options, Start { subtasks: 1, sinks: vec![], first_epoch: Epoch(1) });
    for round in 1..=10 {
        tick(&mut coordinator, round * 100);
        tick(&mut coordinator, round * 100 + 60);
    }
    let epochs: Vec<_> = coordinator.history().map(|checkpoint| checkpoint.epoch.0).collect();
    assert_eq!(epochs, [10, 9, 8]);
}
