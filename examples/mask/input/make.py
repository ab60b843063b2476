#!/usr/bin/env python3
"""Makes orders.jsonl and ../expected/ from SEED. Nobody in it exists; every address is at example.com,
example.org or example.net, which belong to nobody.

    python3 make.py

Among the orders stand a few that no sender should have written; BROKEN says which and what becomes of
them: the host or the function gives them up, and they go to the dead letters.

The expected output is computed by this script, from the orders as it made them.
"""

import hashlib
import json
import pathlib
import random

SEED = 4711
ORDERS = 2000
HERE = pathlib.Path(__file__).resolve().parent

FIRST = "ada bo cleo dev eve finn gus hana ivo jun kai lea mio nell otto pia quin ravi sol tess".split()
LAST = "abel berg cole diaz endo frost gray hale ito jung kent lund moss nair orr poe reed sato tran voss".split()
HOSTS = ["example.com", "example.org", "example.net"]
COUNTRIES = ["DE", "ES", "FR", "JP", "NO", "US"]
NOTES = ["ring twice", "leave it at the gate", 'call me on 555-0100, "any time"', "gift: no invoice, please"]

# line number -> what stands there instead of an order
BROKEN = {
    # The line was cut: it is not JSON.
    200: b'{"order":"o-000200","customer":{"name":"Cut Off","ema',
    # No address.
    600: b'{"order":"o-000600","customer":{"name":"No Address","country":"FR"},"card":"1","amount":3.5}',
    # An address that is a number.
    1000: b'{"order":"o-001000","customer":{"name":"N. Umber","email":1000,"country":"JP"},"card":"1","amount":4.5}',
    # An address without `@`: well-formed to the host, refused by the function.
    1400: b'{"order":"o-001400","customer":{"name":"No At","email":"no-at.example.com","country":"US"},"card":"1","amount":5.5}',
    # Bytes that are not UTF-8, in a field nobody asked for.
    1800: b'{"order":"o-001800","customer":{"name":"\xff\xfe","email":"b@example.com","country":"US"},"card":"1","amount":6.5}',
}


def main():
    rng = random.Random(SEED)
    lines, masked = [], []
    for number in range(1, ORDERS + 1):
        order = make_order(rng, number)
        if number in BROKEN:
            lines.append(BROKEN[number])
        else:
            lines.append(json.dumps(order, separators=(",", ":")).encode())
            masked.append(mask(order))
    text = b"".join(line + b"\n" for line in lines)
    (HERE / "orders.jsonl").write_bytes(text)
    expected = HERE.parent / "expected"
    rows = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in masked)
    (expected / "masked.jsonl").write_text(rows)
    counts = {
        "records_in": len(lines),
        "masked": len(masked),
        "dead_letters": len(BROKEN),
        "dead_lines": sorted(BROKEN),
        "input_sha256": hashlib.sha256(text).hexdigest(),
    }
    (expected / "counts.json").write_text(json.dumps(counts, indent=2) + "\n")
    print(json.dumps(counts, indent=2))


def pick(rng, choices):
    return choices[int(rng.random() * len(choices))]


def make_order(rng, number):
    first, last = pick(rng, FIRST), pick(rng, LAST)
    order = {
        "order": f"o-{number:06}",
        "customer": {
            "name": f"{first.title()} {last.title()}",
            "email": f"{first}.{last}{int(rng.random() * 100)}@{pick(rng, HOSTS)}",
            "country": pick(rng, COUNTRIES),
        },
        "card": "".join(str(int(rng.random() * 10)) for _ in range(16)),
        "amount": round(1 + rng.random() * 500, 2),
    }
    if rng.random() < 0.3:
        order["note"] = pick(rng, NOTES)
    return order


def mask(order):
    """What the job must make of an order: name and note are gone, address and card are cut."""
    local, host = order["customer"]["email"].split("@")
    return {
        "order": order["order"],
        "email": f"{local[0]}***@{host}",
        "country": order["customer"]["country"],
        "card": f"****{order['card'][-4:]}",
        "amount": order["amount"],
    }


main()
