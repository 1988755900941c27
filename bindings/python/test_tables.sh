#!/usr/bin/env bash
# Builds the wheel with tables for PyPI's datafusion, and tests them. It compiles the engine, with other features than the
# program has, into a folder of its own.
#
# usage: bindings/python/test_tables.sh
#
# Needs Rust, a C compiler and Python 3.10 or later. Everything else goes into target/, not into your Python.
set -euo pipefail
cd "$(dirname "$0")"

. ./python.sh

environment=$target/python-tables
echo "== $("$python" --version): installing into $environment: maturin pytest datafusion pandas"
"$python" -m venv --clear "$environment"
bin=$environment/bin
"$bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9,<2" pytest "datafusion==55.*" pandas

echo "== the wheel"
export CARGO_TARGET_DIR=$target/python-engine
"$bin/maturin" build --locked --quiet --profile dev --features signaldex-python/datafusion --out "$environment/wheels"

echo "== tests"
"$bin/pip" install --quiet --disable-pip-version-check --no-index "$environment"/wheels/*.whl
"$bin/python" -c 'from signaldex import sample; sample.index().snapshot().companies_table()'
"$bin/python" -m pytest -q tests/test_sql_table.py
rm -rf "$environment" "$CARGO_TARGET_DIR"
