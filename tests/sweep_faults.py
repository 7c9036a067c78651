#!/usr/bin/env python3
"""Disturbs a sweep at random moments and resumes it until it is done: no row may be lost, doubled or changed, and the
files at the end are those of a sweep that nobody disturbed.

    sweep_faults.py PROGRAM [--faults kill,terminate,pipe,full,read_only] [--cycles N] [--seed S] [--jobs J]

A cycle is a start that is disturbed; a sweep that is done before all cycles are begins anew. The moments are drawn
from one seed, but what they hit depends on the machine. A full disk is a small tmpfs, which only root may mount."""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

POINTS = 400
EXPERIMENT = "platform: dgx2\nnodes: 1\nmodel: alexnet\nstack: pytorch_ddp\nbatch_per_gpu: 32\n"
# Every fourth point wants more GPUs than there are: failures are rows as well.
SWEEP = "experiment: tiny.yaml\nvary:\n  batch_per_gpu: [1..100]\n  gpus: [1, 2, 4, 17]\n"
FILES = ["sweep.csv", "failures.csv", "sweep.resolved.yaml", "report.html"]
FAILED = 4  # exit codes: of a sweep with failed points,
NOT_WRITTEN = 5  # without room or leave to write,
INTERRUPTED = 130  # and of one that was told to end
NOBODY = 65534
SOURCE = pathlib.Path(__file__).resolve().parent.parent


def check(is_right, what):
    if not is_right:
        sys.exit(f"sweep_faults: {what}")


def rows(database):
    """Point and everything else that is kept of it; nothing of a sweep killed before it made its tables. From a copy:
    one who reads what was killed in mid-write first has to undo the write, which is left to the program here."""
    with tempfile.TemporaryDirectory() as folder:
        for file in database.parent.glob(f"{database.name}*"):
            shutil.copy(file, folder)
        with contextlib.closing(sqlite3.connect(pathlib.Path(folder, database.name))) as connection:
            has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'points'").fetchall()
            return {row[0]: row for row in connection.execute("SELECT * FROM points")} if has_table else {}


