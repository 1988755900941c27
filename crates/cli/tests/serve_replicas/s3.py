"""Publishing and following over the protocol of S3: objects in several parts, races, damage, faults, pruning.

usage: crates/cli/tests/serve_replicas/s3.sh PROGRAM [short]
"""

import os
import socket
import subprocess
import sys
import tempfile

import boto3

import s3_faults
from s3_program import Replica, answers, await_that, corpus, free_port, run

SIGNALS = 20_000  # A segment of 14 MB, which is sent in two parts.
PUBLISHERS = 8
ROUNDS = 1 if "short" in sys.argv else 5


def race(program, directories, store, generation):
    """All publish the generation at once; one wins."""
    command = lambda directory: [program, "publish", directory, store, "--generation", str(generation)]
    racing = [subprocess.Popen(command(directory), stderr=subprocess.PIPE, text=True) for directory in directories]
    ends = [(process.communicate()[1], process.returncode) for process in racing]
    winners = [directory for directory, (_, code) in zip(directories, ends) if code == 0]
    assert len(winners) == 1, (generation, ends)
    assert all("published with other content" in text for text, code in ends if code != 0), ends
    return winners[0]


def damaged(program, folder, client, store, replica, index, generation):
    """An altered object is refused, and what was there before answers, until it is repaired."""
    before = answers(program, replica.cache)
    known = {item["Key"] for item in client.list_objects_v2(Bucket="signals")["Contents"]}
    # A store that has the manifest before its objects are whole: published elsewhere, copied, altered.
    run(program, "publish", index, "s3://aside/index", "--generation", str(generation))
    manifest = None
    for item in client.list_objects_v2(Bucket="aside")["Contents"]:
        body = bytearray(client.get_object(Bucket="aside", Key=item["Key"])["Body"].read())
        if "/manifests/" in item["Key"]:
            manifest = (item["Key"], bytes(body))
        elif item["Key"] not in known:
            body[len(body) // 2] ^= 1
            client.put_object(Bucket="signals", Key=item["Key"], Body=bytes(body))
    client.put_object(Bucket="signals", Key=manifest[0], Body=manifest[1])
    fault = lambda: (replica.ready().get("following") or {}).get("error")
    await_that(fault, "the damage is told")
    assert "does not match its checksum" in fault(), fault()
    assert answers(program, replica.cache) == before
    run(program, "publish", index, store, "--generation", str(generation), "--repair")
    replica.await_generation(generation)
    assert fault() is None
    assert answers(program, replica.cache) == answers(program, index)


def main():
    moto, program = sys.argv[1], os.path.abspath(sys.argv[2])
    port = free_port()
    os.environ.update({"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1",
                       "AWS_DEFAULT_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"})
    started = [subprocess.Popen([moto, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            drive(program, folder, port, started)
    finally:
        for process in started:
            process.kill()
            process.wait()


def drive(program, folder, port, started):
    probe = lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0
    await_that(probe, "moto listens")
    proxy = s3_faults.Proxy(port)
    os.environ["AWS_ENDPOINT"] = f"http://127.0.0.1:{proxy.port}"
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
    client.create_bucket(Bucket="signals")
    client.create_bucket(Bucket="aside")
    store, index = "s3://signals/index", os.path.join(folder, "index")
    run(program, "build", *corpus(program, folder, "corpus", SIGNALS, 1), "--out", index)
    given_up = s3_faults.unreachable(program, port, store, index)
    started += [ending.process for ending in given_up]
    print(run(program, "publish", index, store).stderr.strip())
    replica = Replica(program, folder, store)
    started.append(replica.process)
    replica.await_generation(1)
    assert answers(program, replica.cache) == answers(program, index)

    directories = [os.path.join(folder, f"index-{number}") for number in range(PUBLISHERS)]
    for number, directory in enumerate(directories):
        run(program, "build", *corpus(program, folder, f"corpus-{number}", 500, 10 + number), "--out", directory)
    for generation in range(2, 2 + ROUNDS):
        winner = race(program, directories, store, generation)
        replica.await_generation(generation)
        assert answers(program, replica.cache) == answers(program, winner)
    run(program, "publish", index, store, "--generation", "2", status=1)

    changed = os.path.join(folder, "changed")
    run(program, "build", *corpus(program, folder, "other", SIGNALS, 99), "--out", changed)
    damaged(program, folder, client, store, replica, changed, 2 + ROUNDS)
    s3_faults.faults(program, folder, port, proxy, replica, store, index, 3 + ROUNDS, given_up)
    s3_faults.pruned(program, store)
    fresh = Replica(program, os.path.join(folder, "fresh"), store)
    started.append(fresh.process)
    fresh.await_generation(3 + ROUNDS)
    assert answers(program, fresh.cache) == answers(program, index)
    print(f"{ROUNDS} generations raced for by {PUBLISHERS} processes, one winner each; an altered object refused and repaired")


if __name__ == "__main__":
    main()
