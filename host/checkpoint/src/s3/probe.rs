//! Tries out whether a store creates an object only where there is none.
//!
//! Some stores ignore `If-None-Match: *`, some look first and write then: on those two owners of one job would both
//! be told that they won, and both would publish. So they are refused by name; and so is one whose list does not show
//! what was just created, since the newest record of a log is found by it.

use std::sync::Barrier;
use std::thread;

use object_store::path::Path as ObjectPath;
use object_store::{ObjectMeta, PutPayload};

use contract::Randomness;

use super::url::Location;
use crate::error::Error;
use crate::medium::{Medium, Put};

/// How many create one object at once.
const RACERS: usize = 20;
/// How many objects they race for: a store that looks first and writes then does not lose every race.
const RACES: usize = 3;

/// How much older than ours a probe is that somebody left who was ended while trying out.
const LEFT_AFTER_SECONDS: i64 = 24 * 3600;

/// Tries `medium` out and removes what was made for it.
pub(super) fn check(medium: &Medium, location: &Location, randomness: &dyn Randomness) -> Result<(), Error> {
    let name = format!("{:016x}{:016x}", randomness.draw(), randomness.draw());
    let path = |part: usize| location.probe_folder().join(format!("{name}-{part}"));
    let tried = twice(medium, location, &path(0))
        .and_then(|()| listed(medium, location, &path(0)))
        .and_then(|()| (1..=RACES).try_for_each(|race| at_once(medium, location, &path(race))));
    let removed = (0..=RACES).try_for_each(|part| medium.remove(&path(part)));
    tried.and(removed.map_err(|source| location.error("delete a probe", source)))
}

/// The same object twice, one after the other.
fn twice(medium: &Medium, location: &Location, path: &ObjectPath) -> Result<(), Error> {
    let create = |body: &str| {
        let put = medium.create(path, PutPayload::from(body.as_bytes().to_vec()));
        put.map_err(|source| location.error("create a probe", source))
    };
    if create("first")? == Put::Exists {
        // It was made by an attempt whose answer was lost: the second has to be refused all the same.
        expect_body(medium, location, path, "first")?;
    }
    if create("second")? == Put::Created {
        return Err(refused(location, "it creates an object that exists (it ignores `If-None-Match: *`)"));
    }
    expect_body(medium, location, path, "first")
}

/// What was created is in the list; and what is older there by more than a day goes, since whoever made it has ended.
fn listed(medium: &Medium, location: &Location, path: &ObjectPath) -> Result<(), Error> {
    let probes = medium.below(&location.probe_folder()).map_err(|source| location.error("list probes", source))?;
    let Some(ours) = probes.iter().find(|it| it.location == *path) else {
        return Err(refused(location, "an object that was created is not in the list of what there is"));
    };
    let is_left = |it: &&ObjectMeta| (ours.last_modified - it.last_modified).num_seconds() > LEFT_AFTER_SECONDS;
    for left in probes.iter().filter(is_left) {
        medium.remove(&left.location).map_err(|source| location.error("delete a probe", source))?;
    }
    Ok(())
}

/// The same object by many at once.
fn at_once(medium: &Medium, location: &Location, path: &ObjectPath) -> Result<(), Error> {
    let start = Barrier::new(RACERS);
    let create = |racer: usize| {
        start.wait();
        medium.create(path, PutPayload::from(format!("racer {racer}").into_bytes()))
    };
    let outcomes: Vec<_> = thread::scope(|scope| {
        let create = &create;
        let racers: Vec<_> = (0..RACERS).map(|racer| scope.spawn(move || create(racer))).collect();
        racers.into_iter().map(|it| it.join().expect("a racer does not panic")).collect()
    });
    let winners: Vec<usize> =
        (0..).zip(&outcomes).filter(|(_, it)| matches!(it, Ok(Put::Created))).map(|(racer, _)| racer).collect();
    match winners.as_slice() {
        [winner] => expect_body(medium, location, path, &format!("racer {winner}")),
        [] => match outcomes.into_iter().find_map(Result::err) {
            Some(source) => Err(location.error("create a probe", source)),
            // The winner's answer was lost, and asking again found its own object.
            None => Ok(()),
        },
        several => {
            let evidence =
                format!("{} of {RACERS} that create one object at once are told that they did", several.len());
            Err(refused(location, &evidence))
        }
    }
}

fn expect_body(medium: &Medium, location: &Location, path: &ObjectPath, expected: &str) -> Result<(), Error> {
    let read = medium.read(path).map_err(|source| location.error("read a probe", source))?;
    match read {
        Some(body) if body.as_ref() == expected.as_bytes() => Ok(()),
        Some(_) => Err(refused(location, "the object of the one that created it was overwritten by another")),
        None => Err(refused(location, "an object that was created is not there when it is read")),
    }
}

fn refused(location: &Location, evidence: &str) -> Error {
    Error::NotExclusive { place: location.url.clone(), evidence: evidence.to_owned() }
}
