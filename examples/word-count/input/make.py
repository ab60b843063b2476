#!/usr/bin/env python3
"""Makes ../expected/counts.csv from the texts, and checks that they are the texts we mean.

    python3 make.py

A word is a run of ASCII letters, digits and apostrophes that begins and ends with a letter or digit,
in lower case; everything else stands between words.
"""

import collections
import hashlib
import pathlib
import re
import sys

TEXTS = {
    "us-constitution.txt": "e398fe77f26f1ba6ea7ccc6e6f0b0c91c6de08ec7f1e5efa6be60dd39ccce4e6",
    "us-declaration.txt": "5901585a2ff579de7ba4b8fb15ba46e96f5523fb667546042055e8aea3a2d48e",
}
HERE = pathlib.Path(__file__).resolve().parent


def main():
    counts = collections.Counter()
    for name, digest in TEXTS.items():
        text = (HERE / "texts" / name).read_bytes()
        found = hashlib.sha256(text).hexdigest()
        if found != digest:
            sys.exit(f"{name}: sha256 is {found}, expected {digest}")
        counts.update(words(text.decode("ascii")))
    rows = "".join(f"{word},{count}\n" for word, count in sorted(counts.items()))
    (HERE.parent / "expected" / "counts.csv").write_text(rows)
    print(f"{sum(counts.values())} words, {len(counts)} of them distinct")


def words(text):
    return re.findall(r"[a-z0-9](?:[a-z0-9']*[a-z0-9])?", text.lower())


main()
