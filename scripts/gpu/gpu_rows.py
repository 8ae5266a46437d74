"""What a run on a GPU is made of: rows, each a process with a limit of its own, and a report that is whole at any moment.

Report keeps the state of a run and writes it as summary.md, for people, and rows.json, for the next run; each write replaces the file at
once, so that a run that is cut leaves what it knew. Machine starts the processes of rows, several at a time, and ends them at their limit
or with the run. Logs of all rows go to logs.tgz, written anew as each part ends."""
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import time

LARGEST_LOG = 64 << 10  # of one row: its begin and its end


def replace(path, content):
    """Writes a file at once: whoever looks sees the old content or the new."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.replace(fresh, path)


class Report:
    """Parts in order, each with a state, rows and tables."""

    def __init__(self, out, title, parts):
        self.out, self.title, self.begin = out, title, time.monotonic()
        self.parts = [{"name": name, "state": "not begun", "limit": limit, "seconds": 0, "rows": [], "text": []} for name, limit in parts]
        self.notes, self.state = [], "running"
        self.saved_at = 0
        self.save()

    def part(self, name):
        return next(part for part in self.parts if part["name"] == name)

    def failed(self):
        return sum(row["state"] not in ("ok", "missing") for part in self.parts for row in part["rows"])

    def save(self, now=True):
        if not now and time.monotonic() - self.saved_at < 0.1:
            return
        seconds = time.monotonic() - self.begin
        content = {"title": self.title, "state": self.state, "seconds": round(seconds, 1), "notes": self.notes, "parts": self.parts}
        replace(self.out / "rows.json", json.dumps(content, indent=1))
        replace(self.out / "summary.md", markdown(content))
        self.saved_at = time.monotonic()


def markdown(content):
    lines = [f"## {content['title']}", ""]
    rows = [row for part in content["parts"] for row in part["rows"]]
    count = lambda state: sum(row["state"] == state for row in rows)
    bad = len(rows) - count("ok") - count("missing")
    lines += [f"State: {content['state']} after {content['seconds']:.0f} s; {count('ok')} rows right, {bad} not, {count('missing')} missing.", ""]
    lines += [*content["notes"], ""]
    lines += ["| part | state | right | not | s | limit |", "| --- | --- | --- | --- | --- | --- |"]
    for part in content["parts"]:
        right = sum(row["state"] == "ok" for row in part["rows"])
        wrong = sum(row["state"] not in ("ok", "missing") for row in part["rows"])
        lines.append(f"| {part['name']} | {part['state']} | {right} | {wrong} | {part['seconds']:.0f} | {part['limit']} |")
    for part in content["parts"]:
        wrong = [row for row in part["rows"] if row["state"] != "ok"]
        if not part["text"] and not wrong:
            continue
        lines += ["", f"### {part['name']}", "", *part["text"]]
        if wrong:
            lines += ["", "| row | what | |", "| --- | --- | --- |"]
            lines += [f"| {row['name']} | {row['state']} | {row['text'].replace('|', '/')} |" for row in wrong]
    return "\n".join(lines) + "\n"


def telling_line(log, failed):
    """The line of a log that says most: the first error of a row that failed, else the last line."""
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("===")]
    wrong = [line for line in lines if any(word in line for word in ("rror", "wrong", "ERROR", "failed", "terminate"))]
    messages = [line.partition("MESSAGE: ")[2] for line in lines if "MESSAGE: " in line]
    chosen = (wrong[0] if wrong and failed else messages[-1] if messages else lines[-1]) if lines else ""
    return chosen.strip()[:300]


class Machine:
    """Runs rows until the run's time is over."""

    def __init__(self, report, seconds, jobs, environment, logs):
        self.report, self.jobs, self.environment, self.logs = report, jobs, environment, logs
        self.end = time.monotonic() + seconds
        logs.mkdir(parents=True, exist_ok=True)

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def start(self, part, name, command, environment):
        # Not a session of its own, which would outlive the run; ends with the run where the system can see to that. A run that was killed
        # before setpriv asked for the signal is no longer the parent.
        guard = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test $PPID = "$0" && exec "$@"', os.getpid()] if shutil.which("setpriv") else []
        folder = self.logs / part
        folder.mkdir(exist_ok=True)
        log = open(folder / f"{name}.log", "wb")
        process = subprocess.Popen(list(map(str, [*guard, *command])), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   env={**self.environment, **environment}, process_group=0)
        return process, log

    def rows(self, part, commands, limit, jobs=None, until=None):
        """Runs (name, command, environment) of each row, several at a time, none longer than the limit in seconds; the rows, as far as the
        time went."""
        jobs, until, commands = jobs or self.jobs, min(until or self.end, self.end), iter(commands)
        running, done, is_over = [], [], False
        while running or not is_over:
            while not is_over and len(running) < jobs:
                item = next(commands, None) if time.monotonic() < until else None
                if item is None:
                    is_over = True
                    break
                process, log = self.start(part, item[0], item[1], item[2] if len(item) > 2 else {})
                begin = time.monotonic()
                running.append((item[0], process, log, begin, min(begin + limit, until + 2)))
            for entry in list(running):
                name, process, log, begin, latest = entry
                status = process.poll()
                if status is None and time.monotonic() < latest:
                    continue
                if status is None:
                    kill(process)
                running.remove(entry)
                log.close()
                done.append(self.note(part, name, status, time.monotonic() - begin))
            time.sleep(0.01)
        self.report.save()
        return done

    def note(self, part, name, status, seconds):
        log = trim(self.logs / part / f"{name}.log")
        state = {None: "no end", 0: "ok", 77: "missing"}.get(status, f"ended with {status}")
        row = {"name": name, "state": state, "seconds": round(seconds, 2), "text": telling_line(log, state != "ok")}
        self.report.part(part)["rows"].append(row)
        self.report.save(now=False)
        return row

    def log(self, part, name):
        path = self.logs / part / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def trim(path):
    content = path.read_bytes()
    if len(content) > LARGEST_LOG:
        half = LARGEST_LOG // 2
        content = content[:half] + b"\n... left out ...\n" + content[-half:]
        path.write_bytes(content)
    return content.decode(errors="replace")


def archive(logs, to):
    """All logs in one file, written at once."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as tar:
        tar.add(logs, arcname="logs")
    replace(pathlib.Path(to), buffer.getvalue())
