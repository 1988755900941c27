#!/usr/bin/env python3
"""Plants mistakes in how keys with a filter are answered, one at a time, and runs the tests that must find each.

usage: crates/server/tests/planted_filters.py [NAME...]

Each mistake changes a place of the sources in a copy of the repository, below target/planted-filters. Ends with 1 if a
mistake is not found, or its place is not. CARGO_TARGET_DIR saves compiling the dependencies again.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COPY = ROOT / "target" / "planted-filters"
sys.path.insert(0, str(ROOT / "crates" / "cluster"))
import planted_mistakes  # noqa: E402

LIBRARY = ["-p", "signaldex", "--lib", "narrowed"]
SERVICE = ["--test", "service", "key_filters"]
OF_KEY = "crates/server/src/corpus/of_key.rs"


def door(name, call):
    """A door of the service that asks the whole corpus."""
    whole = call.replace("|whole, at|", "|whole, _at|").replace("(at,", "(view,")
    whole = whole.replace("|whole, _at| ", "|whole, _at| {\n            let view = whole.view();\n            ")
    return f"{name} without the filter", OF_KEY, f"self.ask(at, {call})", f"self.ask(at, {whole}\n        }})", SERVICE


# Name, file, what stands there, what is planted, the tests that find it.
MISTAKES = [
    door("pages", "|whole, at| whole.page(at, query, today, rendering)"),
    door("counts", "|whole, at| whole.count(at, filter, today)"),
    door("options", "|whole, at| whole.facets(at, query, today)"),
    door("aggregates", "|whole, at| whole.aggregate(at, query, today)"),
    door("hints", "|whole, at| whole.hints(at, query, is_empty)"),
    door("companies", "|whole, at| whole.companies(at, query, today)"),
    door("changes", "|whole, at| whole.changes(at, request, today)"),
    door("exports", "|whole, at| whole.export(at, request, today)"),
    door("one signal", "|whole, at| whole.signal(at, id)"),
    door("one company", "|whole, at| whole.company(at, slug)"),
    ("what is kept is found under any filter", "src/index/narrowings.rs",
     "            filter: filter.fingerprint(),\n            day:", "            filter: crate::Filter::default().fingerprint(),\n            day:",
     LIBRARY),
    ("what is kept is found on any day", "src/index/narrowings.rs",
     "day: filter.depends_on_today().then_some(today),", "day: None,",
     LIBRARY),
    ("what is kept is found at any commit", "src/index/narrowings.rs",
     "Some((of, ready)) if *of == revision =>", "Some((of, ready)) if *of == revision || found.bytes > 0 =>", LIBRARY),
    ("entity tags of all filters are one", "src/index/narrowed.rs",
     "revision: Digest::of(&key.revision_of(self.revision)),", "revision: self.revision,", SERVICE),
    ("cursors of all filters are one", "src/query/fingerprint.rs",
     "key.map_or(self, |key| self.within_key(key))", "key.filter(|_| false).map_or(self, |key| self.within_key(key))", SERVICE),
    ("positions of all filters are one", "src/index/narrowed.rs",
     "identity: self.identity.within(filter.fingerprint()),", "identity: self.identity,", SERVICE),
    ("what a key no longer sees is not removed from copies", "src/index/changes.rs",
     "if !live.stored_deletions().contains(row) {", "if !live.deleted.contains(row) {", ["-p", "signaldex", "--lib", "copies_of_what_keys_see"]),
]


def found(tests):
    """The first test that fails; None if none does."""
    run = subprocess.run(["cargo", "test", "--quiet", *tests], cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "could not compile" in run.stdout:
        sys.exit(run.stdout)
    failed = re.search(r"^    ([\w:]+)$", run.stdout, flags=re.M)
    return failed and failed.group(1)


def main():
    wanted = sys.argv[1:]
    planted_mistakes.COPY = COPY
    planted_mistakes.copy()
    missed = 0
    print("| mistake | found by |\n|---|---|")
    for name, file, place, planted, tests in MISTAKES:
        if wanted and name not in wanted:
            continue
        path = COPY / file
        text = path.read_text()
        if text.count(place) != 1:
            sys.exit(f"{name}: its place stands {text.count(place)} times in {file}")
        path.write_text(text.replace(place, planted))
        test = found(tests)
        path.write_text(text)
        missed += test is None
        print(f"| {name} | {test or '**not found**'} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
