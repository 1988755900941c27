# Sourced by the scripts beside it: sets `python` to a Python that can make environments, `target` to a folder for them,
# `environment` to that of the wheel and `bin` to its programs.
# shellcheck shell=bash

# The first Python that is recent enough and can make environments.
find_python() {
    for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3.10 python3 python3.14; do
        # Version managers leave commands of versions that are not active.
        if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2> /dev/null; then
            echo "$candidate"
            return
        fi
    done
}

python=$(find_python)
if [ -z "$python" ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    echo "installing python3 and python3-venv"
    apt-get update -qq
    apt-get install -y -qq python3 python3-venv
    python=$(find_python)
fi
[ -n "$python" ] || { echo "Python 3.10 or later with venv is needed" >&2; exit 1; }

mkdir -p ../../target
target=$(cd ../../target && pwd)
environment=$target/python
bin=$environment/bin
