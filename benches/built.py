"""Builds a bench and finds its program."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built(bench):
    """The program of a bench of the library."""
    command = ["cargo", "build", "--profile", "bench", "--package", "signaldex", "--bench", bench,
               "--message-format=json-render-diagnostics"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == bench:
            return message["executable"]
    sys.exit("cargo did not name the bench")
