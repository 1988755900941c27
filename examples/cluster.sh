#!/usr/bin/env bash
# A cluster of three nodes and six shards on one machine, over a store that is a directory. Ends with Ctrl-C.
#
# usage: examples/cluster.sh [PROGRAM [once]]    built with --features cluster; `once` ends after one answer of each node
set -euo pipefail
program=$(realpath "${1:-target/release/signaldex}")
cd "$(mktemp -d)"
echo "in $PWD"
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

"$program" generate --signals 20000 --out corpus
"$program" shard --companies corpus/companies.jsonl --signals corpus/signals.jsonl --shards 6 --out parts
"$program" publish-shards parts store
cat > cluster.json <<END
{
  "store": "$PWD/store",
  "replicas": 2,
  "nodes": [
    {"name": "one", "address": "127.0.0.1:7401"},
    {"name": "two", "address": "127.0.0.1:7402"},
    {"name": "three", "address": "127.0.0.1:7403"}
  ]
}
END
# One state file, so that a key is known at every node and its quota holds over all of them.
key=$("$program" keys create --state signaldex.db | sed 's/.*"key":"\([^"]*\)".*/\1/')
number=1
for node in one two three; do
    "$program" serve --cluster cluster.json --node "$node" --shard-cache "$node" --state signaldex.db --log warn \
        --addr "127.0.0.1:808$number" --admin-addr "127.0.0.1:948$number" > "$node.txt" 2>&1 &
    number=$((number + 1))
done
search="api/v1/signals?q=series&countOnly=true"
for number in 1 2 3; do
    curl --silent --fail --retry 50 --retry-delay 1 --retry-all-errors --output /dev/null "http://127.0.0.1:808$number/readyz"
    echo "http://127.0.0.1:808$number/$search"
    curl --silent --fail -H "Authorization: Bearer $key" "http://127.0.0.1:808$number/$search" | tee "answer-$number"
    echo
done
cmp answer-1 answer-2
cmp answer-2 answer-3
echo "The key is $key; the dashboards are on ports 9481 to 9483."
[ "${2:-}" = once ] || wait
