#!/usr/bin/env bash
# Two replicas behind Debian's haproxy under steady load: they are killed and restarted in turn, and new
# generations are published. Installs haproxy where it is missing, which needs root.
#
# usage: crates/cli/tests/serve_replicas/haproxy.sh PROGRAM [REQUESTS-A-SECOND [KILLS [SIGNALS]]]
set -euo pipefail
cd "$(dirname "$0")/../../../.."

if ! command -v haproxy > /dev/null; then
    apt-get update -qq
    # The service that comes with the package is not needed, and not started.
    RUNLEVEL=1 apt-get install -y -qq --no-install-recommends haproxy > /dev/null
fi
exec python3 crates/cli/tests/serve_replicas/haproxy.py "$@"
