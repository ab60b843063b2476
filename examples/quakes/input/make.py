#!/usr/bin/env python3
"""Makes quakes.jsonl and ../expected/ from a week of the USGS earthquake feed.

    npm pack vega-datasets@3.2.1 && tar xzf vega-datasets-3.2.1.tgz
    python3 make.py package/data/earthquakes.json

Real: the last version of every quake, as the feed had it on 2018-02-07: its place, times, magnitude,
and the ids that the networks gave it (`ids`; a quake that two networks saw has two).
Made here, from SEED: the earlier versions. The snapshot holds each quake once; a reader who polls
the feed sees it again whenever `updated` moves. An earlier version is `automatic`, was updated between the
quake and its last version, has a magnitude a little off, and knows only some of the ids; it may stand
under another of them. Some versions arrive late, behind a newer one, or twice.

The expected output is computed by this script from the lines it wrote, quake by quake, with a plain
dictionary.
"""

import hashlib
import json
import pathlib
import random
import sys

SEED = 20180207
SOURCE_BLOB = "ed4c47436c09d5cc5f428c233fbd8074c0346fd0"  # of earthquakes.json, the `hash` in the package's datapackage.json (a git blob's)
MOST = 500  # quakes kept: all with several ids, then the newest
HERE = pathlib.Path(__file__).resolve().parent


def main():
    source = pathlib.Path(sys.argv[1]).read_bytes()
    digest = hashlib.sha1(b"blob %d\0" % len(source) + source).hexdigest()
    if digest != SOURCE_BLOB:
        sys.exit(f"{sys.argv[1]}: hash is {digest}, expected {SOURCE_BLOB}")
    lines = polled(choose(json.loads(source)["features"]))
    (HERE / "quakes.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    counts, newest = expect(lines)
    expected = HERE.parent / "expected"
    (expected / "counts.json").write_text(json.dumps(counts, indent=2) + "\n")
    table = "".join(f"{quake_id} {updated}\n" for quake_id, updated in sorted(newest.items()))
    (expected / "newest.txt").write_text(table)
    print(json.dumps(counts, indent=2))


def ids_of(quake):
    return quake["properties"]["ids"].strip(",").split(",")


def choose(quakes):
    several = [quake for quake in quakes if len(ids_of(quake)) > 1]
    single = [quake for quake in quakes if len(ids_of(quake)) == 1]
    return several + single[: MOST - len(several)]


def polled(quakes):
    """The versions of all quakes in the order in which a reader meets them."""
    rng = random.Random(SEED)
    met = []  # (time, order among equals, line)
    for quake in quakes:
        for version in versions(rng, quake):
            at = version["properties"]["updated"]
            draw = rng.random()
            if draw < 0.10:  # late: behind what was updated up to three hours after it
                at += int(rng.random() * 10_800_000)
            line = json.dumps(version, separators=(",", ":")).encode()
            met.append((at, len(met), line))
            if draw > 0.92:  # twice
                met.append((at + int(rng.random() * 3_600_000), len(met), line))
    met.sort(key=lambda entry: entry[:2])
    return [line for _, _, line in met]


def versions(rng, last):
    """Earlier versions of a quake, oldest first, then the real one."""
    properties = last["properties"]
    begin, end = properties["time"] + 60_000, properties["updated"]
    earlier = sorted({begin + int(rng.random() * (end - begin)) for _ in range(int(rng.random() * 4))}) if end > begin else []
    all_ids = ids_of(last)
    for index, updated in enumerate(earlier):
        known = all_ids[-1:] if index == 0 else all_ids[-1 - int(rng.random() * len(all_ids)) :]
        magnitude = round(properties["mag"] + (rng.random() - 0.5) * 0.6, 2)
        yield {
            **last,
            "properties": {
                **properties,
                "mag": magnitude,
                "updated": updated,
                "status": "automatic",
                "ids": "," + ",".join(known) + ",",
                "title": f"M {magnitude:.1f} - {properties['place']}",
            },
            "id": known[0],
        }
    yield last


def expect(lines):
    """The newest version under each id, and how many versions were news when they came."""
    newest, under_ids, news = {}, 0, 0
    for line in lines:
        quake = json.loads(line)
        updated = quake["properties"]["updated"]
        for quake_id in ids_of(quake):
            under_ids += 1
            if quake_id not in newest or updated > newest[quake_id]:
                newest[quake_id] = updated
                news += 1
    counts = {
        "records_in": len(lines),
        "under_ids": under_ids,
        "news": news,
        "stale": under_ids - news,
        "distinct_ids": len(newest),
        "input_sha256": hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest(),
    }
    return counts, newest


main()
