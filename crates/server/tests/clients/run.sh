#!/bin/sh
# Lints the served OpenAPI document, generates clients from it and runs them: a walk, a count, a detail
# and each error that a client can cause.
#
# usage: crates/server/tests/clients/run.sh PROGRAM
#
# PROGRAM is the signaldex binary. Needs Node.js 20 with npm, and Python 3 with venv; both are installed
# from Debian's packages where they are missing (which takes root). Spectral, openapi-typescript and
# openapi-python-client come from the npm registry and PyPI, in pinned versions.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
service=
trap 'test -z "$service" || kill "$service" 2>/dev/null; rm -rf "$work"' EXIT

needs=
command -v curl >/dev/null || needs="$needs curl"
{ command -v node && command -v npm; } >/dev/null || needs="$needs nodejs npm"
python3 -c 'import ensurepip, venv' 2>/dev/null || needs="$needs python3 python3-venv"
if [ -n "$needs" ]; then
    echo "installing$needs"
    apt-get update -qq
    # shellcheck disable=SC2086 # Several names.
    apt-get install -y -qq $needs
fi
echo "installing Spectral, openapi-typescript and openapi-python-client"
cp -- package.json package-lock.json tsconfig.json .spectral.yaml walk.ts walk.py "$work"
cd "$work"
npm ci --silent --no-fund --no-audit --ignore-scripts
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openapi-python-client==0.29.1

create_key() {
    "$program" keys create --state state.db "$@" | sed 's/.*"key":"\([^"]*\)".*/\1/'
}
SIGNALDEX_KEY=$(create_key --name walk --rate 1000 --burst 1000)
POOR_KEY=$(create_key --name poor --scopes signals:read --quota-signals 0)
export SIGNALDEX_KEY POOR_KEY
: >announced
"$program" serve @sample --as-of 2026-06-30 --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 \
    --state state.db --log off >/dev/null 2>announced &
service=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    SIGNALDEX_URL=$(sed -n 's/.*listening on \(http:[^,]*\),.*/\1/p' announced)
    [ -n "$SIGNALDEX_URL" ] && curl -fs "$SIGNALDEX_URL/readyz" >/dev/null && break
    sleep 1
done
export SIGNALDEX_URL
curl -fsS "$SIGNALDEX_URL/openapi.json" >openapi.json

echo "linting"
node_modules/.bin/spectral lint --fail-severity hint openapi.json

echo "TypeScript"
node_modules/.bin/openapi-typescript openapi.json --output schema.ts >/dev/null
node_modules/.bin/tsc --project tsconfig.json
SLOW_KEY=$(create_key --name slow-ts --rate 1 --burst 1) node walk.js

echo "Python"
echo 'post_hooks: []' >config.yaml
venv/bin/openapi-python-client generate --path openapi.json --meta none --fail-on-warning \
    --config config.yaml --output-path signaldex_client >generated 2>&1 || { cat generated; exit 1; }
SLOW_KEY=$(create_key --name slow-py --rate 1 --burst 1) venv/bin/python walk.py

kill -TERM "$service"
wait "$service"
service=
