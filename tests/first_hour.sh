#!/usr/bin/env bash
# The first hour of a newcomer, on a fresh clone with an empty target, step by step.
#
# usage: tests/first_hour.sh [COMMIT]
#
# Prints a table with the CPU-seconds and the wall time of each step. Crates are fetched before the clock starts.
# FIRST_HOUR_TESTS=0 leaves out the tests. Needs Rust, a C compiler, git, curl and python3.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse "${1:-HEAD}")
work=$(mktemp -d)
service=
trap 'test -z "$service" || kill "$service" 2>/dev/null; rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=$work/target

rows=()
# Runs a command; the row has what it and its children took.
step() {
    local name=$1
    shift
    printf '\n== %s\n' "$name" >&2
    local figures
    figures=$(python3 - "$work/output" "$@" <<'PY'
import os, subprocess, sys, time
with open(sys.argv[1], "w") as output:
    started = time.monotonic()
    status = subprocess.run(sys.argv[2:], stdout=output, stderr=subprocess.STDOUT).returncode
    wall = time.monotonic() - started
took = os.times()
print(f"{status} {took.children_user + took.children_system:.1f} {wall:.1f}")
PY
)
    read -r status cpu wall <<<"$figures"
    if [ "$status" != 0 ]; then
        cat "$work/output" >&2
        echo "failed: $name" >&2
        exit 1
    fi
    tail -3 "$work/output" >&2
    echo "$cpu CPU-seconds, $wall s" >&2
    rows+=("| $name | $cpu | $wall |")
}

# The n-th command of the README's block below a heading.
readme_command() {
    awk -v heading="## $1" -v number="$2" '
        $0 == heading { here = 1; next }
        /^## / { here = 0 }
        here && /^```sh/ { inside = 1; next }
        /^```/ { inside = 0 }
        here && inside && ++count == number { print }' README.md
}

step "clone" git clone --quiet --no-local . "$work/clone"
cd "$work/clone"
git checkout --quiet "$commit"
cargo fetch --quiet --locked

first=$(readme_command "Quick start" 1)
tests=$(readme_command "Quick start" 2)
step "the first command: \`search\` on the sample" bash -c "$first"
first_cpu=$cpu
step "the first command again" bash -c "$first"
program=$CARGO_TARGET_DIR/release/signaldex

printf 'slug,name,contry,employees\nacme,Acme GmbH,Germany,120\n' >"$work/companies.csv"
printf 'id,slug,titel,companySlug,date\n7,acme-series-a,Acme raises Series A,acme,2026-06-12\n' >"$work/signals.csv"
cat >"$work/load.sh" <<'SH'
# A table without a required field is refused; the columns that it probably means make the files load.
set -eu
cd "$2"
if "$1" build --companies companies.csv --signals signals.csv --out index 2>refusal; then exit 1; fi
grep '"contry" is probably country' refusal
"$1" build --companies companies.csv --signals signals.csv --out index --map contry=country --map titel=title
"$1" search index country=Germany 'q="series a"' --format ids | grep -x 7
SH
step "own CSV: two misspelt columns named, then loaded and searched" sh "$work/load.sh" "$program" "$work"

step "the program with the service" cargo build --release --features serve

start_service() {
    "$program" serve "$work/index" --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --log off \
        --state "$work/state.db" >"$work/said" 2>"$work/errors" &
    service=$!
    for _ in $(seq 100); do
        grep -q '^sdxadmin_' "$work/said" && return
        sleep 0.1
    done
    return 1
}
started=$(date +%s.%N)
start_service
rows+=("| \`serve\` over that index, ready | $(awk '{ print ($14 + $15) / 100 }' "/proc/$service/stat") | $(echo "$(date +%s.%N) $started" | awk '{ printf "%.1f", $1 - $2 }') |")
address=$(sed -n 's/.*listening on \(http:[^,]*\),.*/\1/p' "$work/errors")
admin=$(sed -n 's/.*dashboard on \(http:.*\)\/$/\1/p' "$work/errors")
token=$(grep '^sdxadmin_' "$work/said")

cat >"$work/ask.sh" <<'SH'
set -eu
key=$("$1" keys create --state "$2/state.db" --name first | sed 's/.*"key":"\([^"]*\)".*/\1/')
curl -fsS -H "Authorization: Bearer $key" "$3/api/v1/signals?country=Germany" | grep -o '"title":"Acme raises Series A"'
SH
step "a key, and the first answer with \`curl\`" sh "$work/ask.sh" "$program" "$work" "$address"
cat >"$work/dashboard.sh" <<'SH'
set -eu
curl -fsS -o /dev/null -c "$1/cookies" --data-urlencode "token=$2" "$3/sign-in"
curl -fsSL -b "$1/cookies" "$3/search?q=raises" | grep -o 'id="count">1'
curl -fsSL -b "$1/cookies" "$3/usage" | grep -o -m1 first
SH
step "the dashboard: sign-in, a search, the usage of the key" sh "$work/dashboard.sh" "$work" "$token" "$admin"
kill "$service"
wait "$service"
service=

if [ "${FIRST_HOUR_TESTS:-1}" = 1 ]; then
    step "the second command: all tests" bash -c "$tests"
fi

printf '\n%s, %s, %s cores, load %s\n\n' "$(git rev-parse --short HEAD)" "$(rustc --version | cut -d' ' -f1,2)" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"
printf '| step | CPU-seconds | wall seconds |\n|---|--:|--:|\n'
printf '%s\n' "${rows[@]}"
python3 -c "import sys; sys.exit(float('$first_cpu') > 110)" || { echo "the first command took more than 110 CPU-seconds"; exit 1; }
