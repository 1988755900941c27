#!/bin/sh
# Generates requests from /openapi.json and checks every answer against it.
#
# usage: crates/server/tests/service/schemathesis.sh PROGRAM [EXAMPLES [SEED]]
#
# PROGRAM is the signaldex binary; EXAMPLES is the most cases that one operation gets from one phase
# (50 takes under a minute). schemathesis comes from PyPI into a virtual environment of its own;
# SCHEMATHESIS names an installed one instead.
set -eu
program=$1
examples=${2:-50}
seed=${3:-1}
port=${PORT:-18099}
work=$(mktemp -d)
service=
trap 'test -z "$service" || kill "$service" 2>/dev/null; rm -rf "$work"' EXIT

tool=${SCHEMATHESIS:-}
if [ -z "$tool" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet 'schemathesis==4.*'
    tool=$work/venv/bin/schemathesis
fi

key=$("$program" keys create --state "$work/state.db" --rate 1000000 --burst 1000000 |
    sed 's/.*"key":"\([^"]*\)".*/\1/')
"$program" serve @sample --as-of 2026-06-30 --addr "127.0.0.1:$port" --metrics-addr 127.0.0.1:0 \
    --state "$work/state.db" --log off 2>"$work/errors" &
service=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    curl -fs "http://127.0.0.1:$port/readyz" >/dev/null && break
    sleep 1
done

"$tool" --config-file "$(dirname "$0")/schemathesis.toml" run "http://127.0.0.1:$port/openapi.json" \
    --header "Authorization: Bearer $key" \
    --max-examples "$examples" --seed "$seed" --generation-database none \
    --phases examples,coverage,fuzzing --checks all --continue-on-failure --no-color
kill -TERM "$service"
wait "$service"
service=
