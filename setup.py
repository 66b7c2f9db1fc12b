"""Builds what is in C; everything else stands in pyproject.toml."""

from pathlib import Path

import numpy
from setuptools import Extension, setup

shared = [f"pgaspy/_{name}.h" for name in ("at_once", "attempts", "attributes", "callers", "dims", "numbers", "queue",
                                           "shapes")]
"""What several of these include."""

setup(cffi_modules=["pgaspy/_build_kernels.py:ffibuilder"],
      ext_modules=[Extension("pgaspy._caches", ["pgaspy/_caches.c"],
                             depends=[*map(str, Path("pgaspy").glob("_caches_*.h"))]),
                   Extension("pgaspy._calls", ["pgaspy/_calls.c"], include_dirs=[numpy.get_include()],
                             depends=[*map(str, Path("pgaspy").glob("_calls_*.h")), *shared,
                                      "pgaspy/execution/counting.h", "pgaspy/planning/families.h",
                                      "pgaspy/supervision/rolling.h"]),
                   Extension("pgaspy._layouts", ["pgaspy/_layouts.c"], depends=shared),
                   Extension("pgaspy.alone.quick", ["pgaspy/alone/quick.c"], include_dirs=[numpy.get_include()],
                             depends=[*map(str, Path("pgaspy/alone").glob("*.h")), *shared]),
                   Extension("pgaspy.execution.counting", ["pgaspy/execution/counting.c"],
                             depends=["pgaspy/execution/counting.h"]),
                   Extension("pgaspy.execution.ready", ["pgaspy/execution/ready.c"], depends=shared),
                   Extension("pgaspy.execution.appending", ["pgaspy/execution/appending.c"], depends=shared),
                   Extension("pgaspy.planning.affine", ["pgaspy/planning/affine.c"],
                             depends=[*map(str, Path("pgaspy/planning").glob("*.h")), *shared]),
                   Extension("pgaspy.supervision.rolling", ["pgaspy/supervision/rolling.c"],
                             include_dirs=[numpy.get_include()],
                             depends=["pgaspy/supervision/rolling.h", *shared])])
