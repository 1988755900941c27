#!/usr/bin/env bash
# Does what the README says on a fresh machine: a clean clone, an empty cargo home, its commands.
#
# usage: tests/fresh.sh [COMMIT]
#
# Runs the commands of README's "Quick start" as they stand there, then starts the service, signs in to
# the dashboard and searches as a browser would, and prints how long each step took. Needs Rust, git
# and curl, and the registry of crates.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:-HEAD}
work=$(mktemp -d)
service=
trap 'test -z "$service" || kill "$service" 2>/dev/null; rm -rf "$work"' EXIT

times=()
step() {
    local name=$1 started=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@"
    times+=("$(printf '%5d s  %s' $((SECONDS - started)) "$name")")
}

# The commands of the README's blocks below a heading, one a line.
commands_below() {
    awk -v heading="## $1" '
        $0 == heading { here = 1; next }
        /^## / { here = 0 }
        here && /^```sh/ { inside = 1; next }
        /^```/ { inside = 0 }
        here && inside { print }' README.md
}

# Rust's own files stay where they are; what cargo fetches and installs starts from nothing.
RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export RUSTUP_HOME CARGO_HOME=$work/cargo CARGO_TARGET_DIR=$work/target
PATH=$CARGO_HOME/bin:$PATH
mkdir "$CARGO_HOME"

step "clone" git clone --quiet --no-local . "$work/clone"
cd "$work/clone"
git checkout --quiet "$(git -C "$OLDPWD" rev-parse "$commit")"

mapfile -t promised < <(commands_below "Quick start" | head -2)
for command in "${promised[@]}"; do
    step "$command" bash -c "$command"
done

step "the program with the service" cargo build --release --features cli

first_visit() {
    "$CARGO_TARGET_DIR/release/signaldex" serve --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --log off \
        --state "$work/state.db" >"$work/said" 2>"$work/errors" &
    service=$!
    for _ in $(seq 50); do
        grep -q '^sdxadmin_' "$work/said" && break
        sleep 0.1
    done
    local admin token
    admin=$(sed -n 's/^Dashboard.*\(http:[^ ]*\)\/$/\1/p' "$work/said")
    token=$(grep '^sdxadmin_' "$work/said")
    curl -fsS -o /dev/null -c "$work/cookies" --data-urlencode "token=$token" "$admin/sign-in"
    curl -fsSL -b "$work/cookies" "$admin/search?q=raises&limit=10" >"$work/page"
    grep -q 'id="count">[1-9]' "$work/page"
    bash -c "$(grep '^curl' "$work/said")" | grep -q '"items":\[{'
    kill "$service"
    wait "$service"
    service=
}
step "first start, first search in the dashboard, first answer of the interface" first_visit

printf '\n== times\n'
printf '%s\n' "${times[@]}"
