"""A store over the protocol of S3 that refuses, hangs, is slow, is gone: what publishers and replicas do then."""

import asyncio
import os
import subprocess
import threading
import time
import urllib.request

from s3_program import answers, await_that, free_port, run

SLOW = 0.3
# A request to the store is given up after a minute.
GIVEN_UP = 75


class Proxy(threading.Thread):
    """Passes connections on to the store, or not."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.port, self.mode = target, free_port(), "pass"
        self.loop = asyncio.new_event_loop()
        self.server, self.writers = None, set()
        self.start()
        self.set("pass")

    def run(self):
        self.loop.run_forever()

    def set(self, mode):
        """pass, slow, hang, or down."""
        asyncio.run_coroutine_threadsafe(self.change(mode), self.loop).result(10)

    async def change(self, mode):
        self.mode = mode
        if mode == "down":
            self.server.close()
            self.server = None
            for writer in list(self.writers):
                writer.close()
        elif self.server is None:
            self.server = await asyncio.start_server(self.accept, "127.0.0.1", self.port)

    async def accept(self, reader, writer):
        try:
            store_reader, store_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        self.writers |= {writer, store_writer}
        await asyncio.gather(self.pump(reader, store_writer, SLOW), self.pump(store_reader, writer, 0.0))
        self.writers -= {writer, store_writer}

    async def pump(self, reader, writer, delay):
        try:
            while chunk := await reader.read(1 << 20):
                while self.mode == "hang":
                    await asyncio.sleep(0.05)
                if self.mode == "slow":
                    await asyncio.sleep(delay)
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        writer.close()


class Ending:
    """A command that has to fail in time, run beside everything else."""

    def __init__(self, program, what, endpoint, *command):
        self.what, self.started = what, time.monotonic()
        environment = dict(os.environ, AWS_ENDPOINT=f"http://127.0.0.1:{endpoint}")
        self.process = subprocess.Popen([program, *command], env=environment, stderr=subprocess.PIPE, text=True)

    def check(self, *reasons):
        error = self.process.communicate(timeout=max(1.0, self.started + GIVEN_UP - time.monotonic()))[1]
        assert self.process.returncode == 1, (self.what, self.process.returncode, error)
        assert any(reason in error for reason in reasons), (self.what, error)
        print(f"{self.what}: {error.strip()}")


def require_credentials(port, is_required):
    """Whether moto looks at credentials; it knows none, so it refuses all."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/moto-api/reset-auth",
                                     data=b"0" if is_required else b"1000000000", method="POST",
                                     headers={"Content-Type": "text/plain"})
    urllib.request.urlopen(request, timeout=10).read()


def unreachable(program, port, store, index):
    """Publishes where nobody answers, which takes a minute to be given up."""
    silent = Proxy(port)
    silent.set("hang")
    publish = ["publish", index, store, "--generation", "1000"]
    return [Ending(program, "publish, endpoint down", free_port(), *publish),
            Ending(program, "publish, endpoint hangs", silent.port, *publish)]


def faults(program, folder, port, proxy, replica, store, index, generation, given_up):
    """Goes through the faults, and ends with the index published as the generation."""
    before = answers(program, replica.cache)
    publish = ["publish", index, store, "--generation", str(generation)]
    following = lambda: replica.ready().get("following") or {}

    def fault_and_heal(name, begin, end):
        begin()
        await_that(lambda: following().get("error"), f"{name} is told", GIVEN_UP)
        assert answers(program, replica.cache) == before, name
        print(f"{name}, as /readyz says: {following()['error']}")
        end()
        await_that(lambda: following().get("error", "") is None, f"{name} is over", GIVEN_UP)

    endings = [Ending(program, "publish, bucket missing", port, "publish", index, "s3://nowhere/index"),
               Ending(program, "follow, bucket missing", port, "serve", "--follow", "s3://nowhere/index", "--cache",
                      os.path.join(folder, "nowhere"), "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--state",
                      os.path.join(folder, "nowhere.db"))]
    for ending in endings:
        ending.check("nothing is published", "cannot", "NoSuchBucket")
    require_credentials(port, True)
    try:
        Ending(program, "publish, credentials refused", port, *publish).check("InvalidAccessKeyId")
    finally:
        require_credentials(port, False)
    fault_and_heal("credentials refused", lambda: require_credentials(port, True), lambda: require_credentials(port, False))
    proxy.set("slow")
    run(program, *publish)
    replica.await_generation(generation)
    before = answers(program, replica.cache)
    assert before == answers(program, index)
    proxy.set("hang")
    time.sleep(2)
    assert answers(program, replica.cache) == before
    since = following().get("secondsSinceAnswer")
    assert since >= 1, since
    proxy.set("pass")
    await_that(lambda: following().get("secondsSinceAnswer") == 0, "the store answers again", GIVEN_UP)
    proxy.set("down")
    time.sleep(2)
    assert replica.ready().get("generation") == generation
    proxy.set("pass")
    await_that(lambda: following().get("secondsSinceAnswer") == 0, "the store is back", GIVEN_UP)
    for ending in given_up:
        ending.check("did not answer in time", "could not be reached")


def pruned(program, store):
    """Old generations go, and what is left can be followed."""
    told = run(program, "prune", store, "--keep", "1", "--older-than", "0s").stderr.strip()
    assert told.startswith("would remove: ") and "would keep: 1 generation," in told, told
    print(f"prune: {told}")
    done = run(program, "prune", store, "--keep", "1", "--older-than", "0s", "--delete").stderr.strip()
    assert "\nremoved: " in done, done
    again = run(program, "prune", store, "--keep", "1", "--older-than", "0s").stderr.strip()
    assert again.startswith("would remove: 0 manifests of 0 bytes, 0 objects"), again
