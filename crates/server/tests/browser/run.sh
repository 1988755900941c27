#!/bin/sh
# The dashboard and the search page in headless Chromium.
#
# usage: crates/server/tests/browser/run.sh PROGRAM            all tests
#        crates/server/tests/browser/run.sh PROGRAM short      from the first start to a revoked key, refusals, /docs, saved searches
#        crates/server/tests/browser/run.sh PROGRAM pictures   makes docs/images anew
#        crates/server/tests/browser/run.sh PROGRAM look DIR   every page at two widths, light and dark
#
# PROGRAM is the signaldex binary. Needs Node.js 20 or later; Chromium is installed from Debian's
# packages where it is missing (which takes root), and playwright-core and axe-core by npm.
set -eu
SIGNALDEX_PROGRAM=$(realpath "$1")
export SIGNALDEX_PROGRAM
what=${2:-all}
images=$(realpath "${3:-docs/images}")
cd "$(dirname "$0")"

if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq chromium fonts-noto-core fonts-dejavu-core
fi
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
export CHROMIUM
npm ci --silent --no-fund --no-audit

case $what in
    all) node --test --test-concurrency=1 . ;;
    short) node --test --test-concurrency=1 first_steps.test.mjs refusals.test.mjs reference.test.mjs searches.test.mjs ;;
    pictures) node screenshots.mjs "$images" documents ;;
    look) node screenshots.mjs "$images" ;;
    *) echo "unknown: $what" >&2; exit 2 ;;
esac
