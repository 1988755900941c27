"""The program beside a store over the protocol of S3: commands, answers, a replica."""

import http.client
import json
import os
import socket
import subprocess
import time

QUERIES = ["limit=50", "q=series&limit=20", "country=Germany&countOnly=true"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, (command, done.returncode, done.stderr)
    return done


def await_that(holds, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


def answers(program, directory):
    return [run(program, "search", directory, query, "--as-of", "2026-06-30").stdout for query in QUERIES]


def corpus(program, folder, name, signals, seed):
    path = os.path.join(folder, name)
    run(program, "generate", "--signals", str(signals), "--seed", str(seed), "--out", path)
    return ["--companies", os.path.join(path, "companies.jsonl"), "--signals", os.path.join(path, "signals.jsonl")]


class Replica:
    def __init__(self, program, folder, store):
        os.makedirs(folder, exist_ok=True)
        self.port, self.cache = free_port(), os.path.join(folder, "cache")
        self.process = subprocess.Popen(
            [program, "serve", "--follow", store, "--cache", self.cache, "--follow-interval", "0.2", "--log", "off",
             "--addr", f"127.0.0.1:{self.port}", "--admin-addr", "127.0.0.1:0", "--state", os.path.join(folder, "state.db")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            connection.request("GET", "/readyz")
            return json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            return {}

    def await_generation(self, generation):
        await_that(lambda: self.ready().get("generation") == generation, f"generation {generation}")
