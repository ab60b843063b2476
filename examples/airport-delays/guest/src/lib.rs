//! Delays of every airport: figures every so many flights, and an alert where the mean delay gets high.
//!
//! An alert is raised once, when the mean rises above one bound, and cleared when it falls below a lower
//! one, so that a mean near a bound does not raise it again and again.

use serde::{Deserialize, Serialize};
use tidegate::prelude::*;

/// What is read of a flight.
#[derive(Fields)]
pub struct Flight<'a> {
    date: &'a str,
    delay: i64,
}

/// The figures of an airport, so far.
#[derive(Fields)]
pub struct Figures<'a> {
    origin: &'a str,
    flights: i64,
    late: i64,
    mean_delay: f64,
    worst_delay: i64,
}

/// An alert that was raised or cleared.
#[derive(Fields)]
pub struct Alert<'a> {
    origin: &'a str,
    alert: &'a str,
    at: &'a str,
    flights: i64,
    mean_delay: f64,
}

/// What the job file says under `config`.
#[derive(Config)]
pub struct Settings {
    /// Figures come after every so many flights of an airport.
    figures_every: i64,
    /// Minutes above which a flight counts as late.
    late_minutes: i64,
    /// Flights an airport must have before its mean says anything.
    alert_from: i64,
    /// Minutes of mean delay above which an alert is raised.
    raise_above: f64,
    /// Minutes of mean delay below which it is cleared.
    clear_below: f64,
}

/// What is kept of the flights of an airport.
#[derive(Clone, Default, Serialize, Deserialize, Schema)]
pub struct Totals {
    flights: i64,
    late: i64,
    sum: i64,
    worst: Option<i64>,
}

/// A flight added to the totals.
pub struct AirportTotals;

impl Aggregate for AirportTotals {
    type Input = Delay;
    type Accumulator = Totals;
    type Output = Totals;

    fn add(totals: &mut Totals, delay: Delay) {
        totals.flights += 1;
        totals.late += i64::from(delay.is_late);
        totals.sum += delay.minutes;
        totals.worst = totals.worst.max(Some(delay.minutes));
    }

    fn output(totals: &Totals) -> Totals {
        totals.clone()
    }
}

/// What of a flight goes into the totals.
pub struct Delay {
    minutes: i64,
    is_late: bool,
}

/// Sums up, reports and alerts.
#[tidegate::function]
pub struct Delays {
    #[config]
    settings: Settings,
    #[state]
    totals: Aggregating<AirportTotals>,
    #[state]
    alerted: Value<bool>,
    #[output]
    alerts: Output<Fields<Alert<'static>>>,
}

impl Keyed for Delays {
    type In = Fields<Flight<'static>>;
    type Out = Fields<Figures<'static>>;

    fn open(&mut self, _: &Task) -> Result {
        let Settings { figures_every, raise_above, clear_below, .. } = self.settings;
        if figures_every < 1 {
            bail!("config.figures_every is {figures_every}: expected at least 1");
        }
        if clear_below > raise_above {
            bail!("config.clear_below is {clear_below}: expected at most raise_above, which is {raise_above}");
        }
        Ok(())
    }

    fn on_record(&mut self, flight: Flight<'_>, cx: &mut Context<Self>) -> Result {
        let origin = cx.key_text()?;
        let is_late = flight.delay > self.settings.late_minutes;
        let Totals { flights, late, sum, worst } = self.totals.add(Delay { minutes: flight.delay, is_late })?;
        let mean = sum as f64 / flights as f64;
        if flights % self.settings.figures_every == 0 {
            let worst_delay = worst.unwrap_or_default();
            cx.emit(&Figures { origin, flights, late, mean_delay: tenths(mean), worst_delay });
        }
        if let Some(alert) = self.turn_alert(flights, mean)? {
            self.alerts.emit(&Alert { origin, alert, at: flight.date, flights, mean_delay: tenths(mean) });
        }
        Ok(())
    }
}

impl Delays {
    /// Raises or clears the alert of the current airport; says which, if either.
    fn turn_alert(&mut self, flights: i64, mean: f64) -> Result<Option<&'static str>> {
        let is_raised = self.alerted.get()?.copied().unwrap_or(false);
        if !is_raised && flights >= self.settings.alert_from && mean > self.settings.raise_above {
            self.alerted.set(true);
            return Ok(Some("raised"));
        }
        if is_raised && mean < self.settings.clear_below {
            self.alerted.clear();
            return Ok(Some("cleared"));
        }
        Ok(None)
    }
}

/// Rounded to tenths, halves up.
fn tenths(minutes: f64) -> f64 {
    (minutes * 10.0 + 0.5).floor() / 10.0
}

#[cfg(test)]
mod tests;
