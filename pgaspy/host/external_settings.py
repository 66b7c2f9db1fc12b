"""Settings of MPI libraries and of OpenBLAS that suit pgaspy, where the environment says nothing else.

Imported before anything that imports NumPy or MPI, which read them when they start; what this process starts inherits
them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["SETTINGS"]

SETTINGS = {"OMPI_MCA_btl_tcp_eager_limit": str(1 << 20), "OPENBLAS_THREAD_TIMEOUT": "20"}
"""`OMPI_MCA_btl_tcp_eager_limit`: how many bytes of a message Open MPI sends over TCP before the receiver has answered
(by default 64 KiB). The answer to a longer message waits behind all that the receiver is just sending the
other way. So two processes that exchange such messages in every step of a loop end up sending in turns, and have half
of what the network can do.

`OMPI_MCA_btl`: Open MPI from PyPI leaves out its one-sided transfers over libfabric, which pgaspy does not use, and
which sleep for a second in every process that starts without such a network. The Open MPI of a site has what the site
sets.

`OPENBLAS_THREAD_TIMEOUT`: its threads spin for so many doublings of a cycle after a product, here half a millisecond,
before they sleep. By default it is some ten milliseconds, in which they take the cores from the kernel that comes next.
"""

if Path(sys.prefix, "lib", "libmpi.so.40").exists():
    SETTINGS["OMPI_MCA_btl"] = "^ofi"

for _name, _value in SETTINGS.items():
    os.environ.setdefault(_name, _value)
