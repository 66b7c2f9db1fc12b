"""Run the test suite: without a launcher, then on 2, 3, 4 and 6 processes.

Usage: python tools/test.py [--processes N,N...] [PYTEST ARGUMENT ...]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

N_PROCESSES = "1,2,3,4,6"
TIMEOUT_SECONDS = 3600


def main() -> int:
    """Exit with 1 if any of the runs failed, after all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--processes", default=N_PROCESSES, help=f"how many, {N_PROCESSES} if not given")
    options, arguments = parser.parse_known_args()
    pytest = [sys.executable, "-m", "pytest", "--color=no", *arguments]
    failed = []
    for n in map(int, options.processes.split(",")):
        print("without a launcher" if n == 1 else f"on {n} processes", flush=True)
        run = pytest if n == 1 else [sys.executable, "-m", "pgaspy", "run", "-n", str(n), *pytest, "-m", "mpi"]
        try:
            status = subprocess.run(run, timeout=TIMEOUT_SECONDS).returncode
        except subprocess.TimeoutExpired:
            status = 1
            print(f"no end after {TIMEOUT_SECONDS} s", flush=True)
        if status:
            failed.append(f"{n} process{'es' * (n > 1)}")
    print(f"FAILED: {', '.join(failed)}" if failed else "all runs passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
