#!/usr/bin/env python3
"""Writes a CycloneDX 1.5 bill of materials of the program: every crate that is linked into it.

usage: .ci/sbom.py FEATURES TARGET > FILE

From `cargo metadata`; build scripts, proc macros and test dependencies are left out.
"""

import json
import subprocess
import sys


def metadata(features, target):
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--manifest-path", "crates/cli/Cargo.toml",
               "--features", features, "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def linked(data):
    """The ids that are reached from the root by normal dependencies."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    packages = {package["id"]: package for package in data["packages"]}

    def is_macro(id):
        return any("proc-macro" in target["kind"] for target in packages[id]["targets"])

    root = data["resolve"]["root"]
    found, open_ids, edges = {root}, [root], {}
    while open_ids:
        id = open_ids.pop()
        normal = [dep["pkg"] for dep in nodes[id]["deps"]
                  if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        edges[id] = sorted(dep for dep in normal if not is_macro(dep))
        new = [dep for dep in edges[id] if dep not in found]
        found.update(new)
        open_ids += new
    return root, edges, packages


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind, checksums):
    entry = {"type": kind, "bom-ref": purl(package), "name": package["name"],
             "version": package["version"], "purl": purl(package)}
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def lock_checksums():
    import tomllib
    with open("Cargo.lock", "rb") as lock:
        packages = tomllib.load(lock)["package"]
    return {(p["name"], p["version"]): p["checksum"] for p in packages if "checksum" in p}


def main():
    features, target = sys.argv[1:]
    root, edges, packages = linked(metadata(features, target))
    checksums = lock_checksums()
    libraries = sorted((packages[id] for id in edges if id != root), key=purl)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": component(packages[root], "application", checksums),
            "properties": [{"name": "cargo:features", "value": features},
                           {"name": "cargo:target", "value": target}],
        },
        "components": [component(package, "library", checksums) for package in libraries],
        "dependencies": [{"ref": purl(packages[id]), "dependsOn": [purl(packages[dep]) for dep in deps]}
                         for id, deps in sorted(edges.items())],
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
