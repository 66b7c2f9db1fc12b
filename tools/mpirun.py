"""Start a command on N processes: `pgaspy run`, by the name of a file.

Usage: python tools/mpirun.py -n N [--unbound] COMMAND [ARGUMENT ...]
"""

import os
import sys

os.execv(sys.executable, [sys.executable, "-m", "pgaspy", "run", *sys.argv[1:]])
