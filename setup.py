"""Builds what is in C; everything else stands in pyproject.toml."""

from pathlib import Path

import numpy
from setuptools import Extension, setup

setup(cffi_modules=["pgaspy/_build_kernels.py:ffibuilder"],
      ext_modules=[Extension("pgaspy._caches", ["pgaspy/_caches.c"],
                             depends=[*map(str, Path("pgaspy").glob("_caches_*.h"))]),
                   Extension("pgaspy._in_parts", ["pgaspy/_in_parts.c"], include_dirs=[numpy.get_include()],
                             depends=["pgaspy/_numbers.h", "pgaspy/_queue.h", "pgaspy/planning/families.h"]),
                   Extension("pgaspy.alone.quick", ["pgaspy/alone/quick.c"], include_dirs=[numpy.get_include()],
                             depends=["pgaspy/_numbers.h", "pgaspy/_queue.h",
                                      *map(str, Path("pgaspy/alone").glob("*.h"))]),
                   Extension("pgaspy.planning.affine", ["pgaspy/planning/affine.c"],
                             depends=[*map(str, Path("pgaspy/planning").glob("*.h"))]),
                   Extension("pgaspy.supervision.rolling", ["pgaspy/supervision/rolling.c"])])
