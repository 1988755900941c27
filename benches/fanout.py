#!/usr/bin/env python3
"""How long an answer takes that needs every shard: a model, exact and without chance.

usage: benches/fanout.py [MEDIAN-MS [RETRY-AFTER-MS]]

The time of one shard is log-normal about its median, with 99 in 100 answers within twice of it; one
answer in 200 takes ten times as long, as when a thread waits for a disk or for its turn. Both are
assumptions, stated as constants below. An answer takes as long as its slowest shard. With a retry, a
shard that has not answered in time is given up and another replica of it is asked, once.
"""

import math
import sys

TWICE_QUANTILE = 2.326  # Standard deviations at 99 in 100.
SIGMA = math.log(2) / TWICE_QUANTILE
STALLED = 1 / 200
STALL_FACTOR = 10
SLOW_FACTOR = 10  # What a shard on a troubled machine needs, all the time.
SHARDS = (1, 3, 10, 30, 100)


def shard(time, median):
    """The share of one shard's answers that have come by then."""
    if time <= 0:
        return 0.0
    body = lambda scale: 0.5 * (1 + math.erf(math.log(time / scale) / SIGMA / math.sqrt(2)))
    return (1 - STALLED) * body(median) + STALLED * body(median * STALL_FACTOR)


def retried(time, median, other, timeout):
    """The same where another replica is asked once the timeout is over."""
    if time <= timeout:
        return shard(time, median)
    in_time = shard(timeout, median)
    return in_time + (1 - in_time) * shard(time - timeout, other)


def quantile(share, distribution):
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if distribution(middle) < share else (low, middle)
    return high


def main():
    median = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    timeout = float(sys.argv[2]) if len(sys.argv) > 2 else 5 * median
    slow = median * SLOW_FACTOR
    print(f"One shard: median {median} ms. Retry after {timeout} ms. Times in ms.\n")
    print("| shards | median | 99 % | 99.9 % | with a retry: 99 % | 99.9 % | one shard slow: median | with a retry: median | 99 % |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for count in SHARDS:
        plain = lambda time: shard(time, median) ** count
        again = lambda time: retried(time, median, median, timeout) ** count
        troubled = lambda time: shard(time, median) ** (count - 1) * shard(time, slow)
        helped = lambda time: (retried(time, median, median, timeout) ** (count - 1)
                               * retried(time, slow, median, timeout))
        columns = [quantile(0.5, plain), quantile(0.99, plain), quantile(0.999, plain), quantile(0.99, again),
                   quantile(0.999, again), quantile(0.5, troubled), quantile(0.5, helped), quantile(0.99, helped)]
        print(f"| {count} | " + " | ".join(f"{column:.1f}" for column in columns) + " |")


if __name__ == "__main__":
    main()
