#!/usr/bin/env bash
# Runs every fuzz target for some seconds each, and fails where one of them finds something.
# Usage: tests/fuzz/run.sh SECONDS [AT_ONCE [TARGET...]]; needs a C++ compiler, no nightly Rust.
set -euo pipefail
seconds=${1:?usage: tests/fuzz/run.sh SECONDS [AT_ONCE [TARGET...]]}
at_once=${2:-2}
shift $(($# < 2 ? $# : 2))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(segment records manifest query words conditions cursor position json tables mcp)
cd "$(dirname "$0")"

# What cargo-fuzz gives the compiler: counters of edges and comparisons for libFuzzer.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
host=$(rustc -vV | sed -n 's/^host: //p')
# With --target the flags are kept from build scripts, which could not be linked with them.
RUSTFLAGS="$coverage" cargo build --locked --release --target "$host" "${targets[@]/#/--bin=}"

export programs=$PWD/../../target/fuzz/$host/release
export grown=$PWD/../../target/fuzz/corpus findings=$PWD/../../target/fuzz/findings seconds
memory=/tmp
[ -w /dev/shm ] && memory=/dev/shm
SIGNALDEX_FUZZ_SCRATCH=$(mktemp -d "$memory/signaldex-fuzz.XXXXXX")
export SIGNALDEX_FUZZ_SCRATCH
trap 'rm -rf "$SIGNALDEX_FUZZ_SCRATCH"' EXIT

# What is found grows in target/; the seeds stay as they are.
fuzz() {
    local target=$1 seeds=corpus/$1 log=$findings/$1.log options=(-max_len=4096)
    case $target in
        segment | records) options=(-max_len=131072 -mutate_depth=2) ;;
        manifest) options=(-max_len=65536) ;;
        json | tables) options=(-max_len=16384) ;;
    esac
    [ -f "dictionaries/$target.txt" ] && options+=("-dict=dictionaries/$target.txt")
    # Records are damaged within the segments of the other target.
    [ "$target" != records ] || seeds=corpus/segment
    mkdir -p "$grown/$target" "$findings/$target"
    # Allocations have a closer bound of their own, in src/allocation.rs.
    if "$programs/$target" "$grown/$target" "$seeds" "${options[@]}" \
        -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 -malloc_limit_mb=256 \
        -artifact_prefix="$findings/$target/" -print_final_stats=1 > "$log" 2>&1; then
        echo "$target: nothing found; $(sed -n 's/^Done //p' "$log")"
    else
        echo "$target: FOUND SOMETHING, see $log"
        grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD)' "$log" | tail -n 40
        return 1
    fi
}
export -f fuzz
printf '%s\n' "${targets[@]}" | xargs -P "$at_once" -I {} bash -c 'fuzz {}'
