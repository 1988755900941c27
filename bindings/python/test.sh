#!/usr/bin/env bash
# Builds the wheel and tests it as users get it: from an environment of its own, with every Python that is here.
#
# usage: bindings/python/test.sh [PROFILE]
#
# PROFILE is `dist` unless given, as in published wheels; `release` takes less time to link.
# Needs Rust, a C compiler and Python 3.10 or later. Everything else goes into target/, not into your Python.
set -euo pipefail
profile=${1:-dist}
cd "$(dirname "$0")"

. ./python.sh

environment=$target/python
# What the tests use; the wheel itself needs none of it.
tools="maturin>=1.9,<2 pytest mypy pyarrow polars pandas duckdb auditwheel"
echo "== $("$python" --version): installing into $environment: $tools"
"$python" -m venv --clear "$environment"
bin=$environment/bin
# shellcheck disable=SC2086 # One word for each tool.
"$bin/pip" install --quiet --disable-pip-version-check $tools

echo "== the public API of the library is here, or listed with a reason"
"$python" api_parity.py

echo "== lints"
cargo fmt --check
PYO3_PYTHON=$bin/python cargo clippy --locked --quiet -- -D warnings

echo "== the wheel, by one command, with the profile $profile"
rm -rf "$target/wheels"
"$bin/maturin" build --locked --quiet --profile "$profile" --out "$target/wheels"
wheel=$(ls "$target"/wheels/*.whl)
size=$(stat -c %s "$wheel")
echo "$(basename "$wheel"), $size bytes"
[ "$size" -le 10000000 ] || { echo "more than 10 MB" >&2; exit 1; }
case "$wheel" in
    *-cp310-abi3-*) ;;
    *) echo "not for the stable ABI of Python 3.10" >&2; exit 1 ;;
esac
if [ "$(uname -s)" = Linux ]; then
    platform=$("$bin/auditwheel" show "$wheel")
    echo "$platform"
    case "$platform" in
        *manylinux_*) ;;
        *) echo "not for other Linux systems than this one" >&2; exit 1 ;;
    esac
fi

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
