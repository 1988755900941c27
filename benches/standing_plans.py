#!/usr/bin/env python3
"""Standing plans for an hour: memory and questions under way, while a tenth of the clients leave early.

usage: benches/standing_plans.py PROGRAM [MINUTES [SIGNALS]]

PROGRAM as for benches/cluster_load.py. Three nodes hold six shards of SIGNALS (100,000), each twice. 16 connections ask them
for pages, counts and filter options for MINUTES (60), and of ten requests one client leaves before it is answered. Each
minute the resident memory of the nodes is printed. Ends with 1 if an answer is wrong, if the memory of a node has grown by
more than a megabyte in ten minutes between the second sixth of the time and its end, or if a question is left over.
"""
import contextlib
import re
import socket
import sys
import tempfile
import time

from cluster_load import KINDS, Load, cluster_of, expected_of

CONNECTIONS = 16
LEAVING = 10
GROWTH_MAX = 1.0  # megabytes in ten minutes


class LeavingLoad(Load):
    """A load of which some clients leave."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.asked = self.left = 0

    def asked_once(self, client, poller, by_number, lost):
        """Leaves after every tenth request."""
        self.asked += 1
        if self.asked % LEAVING:
            return
        number = client.connection.fileno()
        poller.unregister(number)
        del by_number[number]
        # A node closes connections, too, of clients that get no time to send.
        with contextlib.suppress(OSError):
            client.connection.shutdown(socket.SHUT_RDWR)
        client.connection.close()
        self.left += 1
        lost.append(client)


def megabytes(served):
    with open(f"/proc/{served.process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1024


def questions_left(served):
    """Questions of a node's plans that wait, as its metrics say."""
    text = served.admin_get("/metrics")
    return sum(int(float(number)) for number in re.findall(r"cluster_questions\{[^}]*\} (\S+)", text))


def main():
    minutes = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    signals = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        whole, nodes = cluster_of(sys.argv[1], folder, signals)
        try:
            expected = expected_of(whole)
            whole.stop()
            load = LeavingLoad(nodes, CONNECTIONS // len(nodes), list(KINDS), expected)
            series = []
            for minute in range(minutes):
                load.run(60)
                series.append([megabytes(node) for node in nodes])
                shown = ", ".join(f"{of_node:.1f}" for of_node in series[-1])
                print(f"{minute + 1} min: {load.codes['200']:,} answers, {load.left:,} left early, {shown} MB", flush=True)
            time.sleep(3)
            waiting = [questions_left(node) for node in nodes]
        finally:
            for served in (whole, *nodes):
                served.stop()
    first = series[minutes // 6]
    time_taken = max(1, len(series) - 1 - minutes // 6)
    growth = [(last - before) * 10 / time_taken for before, last in zip(first, series[-1])]
    print(f"MB in ten minutes: {', '.join(f'{of_node:.2f}' for of_node in growth)}; questions left: {waiting};"
          f" wrong: {load.wrong}; {dict(load.codes)}")
    sys.exit(1 if load.wrong or any(waiting) or max(growth) > GROWTH_MAX else 0)


if __name__ == "__main__":
    main()
