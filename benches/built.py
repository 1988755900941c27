#!/usr/bin/env python3
"""Builds benches and tests, and finds their programs.

usage: benches/built.py BENCH
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built(bench):
    """The program of a bench of the library."""
    command = ["cargo", "build", "--profile", "bench", "--package", "signaldex", "--bench", bench,
               "--message-format=json-render-diagnostics"]
    return executable(command, bench)


# As `.ci/run` builds the tests of these packages, so that nothing is compiled anew.
PACKAGES = ["signaldex-cli", "signaldex-cluster", "signaldex-sql", "signaldex-synthetic", "signaldex-python"]
FEATURES = [*(f"signaldex-cli/{feature}" for feature in ["cluster", "sql", "replicate-s3", "xlsx", "parquet"]),
            "signaldex-python/datafusion"]
TESTED = [*(word for name in PACKAGES for word in ("--package", name)), "--features", ",".join(FEATURES)]
ENVIRONMENT = os.environ | {"PYO3_BUILD_EXTENSION_MODULE": "1"}


def built_test(package):
    """The program of the tests inside a package."""
    command = ["cargo", "test", "--no-run", "--lib", *TESTED, "--message-format=json-render-diagnostics"]
    return executable(command, package.replace("-", "_"))


def executable(command, target):
    """What a command of cargo has built for a target."""
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, env=ENVIRONMENT).stdout
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == target:
            return message["executable"]
    sys.exit(f"cargo did not name the program of {target}")


if __name__ == "__main__":
    print(built(sys.argv[1]))
