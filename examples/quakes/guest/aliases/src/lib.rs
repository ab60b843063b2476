//! A quake once for every id it is known by.
//!
//! Each network gives a quake an id of its own, and the feed may show the next version under another of
//! them. A record per id makes every version meet the earlier ones, whichever id they came under.

use tidegate::prelude::*;

/// What is read of a feature of the feed.
#[derive(Fields)]
pub struct Quake<'a> {
    /// The id it stands under now.
    id: &'a str,
    /// All its ids: `,us2000crms,pr2018031002,`.
    #[field("/properties/ids")]
    ids: &'a str,
    #[field("/properties/updated")]
    updated: i64,
    #[field("/properties/mag")]
    magnitude: Option<f64>,
    #[field("/properties/place")]
    place: &'a str,
    #[field("/properties/status")]
    status: &'a str,
}

/// A quake under one of its ids.
#[derive(Fields)]
pub struct Alias<'a> {
    id: &'a str,
    event: &'a str,
    updated: i64,
    magnitude: Option<f64>,
    place: &'a str,
    status: &'a str,
}

/// Sends a record for every id.
#[tidegate::function]
pub struct Aliases;

impl Unkeyed for Aliases {
    type In = Fields<Quake<'static>>;
    type Out = Fields<Alias<'static>>;

    fn on_record(&mut self, quake: Quake<'_>, cx: &mut Context<Self>) -> Result {
        let Quake { id: event, ids, updated, magnitude, place, status } = quake;
        let mut has_any = false;
        for id in ids.split(',').filter(|id| !id.is_empty()) {
            has_any = true;
            cx.emit(&Alias { id, event, updated, magnitude, place, status });
        }
        if !has_any {
            bail!("quake `{event}` has no ids: expected `,id,id,`, found `{ids}`");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
