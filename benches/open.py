#!/usr/bin/env python3
"""How long opening an index takes, with its files in the page cache and evicted from it.

usage: benches/open.py [SIGNALS] [FOLDER]

Builds an index of generated signals in FOLDER (target/open), unless it is there, opens it in a process
of its own each time, and prints the median of each step in milliseconds. To evict a file, its pages are
written back and given up with posix_fadvise(POSIX_FADV_DONTNEED); mincore says that none is left. The file system
has to be on a disk: tmpfs keeps its pages.
"""
import ctypes
import mmap
import os
import pathlib
import statistics
import subprocess
import sys

from built import built

ROOT = pathlib.Path(__file__).parent.parent
RUNS = 11
# The lowest bit of each byte.
ODD = bytes(value & 1 for value in range(256))


def resident_pages(path):
    """How many pages of a file are in the page cache."""
    length = path.stat().st_size
    if length == 0:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                          ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    pages = ctypes.create_string_buffer(-(-length // mmap.PAGESIZE))
    with open(path, "rb") as file:
        address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    try:
        if libc.mincore(address, length, pages) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        libc.munmap(address, length)
    return pages.raw.translate(ODD).count(1)


def evict(folder):
    """Takes the files of a folder out of the page cache."""
    os.sync()
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_pages(path)
        if left:
            sys.exit(f"{left} pages of {path} stay in the page cache: is it on a disk?")


def read(folder):
    """Brings the files of a folder into the page cache."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def steps(bench, folder):
    """Microseconds of each step in a new process."""
    output = subprocess.run([bench, "open", folder], check=True, stdout=subprocess.PIPE, text=True)
    lines = (line.split(": ") for line in output.stdout.splitlines())
    return {step: int(microseconds) for step, microseconds in lines}


def main():
    signals = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target" / "open") / signals
    bench = built("open")
    if not (folder / "manifest").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([bench, "build", folder, signals], check=True)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{signals} signals, {size / 1e6:.0f} MB")
    print("| | cached | evicted |\n|---|--:|--:|")
    runs = {}
    for name, prepare in [("cached", read), ("evicted", evict)]:
        for _ in range(RUNS):
            prepare(folder)
            for step, microseconds in steps(bench, folder).items():
                runs.setdefault(step, {}).setdefault(name, []).append(microseconds / 1000)
    for step, times in runs.items():
        medians = (statistics.median(times[name]) for name in ("cached", "evicted"))
        print(f"| {step} | {' | '.join(f'{median:.2f}' for median in medians)} |")


if __name__ == "__main__":
    main()
