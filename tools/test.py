"""Run the test suite: without a launcher, then on 2, 3, 4 and 6 processes.

Tests that start jobs, and mostly wait for them, run beside the others. Python keeps what it has compiled: dozens of
modules in each of hundreds of processes.

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
    with tempfile.TemporaryFile("w+") as output:
        numbers = [int(n) for n in options.processes.split(",")]
        jobs = None
        if 1 in numbers:
            jobs = subprocess.Popen([*pytest, "-m", "jobs"], stdout=output, stderr=subprocess.STDOUT)
        for n in numbers:
            print("without a launcher" if n == 1 else f"on {n} processes", flush=True)
            launcher = [] if n == 1 else [sys.executable, "-m", "pgaspy", "run", "-n", str(n)]
            if _fails(subprocess.Popen([*launcher, *pytest, "-m", "not jobs" if n == 1 else "mpi"])):
                failed.append(f"{n} process{'es' * (n > 1)}")
        if jobs is not None:
            print("jobs", flush=True)
            if _fails(jobs):
                failed.append("jobs")
            output.seek(0)
            print(output.read(), end="", flush=True)
    print(f"FAILED: {', '.join(failed)}" if failed else "all runs passed")
    return bool(failed)


def _fails(process: subprocess.Popen[bytes]) -> bool:
    """Whether a command, waited for, ends with another status than 0."""
    try:
        return process.wait(TIMEOUT_SECONDS) != 0
    except subprocess.TimeoutExpired:
        print(f"no end after {TIMEOUT_SECONDS} s", flush=True)
        process.kill()
        return True


if __name__ == "__main__":
    sys.exit(main())
