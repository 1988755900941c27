#!/usr/bin/env python3
"""The public API as the compiler documents it, compared with a reviewed file for each package.

usage: public_api.py [--bless] [PACKAGE...]

Reads the pages that `cargo doc` writes, with warnings denied: every item that a host can name, its declaration, its
methods and fields, and the traits that it implements. What the library only has with a feature is marked. A feature
that takes something away, or changes it, fails: features only add.
"""

import argparse
import difflib
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "public-api"
# The features of the library, with which its pages are made a second time.
FEATURES = "json,replicate,serde,zstd"
# A cluster's engine takes long to compile: with what `.ci/run` selects for its lints, it is compiled already. An example
# has the dependencies of tests, which give some crates more features.
LINTED = [f"signaldex-cli/{feature}" for feature in ("cluster", "replicate-s3", "replicate-gcs", "replicate-azure", "sql", "xlsx", "parquet")]
WORKSPACE = ["--workspace", "--exclude", "signaldex-python", "--features", ",".join(LINTED), "--example", "embed"]
PACKAGES = ["signaldex", "signaldex-server", "signaldex-cluster", "signaldex-sql", "signaldex-synthetic"]
# Longer values of constants are cut: the sample's texts are no interface.
VALUE_CHARS_MAX = 80
# What every type implements says nothing about this one.
BLANKET = re.compile(r"^impl<.*\bfor T\b")
AUTO = re.compile(r"^impl(<.*>)? !?(Freeze|RefUnwindSafe|Unpin|UnsafeUnpin|UnwindSafe)\b")


def text_of(markup):
    """The text of a piece of a page, on one line."""
    markup = re.sub(r"<(details|summary)[^>]*>.*?</summary>", "", markup, flags=re.S)
    text = html.unescape(re.sub(r"<[^>]+>", "", markup))
    text = re.sub(r"\s+", " ", text).strip()
    return text.replace("( ", "(").replace(", )", ")")


def lines_of_page(page, item):
    """The lines of one item: its declaration, methods and implemented traits."""
    lines = []
    declaration = re.search(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', page, flags=re.S)
    if declaration:
        text = text_of(declaration[1])
        if item.startswith("constant ") and len(text) > VALUE_CHARS_MAX:
            text = f"{text[:VALUE_CHARS_MAX]}…"
        lines.append(f"{item}: {text}")
    for header in re.findall(r'<h[34] class="code-header">(.*?)</h[34]>', page, flags=re.S):
        text = text_of(header)
        if text.startswith("impl") and " for " not in text:
            continue
        if BLANKET.match(text) or AUTO.match(text):
            continue
        if text.startswith(("impl", "pub ", "fn ", "const ", "type ")):
            lines.append(f"{item}: {text}")
    return lines


def in_own_impls(page):
    """The page without the blanket implementations, and without methods that traits prescribe."""
    page = page.split('id="blanket-implementations')[0]
    own, *rest = re.split(r'id="trait-implementations"', page, maxsplit=1)
    traits = "".join(rest)
    headers = re.findall(
        r'<section id="impl-[^"]*" class="impl">.*?(<h3 class="code-header">.*?</h3>)', traits, flags=re.S
    )
    return own + "".join(headers)


def folder_of(package):
    """Where the pages of a package are."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "doc" / package.replace("-", "_")


def document(packages, selection):
    """Makes the pages of packages."""
    for package in packages:
        # Pages of items that this set does not have would stay.
        shutil.rmtree(folder_of(package), ignore_errors=True)
    environment = {**os.environ, "CARGO_TERM_QUIET": "true", "RUSTDOCFLAGS": "-D warnings"}
    command = ["cargo", "doc", "--no-deps", "--lib", *selection]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def api(package):
    """All lines of the public API of a package, from its pages."""
    folder, lines = folder_of(package), set()
    for path in sorted(folder.rglob("*.html")):
        kind, _, name = path.stem.partition(".")
        if not name:
            continue
        modules = path.relative_to(folder).parent.parts
        item = "::".join((*modules, name))
        lines.update(lines_of_page(in_own_impls(path.read_text()), f"{kind} {item}"))
    return lines


def difference(path, lines, bless):
    """How a file differs from the lines that it should have."""
    if bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
    recorded = path.read_text().splitlines() if path.exists() else []
    name = str(path.relative_to(ROOT))
    return list(difflib.unified_diff(recorded, lines, name, "now", lineterm="", n=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bless", action="store_true", help="write the files anew")
    parser.add_argument("package", nargs="*", help="these packages only")
    options = parser.parse_args()
    changed = []
    packages = options.package or PACKAGES
    if packages != ["signaldex"]:
        document(PACKAGES, WORKSPACE)
    for package in packages:
        if package == "signaldex":
            document([package], ["-p", package])
            default = api(package)
            document([package], ["-p", package, "--features", FEATURES])
            lines = api(package)
            changed += [f"a feature takes away: {line}" for line in sorted(default - lines)]
            lines = {line if line in default else f"(feature) {line}" for line in lines}
        else:
            lines = api(package)
        changed += difference(FOLDER / f"{package}.txt", sorted(lines), options.bless)
    print("\n".join(changed))
    if changed:
        sys.exit("the public API changed; where that is meant, run with --bless and review the difference")


if __name__ == "__main__":
    main()
