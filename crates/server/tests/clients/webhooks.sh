#!/bin/sh
# Runs the receivers of docs/webhooks.md as they stand there: in Python and in TypeScript, with the libraries of
# Standard Webhooks, which verify the events that `signaldex serve` and `searches test` send.
#
# usage: crates/server/tests/clients/webhooks.sh PROGRAM
#
# PROGRAM is the signaldex binary. Needs Node.js 20 with npm and Python 3 with venv, as run.sh and mcp.sh do. The libraries
# come from PyPI and the npm registry in pinned versions. Port 8000 of this machine has to be free.
set -eu
program=$(realpath "$1")
document=$(realpath "$(dirname "$0")/../../../../docs/webhooks.md")
work=$(mktemp -d)
receiver=
service=
stop() {
    for process in $receiver $service; do kill "$process" 2>/dev/null || true; done
    receiver=
    service=
}
trap 'stop; rm -rf "$work"' EXIT
cd "$work"

block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$document"
}
block python >receiver.py
block ts >receiver.ts
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check standardwebhooks==1.1.0
npm init --yes >/dev/null
npm pkg set type=module >/dev/null
npm install --silent --no-fund --no-audit --ignore-scripts \
    standardwebhooks@1.1.1 typescript@5.9.3 @types/node@20.19.25
node_modules/.bin/tsc --strict --target es2022 --module nodenext --skipLibCheck --types node receiver.ts

permitted="--webhook-http --webhook-allow 127.0.0.1"
key=$("$program" keys create --state state.db --name receiver | sed 's/.*"id":"\([^"]*\)".*/\1/')

# Waits until a file has a number of lines.
wait_for() {
    for _ in $(seq 100); do
        [ "$(wc -l <"$1")" -ge "$2" ] && return
        sleep 0.2
    done
    echo "$1 has $(wc -l <"$1") lines, not $2"
    exit 1
}

# Runs a receiver: its name, and its command.
check() {
    name=$1
    shift
    # shellcheck disable=SC2086
    created=$("$program" searches create --state state.db --key "$key" --name "$name" --query q=robotics \
        --since start --webhook http://127.0.0.1:8000/ $permitted)
    id=$(echo "$created" | sed 's/.*"id":"\([^"]*\)".*/\1/')
    WEBHOOK_SECRET=$(echo "$created" | sed 's/.*"secret":"\([^"]*\)".*/\1/')
    export WEBHOOK_SECRET
    "$@" >"$name.out" 2>"$name.err" &
    receiver=$!
    sleep 1
    # shellcheck disable=SC2086
    "$program" searches test --state state.db "$id" $permitted | grep -q '"status":204' || { cat "$name.err"; exit 1; }
    # shellcheck disable=SC2086
    "$program" serve @sample --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --state state.db --log off $permitted \
        >/dev/null 2>&1 &
    service=$!
    wait_for "$name.out" 33
    # A secret that the receiver does not know is refused.
    "$program" searches rotate --state state.db "$id" --overlap 0 >/dev/null
    # shellcheck disable=SC2086
    if "$program" searches test --state state.db "$id" $permitted >refused.json 2>/dev/null; then
        echo "$name has accepted an event of another secret"
        exit 1
    fi
    grep -q '"status":401' refused.json
    stop
    "$program" searches delete --state state.db "$id"
    echo "$name: 33 matches, verified"
}

check python venv/bin/python -u receiver.py
check typescript node receiver.js
