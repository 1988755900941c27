"""The examples of docs/python.md, run; and every example of the guide for Rust hosts has its sibling there."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

import signaldex
from signaldex import _native

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
DOCS = HERE.parents[2] / "docs"
BLOCK = re.compile(r"^```(\w[^\n]*)\n(.*?)^```", re.M | re.S)


def sections(document: str) -> dict[str, list[tuple[str, str]]]:
    """The code blocks of a document by heading, each with its language."""
    parts = re.split(r"^#+ (.+)$", (DOCS / document).read_text(), flags=re.M)
    return {heading: BLOCK.findall(text) for heading, text in zip(parts[1::2], parts[2::2])}


BLOCKS = [text for blocks in sections("python.md").values() for kind, text in blocks if kind == "python"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0][:40])
def test_the_guides_examples_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/python.md", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", ["embed", "walk", "explain", "parquet", "frames"])
def test_the_guide_shows_the_examples_as_they_are(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    code = text.split('"""', 2)[2].lstrip("\n")
    assert code in (DOCS / "python.md").read_text(), f"docs/python.md shows another {name}.py"
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


# Threads of Python are its own: docs/python.md, Threads.
RUST_ALONE = ["Several threads for one query"]


def test_every_example_for_rust_hosts_has_its_sibling() -> None:
    guide = sections("python.md")
    for heading, blocks in sections("hosts.md").items():
        if heading not in RUST_ALONE and any(kind == "rust" for kind, _ in blocks):
            assert any(kind == "python" for kind, _ in guide.get(heading, [])), heading


def test_the_package_has_the_version_of_the_library() -> None:
    manifest = (HERE.parents[2] / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.+)"', manifest, re.M)
    assert version and importlib.metadata.version("signaldex") == signaldex.__version__ == version[1]


def documented(nodes: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, str]]:
    """The docstrings of the stubs by name; editors show these, ``help`` those of the compiled half."""
    for node in nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            name = f"{owner}{node.name}"
            if docstring := ast.get_docstring(node):
                yield name, docstring
            if isinstance(node, ast.ClassDef):
                yield from documented(node.body, f"{name}.")


def test_help_says_what_editors_show() -> None:
    stubs = ast.parse(Path(_native.__file__).with_name("_native.pyi").read_text())
    # Protocols are only in the stubs.
    shown = {name: docstring for name, docstring in documented(stubs.body) if not name.startswith("_")}
    for name, docstring in shown.items():
        value: object = _native
        for part in name.split("."):
            value = getattr(value, part)
        assert inspect.getdoc(value) == docstring, name
    for name, value in vars(_native).items():
        if inspect.isclass(value):
            members = [member for member in vars(value) if not member.startswith("_") and member != "START"]
            assert all(f"{name}.{member}" in shown for member in members), name
        elif inspect.isbuiltin(value):
            assert name in shown


def test_records_and_errors_have_docstrings() -> None:
    for name in signaldex.__all__:
        value = getattr(signaldex, name)
        if inspect.isclass(value) or inspect.ismodule(value):
            # A dataclass without one gets a docstring that is its signature.
            assert (inspect.getdoc(value) or "").strip() and not str(value.__doc__).startswith(f"{name}("), name
