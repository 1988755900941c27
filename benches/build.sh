#!/usr/bin/env bash
# How long a build takes against zstd -1 of the same JSON lines, and how long the program takes to open it.
# Usage: benches/build.sh [SIGNALS]; needs zstd and GNU time.
set -euo pipefail
signals=${1:-1000000}
cd "$(dirname "$0")/.."
cargo build --profile dist --features serve
program=target/dist/signaldex
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" generate --signals "$signals" --out "$folder/corpus"
cat "$folder"/corpus/*.jsonl > "$folder/all.jsonl"
printf 'JSON lines: %s bytes\n' "$(stat -c %s "$folder/all.jsonl")"
/usr/bin/time -f 'zstd -1: %e s' zstd -1 -q "$folder/all.jsonl" -o "$folder/all.zst"
/usr/bin/time -f 'build: %e s, at most %M KB of memory' "$program" build \
    --companies "$folder/corpus/companies.jsonl" \
    --signals "$folder/corpus/signals.jsonl" \
    --out "$folder/index"
printf 'index: %s bytes\n' "$(du -sb "$folder/index" | cut -f1)"
/usr/bin/time -f 'open, and statistics: %e s' "$program" stats "$folder/index" > /dev/null
