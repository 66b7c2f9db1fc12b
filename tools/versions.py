"""Run the test suite on the oldest Python with the oldest NumPy and SciPy that are allowed, and on the newest of all.

Usage: python tools/versions.py [--python X.Y,X.Y...] [--processes N,N...] [PYTEST ARGUMENT ...]

Each runs in a copy of the working tree, with a virtual environment of its own, in `build/versions`. Interpreters are
those on the PATH and those of pyenv. `--python`: these versions instead, each with the newest NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "versions"
LIBRARIES = ("numpy", "scipy")
VENV = Path(".venv-openmpi")
REPORT = ("import sys, numpy, scipy; "
          "print('Python', sys.version.split()[0], 'NumPy', numpy.__version__, 'SciPy', scipy.__version__, flush=True)")
Version = tuple[int, int]


@dataclass(frozen=True)
class Environment:
    """An interpreter, and which versions of packages it gets: pip's constraints."""

    python: Version
    interpreter: Path
    constraints: tuple[str, ...] = ()

    def __str__(self) -> str:
        libraries = ", ".join(self.constraints) or f"the newest {' and '.join(LIBRARIES)}"
        return f"Python {_dotted(self.python)}, {libraries}"

    @property
    def folder(self) -> Path:
        """Where its copy of the working tree lies."""
        return FOLDER / f"{_dotted(self.python)}-{'oldest' if self.constraints else 'newest'}"


def main() -> int:
    """Exit with 1 if any of the runs failed, after all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--python", type=lambda text: [*map(_version, text.split(","))], default=[])
    parser.add_argument("--processes", default="1,2")
    options, pytest_arguments = parser.parse_known_args()
    environments = _chosen(options.python, _interpreters())
    failed = []
    for environment in environments:
        print(f"{environment}:", flush=True)
        if not _passes(environment, [f"--processes={options.processes}", *pytest_arguments]):
            failed.append(str(environment))
    print("".join(f"FAILED: {name}\n" for name in failed) or "all versions passed", flush=True)
    return bool(failed)


def _version(text: str) -> Version:
    found = re.fullmatch(r"(\d+)\.(\d+)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no version of Python such as 3.11")
    return int(found[1]), int(found[2])


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _chosen(versions: list[Version], interpreters: dict[Version, Path]) -> list[Environment]:
    """The environments of these versions; without any, of the oldest and of the newest that is allowed and here."""
    missing = [_dotted(v) for v in versions if v not in interpreters]
    if missing:
        sys.exit(f"no Python {', '.join(missing)} on the PATH or of pyenv, with its headers: "
                 f"there are {', '.join(map(_dotted, sorted(interpreters)))}")
    if versions:
        return [Environment(v, interpreters[v]) for v in versions]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest = _version(project["requires-python"].removeprefix(">="))
    allowed = sorted(v for v in interpreters if v >= lowest)
    if lowest not in allowed:
        sys.exit(f"the oldest Python that is allowed, {_dotted(lowest)}, is not on the PATH or of pyenv")
    return [Environment(lowest, interpreters[lowest], _oldest(project["dependencies"])),
            Environment(allowed[-1], interpreters[allowed[-1]])]


def _oldest(dependencies: list[str]) -> tuple[str, ...]:
    """For `numpy>=2.0`, the constraint `numpy==2.0.*`."""
    bounds = dict(dependency.split(">=") for dependency in dependencies)
    return tuple(f"{name}=={bounds[name]}.*" for name in LIBRARIES)


def _interpreters() -> dict[Version, Path]:
    """The releases of CPython that are here with their headers; of several alike, the first on the PATH."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*map(Path, os.environ["PATH"].split(os.pathsep)), *sorted(pyenv.glob("versions/*/bin"), reverse=True)]
    found: dict[Version, Path] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("python3.*"))):
        version = re.fullmatch(r"python(3\.\d+)", path.name)
        if version and _version(version[1]) not in found and _has_headers(path):
            found[_version(version[1])] = path
    return found


def _has_headers(interpreter: Path) -> bool:
    """Whether an interpreter starts (one of pyenv's shims may not), is a final release, and has C headers."""
    program = ("import os, sys, sysconfig, venv, ensurepip; "
               "print(sys.version_info.releaselevel, os.path.exists(sysconfig.get_path('include') + '/Python.h'))")
    done = subprocess.run([interpreter, "-c", program], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.split() == ["final", "True"]


def _passes(environment: Environment, arguments: list[str]) -> bool:
    """Make the environment in a copy of the working tree, unless it is there already, and run the suite in it."""
    folder = environment.folder
    _copy_tree(folder)
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{line}\n" for line in environment.constraints))
    variables = os.environ | {"PIP_CONSTRAINT": str(constraints)}
    python = folder / VENV / "bin" / "python"
    make = ["make", "--no-print-directory", f"PYTHON={environment.interpreter}", f"{VENV}/ready"]
    if subprocess.run(make, cwd=folder, env=variables).returncode:
        return False
    subprocess.run([python, "-c", REPORT], check=True)
    return subprocess.run([python, "tools/test.py", *arguments], cwd=folder).returncode == 0


def _copy_tree(folder: Path) -> None:
    """Copy the files of the working tree that Git does not ignore, and delete modules that are no longer among them."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).rstrip("\0").split("\0")
    folder.mkdir(parents=True, exist_ok=True)
    for own in (path for top in folder.iterdir() if top.name != VENV.parts[0] for path in top.rglob("*.py")):
        if str(own.relative_to(folder)) not in names:
            own.unlink()
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


if __name__ == "__main__":
    sys.exit(main())
