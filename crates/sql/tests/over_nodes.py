#!/usr/bin/env python3
"""Statements at three nodes of a cluster have the rows that DuckDB finds in the records.

usage: crates/sql/tests/over_nodes.py [PROGRAM] [SIGNALS]

PROGRAM (target/debug/signaldex, with the features `cluster` and `sql`) generates SIGNALS (20,000) signals in seven shards, each
held by one of three nodes with `--sql-addr`. The statements of against_duckdb.py are asked over PyPI's adbc_driver_flightsql,
at each node in turn, before and after three updates are published. Then a node is restarted without `--sql-addr`: statements
name it. Installs what it needs into target/duckdb, unless it is there. Prints what differs, and ends with 1 if anything does.
"""
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import against_duckdb as duckdb_side  # noqa: E402
import over_adbc as adbc  # noqa: E402

NAMES = ["one", "two", "three"]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class InTurn:
    """Connections of which each statement takes the next."""

    def __init__(self, services):
        self.connections = [service.connect() for service in services]

    def cursor(self):
        self.connections.append(self.connections.pop(0))
        return self.connections[-1].cursor()

    def close(self):
        for connection in self.connections:
            connection.close()


def wait_for(what, holds):
    until = time.monotonic() + 60
    while not holds():
        adbc.expect(time.monotonic() < until, what)
        time.sleep(0.1)


def answers(service, statement):
    """The rows of a statement, or None where it is refused."""
    try:
        with service.connect() as connection:
            return adbc.ask(connection, statement)
    except Exception:  # noqa: BLE001  Nodes that do not know each other yet refuse.
        return None


def main():
    default = adbc.ROOT / "target" / "debug" / "signaldex"
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else default).resolve()
    signals = sys.argv[2] if len(sys.argv) > 2 else "20000"

    def signaldex(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stopped:
        folder = pathlib.Path(folder)
        corpus, parts, store = folder / "corpus", folder / "parts", folder / "store"
        store.mkdir()
        signaldex("generate", "--signals", signals, "--seed", "7", "--out", corpus)
        signaldex("shard", "--companies", corpus / "companies.jsonl", "--signals", corpus / "signals.jsonl",
                  "--shards", "7", "--out", parts)
        signaldex("publish-shards", parts, store)
        nodes = [{"name": name, "address": f"127.0.0.1:{port}"} for name, port in zip(NAMES, free_ports(3))]
        settings = folder / "cluster.json"
        settings.write_text(json.dumps({"store": str(store), "replicas": 1, "nodes": nodes}))

        def node(name):
            served = ["--cluster", settings, "--node", name, "--shard-cache", folder / f"cache-{name}"]
            return adbc.Service(program, served, folder / f"{name}.db")

        services = [node(name) for name in NAMES]
        for service in services:
            stopped.callback(service.stop)
        total = 0
        for name, records in [("before", corpus), ("after", folder / "after")]:
            if name == "after":
                for update in duckdb_side.change(corpus, folder):
                    signaldex("update", "--shards", parts, *update)
                signaldex("publish-shards", parts, store)
            oracle = duckdb_side.oracle(records)
            wanted = oracle.sql("SELECT count(*), max(updated_at) FROM signals").fetchall()
            wanted = [tuple(map(duckdb_side.plain, row)) for row in wanted]
            newest = "SELECT count(*) AS n, max(updated_at) AS at FROM signals"
            for service in services:
                wait_for("the nodes follow the store", lambda: answers(service, newest) == wanted)
            connections = InTurn(services)
            wrong = adbc.compare(connections, oracle)
            connections.close()
            print(f"{name} the updates: {len(duckdb_side.STATEMENTS)} statements, {wrong} differ from DuckDB")
            total += wrong
        services[2].stop()
        served = [program, "serve", "--cluster", settings, "--node", "three", "--shard-cache", folder / "cache-three",
                  "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--state", folder / "three.db"]
        without = subprocess.Popen(served, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stopped.callback(without.wait)
        stopped.callback(without.terminate)

        def is_named():
            try:
                with services[0].connect() as connection:
                    adbc.ask(connection, newest)
            except Exception as error:  # noqa: BLE001  Its class is the driver's.
                return "node three was started without --sql-addr" in str(error)
            return False

        wait_for("a node without --sql-addr is named", is_named)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    adbc.with_packages()
    main()
