#!/usr/bin/env python3
"""Plants mistakes in the cluster, one at a time, and runs its tests until they find it.

usage: crates/cluster/planted_mistakes.py [SEEDS [NAME...]]

Each mistake changes a place of the sources in a copy of the repository, below target/planted. For each, the least of SEEDS
(200) whose simulation breaks the law is printed, or else the other test of the crate that fails; ends with 1 if a mistake is
not found, or its place is not.
"""
import filecmp
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPY = ROOT / "target" / "planted"
sys.path.insert(0, str(ROOT / "benches"))
from built import ENVIRONMENT, TESTED  # noqa: E402

SOURCES = pathlib.Path("crates/cluster/src")

# Name, file, what stands there, what is planted.
MISTAKES = [
    ("a shard is skipped where several are asked", "members/table.rs",
     "for &shard in asked {", "for &shard in asked.iter().skip(usize::from(asked.len() > 1)) {"),
    ("an empty shard counts, a filled one does not", "coordinator.rs",
     "        if let Some(slug) = filter.company_slug() {\n            let of_company",
     "        shards.pop();\n        if let Some(slug) = filter.company_slug() {\n            let of_company"),
    ("a company is looked for in another shard", "coordinator.rs",
     "[shard_of(&slug, self.members().shard_count(at.generation))]",
     "[shard_of(&slug, self.members().shard_count(at.generation) + 1)]"),
    ("counts of shards are not added up", "answer.rs", "ShardRequest::Count { .. } => sum(parts),",
     "ShardRequest::Count { .. } => sum(parts.into_iter().take(1).collect()),"),
    ("rows that no node has rendered are not asked for", "pages.rs",
     "(rendered < shown && bytes <= PAGE_BYTES_MAX).then_some(rendered)",
     "(rendered < shown && bytes > PAGE_BYTES_MAX).then_some(rendered)"),
    ("what is asked for again begins a row too early", "pages.rs",
     "rows.truncate(missing);\n        let last = rows.last()",
     "rows.truncate(missing);\n        let last = rows.iter().rev().nth(1)"),
    ("a page has no row more", "pages.rs", "query.part(start, query.limit() + 1)",
     "query.part(start, query.limit())"),
    ("a signal is looked for in this node's shards alone", "coordinator.rs",
     "if found.is_some() || others.is_empty() {", "if found.is_some() || others.len() < usize::MAX {"),
    ("answers are of the newest generation that is held", "loaded_shards.rs",
     "let held = held.get(&generation);\n        let asked", "let held = held.values().next_back();\n        let asked"),
    ("an answer is given to another question", "engine/peer.rs",
     "delivery.under_way.lock().replies.remove(&number)",
     "delivery.under_way.lock().replies.remove(&(number ^ 1))"),
    ("a plan that has ended is used again", "engine/peer.rs",
     "&& self.under_way.lock().ended.is_none()", "&& self.under_way.lock().ended.iter().count() < 2"),
    ("a generation is served before all its shards are held", "members.rs",
     ".filter(|(_, generation)| generation.missing().is_none())",
     ".filter(|(_, generation)| generation.shard_count() > 0)"),
    ("the served generation is never replaced", "members.rs",
     "&& chosen.manifest.generation != current", "&& current == 0"),
    ("a node that has refused a connection stays dead", "members/standing.rs",
     "        if is_over(self.refused_at) {\n            self.refused_at = None;", "        if is_over(self.refused_at) {\n            self.slow_since = None;"),
    ("a process that replaces another one is not heard", "members/standing.rs",
     "if seen.incarnation != self.incarnation {", "if seen.incarnation < self.incarnation {"),
    ("what a node holds is heard once", "members/standing.rs",
     "        self.announcement.clone_from(&seen.announcement);",
     "        if self.announcement.address.is_empty() {\n            self.announcement.clone_from(&seen.announcement);\n        }"),
    ("a node that is alive again has no place", "members/standing.rs",
     "            self.is_known = true;\n        } else", "        } else"),
    ("nodes rank by when they came to be known", "placement.rs",
     "ranked.sort_by(|a, b| b.cmp(a));", "ranked.sort_by(|a, b| b.2.cmp(&a.2));"),
    ("shards that have their places elsewhere go at once", "holding.rs",
     "since.is_some_and(|&since| now.duration_since(since) >= grace)", "since.is_some()"),
    ("shards go before those of their places answer", "members.rs",
     "!places.contains(&self.own) && places.iter().all(|node| holders.contains(node))",
     "!places.contains(&self.own) && holders.len() <= self.nodes.lock().map_or(0, |nodes| nodes.len())"),
    ("the served generation is let go of", "members.rs",
     "other.copied().into_iter().chain([served]).collect()", "other.copied().into_iter().collect()"),
    ("what exports read is let go of", "holding.rs",
     "kept.extend(self.leases.kept(self.loaded.all().keys().copied()));", ""),
    ("shards that are held already are dropped when places change", "holding.rs",
     "        shards.extend(loaded);", "        shards = loaded;"),
    ("a node is content with any of its shards", "holding.rs",
     "own.iter().all(|(shard, _)| held.shards.contains_key(shard))",
     "own.iter().any(|(shard, _)| held.shards.contains_key(shard))"),
]


def copy():
    """A copy of the files of the repository as they are, with a target of its own."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True)
    for name in listed.stdout.splitlines():
        (COPY / name).parent.mkdir(parents=True, exist_ok=True)
        # What has not changed keeps its time, so that it is not compiled again; what has is newer than any build.
        if not (COPY / name).exists():
            shutil.copy2(ROOT / name, COPY / name)
        elif not filecmp.cmp(ROOT / name, COPY / name, shallow=False):
            shutil.copy(ROOT / name, COPY / name)


def test(*arguments, seeds):
    """The output of tests inside the packages, if any failed; None where all passed."""
    # As the gate builds the tests, so that libraries built there serve.
    command = ["cargo", "test", "--quiet", *TESTED, "--lib", "--", *arguments]
    environment = ENVIRONMENT | {"SIGNALDEX_SEEDS": f"0..{seeds}"}
    run = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "could not compile" in run.stdout:
        sys.exit(run.stdout)
    return run.stdout if run.returncode else None


def found(seeds):
    """What finds the mistake, and as what; None where nothing does."""
    output = test("simulation::tests::every_answer", seeds=seeds)
    if output:
        seed = re.search(r"seed (\d+): (.*)", output)
        return (f"seed {seed[1]}", seed[2][:120]) if seed else ("every seed", output.strip().splitlines()[-1])
    output = test("--skip", "simulation::", seeds=1)
    return output and ("a test", re.search(r"^    (\S+)$", output, re.MULTILINE)[1])


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    wanted = sys.argv[2:]
    copy()
    missed = 0
    print("| mistake | found by | as |\n|---|---|---|")
    for name, file, place, planted in MISTAKES:
        if wanted and name not in wanted:
            continue
        path = COPY / SOURCES / file
        text = path.read_text()
        if text.count(place) != 1:
            sys.exit(f"{name}: its place stands {text.count(place)} times in {file}")
        path.write_text(text.replace(place, planted))
        by = found(seeds)
        path.write_text(text)
        missed += by is None
        print(f"| {name} | {by[0]} | {by[1]} |" if by else f"| {name} | **not found** | |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
