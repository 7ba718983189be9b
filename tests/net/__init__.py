"""Recorded results of fedclust: what a change of code must not change.

`recorded.json` holds, for every algorithm, tier, way to split the data and place to run, the
centres, a hash of the labels, inertia, rounds, cluster sizes, the bytes each client sent and the
files that were written. `test_net.py` runs the same cases again and compares.

    python -m tests.net                   compare all cases and print the differences
    python -m tests.net study/columns     the same for the cases whose names contain this text
    python -m tests.net --write [TEXT]    record these cases again

Record a case again only if its result was meant to change; the commit message says why.

`cases.py` lists the cases and their data, `running.py` runs one case and is the only module that
imports fedclust, `results.py` reads, writes and compares results.
"""
