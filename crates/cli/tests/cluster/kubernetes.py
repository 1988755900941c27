#!/usr/bin/env python3
"""docs/deploy/kubernetes.yaml: valid, and its nodes form a cluster.

usage: crates/cli/tests/cluster/kubernetes.py PROGRAM

kubernetes-validate, from PyPI, checks each object against the schemas of the releases that the file is for. Then the
containers of its StatefulSet run as processes of this machine: with the environment, arguments, files and probes that
the file gives them, where names of hosts, ports and folders are replaced. Each node has to become ready within the time
of its startup probe, count as the others do, and end within its grace period.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "serve_replicas"))
from proxied import free_port, run

ROOT = pathlib.Path(__file__).resolve().parents[4]
FILE = ROOT / "docs/deploy/kubernetes.yaml"
ENVIRONMENT = ROOT / "target/kubernetes"
RELEASES = ["1.35.0", "1.37.0"]
SIGNALS = 2000
DOMAIN = "signaldex-nodes.signaldex.svc.cluster.local"


def with_validator():
    """Runs this script in an environment that has the validator, and its YAML parser."""
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        print(f"installing kubernetes-validate into {ENVIRONMENT}")
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([ENVIRONMENT / "bin/pip", "install", "--quiet", "--disable-pip-version-check",
                        "kubernetes-validate"], check=True)
    if pathlib.Path(sys.prefix) != ENVIRONMENT:
        os.execv(python, [str(python), *sys.argv])


def validate():
    for release in RELEASES:
        subprocess.run([ENVIRONMENT / "bin/kubernetes-validate", "--strict", "--quiet", "-k", release, FILE], check=True)
    misspelled = FILE.read_text().replace("readinessProbe:", "readynessProbe:")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(misspelled)
        file.flush()
        done = subprocess.run([ENVIRONMENT / "bin/kubernetes-validate", "--strict", "--quiet", file.name],
                              capture_output=True)
        assert done.returncode != 0, "a misspelled name passes"
    print(f"valid for Kubernetes {' and '.join(RELEASES)}")


class Cluster:
    """The objects of the file, over folders and ports of this machine."""

    def __init__(self, program, folder, objects):
        self.program, self.folder = program, pathlib.Path(folder)
        self.objects = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        spec = self.objects["StatefulSet", "signaldex"]["spec"]
        self.names = [f"signaldex-{number}" for number in range(spec["replicas"])]
        self.pod = spec["template"]["spec"]
        [self.container] = self.pod["containers"]
        self.node_ports = {name: free_port() for name in self.names}
        self.api_ports = {name: free_port() for name in self.names}
        self.processes = {}

    def local(self, text, name):
        """A text of the file, as it is for this pod on this machine."""
        for other, port in self.node_ports.items():
            text = text.replace(f"{other}.{DOMAIN}:7400", f"127.0.0.1:{port}")
        text = text.replace("0.0.0.0:8080", f"127.0.0.1:{self.api_ports[name]}")
        text = text.replace("0.0.0.0:7400", f"127.0.0.1:{self.node_ports[name]}")
        text = text.replace("127.0.0.1:9464", "127.0.0.1:0")
        text = re.sub(r"^/data/", f"{self.folder}/{name}/", text)
        return re.sub(r"^/etc/signaldex/", f"{self.folder}/etc/", text)

    def environment(self, name):
        values = {"SIGNALDEX_LOG": "warn"}
        for variable in self.container["env"]:
            if "value" in variable:
                value = re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], variable["value"])
            else:
                path = variable["valueFrom"]["fieldRef"]["fieldPath"]
                value = {"metadata.name": name, "metadata.labels['topology.kubernetes.io/zone']": f"zone-{name}"}[path]
            values[variable["name"]] = self.local(value, name)
        return values

    def mount(self):
        """What the pod's volumes hold, where the container looks for it; other places have nothing."""
        held = {"cluster": self.objects["ConfigMap", "signaldex"]["data"], "certificate": None, "authority": None}
        for mount in self.container["volumeMounts"]:
            if mount["name"] == "data":
                continue
            place = self.folder / "etc" / pathlib.Path(mount["mountPath"]).relative_to("/etc/signaldex")
            place.mkdir(parents=True)
            for file, text in (held[mount["name"]] or {}).items():
                settings = json.loads(self.local(text, self.names[0]))
                settings["store"] = str(self.folder / "store")
                (place / file).write_text(json.dumps(settings))
        self.make_certificates(self.folder / "etc/tls", self.folder / "etc/ca")

    def make_certificates(self, certificate, authority):
        """As docs/cluster.md makes them; one for all nodes, as in the secret."""
        key, names = self.folder / "nodes-ca.key", self.folder / "names"
        names.write_text("subjectAltName=IP:127.0.0.1")
        run("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=signaldex nodes",
            "-keyout", key, "-out", authority / "nodes-ca.pem")
        run("openssl", "req", "-newkey", "ed25519", "-nodes", "-subj", "/CN=nodes", "-keyout", certificate / "tls.key",
            "-out", self.folder / "nodes.csr")
        run("openssl", "x509", "-req", "-in", self.folder / "nodes.csr", "-CA", authority / "nodes-ca.pem", "-CAkey",
            key, "-days", "2", "-extfile", names, "-out", certificate / "tls.crt")

    def publish(self):
        corpus, parts = self.folder / "corpus", self.folder / "parts"
        run(self.program, "generate", "--signals", str(SIGNALS), "--out", corpus)
        run(self.program, "shard", "--companies", corpus / "companies.jsonl", "--signals", corpus / "signals.jsonl",
            "--shards", "8", "--out", parts)
        run(self.program, "publish-shards", parts, self.folder / "store")

    def start(self, name):
        home = self.folder / name
        home.mkdir()
        made = run(self.program, "keys", "create", "--state", home / "state.db")
        key = json.loads(made.stdout)["key"]
        with open(home / "log", "w") as log:
            self.processes[name] = subprocess.Popen([self.program, *self.container["args"]], stdout=log, stderr=log,
                                                    cwd=home, env=os.environ | self.environment(name))
        return key

    def get(self, name, path, key=""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.api_ports[name]}{path}",
                                         headers={"Authorization": f"Bearer {key}"})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return None, str(error)

    def await_ready(self, name):
        probe = self.container["startupProbe"]
        deadline = time.monotonic() + probe["periodSeconds"] * probe["failureThreshold"]
        for kind in ["startupProbe", "livenessProbe", "readinessProbe"]:
            path = self.container[kind]["httpGet"]["path"]
            while (answer := self.get(name, path))[0] != 200:
                log = (self.folder / name / "log").read_text()
                assert self.processes[name].poll() is None and time.monotonic() < deadline, (kind, answer, log)
                time.sleep(0.1)

    def check_count(self, name, key):
        status, body = self.get(name, "/api/v1/signals?countOnly=true", key)
        assert status == 200 and json.loads(body)["data"]["count"] == SIGNALS, (status, body)

    def stop(self, name):
        self.processes[name].send_signal(signal.SIGTERM)
        assert self.processes[name].wait(self.pod["terminationGracePeriodSeconds"]) == 0, name


def form_cluster(program, folder, objects):
    cluster = Cluster(program, folder, objects)
    try:
        cluster.mount()
        cluster.publish()
        keys = {name: cluster.start(name) for name in cluster.names}
        for name in cluster.names:
            cluster.await_ready(name)
        for name, key in keys.items():
            cluster.check_count(name, key)
        cluster.stop(cluster.names[-1])
        cluster.check_count(cluster.names[0], keys[cluster.names[0]])
        print(f"{len(keys)} nodes are ready, each counts {SIGNALS} signals, and one may go")
    finally:
        for process in cluster.processes.values():
            process.kill()


def main():
    program = os.path.abspath(sys.argv[1])
    with_validator()
    validate()
    import yaml

    with tempfile.TemporaryDirectory() as folder:
        form_cluster(program, folder, list(yaml.safe_load_all(FILE.read_text())))


if __name__ == "__main__":
    main()
