#!/usr/bin/env python3
"""Compares the service that a host builds from the library (src/bin/service.rs) with the program's own.

usage: tests/host/compare.py SERVICE PROGRAM

SERVICE is target/debug/service, PROGRAM the program `signaldex`. Both answer over the sample, and what they say
about the same query has to be the same bytes: pages, counts, whole walks, exports, every fault of a query. The rest is
checked on the host's service alone: entity tags, pages that end early, refusals by cost, and a damaged index.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "data" / "sample"
AS_OF = "2026-06-30"
QUERIES = [
    "",
    "q=robotics",
    "q=%22series+a%22&country=Germany",
    "any=hires+raises&exclude=intern&limit=7",
    "categories=funding,hiring&days=90&limit=50",
    "q=zebra+xylophone",
    "page=3&limit=5",
    "countOnly=true&country=France",
    "q=C++",
    "contry=Germany&limit=0&days=8&q=%ZZ",
    "limit=51",
    "ids=1,x&cursor=nonsense",
    "dateFrom=2026-02-30&q=a&q=b",
]


class NotStarted(Exception):
    """A service has ended before it listened."""


class Process:
    """A service until the end of the block, and the address that it announces."""

    def __init__(self, command, pattern, **environment):
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                self.address = found[1]
                return
        raise NotStarted(f"{command[0]} announces no address")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def get(self, path, **headers):
        """The status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        # So that an answer that breaks off ends.
        headers["Connection"] = "close"
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found


def host(service, *directory, **environment):
    return Process([service, "127.0.0.1:0", *directory], r"^([\d.]+:\d+)$", **environment)


def walk(service, query, items_max):
    """The items of all pages."""
    items, cursor = [], ""
    while cursor is not None:
        after = f"&cursor={cursor}" if cursor else ""
        status, _, body = service.get(f"/signals?{query}{after}", X_Items_Max=str(items_max))
        assert status == 200, (status, body)
        data = json.loads(body)["data"]
        assert len(data["items"]) <= items_max, f"{len(data['items'])} items of at most {items_max}"
        items.extend(data["items"])
        cursor = data["nextCursor"]
    return items


def compare(ours, program, key):
    """Asks both the same queries."""
    for query in QUERIES:
        status, headers, body = ours.get(f"/signals?{query}")
        expected, _, answer = program.get(f"/api/v1/signals?{query}", Authorization=f"Bearer {key}")
        assert status == expected, f"{query}: {status}, the program says {expected}: {answer}"
        if status == 200:
            assert body == answer, f"{query}: {body[:300]} is not {answer[:300]}"
            tag = headers["ETag"]
            assert ours.get(f"/signals?{query}", If_None_Match=tag)[0] == 304, query
            assert ours.get(f"/signals?{query}&limit=1", If_None_Match=tag)[0] != 304, query
        else:
            faults = json.loads(body)["errors"]
            assert faults == json.loads(answer)["errors"], f"{query}: {faults} is not {answer}"
    for query in ["q=raises", "country=Germany", ""]:
        _, _, lines = ours.get(f"/export?{query}")
        _, _, answer = program.get(f"/api/v1/export?{query}", Authorization=f"Bearer {key}")
        assert lines == answer and lines, f"{query}: {len(lines)} bytes are not {len(answer)}"
        items = [json.loads(line) for line in lines.splitlines()]
        assert walk(ours, query, 50) == items, f"{query}: a walk is not the export"
    items = [json.loads(line) for line in ours.get("/export?q=raises")[2].splitlines()]
    assert walk(ours, "q=raises", 7) == items, "a walk in short pages is not the export"
    assert ours.get("/signals", X_Items_Max="3")[0] == 200
    assert ours.get("/elsewhere")[0] == 404


def refuse_costs(service):
    with host(service, COST_MAX="0") as ours:
        status, _, body = ours.get("/signals?any=hires+raises")
        assert status == 429, (status, body)
        assert ours.get("/export?any=hires+raises")[0] == 429
        assert ours.get("/signals?contry=x")[0] == 400


def notice_damage(service, program, work):
    """Flips a byte in the middle of each eighth of a segment: 500 or, where only records are hit, 200."""
    directory = work / "index"
    records = [f"--{kind}={SAMPLE / kind}.jsonl" for kind in ("companies", "signals")]
    subprocess.run([program, "build", *records, "--out", directory], check=True, capture_output=True)
    with host(service, directory) as ours:
        whole = ours.get("/export")[2]
    segment = max(directory.iterdir(), key=lambda file: file.stat().st_size)
    content, statuses = segment.read_bytes(), set()
    for part in range(16):
        damaged = bytearray(content)
        damaged[len(content) * (2 * part + 1) // 32] ^= 1
        segment.write_bytes(damaged)
        try:
            with host(service, directory) as ours:
                statuses.add(ours.get("/signals?q=raises")[0])
                status, _, body = ours.get("/export")
                assert status == 500 or body == whole, f"{status} with {len(body)} bytes"
        except (http.client.IncompleteRead, NotStarted):
            # An export that breaks off, or a section table that does not open.
            pass
    segment.write_bytes(content)
    assert 500 in statuses and statuses <= {200, 500}, statuses


def main():
    service, program = (Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        state = f"--state={work / 'state.db'}"
        created = subprocess.run(
            [program, "keys", "create", state, "--name=compare", "--rate=1000", "--burst=1000"],
            check=True,
            capture_output=True,
        )
        key = json.loads(created.stdout)["key"]
        addresses = ["--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0"]
        serve = [program, "serve", "@sample", f"--as-of={AS_OF}", *addresses, state, "--log=off"]
        with host(service) as ours, Process(serve, r"listening on http://([\d.]+:\d+)") as theirs:
            compare(ours, theirs, key)
        refuse_costs(service)
        notice_damage(service, program, work)
    print(f"{len(QUERIES)} queries, 3 exports, walks, costs and 16 damaged indexes: as the program answers")


if __name__ == "__main__":
    main()
