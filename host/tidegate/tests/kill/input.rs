//! What the job reads, and what must come out of it.

use std::collections::BTreeMap;

/// The files of the two splits.
pub(crate) const SPLITS: [&str; 2] = ["a.jsonl", "b.jsonl"];

/// Minutes above which a flight is late, as the job says it.
const LATE_MINUTES: i64 = 15;

/// Numbers that follow from a seed.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Makes records long, so that few of them fill a queue, and barriers are not kept waiting behind many.
const FILLER_CHARS: usize = 200;

/// A record given up on: file, position, and what it was.
pub(crate) type Letter = (String, u64, String);

/// What must be committed.
#[derive(Default)]
pub(crate) struct Model {
    /// What dedup lets through.
    pub(crate) clean: Vec<String>,
    /// Of each airport: flights, late ones, the worst delay.
    pub(crate) figures: BTreeMap<String, (i64, i64, i64)>,
    pub(crate) dead: Vec<Letter>,
}

/// Lines without end, and the model of those that were given out.
pub(crate) struct Input {
    draws: Draws,
    /// Bytes and ids of each split so far.
    given: [(u64, Vec<String>); 2],
    number: u64,
    pub(crate) model: Model,
}

impl Input {
    pub(crate) fn new(seed: u64) -> Self {
        Self { draws: Draws::new(seed), given: Default::default(), number: 0, model: Model::default() }
    }

    /// So many more lines of each split.
    pub(crate) fn more(&mut self, lines: u64) -> [String; 2] {
        let mut texts = [String::new(), String::new()];
        for _ in 0..lines {
            for (split, text) in texts.iter_mut().enumerate() {
                let line = self.line(split);
                self.given[split].0 += line.len() as u64 + 1;
                text.push_str(&line);
                text.push('\n');
            }
        }
        texts
    }

    fn line(&mut self, split: usize) -> String {
        self.number += 1;
        let number = self.number;
        let (position, ids) = &self.given[split];
        let place = |value: &str| (format!("in/{}", SPLITS[split]), *position, value.to_owned());
        let repeats = (!ids.is_empty()).then(|| self.draws.below(ids.len() as u64));
        let flight = |id: &str, origin: u64, delay: &str| {
            let filler = ".".repeat(FILLER_CHARS);
            format!(r#"{{"id":"{id}","number":{number},"origin":"P{origin}","date":"{filler}","delay":{delay}}}"#)
        };
        match (self.draws.below(1000), repeats) {
            // No JSON: nobody can handle it.
            (0..2, _) => {
                let line = format!(r#"{{"id":"broken-{number}",}}"#);
                self.model.dead.push(place(&line));
                line
            }
            // Let through by the first function, refused by the second.
            (2..4, _) => {
                let line = flight(&format!("odd-{number}"), 0, r#""soon""#);
                self.model.dead.push(place(&line));
                self.model.clean.push(line.clone());
                line
            }
            // An earlier id of the split: whatever else it says, it is too late.
            (4..200, Some(at)) => {
                let id = ids[usize::try_from(at).unwrap()].clone();
                flight(&id, self.draws.below(7), "9999")
            }
            _ => {
                let (id, origin) = (format!("{split}-{number}"), self.draws.below(7));
                let delay = i64::try_from(self.draws.below(60)).unwrap() - 20;
                let line = flight(&id, origin, &delay.to_string());
                self.given[split].1.push(id);
                self.model.clean.push(line.clone());
                let (flights, late, worst) = self.model.figures.entry(format!("P{origin}")).or_insert((0, 0, i64::MIN));
                *flights += 1;
                *late += i64::from(delay > LATE_MINUTES);
                *worst = delay.max(*worst);
                line
            }
        }
    }
}