class Sweep:
    def __init__(self, program, folder, jobs):
        self.command = [program, "sweep", str(folder / "s.yaml"), "-j", str(jobs), "--resume", "--out"]
        (folder / "tiny.yaml").write_text(EXPERIMENT)
        (folder / "s.yaml").write_text(SWEEP)
        self.groups = []  # of processes, all ended

    def start(self, out, **options):
        process = subprocess.Popen([*self.command, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, text=True, **options)
        self.groups.append(process.pid)
        return process

    def finish(self, out):
        process = self.start(out)
        _, errors = process.communicate(timeout=600)
        check(process.returncode == FAILED, f"ended with {process.returncode}: {errors}")

    def check_that_no_child_is_left(self):
        """Children of a killed sweep die with it, and whoever inherits them takes note a little later."""
        end = time.monotonic() + 10
        while not all(is_gone(group) for group in self.groups):
            check(time.monotonic() < end, "children outlive the sweep by ten seconds")
            time.sleep(0.01)


def is_gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def disturbed(process, seconds, disturb, codes):
    """Whether the sweep was still running after so long, was disturbed, and then ended with one of these codes."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        disturb(process)
    if process.stdout.closed:
        process.wait(timeout=600)
        errors = ""
    else:
        _, errors = process.communicate(timeout=600)
    check(process.returncode in (FAILED, *codes), f"ended with {process.returncode}: {errors}")
    return process.returncode in codes


def kill(sweep, out, seconds, _):
    return disturbed(sweep.start(out), seconds, lambda process: process.send_signal(signal.SIGKILL), [-signal.SIGKILL])


def terminate(sweep, out, seconds, _):
    return disturbed(sweep.start(out), seconds, lambda process: process.send_signal(signal.SIGTERM),
                     [INTERRUPTED, -signal.SIGTERM])


def pipe(sweep, out, seconds, _):
    """Whoever reads what it prints goes away."""
    def close(process):
        process.stdout.close()
        process.stderr.close()

    return disturbed(sweep.start(out), seconds, close, [NOT_WRITTEN, -signal.SIGPIPE])


def read_only(sweep, out, seconds, _):
    """The folder no longer takes new files. Root may write anywhere, so that somebody else runs the sweep, with the
    program and its files in a folder that anybody may enter."""
    owner = {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}
    out.mkdir(exist_ok=True)
    if owner:
        for path in [out, *out.iterdir()]:
            os.chown(path, NOBODY, NOBODY)
    process = sweep.start(out, **owner)
    try:
        return disturbed(process, seconds, lambda _: out.chmod(0o555), [NOT_WRITTEN])
    finally:
        out.chmod(0o755)


def full(sweep, out, _, share):
    """A disk with room for a share of what the sweep writes; then it gets enough."""
    out.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o"]
    if not os.path.ismount(out):
        subprocess.run([*mount, "size=64k", "tmpfs", str(out)], check=True)
    used = shutil.disk_usage(out).used
    size = used // 1024 + int(share * FULL_KB) // 4 * 4 + 4
    subprocess.run([*mount, f"remount,size={size}k", "tmpfs", str(out)], check=True)
    try:
        return disturbed(sweep.start(out), 600, lambda _: None, [NOT_WRITTEN])
    finally:
        subprocess.run([*mount, "remount,size=64m", "tmpfs", str(out)], check=True)


FAULTS = {fault.__name__: fault for fault in [kill, terminate, pipe, full, read_only]}
FULL_KB = 1024  # a sweep writes about so much


@contextlib.contextmanager
def unmounted_at_the_end(folder):
    """Of the folders in this one, also after a check that failed."""
    try:
        yield
    finally:
        for inner in filter(os.path.ismount, folder.iterdir()):
            subprocess.run(["umount", str(inner)], check=True)


def copy_for_anybody(program, folder):
    """The program and the files it reads: a clone may lie below a folder that only its owner enters, as /root."""
    copy = folder / "program"
    copy.mkdir()
    for file in [program, *program.parent.glob("libtrainyard*.so")]:
        shutil.copy2(file, copy)
    for part in ["platforms", "workloads"]:
        shutil.copytree(os.path.join(os.environ.get("TRAINYARD_DATA", SOURCE), part), copy / part)
    os.environ["TRAINYARD_DATA"] = str(copy)
    subprocess.run(["chmod", "-R", "a+rX", str(copy)], check=True)
    return copy / program.name


def nobody_may_run(program):
    try:
        return subprocess.run([program, "--version"], capture_output=True, user=NOBODY, group=NOBODY).returncode == 0
    except PermissionError:
        return False


def may_mount(folder):
    mounted = folder / "mounted"
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(mounted)], capture_output=True).returncode != 0:
        return False
    subprocess.run(["umount", str(mounted)], check=True)
    return True


def disturb_often(sweep, name, undisturbed, cycles, draw):
    """Prints what became of the sweeps."""
    folder, whole, expected = undisturbed
    begun = time.monotonic()
    faults = sweeps = in_the_middle = 0
    while faults < cycles:
        sweeps += 1
        out = folder.parent / f"{name}{sweeps}"
        kept = {}
        # A few faults a sweep: before its first row, among the rows, while it writes its files.
        while faults < cycles and FAULTS[name](sweep, out, draw.random() ** 3 * whole, draw.random()):
            faults += 1
            now = rows(out / "sweep.db")
            check(all(now.get(point) == row for point, row in kept.items()), "a row was lost or changed")
            check(all(expected[point] == row for point, row in now.items()), "a row is another one")
            in_the_middle += 0 < len(now) < POINTS
            kept = now
        sweep.finish(out)
        check(rows(out / "sweep.db") == expected, "the rows are others")
        for file in FILES:
            check((out / file).read_bytes() == (folder / file).read_bytes(), f"{file} differs")
        check(sorted(os.listdir(out)) == sorted([*FILES, "sweep.db"]), f"left behind: {os.listdir(out)}")
    # Few faults may all miss the rows; a store that is open stays writable in a folder that is not.
    check(in_the_middle > 0 or cycles < 20 or name == "read_only", f"no {name} hit a sweep among its rows")
    print(f"{name}: {faults} faults in {sweeps} sweeps of {POINTS} points, {in_the_middle} between first and last row: "
          f"nothing lost or doubled; {time.monotonic() - begun:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--cycles", type=int, default=3, help="of each fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="trainyard-faults-") as name, unmounted_at_the_end(pathlib.Path(name)):
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # read_only runs a sweep as somebody else
        program = pathlib.Path(os.path.abspath(options.program))
        if os.getuid() == 0:
            program = copy_for_anybody(program, folder)
        sweep = Sweep(str(program), folder, options.jobs)
        begun = time.monotonic()
        sweep.finish(folder / "undisturbed")
        whole = time.monotonic() - begun
        expected = rows(folder / "undisturbed/sweep.db")
        check(sorted(expected) == list(range(POINTS)), f"{len(expected)} rows instead of {POINTS}")
        print(f"undisturbed: {whole:.2f} s")
        for fault in options.faults.split(","):
            if fault == "full" and not may_mount(folder):
                print("full: skipped, only root may mount a small disk")
                continue
            if fault == "read_only" and os.getuid() == 0 and not nobody_may_run(str(program)):
                print(f"read_only: skipped, only root may enter {folder}")
                continue
            disturb_often(sweep, fault, (folder / "undisturbed", whole, expected), options.cycles, draw)
        sweep.check_that_no_child_is_left()


if __name__ == "__main__":
    main()
