"""Run the test suite: without a launcher, then on 2, 3, 4 and 6 processes.

Usage: python tools/test.py [PYTEST ARGUMENT ...]
"""

from __future__ import annotations

import subprocess
import sys

N_PROCESSES = (2, 3, 4, 6)
TIMEOUT_SECONDS = 3600


def main() -> int:
    """Exit with 1 if any of the runs failed, after all of them."""
    pytest = [sys.executable, "-m", "pytest", "--color=no", *sys.argv[1:]]
    failed = []
    print("without a launcher", flush=True)
    if subprocess.run(pytest).returncode:
        failed.append("1 process")
    for n in N_PROCESSES:
        print(f"on {n} processes", flush=True)
        run = [sys.executable, "-m", "pgaspy", "run", "-n", str(n), *pytest, "-m", "mpi"]
        try:
            status = subprocess.run(run, timeout=TIMEOUT_SECONDS).returncode
        except subprocess.TimeoutExpired:
            status = 1
            print(f"no end after {TIMEOUT_SECONDS} s", flush=True)
        if status:
            failed.append(f"{n} processes")
    print(f"FAILED: {', '.join(failed)}" if failed else "all runs passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
