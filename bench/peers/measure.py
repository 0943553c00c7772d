"""The measurements. Contenders take turns within each, so that what else the machine does hits all of them."""
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
    """A process that does nothing: what it costs to start one at all."""

    name = "empty process"

    def __init__(self, folder):
        # Static, as the smallest there is: a dynamically linked one starts slower than a static hook that does its work.
        self.program = pathlib.Path(folder) / "empty"
        subprocess.run(["cc", "-static", "-O2", "-x", "c", "-", "-o", self.program], input=b"int main(void) { return 0; }", check=True)

    def report(self, *_):
        return timed([self.program], OUTPUT.encode(), {}, "/")


def payload(contender, session, event="PostToolUse", **fields):
    """What Claude Code tells a hook."""
    common = {"session_id": session, "transcript_path": f"{contender.project}/none.jsonl", "cwd": str(contender.project),
              "permission_mode": "default", "hook_event_name": event}
    if event == "PostToolUse":
        number = uuid.uuid4().hex
        fields = {"tool_name": "Bash", "tool_use_id": f"toolu_{number}", "tool_input": {"command": f"cargo test {number[:8]}", "description": "Run the tests"},
                  "tool_response": {"stdout": f"{number}\n{OUTPUT}", "stderr": "", "interrupted": False, "isImage": False}}
    return common | fields


def session_of(contender):
    """Opens a session by a prompt, as an agent does."""
    session = str(uuid.uuid4())
    contender.report("UserPromptSubmit", payload(contender, session, "UserPromptSubmit", prompt="Please run the tests of the checkout until they pass"))
    return session


def quantiles(seconds):
    """Median and 95th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * statistics.median(ordered), 1000 * ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]


def hooks_up(empty, contenders, rounds):
    """Times of the PostToolUse hook while the daemon runs, in seconds."""
    sessions = {one.name: session_of(one) for one in contenders}
    times = {one.name: [] for one in [empty, *contenders]}
    for _ in range(rounds):
        times[empty.name].append(empty.report()[1])
        for one in contenders:
            times[one.name].append(one.report("PostToolUse", payload(one, sessions[one.name]))[1])
    return times


def hooks_down(contenders, rounds):
    """Times of the first PostToolUse hook after the daemon was killed, and per contender acknowledged and stored events.

    A hook that starts the daemon again is free to.
    """
    sessions = {one.name: session_of(one) for one in contenders}
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
    """Waits until a number has stood still for a while; returns it."""
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
    """Resident memory of the daemons once they have taken in so many events."""
    session = session_of(contender)
    for _ in range(events):
        contender.report("PostToolUse", payload(contender, session))
    settled(lambda: contender.count(session))
    return contender.resident()


def size(contender):
    """Bytes on disk of what is there because of it; a file with two names counts once."""
    seen, total = set(), 0
    for top in contender.installed():
        files = [top] if top.is_file() else [pathlib.Path(folder) / name for folder, _, names in os.walk(top) for name in names]
        for file in files:
            status = file.lstat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
    return total


def burst(contender, events=200, at_once=4):
    """Kills the daemon in the middle of a burst, starts it again after; returns acknowledged and stored events."""
    session = session_of(contender)

    def report(_):
        return contender.report("PostToolUse", payload(contender, session))[0] == 0

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(report, number) for number in range(events)]
        waiting[events // 2].result()
        contender.kill()
        acknowledged = sum(one.result() for one in waiting)
    contender.start()
    return acknowledged, settled(lambda: contender.count(session))


def tokens(contender, model, events=20):
    """What one turn with so many tool uses sends to the model: calls, tokens, memories made; None where it cannot be counted.

    It starts from an empty store: what waits from earlier measurements would be counted too.
    """
    contender.kill()
    contender.install()
    contender.start()
    if not contender.with_model():
        return None
    settled(lambda: model.calls)
    model.reset()
    session = session_of(contender)
    for _ in range(events):
        contender.report("PostToolUse", payload(contender, session))
    contender.report("Stop", payload(contender, session, "Stop", stop_hook_active=False, last_assistant_message="All tests of the checkout pass now."))
    settled(lambda: model.calls, quiet=15)
    counted = model.calls, model.tokens, contender.memories(session)
    contender.kill()
    return counted


def search(contenders, questions):
    """Time of a warm search, in milliseconds, and how often something relevant is among the first five."""
    for one in contenders:
        for question in questions[:10]:
            one.search(question["project"], question["text"], 10)
    times, hits = {one.name: [] for one in contenders}, {one.name: 0 for one in contenders}
    for question in questions:
        for one in contenders:
            began = time.perf_counter()
            found = one.search(question["project"], question["text"], 10)
            times[one.name].append(time.perf_counter() - began)
            hits[one.name] += hit(found, question["relevant"], 5)
    return {one.name: (quantiles(times[one.name])[0], hits[one.name] / len(questions)) for one in contenders}
