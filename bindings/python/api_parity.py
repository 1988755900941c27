#!/usr/bin/env python3
"""Every public function and method of the library is in the package, or in api-parity.txt with its reason.

usage: api_parity.py

Reads the reviewed public API in docs/public-api/ and the package's stubs. A method is in the package where the
class of its type has a method, property or constant of its name, a field where the dataclass has it. What has
another name there, or is left out, has a line in api-parity.txt:

    Snapshot::facets_of -> Snapshot.facets
    Loader::on_progress: the reason why there is no such thing

A `*` at the end of a name stands for everything that starts so, and for the same name in the package. A line
that nothing needs is an error, and so is one about what the package has.
"""

import ast
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
API = HERE.parent.parent / "docs" / "public-api"
# What is wrapped, and the module in which the package has it.
WRAPPED = {"signaldex.txt": "", "signaldex-synthetic.txt": "synthetic::"}
PACKAGE = HERE / "python" / "signaldex"
STUBS = ["_native.pyi", "_records.py", "_errors.py"]
# Traits stand for `+`, `str()`, iteration and the like; only what has a name of its own is compared.
ITEM = re.compile(r"^(?:\(feature\) )?(?P<kind>struct|enum|trait|fn|constant|type) (?P<path>[\w:]+): (?P<text>.*)$")
METHOD = re.compile(r"^(?:pub )?(?:const )?fn (?P<name>\w+)|^pub const (?P<constant>\w+)")
FIELD = re.compile(r"\bpub (?P<name>\w+):")


def library():
    """The names of the library's functions, methods, constants and fields: `Type::name`, `module::name`."""
    names = set()
    for file, module in WRAPPED.items():
        for line in (API / file).read_text().splitlines():
            item = ITEM.match(line)
            if not item:
                sys.exit(f"{file} has a line that is not understood: {line}")
            kind, owner, text = item["kind"], f"{module}{item['path']}", item["text"]
            if kind in ("fn", "constant"):
                names.add(owner)
            elif method := METHOD.match(text):
                names.add(f"{owner}::{method['name'] or method['constant']}")
            elif kind == "struct" and "pub struct" in text:
                names.update(f"{owner}::{field['name']}" for field in FIELD.finditer(text))
    return names


def package():
    """The names that the package has: `Class.name`, and `name` of functions and constants."""
    names = set()
    for file in STUBS:
        for node in ast.parse((PACKAGE / file).read_text()).body:
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
                for member in node.body:
                    names.update(f"{node.name}.{name}" for name in names_of(member))
            names.update(names_of(node))
    return names


def names_of(node):
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def listed():
    """The lines of the list: name, the name in the package or None, reason."""
    lines = []
    for number, line in enumerate((HERE / "api-parity.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        renamed = re.match(r"^(\S+) -> (\S+)$", line)
        left_out = re.match(r"^((?:\w|::)+\*?): (\S.*)$", line)
        if renamed:
            lines.append((number, renamed[1], renamed[2]))
        elif left_out:
            lines.append((number, left_out[1], None))
        else:
            sys.exit(f"api-parity.txt:{number}: neither `name -> name` nor `name: reason`")
    return lines


def is_there(name, have):
    """Whether the package has a name of the library, under that name."""
    *owners, last = name.split("::")
    owner = owners[-1] if owners else ""
    return (f"{owner}.{last}" if owner[:1].isupper() else last) in have


def entry_for(name, lines):
    """The line that speaks of a name: its own, or that of the longest prefix."""
    exact = [line for line in lines if line[1] == name]
    prefixes = [line for line in lines if line[1].endswith("*") and name.startswith(line[1][:-1])]
    return max(exact or prefixes, key=lambda line: len(line[1]), default=None)


def problems():
    have, lines, used = package(), listed(), set()
    for name in sorted(library()):
        entry = entry_for(name, lines)
        if is_there(name, have):
            if entry and entry[1] == name:
                yield f"api-parity.txt:{entry[0]}: {name} is in the package"
        elif entry is None:
            yield f"{name} is neither in the package nor in api-parity.txt"
        else:
            number, _, target = entry
            used.add(number)
            target = target and target.replace("*", name.split("::")[-1])
            if target is not None and target not in have:
                yield f"api-parity.txt:{number}: the package has no {target}, which {name} should be"
    yield from (f"api-parity.txt:{line[0]}: nothing needs {line[1]}" for line in lines if line[0] not in used)


def main():
    found = list(problems())
    print("\n".join(found) if found else f"{len(library())} names of the library: all in the package or listed")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
