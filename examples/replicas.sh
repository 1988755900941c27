#!/usr/bin/env bash
# Two replicas of one index on one machine, over a store that is a directory. Ends with Ctrl-C.
#
# usage: examples/replicas.sh [PROGRAM [once]]    built with --features serve; `once` ends when both are ready
set -euo pipefail
program=$(realpath "${1:-target/release/signaldex}")
cd "$(mktemp -d)"
echo "in $PWD"
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

"$program" generate --signals 20000 --out corpus
"$program" build --companies corpus/companies.jsonl --signals corpus/signals.jsonl --out index
"$program" publish index store
"$program" keys create --state signaldex.db
"$program" serve --follow store --cache one --state signaldex.db --addr 127.0.0.1:8081 --admin-addr 127.0.0.1:9481 &
"$program" serve --follow store --cache two --state signaldex.db --addr 127.0.0.1:8082 --admin-addr 127.0.0.1:9482 &
for port in 8081 8082; do
    curl --silent --fail --retry 50 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$port/readyz"
    echo
done
[ "${2:-}" = once ] || wait
