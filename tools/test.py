"""Run the test suite: without a launcher, then on 2, 3, 4 and 6 processes.

Tests that start jobs, and mostly wait for them, run beside the others that need no launcher. Python keeps what it has
compiled: dozens of modules in each of hundreds of processes.

Usage: python tools/test.py [--processes N,N...] [PYTEST ARGUMENT ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

N_PROCESSES = "1,2,3,4,6"
TIMEOUT_SECONDS = 3600


def main() -> int:
    """Exit with 1 if any of the runs failed, after all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--processes", default=N_PROCESSES, help=f"how many, {N_PROCESSES} if not given")
    options, arguments = parser.parse_known_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    pytest = [sys.executable, "-m", "pytest", "--color=no", *arguments]
    failed = []
    for n in map(int, options.processes.split(",")):
        print("without a launcher" if n == 1 else f"on {n} processes", flush=True)
        if n == 1:
            status = _status([*pytest, "-m", "not jobs"], [*pytest, "-m", "jobs"])
        else:
            status = _status([sys.executable, "-m", "pgaspy", "run", "-n", str(n), *pytest, "-m", "mpi"])
        if status:
            failed.append(f"{n} process{'es' * (n > 1)}")
    print(f"FAILED: {', '.join(failed)}" if failed else "all runs passed")
    return bool(failed)


def _status(first: list[str], beside: list[str] | None = None) -> int:
    """Run a command, and another one beside it, whose output comes last; 0 if both end with that."""
    with tempfile.TemporaryFile("w+") as output:
        processes = [subprocess.Popen(first)]
        if beside is not None:
            processes.append(subprocess.Popen(beside, stdout=output, stderr=subprocess.STDOUT))
        try:
            statuses = [process.wait(TIMEOUT_SECONDS) for process in processes]
        except subprocess.TimeoutExpired:
            statuses = [1]
            print(f"no end after {TIMEOUT_SECONDS} s", flush=True)
            for process in processes:
                process.kill()
        output.seek(0)
        print(output.read(), end="", flush=True)
    return max(map(abs, statuses))


if __name__ == "__main__":
    sys.exit(main())
