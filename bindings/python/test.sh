#!/usr/bin/env bash
# Tests the wheel as users get it: from an environment of its own, with every Python that is here.
#
# usage: bindings/python/test.sh [built]
#
# Builds the wheel by wheel.sh, unless it is built already. Everything else goes into target/, not into your Python.
set -euo pipefail
cd "$(dirname "$0")"

. ./python.sh

[ "${1:-}" = built ] || ./wheel.sh
# What the tests use; the wheel itself needs none of it.
tools="pytest mypy pyarrow polars pandas duckdb"
echo "== installing into $environment: $tools"
# shellcheck disable=SC2086 # One word for each tool.
"$bin/pip" install --quiet --disable-pip-version-check $tools

echo "== the public API of the library is here, or listed with a reason"
"$python" api_parity.py

echo "== lints"
cargo fmt --check
PYO3_PYTHON=$bin/python cargo clippy --locked --quiet -- -D warnings

wheel=$(ls "$target"/wheels/*.whl)
echo "== in empty environments of every Python that is here"
for other in python3.10 python3.11 python3.12 python3.13 python3.14; do
    "$other" -c 'import ensurepip, venv' 2> /dev/null || continue
    empty=$target/python-empty
    rm -rf "$empty"
    "$other" -m venv "$empty"
    "$empty/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
    "$empty/bin/python" examples/embed.py > /dev/null
    "$empty/bin/python" examples/walk.py > /dev/null
    "$other" --version
done
rm -rf "$target/python-empty"

echo "== tests"
"$bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
"$bin/python" -m pytest -q

echo "== types: the stubs are what is there, and a program that uses them is checked strictly"
"$bin/python" -m mypy.stubtest signaldex --mypy-config-file pyproject.toml --allowlist tests/stubtest-allowlist.txt --ignore-unused-allowlist
"$bin/python" -m mypy --strict examples/embed.py examples/walk.py examples/explain.py examples/frames.py
