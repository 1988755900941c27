#!/usr/bin/env bash
# Tests the package with its tables for PyPI's datafusion.
#
# usage: bindings/python/test_tables.sh [LIBRARY]
#
# LIBRARY: the package's shared library, built with the feature `datafusion` and PYO3_BUILD_EXTENSION_MODULE=1. Without it, it
# is compiled, with the engine, into a folder of its own.
#
# Needs Rust, a C compiler and Python 3.10 or later. Everything else goes into target/, not into your Python.
set -euo pipefail
library=${1:+$(realpath "$1")}
cd "$(dirname "$0")"

. ./python.sh

environment=$target/python-tables
echo "== $("$python" --version): installing into $environment: pytest datafusion pandas"
"$python" -m venv --clear "$environment"
bin=$environment/bin
"$bin/pip" install --quiet --disable-pip-version-check pytest "datafusion==55.*" pandas

if [ -z "$library" ]; then
    echo "== the library"
    built=$target/python-engine
    PYO3_BUILD_EXTENSION_MODULE=1 cargo build --locked --quiet --features signaldex-python/datafusion --target-dir "$built"
    library=$built/debug/libsignaldex_python.so
fi

echo "== tests"
package=$environment/package
mkdir "$package"
cp -r python/signaldex "$package"
cp "$library" "$package/signaldex/_native.abi3.so"
export PYTHONPATH=$package
"$bin/python" -c 'from signaldex import sample; sample.index().snapshot().companies_table()'
"$bin/python" -m pytest -q tests/test_sql_table.py
rm -rf "$environment" "$target/python-engine"
