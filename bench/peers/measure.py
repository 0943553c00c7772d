"""The measurements. Contenders take turns within each, so that other load on the machine affects all of them."""
import concurrent.futures
import os
import pathlib
import statistics
import subprocess
import time
import uuid

from contender import timed
from sets import hit

OUTPUT = "test result: ok. 14 passed; 0 failed; finished in 0.31s\n" * 16


class Empty:
    """A process that does nothing: the minimum cost of a process."""

    name = "empty process"

    def __init__(self, folder):
        # Static: a dynamically linked process starts slower than a static hook that does its work.
        self.program = pathlib.Path(folder) / "empty"
        subprocess.run(["cc", "-static", "-O2", "-x", "c", "-", "-o", self.program], input=b"int main(void) { return 0; }", check=True)

    def report(self, *_):
        return timed([self.program], OUTPUT.encode(), {}, "/")


def payload(contender, session, event="PostToolUse", **fields):
    """Returns a payload as Claude Code sends it to a hook."""
    common = {"session_id": session, "transcript_path": f"{contender.project}/none.jsonl", "cwd": str(contender.project),
              "permission_mode": "default", "hook_event_name": event}
    if event == "PostToolUse":
        number = uuid.uuid4().hex
        fields = {"tool_name": "Bash", "tool_use_id": f"toolu_{number}", "tool_input": {"command": f"cargo test {number[:8]}", "description": "Run the tests"},
                  "tool_response": {"stdout": f"{number}\n{OUTPUT}", "stderr": "", "interrupted": False, "isImage": False}}
    return common | fields


def start_session(contender):
    """Starts a session with a prompt, as an agent does."""
    session = str(uuid.uuid4())
    contender.report("UserPromptSubmit", payload(contender, session, "UserPromptSubmit", prompt="Please run the tests of the checkout until they pass"))
    return session


def quantiles(seconds):
    """Returns median and 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * statistics.median(ordered), 1000 * ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]


def hooks_up(empty, contenders, rounds):
    """Measures the PostToolUse hook while the daemon runs, in seconds."""
    sessions = {one.name: start_session(one) for one in contenders}
    times = {one.name: [] for one in [empty, *contenders]}
    for _ in range(rounds):
        times[empty.name].append(empty.report()[1])
        for one in contenders:
            times[one.name].append(one.report("PostToolUse", payload(one, sessions[one.name]))[1])
    return times


def hooks_down(contenders, rounds):
    """Measures the first PostToolUse hook after the daemon was killed, and counts acknowledged and stored events.

    The hook may restart the daemon.
    """
    sessions = {one.name: start_session(one) for one in contenders}
    times, acknowledged = {one.name: [] for one in contenders}, {one.name: 0 for one in contenders}
    for _ in range(rounds):
        for one in contenders:
            one.kill()
            status, taken = one.report("PostToolUse", payload(one, sessions[one.name]))
            times[one.name].append(taken)
            acknowledged[one.name] += status == 0
    for one in contenders:
        one.start()
    return times, {one.name: (acknowledged[one.name], settled(lambda: one.count(sessions[one.name]))) for one in contenders}


def settled(count, quiet=8, limit=180):
    """Waits until a number has not changed for `quiet` seconds; returns it."""
    last, since, end = None, time.monotonic(), time.monotonic() + limit
    while time.monotonic() < end:
        now = count()
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since >= quiet:
            break
        time.sleep(0.5)
    return last


def memory(contender, events=100):
    """Returns the resident memory of the daemon after it has ingested `events` events."""
    session = start_session(contender)
    for _ in range(events):
        contender.report("PostToolUse", payload(contender, session))
    settled(lambda: contender.count(session))
    return contender.resident()


def size(contender):
    """Returns the disk usage of the installation in bytes; hard links count once."""
    seen, total = set(), 0
    for top in contender.installed():
        files = [top] if top.is_file() else [pathlib.Path(folder) / name for folder, _, names in os.walk(top) for name in names]
        for file in files:
            status = file.lstat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
    return total


def burst(contender, events=200, concurrency=4):
    """Kills the daemon in the middle of a burst and restarts it; returns acknowledged and stored events."""
    session = start_session(contender)

    def report(_):
        return contender.report("PostToolUse", payload(contender, session))[0] == 0

    with concurrent.futures.ThreadPoolExecutor(concurrency) as pool:
        pending = [pool.submit(report, number) for number in range(events)]
        pending[events // 2].result()
        contender.kill()
        acknowledged = sum(one.result() for one in pending)
    contender.start()
    return acknowledged, settled(lambda: contender.count(session))


def tokens(contender, model, events=20):
    """Returns calls, tokens and memories of one turn with `events` tool uses, or None if they cannot be counted.

    Starts from an empty store, because pending events of earlier measurements would be counted too.
    """
    contender.kill()
    contender.install()
    contender.start()
    if not contender.with_model():
        return None
    settled(lambda: model.calls)
    model.reset()
    session = start_session(contender)
    for _ in range(events):
        contender.report("PostToolUse", payload(contender, session))
    contender.report("Stop", payload(contender, session, "Stop", stop_hook_active=False, last_assistant_message="All tests of the checkout pass now."))
    settled(lambda: model.calls, quiet=15)
    counted = model.calls, model.tokens, contender.memories(session)
    contender.kill()
    return counted


def search(contenders, questions):
    """Returns the median time of a warm search in milliseconds, and hit@5."""
    for one in contenders:
        for question in questions[:10]:
            one.search(question["project"], question["text"], 10)
    times, hits = {one.name: [] for one in contenders}, {one.name: 0 for one in contenders}
    for question in questions:
        for one in contenders:
            start = time.perf_counter()
            found = one.search(question["project"], question["text"], 10)
            times[one.name].append(time.perf_counter() - start)
            hits[one.name] += hit(found, question["relevant"], 5)
    return {one.name: (quantiles(times[one.name])[0], hits[one.name] / len(questions)) for one in contenders}
