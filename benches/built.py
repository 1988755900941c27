"""Builds benches and tests, and finds their programs."""
import json
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
TESTED = ["signaldex-cli", "signaldex-cluster", "signaldex-sql", "signaldex-synthetic"]
FEATURES = ["cluster", "sql", "replicate-s3", "xlsx", "parquet"]


def built_test(package):
    """The program of the tests inside a package."""
    selected = [word for name in TESTED for word in ("--package", name)]
    features = ",".join(f"signaldex-cli/{feature}" for feature in FEATURES)
    command = ["cargo", "test", "--no-run", "--lib", *selected, "--features", features,
               "--message-format=json-render-diagnostics"]
    return executable(command, package.replace("-", "_"))


def executable(command, target):
    """What a command of cargo has built for a target."""
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == target:
            return message["executable"]
    sys.exit(f"cargo did not name the program of {target}")
