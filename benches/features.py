#!/usr/bin/env python3
"""What the first command costs to compile, and what each feature adds: CPU seconds, and size of the program.

usage: benches/features.py [--record] [FEATURE...]

Builds the program of the README's first command from nothing in target/features. A feature is then built in a copy of
that folder; what it takes more than the workspace's own packages, which are compiled again for each, is the feature's.
CPU seconds are user and system time of all processes; threads that share a core, and neighbours, make them more, so
compare those of one run. --record writes benches/results/features.json.
"""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "target/features"
FEATURES = ["encodings", "parquet", "xlsx", "serve"]
PACKAGES = ["signaldex", "signaldex-synthetic", "signaldex-cli"]
FIRST_MAX = 95


def cargo(folder, *arguments):
    """Runs cargo in a target folder. Returns the CPU seconds of all that it starts."""
    before = os.times()
    command = ["cargo", *arguments, "--release", "--locked"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(folder), "CARGO_INCREMENTAL": "0"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def megabytes(folder):
    return (folder / "release/signaldex").stat().st_size / 1e6


def copied(name):
    """A copy of the folder of the first command; its files are linked, and rustc replaces rather than changes them."""
    copy = FOLDER / name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(FOLDER / "first", copy, copy_function=os.link)
    return copy


def added(feature, packages, size):
    """A row: what a feature adds."""
    folder = copied(feature)
    seconds = cargo(folder, "build", "--bin", "signaldex", "--features", feature) - packages
    row = [f"`{feature}`", f"{max(seconds, 0):.0f}", f"{megabytes(folder) - size:.1f}"]
    print(" | ".join(row), flush=True)
    return row


def main():
    features = [name for name in sys.argv[1:] if not name.startswith("-")] or FEATURES
    shutil.rmtree(FOLDER, ignore_errors=True)
    first = FOLDER / "first"
    seconds = cargo(first, "build", "--bin", "signaldex")
    size = megabytes(first)
    print(f"first command: {seconds:.0f} CPU seconds, at most {FIRST_MAX}; {size:.1f} MB", flush=True)
    own = copied("own")
    for package in PACKAGES:
        subprocess.run(["cargo", "clean", "--release", "--package", package], cwd=ROOT, check=True, capture_output=True,
                       env=os.environ | {"CARGO_TARGET_DIR": str(own)})
    packages = cargo(own, "build", "--bin", "signaldex")
    print(f"the workspace's own packages: {packages:.0f} CPU seconds", flush=True)
    rows = [added(feature, packages, size) for feature in features]
    if "--record" in sys.argv:
        record = {
            "date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} cores, shared with compilers; {version()}",
            "repeat": "benches/features.py",
            "values": {"first": f"{seconds:.0f}", "own": f"{packages:.0f}", "size": f"{size:.1f}"},
            "tables": {"added": {"columns": ["feature", "CPU seconds", "MB"], "rows": rows}},
        }
        (ROOT / "benches/results/features.json").write_text(json.dumps(record, indent=2) + "\n")


def version():
    said = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()
    return f"Rust {said[1]}"


main()
