#!/usr/bin/env bash
# Compares, measures and draws on one core: benches/peers/run.sh [SIGNALS] [--label MACHINE]
# Without other load on the machine, or the figures say little; core 1 unless CORE names another.
set -euo pipefail
cd "$(dirname "$0")"
lucene/setup.sh
cargo build --release --locked
program=target/release/signaldex-peers
taskset -c "${CORE:-1}" "$program" check
taskset -c "${CORE:-1}" "$program" run --rebuild --signals "${1:-1000000}" "${@:2}"
