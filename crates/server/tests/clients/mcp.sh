#!/bin/sh
# Calls the tools by the official Python SDK of the Model Context Protocol: over HTTP and over standard
# input, in the present revision and after the handshake of earlier ones.
#
# usage: crates/server/tests/clients/mcp.sh PROGRAM
#
# PROGRAM is the signaldex binary. Needs Python 3.10 with venv, which is installed from Debian's packages
# where it is missing (which takes root). The SDK comes from PyPI in a pinned version.
set -eu
program=$(realpath "$1")
script=$(realpath "$(dirname "$0")")/mcp_session.py
work=$(mktemp -d)
service=
trap 'test -z "$service" || kill "$service" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"

if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    echo "installing python3 and python3-venv"
    apt-get update -qq
    apt-get install -y -qq python3 python3-venv
fi
echo "installing the SDK (mcp)"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0

create_key() {
    "$program" keys create --state state.db "$@" | sed 's/.*"key":"\([^"]*\)".*/\1/'
}
SIGNALDEX_KEY=$(create_key --name agent --quota-signals 1000 --rate 1000 --burst 1000)
SLOW_KEY=$(create_key --name slow --rate 1 --burst 1)
export SIGNALDEX_KEY SLOW_KEY
: >announced
"$program" serve @sample --as-of 2026-06-30 --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 \
    --state state.db --log off >/dev/null 2>announced &
service=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    SIGNALDEX_URL=$(sed -n 's/.*listening on \(http:[^,]*\),.*/\1/p' announced)
    [ -n "$SIGNALDEX_URL" ] && break
    sleep 1
done
export SIGNALDEX_URL
venv/bin/python "$script" "$program"
