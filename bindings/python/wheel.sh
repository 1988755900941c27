#!/usr/bin/env bash
# Builds the wheel, and checks its size and which systems it is for.
#
# usage: bindings/python/wheel.sh [PROFILE]
#
# PROFILE is `dist` unless given, as in published wheels; `release` takes less time to link.
# Needs Rust, a C compiler and Python 3.10 or later. Everything else goes into target/, not into your Python.
set -euo pipefail
profile=${1:-dist}
cd "$(dirname "$0")"

. ./python.sh

tools="maturin>=1.9,<2 auditwheel"
echo "== $("$python" --version): installing into $environment: $tools"
"$python" -m venv --clear "$environment"
# shellcheck disable=SC2086 # One word for each tool.
"$bin/pip" install --quiet --disable-pip-version-check $tools

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
