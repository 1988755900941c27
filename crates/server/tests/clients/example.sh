#!/bin/sh
# Runs crates/server/examples/service.rs and asks it as a browser would: the host's page, the login, the service below it.
#
# usage: crates/server/tests/clients/example.sh PROGRAM
#
# PROGRAM is the example, which cargo builds as target/release/examples/service.
set -eu
work=$(mktemp -d)
: >"$work/announced"
"$1" 127.0.0.1:0 "$work/host.db" >"$work/announced" &
host=$!
trap 'kill "$host" 2>/dev/null; rm -rf "$work"' EXIT
url=
for _ in 1 2 3 4 5 6 7 8 9 10; do
    url=$(sed -n 's/^listening on //p' "$work/announced")
    [ -n "$url" ] && break
    sleep 1
done

expect() {
    what=$1 expected=$2
    shift 2
    found=$(curl -s "$@")
    case $found in
        *"$expected"*) ;;
        *) echo "$what: $found" >&2; exit 1 ;;
    esac
}
search=$url/signals/api/v1/signals
expect "the host's page" 'below /signals' "$url/"
expect "without a session" '"type":"/signals/docs#unauthorized"' "$search"
expect "the login" 'welcome' -c "$work/jar" -d user=ada "$url/login"
expect "with a session" '"nextCursor"' -b "$work/jar" "$search?limit=1"
expect "the document" '"url": "/signals"' "$url/signals/openapi.json"
expect "the reference" 'Search signals' "$url/signals/docs/search-signals"
echo "the service in a host: all as expected"
