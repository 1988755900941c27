#!/usr/bin/env python3
"""Kills a service under load, again and again, and compares what it delivered with what it charged.

usage: crates/server/tests/service/kill.py PROGRAM [KILLS [CLIENTS]]

In each round, clients ask with idempotency keys for pages of signals, pages of companies and the companies with most
signals, and every sixteenth exports signals under one, in one of the six orders, breaking off its export now and then,
until the service is killed with SIGKILL. With D items in complete answers and whole lines, M units recorded and F
items that may have been in flight, it has to hold that D <= M <= D + F. Then the service starts again, each
client repeats its unfinished request with the same idempotency key, or resumes its export after its last
whole line, and M has to equal D exactly.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_MAX = 50
# Orders with the parameters beside them, and how many signals of the sample corpus they export.
ORDERS = {"newest": ("", 2000), "oldest": ("", 2000), "-date": ("", 2000), "date": ("", 2000),
          "-amount": ("&fundingCurrency=USD", 176), "amount": ("&fundingCurrency=USD", 176)}
QUESTIONS = ("signals?limit={}", "companies?limit={}&has=(min=1)", "aggregates?by=company&limit={}")
EXPORTS_BROKEN_OFF = 0.3  # the share, beside those that a kill cuts
CLIENTS_PER_EXPORTER = 16  # a key has up to four exports at once
EXPORT_READ_BYTES = 4096
PORT = int(os.environ.get("PORT", "18098"))


class Client(threading.Thread):
    """Asks until the connection breaks, and keeps the request that was not answered."""

    def __init__(self, round_number, number, key):
        super().__init__()
        self.name_base = f"kill-{round_number}-{number}"
        self.random = random.Random(self.name_base)
        self.key = key
        self.delivered = 0
        self.unfinished = None
        self.fault = None

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        for count in range(1_000_000):
            limit = self.random.randint(1, LIMIT_MAX)
            request = (f"{self.name_base}-{count}", limit, self.random.choice(QUESTIONS).format(limit))
            self.unfinished = request
            try:
                items, _ = ask(connection, self.key, request)
            except (OSError, http.client.HTTPException):
                return
            except AssertionError as fault:
                self.fault = fault
                return
            self.delivered += items
            self.unfinished = None

    def repeat(self):
        """Repeats the unfinished request; the items count as delivered now."""
        if self.unfinished is None:
            return
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        items, _ = ask(connection, self.key, self.unfinished)
        again, is_replayed = ask(connection, self.key, self.unfinished)
        assert is_replayed and again == items, "a second repetition is a replay of the first"
        self.delivered += items


class Exporter(threading.Thread):
    """Exports signals, again and again, resumes what it breaks off, and the export that the kill has cut."""

    def __init__(self, round_number, number, key):
        super().__init__()
        self.name_base = f"kill-export-{round_number}-{number}"
        self.random = random.Random(self.name_base)
        self.key = key
        self.delivered = 0
        self.broken_off = 0
        self.unfinished = None
        self.fault = None

    def run(self):
        for count in range(1_000_000):
            self.order = self.random.choice(list(ORDERS))
            # The signals that may be in flight are those not delivered of a whole export.
            self.unfinished = (f"{self.name_base}-{count}", ORDERS[self.order][1])
            self.keys = []
            try:
                while not self.export(self.random.random() < EXPORTS_BROKEN_OFF):
                    self.broken_off += 1
            except (OSError, http.client.HTTPException):
                self.broken_off += 1
                self.unfinished = (self.unfinished[0], ORDERS[self.order][1] - len(self.keys))
                return
            except AssertionError as fault:
                self.fault = fault
                return
            self.finish()

    def export(self, breaks_off=False):
        """Reads on to the end, and returns whether it did; raises where the connection breaks."""
        lines_left = self.random.randint(1, 400) if breaks_off else sys.maxsize
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        headers = {"Authorization": f"Bearer {self.key}", "Idempotency-Key": self.unfinished[0]}
        after = f"&after={self.after()}" if self.keys else ""
        connection.request("GET", f"/api/v1/export?order={self.order}{ORDERS[self.order][0]}{after}", headers=headers)
        answer = connection.getresponse()
        if answer.status in (409, 429) and self.broken_off:
            # What was broken off is under way until the service notices.
            answer.read()
            time.sleep(0.02)
            return False
        assert answer.status == 200, f"{answer.status} {answer.read()[:200]}"
        rest = b""
        while piece := answer.read(EXPORT_READ_BYTES):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.keys.append(self.key_of(json.loads(line, parse_float=str, parse_int=str)))
                self.delivered += 1
                lines_left -= 1
            if lines_left <= 0:
                connection.close()
                return False
        assert rest == b"", "a whole export ends with a whole line"
        return True

    def key_of(self, signal):
        """Value and id of a signal, as texts; an empty value for none."""
        by = {"date": signal["date"], "amount": (signal["funding"] or {}).get("amount")}
        return by.get(self.order.lstrip("-"), None) or "", signal["id"]

    def after(self):
        """Where the export goes on."""
        value, number = self.keys[-1]
        return number if self.order in ("newest", "oldest") else f"{value},{number}"

    def finish(self):
        total = ORDERS[self.order][1]
        assert len(self.keys) == len(set(self.keys)) == total, f"{len(self.keys)} of {total} signals"
        assert self.keys == sorted(self.keys, key=self.rank), f"in the order {self.order}"
        self.unfinished = None

    def rank(self, key):
        """What ascends in the order, by its definition."""
        value, number = key
        if self.order in ("newest", "oldest"):
            return int(number) if self.order == "oldest" else -int(number)
        # Days as numbers of eight digits.
        value = float(value.replace("-", "")) if value else None
        sign = -1 if self.order.startswith("-") else 1
        return value is None, sign * (value or 0), -int(number)

    def repeat(self):
        """Resumes the unfinished export."""
        if self.unfinished is not None:
            assert self.export(), "nothing breaks it off"
            self.finish()


def ask(connection, key, request):
    name, limit, question = request
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": name}
    connection.request("GET", f"/api/v1/{question}", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, f"{answer.status} {body[:200]}"
    data = json.loads(body)["data"]
    items = len(data["groups"] if "groups" in data else data["items"])
    assert items == limit, f"{items} of {limit} items"
    return items, answer.getheader("Idempotency-Replayed") == "true"


def start(program, state):
    command = [program, "serve", "@sample", "--addr", f"127.0.0.1:{PORT}", "--metrics-addr", "127.0.0.1:0",
               "--state", state, "--log", "off"]
    service = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    for _ in range(1000):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return service
        except OSError:
            time.sleep(0.01)
    raise SystemExit("the service does not start")


def recorded(program, state):
    usage = json.loads(subprocess.check_output([program, "usage", "--state", state]))
    return sum(line["signals"] + line["companies"] for line in usage)


def main():
    program = sys.argv[1]
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    clients = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    charged_in_flight = in_flight = delivered_before = requests_in_flight = broken_off = 0
    with tempfile.TemporaryDirectory() as directory:
        state = os.path.join(directory, "state.db")
        made = subprocess.check_output([program, "keys", "create", "--state", state, "--rate", "1000000",
                                        "--burst", "1000000"])
        key = json.loads(made)["key"]
        for round_number in range(kills):
            service = start(program, state)
            kind = lambda number: Exporter if number % CLIENTS_PER_EXPORTER == 0 else Client
            group = [kind(number)(round_number, number, key) for number in range(clients)]
            for client in group:
                client.start()
            time.sleep(random.uniform(0.02, 0.5))
            service.send_signal(signal.SIGKILL)
            service.wait()
            for client in group:
                client.join()
                assert client.fault is None, client.fault
            delivered = delivered_before + sum(client.delivered for client in group)
            flying = sum(client.unfinished[1] for client in group if client.unfinished)
            units = recorded(program, state)
            assert delivered <= units <= delivered + flying, (round_number, delivered, units, flying)
            charged_in_flight += units - delivered
            in_flight += flying
            requests_in_flight += sum(client.unfinished is not None for client in group)
            broken_off += sum(client.broken_off for client in group if isinstance(client, Exporter))

            service = start(program, state)
            for client in group:
                client.repeat()
            delivered_before += sum(client.delivered for client in group)
            units = recorded(program, state)
            assert units == delivered_before, (round_number, delivered_before, units)
            service.send_signal(signal.SIGTERM)
            assert service.wait() == 0, "SIGTERM ends the service with exit status 0"
        print(f"{kills} kills under {clients} clients: {delivered_before} items delivered and charged; "
              f"{requests_in_flight} requests with {in_flight} items were in flight, of which "
              f"{charged_in_flight} items had been charged and were delivered on repetition; {broken_off} exports in "
              "six orders were broken off and resumed")


if __name__ == "__main__":
    main()
