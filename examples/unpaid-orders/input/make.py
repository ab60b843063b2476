#!/usr/bin/env python3
"""Makes events.jsonl and ../expected/ from SEED. Nobody in it exists.

    python3 make.py

Orders come over a day; most are paid, some too late, some never. Events are up to four minutes out of order, so that some
payments stand before their orders. The expected alerts are computed by this script, from the orders as it made them.
"""

import json
import pathlib
import random

SEED = 1807
ORDERS = 4000
MINUTE = 60_000
START = 1_760_000_000_000
PATIENCE = 30 * MINUTE
HERE = pathlib.Path(__file__).resolve().parent


def main():
    rng = random.Random(SEED)
    events, alerts = [], []
    paid_late = never = 0
    for number in range(1, ORDERS + 1):
        order = f"o-{number:05}"
        customer = f"c-{rng.randrange(700):03}"
        amount = rng.randrange(100, 20_000) / 100
        ordered = START + rng.randrange(24 * 60 * MINUTE)
        events.append((ordered, {"order": order, "kind": "ordered", "at": ordered, "customer": customer, "amount": amount}))
        kind = rng.random()
        if kind < 0.75:
            wait = rng.randrange(1, PATIENCE)
        elif kind < 0.9:
            wait = rng.randrange(PATIENCE, 3 * PATIENCE)
            paid_late += 1
        else:
            wait = None
            never += 1
        if kind < 0.02:
            wait = [PATIENCE - 1, PATIENCE, 1][number % 3]
            paid_late += wait == PATIENCE
        if wait is not None:
            paid = ordered + wait
            events.append((paid, {"order": order, "kind": "paid", "at": paid}))
        if wait is None or wait >= PATIENCE:
            due = ordered + PATIENCE
            alerts.append({"order": order, "customer": customer, "amount": amount, "ordered": ordered, "due": due})
    events.sort(key=lambda event: (event[0] + rng.randrange(4 * MINUTE), event[1]["order"]))
    lines = [json.dumps(event, separators=(",", ":")) for _, event in events]
    (HERE / "events.jsonl").write_text("".join(line + "\n" for line in lines))
    expected = HERE.parent / "expected"
    rows = [json.dumps(alert, separators=(",", ":")) for alert in alerts]
    (expected / "alerts.jsonl").write_text("".join(row + "\n" for row in rows))
    print(len(lines), "events,", len(alerts), "alerts:", paid_late, "paid late,", never, "never")


if __name__ == "__main__":
    main()
