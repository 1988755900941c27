#!/usr/bin/env python3
"""How long commands that take seconds show nothing new on a terminal.

usage: crates/cli/tests/commands/silence.py PROGRAM [SIGNALS] [FOLDER]

Generates SIGNALS (1,000,000) signals in FOLDER (target/silence), and runs each command on a pseudo-terminal. Silence is
the time without a byte, from the start of the process to its end; a second and a half of it fails.
"""

import fcntl
import os
import pathlib
import pty
import select
import shutil
import struct
import sys
import termios
import time

SILENCE_MAX = 1.5
ROOT = pathlib.Path(__file__).parents[4]


def longest_silence(command):
    """The longest time without output in seconds, what was shown last before it, and the seconds of the command."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    started = last = time.monotonic()
    longest, where, shown = 0.0, b"", b""
    while True:
        select.select([terminal], [], [])
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so that the other side is closed.
            piece = b""
        now = time.monotonic()
        if now - last > longest:
            longest, where = now - last, shown[-60:]
        if not piece:
            break
        last, shown = now, shown + piece
        shown = shown[-4096:]
    _, status = os.waitpid(pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: {shown.decode(errors='replace')}")
    return longest, where, time.monotonic() - started


def commands(program, signals):
    """The commands in the order in which they run, by name."""
    records = ["--companies", "corpus/companies.jsonl", "--signals", "corpus/signals.jsonl"]
    changes = ["--companies", "changes/companies.jsonl", "--signals", "changes/signals.jsonl"]
    generate = [program, "generate", "--seed"]
    return {
        "generate": [*generate, "1", "--signals", str(signals), "--out", "corpus"],
        "generate changes": [*generate, "2", "--signals", str(signals // 20), "--out", "changes"],
        "build": [program, "build", *records, "--out", "index"],
        "build --check": [program, "build", *records, "--check"],
        "verify": [program, "verify", "index"],
        "update": [program, "update", "index", *changes],
        "compact": [program, "compact", "index"],
        "export": [program, "export", "index", "--out", "all.ndjson"],
        "dump": [program, "dump", "index", "--out", "dump"],
        "publish": [program, "publish", "index", "store"],
    }


def main():
    program = os.path.abspath(sys.argv[1])
    signals = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    folder = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT / "target/silence"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    silent = []
    has_service = os.popen(f"{program} --help").read().find("publish") >= 0
    for name, command in commands(program, signals).items():
        if name == "publish" and not has_service:
            continue
        longest, where, seconds = longest_silence(command)
        print(f"{name}: {seconds:.1f} s, silent for at most {longest:.2f} s, after {where!r}", flush=True)
        silent += [name] * (longest >= SILENCE_MAX)
    os.chdir(ROOT)
    shutil.rmtree(folder)
    if silent:
        sys.exit(f"silent for {SILENCE_MAX} s or longer: {', '.join(silent)}")


if __name__ == "__main__":
    main()
