#!/usr/bin/env python3
"""Metering over machines: two services with a state file each behind haproxy, by the lines of docs/operators.md.

usage: crates/server/tests/service/balanced.py PROGRAM

Each of some keys, made in the first state and copied to the second, asks for more than its quota from several clients
at once, and repeats requests under an Idempotency-Key. Over both states exactly the quota is charged, a repetition
once, and a key that is revoked in the first is refused everywhere after the next copy.
"""

import concurrent.futures
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

KEYS = 20
QUOTA = 20
CLIENTS = 4
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")
DOCUMENT = os.path.join(ROOT, "docs", "operators.md")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def lines_of_document():
    """The lines that send a key to one machine, as the document has them."""
    text = open(DOCUMENT).read()
    lines = text.split("```text\nbackend metered\n")[1].split("```")[0].splitlines()
    assert len(lines) == 3, lines
    return "\n".join(lines)


def run(program, *command):
    done = subprocess.run([program, *command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return json.loads(done.stdout)


def serve(program, state):
    port = free_port()
    process = subprocess.Popen([program, "serve", "@sample", "--addr", f"127.0.0.1:{port}", "--admin-addr", "127.0.0.1:0",
                                "--log", "off", "--state", state], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process, port


def proxy(folder, ports):
    port = free_port()
    servers = "\n".join(f"    server node{number} 127.0.0.1:{port} check inter 200ms"
                        for number, port in enumerate(ports))
    path = os.path.join(folder, "haproxy.cfg")
    with open(path, "w") as file:
        file.write(f"""
defaults
    mode http
    timeout connect 1s
    timeout client 30s
    timeout server 30s
frontend clients
    bind 127.0.0.1:{port}
    default_backend metered
backend metered
{lines_of_document()}
{servers}
""")
    return subprocess.Popen(["haproxy", "-db", "-q", "-f", path], stderr=subprocess.DEVNULL), port


def ask(port, key, name=None):
    headers = {"Authorization": f"Bearer {key}", "Connection": "close"}
    if name:
        headers["Idempotency-Key"] = name
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/api/v1/signals?limit=1", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def await_status(port, key, status):
    deadline = time.monotonic() + 20
    while True:
        try:
            found = ask(port, key)
        except (OSError, http.client.HTTPException) as error:
            found = error
        if found == status:
            return
        assert time.monotonic() < deadline, (found, status)
        time.sleep(0.05)


def main():
    program = os.path.abspath(sys.argv[1])
    started = []
    with tempfile.TemporaryDirectory() as folder:
        states = [os.path.join(folder, f"node{number}.db") for number in range(2)]
        first, second = states
        limits = ["--rate", "100000", "--burst", "100000", "--quota-signals", str(QUOTA)]
        made = [run(program, "keys", "create", "--state", first, *limits) for _ in range(KEYS)]
        assert run(program, "keys", "copy", first, "--state", second) == {"copied": KEYS}
        try:
            nodes = [serve(program, state) for state in states]
            started += [process for process, _ in nodes]
            haproxy, port = proxy(folder, [port for _, port in nodes])
            started.append(haproxy)
            await_status(port, "none", 401)
            await_status(port, made[0]["key"], 200)
            drive(port, made)
            counts = [{line["keyId"]: line["signals"] for line in run(program, "usage", "--state", state)}
                      for state in states]
            for key in made:
                charged = [count.get(key["id"], 0) for count in counts]
                assert sorted(charged) == [0, QUOTA], (key["id"], charged)
            assert all(counts), "both nodes have keys"
            revoked = made[0]
            subprocess.run([program, "keys", "revoke", "--state", first, revoked["id"]], check=True, capture_output=True)
            run(program, "keys", "copy", first, "--state", second)
            for node in [port for _, port in nodes] + [port]:
                await_status(node, revoked["key"], 401)
            print(f"{KEYS} keys with a quota of {QUOTA}, {CLIENTS} clients each, over two state files: each charged {QUOTA} "
                  f"in one of them; {[len(count) for count in counts]} keys at each node")
        finally:
            for process in started:
                process.kill()
                process.wait()


def drive(port, made):
    """Asks with each key until its quota is used up, repeating every request once."""
    def client(number, key):
        statuses = []
        for count in range(QUOTA):
            name = f"request-{number}-{count}"
            statuses += [ask(port, key, name), ask(port, key, name)]
        return statuses
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        for key in made:
            ends = [pool.submit(client, number, key["key"]) for number in range(CLIENTS)]
            statuses = [status for end in ends for status in end.result()]
            assert set(statuses) == {200, 402}, statuses


if __name__ == "__main__":
    main()
