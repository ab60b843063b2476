#!/usr/bin/env python3
"""Makes flights.csv and ../expected/ from real flight records.

    npm pack vega-datasets@3.2.1 && tar xzf vega-datasets-3.2.1.tgz
    python3 make.py package/data/flights-5k.json

The records are the 5,000 of the source, in its order, written as CSV; nothing is added.

The expected figures and alerts are computed by this script, airport by airport, with plain
dictionaries. The numbers below are those of job.yaml.
"""

import csv
import hashlib
import json
import math
import pathlib
import sys

SOURCE_BLOB = "8459fa09e3ba8197928b5dba0b9f5cc380629758"  # of flights-5k.json, the `hash` in the package's datapackage.json (a git blob's)
COLUMNS = ["date", "origin", "destination", "distance", "delay"]
HERE = pathlib.Path(__file__).resolve().parent

FIGURES_EVERY = 20  # flights of an airport
LATE_MINUTES = 15
ALERT_FROM = 10  # flights of an airport; below, a mean says little
RAISE_ABOVE = 12.0  # minutes of mean delay
CLEAR_BELOW = 8.0


def main():
    source = pathlib.Path(sys.argv[1]).read_bytes()
    digest = hashlib.sha1(b"blob %d\0" % len(source) + source).hexdigest()
    if digest != SOURCE_BLOB:
        sys.exit(f"{sys.argv[1]}: hash is {digest}, expected {SOURCE_BLOB}")
    flights = json.loads(source)
    with open(HERE / "flights.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([flight[name] for name in COLUMNS] for flight in flights)
    figures, alerts = expect(flights)
    expected = HERE.parent / "expected"
    for name, rows in [("figures.jsonl", figures), ("alerts.jsonl", alerts)]:
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        (expected / name).write_text(text)
    print(f"{len(flights)} flights, {len(figures)} figures, {len(alerts)} alerts")


def expect(flights):
    totals, raised, figures, alerts = {}, set(), [], []
    for flight in flights:
        origin, delay = flight["origin"], flight["delay"]
        total = totals.setdefault(origin, {"flights": 0, "late": 0, "sum": 0, "worst": delay})
        total["flights"] += 1
        total["late"] += delay > LATE_MINUTES
        total["sum"] += delay
        total["worst"] = max(total["worst"], delay)
        mean = total["sum"] / total["flights"]
        if total["flights"] % FIGURES_EVERY == 0:
            figures.append(
                {
                    "origin": origin,
                    "flights": total["flights"],
                    "late": total["late"],
                    "mean_delay": tenths(mean),
                    "worst_delay": total["worst"],
                }
            )
        if origin not in raised and total["flights"] >= ALERT_FROM and mean > RAISE_ABOVE:
            raised.add(origin)
            alerts.append(alert(origin, "raised", flight, total, mean))
        elif origin in raised and mean < CLEAR_BELOW:
            raised.remove(origin)
            alerts.append(alert(origin, "cleared", flight, total, mean))
    return figures, alerts


def alert(origin, what, flight, total, mean):
    return {
        "origin": origin,
        "alert": what,
        "at": flight["date"],
        "flights": total["flights"],
        "mean_delay": tenths(mean),
    }


def tenths(minutes):
    return math.floor(minutes * 10 + 0.5) / 10


main()
