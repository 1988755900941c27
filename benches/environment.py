"""Environments of scripts that need packages of Python."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# DuckDB needs the second for points in time.
DUCKDB = ["duckdb>=1.3", "pytz"]


def with_packages(name, packages):
    """Runs this script again in the environment target/NAME, which has these packages."""
    environment = ROOT / "target" / name
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    subprocess.run(pip, check=True)
    os.execv(python, [python, *sys.argv])
