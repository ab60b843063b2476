#!/usr/bin/env python3
"""Makes flights.jsonl and ../expected/counts.json from real flight records.

    npm pack vega-datasets@3.2.1 && tar xzf vega-datasets-3.2.1.tgz
    python3 make.py package/data/flights-10k.json

Real: date, delay, distance, origin, destination of 10,000 flights, in the order of the source.
Made here, from SEED: the id (from date, origin and destination, numbered where that is taken), the
delivery time, and the redeliveries: what an at-least-once sender does to a stream.

The expected counts are computed by this script from the lines it wrote, with a plain set of ids.
"""

import calendar
import hashlib
import json
import pathlib
import random
import sys
import time

SEED = 20010101
SOURCE_BLOB = "769a34f3d0442be8f356651463fe925ad8b3759d"  # of flights-10k.json, the `hash` in the package's datapackage.json (a git blob's)
HERE = pathlib.Path(__file__).resolve().parent

# Of every 1000 flights, how many come again, and how.
AT_ONCE = 60  # the same bytes, right behind the first
FAR_LATER = 70  # the same bytes, up to the whole rest of the file later
RESTAMPED = 70  # the same flight with another delivery time, 10 to 2000 lines later


def main():
    source = pathlib.Path(sys.argv[1]).read_bytes()
    digest = hashlib.sha1(b"blob %d\0" % len(source) + source).hexdigest()
    if digest != SOURCE_BLOB:
        sys.exit(f"{sys.argv[1]}: hash is {digest}, expected {SOURCE_BLOB}")
    lines = deliveries(json.loads(source))
    (HERE / "flights.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    expected = count(lines)
    path = HERE.parent / "expected" / "counts.json"
    path.write_text(json.dumps(expected, indent=2) + "\n")
    print(json.dumps(expected, indent=2))


def deliveries(flights):
    """The lines of the file: every flight once, and some again."""
    rng = random.Random(SEED)
    taken = {}
    placed = []  # (place in the file, order among equals, line)
    for index, flight in enumerate(flights):
        minute = time.strptime(flight["date"], "%Y/%m/%d %H:%M")
        name = f"{flight['date'].replace('/', '').replace(' ', '-').replace(':', '')}"
        name = f"{name}-{flight['origin']}-{flight['destination']}"
        taken[name] = taken.get(name, 0) + 1
        flight_id = name if taken[name] == 1 else f"{name}-{taken[name]}"
        delivered_at = calendar.timegm(minute) * 1000 + int(rng.random() * 60_000)
        line = encode(flight_id, delivered_at, flight)
        placed.append((index, 0, line))

        draw = rng.random() * 1000
        if draw < AT_ONCE:
            for copy in range(1 + int(rng.random() * 3)):
                placed.append((index, 1 + copy, line))
        elif draw < AT_ONCE + FAR_LATER:
            place = index + int(rng.random() * (len(flights) - index))
            placed.append((place, 10, line))
        elif draw < AT_ONCE + FAR_LATER + RESTAMPED:
            place = min(index + 10 + int(rng.random() * 1990), len(flights))
            again_at = delivered_at + 1 + int(rng.random() * 3_600_000)
            placed.append((place, 20, encode(flight_id, again_at, flight)))
    placed.sort(key=lambda entry: entry[:2])
    return [line for _, _, line in placed]


def encode(flight_id, delivered_at, flight):
    record = {"id": flight_id, "delivered_at": delivered_at, **flight}
    return json.dumps(record, separators=(",", ":")).encode()


def count(lines):
    """What must come out, from the lines alone."""
    seen, first = set(), []
    for line in lines:
        flight_id = json.loads(line)["id"]
        if flight_id not in seen:
            seen.add(flight_id)
            first.append(line)
    return {
        "records_in": len(lines),
        "unique": len(first),
        "duplicates": len(lines) - len(first),
        "input_sha256": hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest(),
        # Of the lines that must come out, sorted by bytes, each with its line feed: their order is free.
        "sorted_output_sha256": hashlib.sha256(b"".join(line + b"\n" for line in sorted(first))).hexdigest(),
    }


main()
