#!/usr/bin/env python3
"""Kills a service that delivers to webhooks, and its receiver, again and again, and compares what arrives with what is charged.

usage: crates/server/tests/service/webhook_kills.py PROGRAM [KILLS]

In each round signals change, and the service or the receiver is killed after a random time. At the end it has to hold that
the last state of every signal has arrived for each search, verified; that a match has one id, one signal and one event;
and that D <= M <= V, with D matches delivered, M units charged and V versions of signals that were ever committed, times
the searches: so none was charged twice.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
SEARCHES = 3
SIGNALS = 60
PERMITTED = ["--webhook-http", "--webhook-allow", "127.0.0.1"]
PAUSES = ",".join(["1s"] * 32)


class Receiver:
    """Answers on a port until it is killed: then what is under way gets no answer."""

    def __init__(self):
        self.secrets, self.events, self.lock, self.port = {}, [], threading.Lock(), 0
        self.start()

    def start(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if receiver.server is not self.server:
                    return
                with receiver.lock:
                    receiver.events.append((dict(self.headers.items()), body))
                time.sleep(random.random() / 50)
                if receiver.server is not self.server:
                    return
                self.send_response(random.choice([200, 204, 204, 500]))
                self.end_headers()

            def log_message(self, *_):
                pass

        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def kill(self):
        server, self.server = self.server, None
        server.shutdown()
        server.server_close()


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if done.stdout.strip() else None


def serve():
    command = [PROGRAM, "serve", "index", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--state", "state.db",
               "--log", "off", "--webhook-pauses", PAUSES, *PERMITTED]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write(name, records):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def check(receiver, titles, versions):
    arrived, newest = {}, {}
    for headers, body in receiver.events:
        headers = {name.lower(): value for name, value in headers.items()}
        event = json.loads(body)
        search = event["data"]["search"]["id"]
        secret = base64.b64decode(receiver.secrets[search].removeprefix("whsec_"))
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        mac = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{mac}"
        for match in event["data"]["matches"]:
            this = (search, headers["webhook-id"], match["signal"]["id"])
            assert arrived.setdefault(match["id"], this) == this, match
            newest[search, match["signal"]["id"]] = match["signal"]["title"]
    for search in receiver.secrets:
        for number, title in titles.items():
            assert newest.get((search, str(number))) == title, f"{search} lacks {title!r} of {number}"
    charged = sum(line["signals"] for line in run("usage", "--state", "state.db"))
    print(f"{KILLS} kills: {len(receiver.events)} events, {len(arrived)} matches delivered, {charged} charged, "
          f"{versions * SEARCHES} versions")
    assert len(arrived) <= charged <= versions * SEARCHES


def main():
    random.seed(os.environ.get("SIGNALDEX_SEED", "1"))
    os.chdir(tempfile.mkdtemp())
    write("companies.jsonl", [{"slug": "acme", "name": "Acme"}])
    titles = {number: f"Acme {number} begins" for number in range(1, SIGNALS + 1)}
    versions = len(titles)
    records = lambda numbers: [{"id": str(n), "companySlug": "acme", "title": titles[n], "category": "funding", "slug": f"acme-{n}"} for n in numbers]
    write("signals.jsonl", records(titles))
    subprocess.run([PROGRAM, "build", "--out", "index", "--companies", "companies.jsonl", "--signals", "signals.jsonl"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = run("keys", "create", "--state", "state.db", "--name", "kills")["id"]
    receiver = Receiver()
    for number in range(SEARCHES):
        created = run("searches", "create", "--state", "state.db", "--key", key, "--name", f"search {number}",
                      "--query", "q=acme", "--since", "start", "--webhook", f"http://127.0.0.1:{receiver.port}/", *PERMITTED)
        receiver.secrets[created["id"]] = created["secret"]
    service = serve()
    for kill in range(KILLS):
        changed = random.sample(sorted(titles), random.randint(1, 10))
        titles.update((number, f"Acme {number} in round {kill}") for number in changed)
        versions += len(changed)
        write("signals.jsonl", records(changed))
        subprocess.run([PROGRAM, "update", "index", "--signals", "signals.jsonl"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.random() * 1.5)
        if random.random() < 0.3:
            receiver.kill()
            time.sleep(random.random() / 2)
            receiver.start()
        else:
            service.send_signal(signal.SIGKILL)
            service.wait()
            # Or the lease of 15 seconds would end first.
            subprocess.run([sys.executable, "-c", "import sqlite3; c = sqlite3.connect('state.db'); "
                            "c.execute('DELETE FROM webhook_lease'); c.commit()"], check=True)
            service = serve()
    until = time.time() + 120
    while time.time() < until:
        time.sleep(1)
        searches = run("searches", "list", "--state", "state.db")
        if all(search["pending"] == 0 and search["status"] == "active" for search in searches):
            break
    time.sleep(5)
    check(receiver, titles, versions)
    service.kill()


main()
