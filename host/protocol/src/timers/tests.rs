use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// What a key's timer does when it fires: sets or cancels others of its key, at a distance from its own time.
#[derive(Clone, Debug)]
struct Script {
    key: u8,
    at: i64,
    sets: Vec<i64>,
    cancels: Vec<i64>,
}

/// A step of what happens to a subtask.
#[derive(Clone, Debug)]
enum Step {
    Set(u8, i64),
    Cancel(u8, i64),
    Rise(i64),
    /// It is made anew from what is pending.
    Restore,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = -20_i64..60;
    let step = prop_oneof![
        4 => (0_u8..4, at.clone()).prop_map(|(key, at)| Step::Set(key, at)),
        1 => (0_u8..4, at.clone()).prop_map(|(key, at)| Step::Cancel(key, at)),
        2 => at.prop_map(Step::Rise),
        1 => Just(Step::Restore),
    ];
    proptest::collection::vec(step, 0..60)
}

fn scripts() -> impl Strategy<Value = Vec<Script>> {
    let distances = || proptest::collection::vec(-5_i64..15, 0..3);
    let script = (0_u8..4, -20_i64..60, distances(), distances());
    let script = script.prop_map(|(key, at, sets, cancels)| Script { key, at, sets, cancels });
    proptest::collection::vec(script, 0..40)
}

/// One key at a time, one timer at a time, from a plain set.
#[derive(Default)]
struct Model {
    pending: BTreeSet<(u8, i64)>,
    waiting: BTreeSet<(u8, i64)>,
    reached: Option<i64>,
    fired: Vec<(u8, i64)>,
}

impl Model {
    fn sweep(&mut self, scripts: &[Script]) {
        let Some(reached) = self.reached else { return };
        for key in 0..4 {
            loop {
                let mine = self.pending.iter().filter(|(of, at)| *of == key && *at <= reached);
                let Some(&(_, at)) = mine.min_by_key(|(_, at)| *at) else { break };
                self.pending.remove(&(key, at));
                self.fired.push((key, at));
                for script in scripts.iter().filter(|script| (script.key, script.at) == (key, at)) {
                    for distance in &script.sets {
                        let new = (key, at + distance);
                        if !self.waiting.contains(&new) && !self.pending.contains(&new) {
                            if *distance <= 0 {
                                self.waiting.insert(new)
                            } else {
                                self.pending.insert(new)
                            };
                        }
                    }
                    for distance in &script.cancels {
                        self.pending.remove(&(key, at + distance));
                        self.waiting.remove(&(key, at + distance));
                    }
                }
            }
        }
    }

    fn step(&mut self, step: &Step, scripts: &[Script]) {
        match *step {
            Step::Set(key, at) => {
                if !self.waiting.contains(&(key, at)) {
                    self.pending.insert((key, at));
                }
            }
            Step::Cancel(key, at) => {
                self.pending.remove(&(key, at));
                self.waiting.remove(&(key, at));
            }
            Step::Rise(to) => {
                if self.reached.is_none_or(|reached| reached < to) {
                    self.reached = Some(to);
                    self.pending.append(&mut self.waiting);
                }
            }
            Step::Restore => {
                self.reached = None;
                self.pending.append(&mut self.waiting);
            }
        }
        self.sweep(scripts);
    }
}

/// What the engine does, in batches of `most`.
fn sweep(timers: &mut Timers, scripts: &[Script], most: usize, fired: &mut Vec<(u8, i64)>) {
    while timers.has_due() {
        let due: Vec<Place> = timers.due(most).map(|(at, key)| (at, Box::from(key))).collect();
        assert!(!due.is_empty() && due.len() <= most && due.is_sorted());
        let keys: BTreeSet<_> = due.iter().map(|(_, key)| key).collect();
        assert_eq!(keys.len(), due.len(), "a key stands twice in a batch");
        for (at, key) in &due {
            assert!(timers.remove(key, *at));
        }
        for (at, key) in &due {
            let number = key[0];
            fired.push((number, *at));
            for script in scripts.iter().filter(|script| (script.key, script.at) == (number, *at)) {
                for distance in &script.sets {
                    timers.follow(key, at + distance, *at);
                }
                for distance in &script.cancels {
                    timers.remove(key, at + distance);
                }
            }
        }
    }
}

fn by_key(fired: &[(u8, i64)]) -> Vec<Vec<i64>> {
    (0..4).map(|key| fired.iter().filter(|(of, _)| *of == key).map(|(_, at)| *at).collect()).collect()
}

proptest! {
    #[test]
    fn every_key_fires_as_if_it_were_alone_whatever_the_batches(
        steps in steps(),
        scripts in scripts(),
        most in 1_usize..6,
    ) {
        let mut model = Model::default();
        let mut timers = Timers::default();
        let mut fired = Vec::new();
        for step in &steps {
            model.step(step, &scripts);
            match *step {
                Step::Set(key, at) => {
                    timers.set(&[key], at);
                }
                Step::Cancel(key, at) => {
                    timers.remove(&[key], at);
                }
                Step::Rise(to) => {
                    timers.rise(to);
                }
                Step::Restore => {
                    let old = std::mem::take(&mut timers);
                    for (at, key) in old.pending.iter().chain(&old.waiting) {
                        timers.set(key, *at);
                    }
                }
            }
            sweep(&mut timers, &scripts, most, &mut fired);
            prop_assert_eq!(by_key(&fired), by_key(&model.fired));
            prop_assert_eq!(timers.len(), model.pending.len() + model.waiting.len());
        }
    }
}

#[test]
fn a_timer_is_there_once() {
    let mut timers = Timers::default();
    assert!(timers.set(b"a", 5));
    assert!(!timers.set(b"a", 5));
    assert_eq!((timers.len(), timers.next()), (1, Some(5)));
    assert!(timers.remove(b"a", 5));
    assert!(!timers.remove(b"a", 5));
    assert!(timers.is_empty());
}

#[test]
fn nothing_is_due_before_anything_is_known_of_the_clock() {
    let mut timers = Timers::default();
    timers.set(b"a", i64::MIN + 1);
    assert!(!timers.has_due() && timers.due(10).next().is_none());
    assert!(timers.rise(0) && timers.has_due());
    assert!(!timers.rise(0), "it stands still");
    assert!(!timers.rise(-1), "it never falls");
}

#[test]
fn a_timer_that_sets_itself_for_ever_comes_to_an_end_after_the_end_of_the_input() {
    let mut timers = Timers::default();
    timers.set(b"a", 0);
    timers.set(b"b", 0);
    timers.rise(i64::MAX);
    let mut fired = 0;
    while timers.has_due() {
        let due: Vec<Place> = timers.due(10).map(|(at, key)| (at, Box::from(key))).collect();
        for (at, key) in due {
            timers.remove(&key, at);
            timers.follow(&key, at + 1, at);
            fired += 1;
        }
    }
    assert_eq!(fired, 2 * (1 + MOST_AFTER_END));
    assert_eq!(timers.len(), 2, "what was set last stays pending");
}
