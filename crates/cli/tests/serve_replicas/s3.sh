#!/usr/bin/env bash
# Publishing and following over the protocol of S3, against moto, an S3 server for tests from PyPI,
# which goes into a virtual environment of its own.
#
# usage: crates/cli/tests/serve_replicas/s3.sh PROGRAM [short]    a program built with --features replicate-s3
set -euo pipefail
cd "$(dirname "$0")/../../../.."

environment="${MOTO_ENVIRONMENT:-$(mktemp -d)/moto}"
if [ ! -x "$environment/bin/moto_server" ]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install -q 'moto[server]==5.*'
fi
exec "$environment/bin/python" crates/cli/tests/serve_replicas/s3.py "$environment/bin/moto_server" "$@"
