"""Runs the tests of what is in C, and a part of the campaign, on kernels that watch themselves: `make sanitize`.

Twice: built with gcc's AddressSanitizer and UndefinedBehaviorSanitizer; and, where clang with its OpenMP is there, with
ThreadSanitizer and Archer, which tells it what OpenMP's barriers order. gcc's own OpenMP says nothing of that, so that
correct code would be reported. Copies of the sources with these kernels lie in build/sanitized.

Before, each sanitizer has to report a mistake that is made on purpose (`mistakes.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
N_SEEDS = 60
TESTS = ("tests/kernels/test_bindings.py", "tests/kernels/test_short_rows.py", "tests/planning", "tests/test_quick.py",
         "tests/test_collector.py", "tests/supervision/test_digests.py")
TIMED = "tests/kernels/test_bindings.py::test_random_numbers_are_drawn_in_vectors"
"""Compares times of optimised code."""


@dataclass(frozen=True)
class Sanitizer:
    """How kernels are built and run.

    Attributes
    ----------
    runtime
        Its library, by which the compiler finds it.
    is_preloaded
        Whether the interpreter loads it first. Else the interpreter's main program is built with it.
    report
        What it says of the mistake on purpose.
    """

    name: str
    compiler: str
    flags: str
    runtime: str
    is_preloaded: bool
    report: str
    environment: dict[str, str]


SANITIZERS = (
    Sanitizer("addresses", "gcc", "-fsanitize=address,undefined -fno-sanitize-recover=undefined", "libasan.so", True,
              "heap-buffer-overflow",
              {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1"}),
    Sanitizer("threads", "clang", "-fsanitize=thread", "libclang_rt.tsan-x86_64.so", False,
              "data race",
              {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=66:halt_on_error=1",
               "OMP_NUM_THREADS": "4"}),
)


def main() -> int:
    """Run with each sanitizer that is here; 1 if any finds something."""
    wanted = sys.argv[1:] or [s.name for s in SANITIZERS]
    return max(_run(s) for s in SANITIZERS if s.name in wanted)


def _run(sanitizer: Sanitizer) -> int:
    runtime = _runtime(sanitizer)
    if runtime is None:
        print(f"{sanitizer.name}: left out, as {sanitizer.compiler} has no {sanitizer.runtime}", flush=True)
        return 0
    folder = ROOT / "build" / "sanitized" / sanitizer.name
    _copy(folder)
    environment = {name: x for name, x in os.environ.items() if name != "PYTHONPATH"} | {
        "CC": sanitizer.compiler, "CFLAGS": f"{sanitizer.flags} -O1 -g -fno-omit-frame-pointer -w"}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
                   cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    environment |= sanitizer.environment | {"PGASPY_JIT": "0"}
    del environment["CC"], environment["CFLAGS"]
    commands = [["-m", "pytest", "-x", "-p", "no:cacheprovider", "-W", "ignore::UserWarning", "--deselect", TIMED,
                 *TESTS]]
    if sanitizer.is_preloaded:
        interpreter = sys.executable
        environment["LD_PRELOAD"] = str(runtime)
        commands.append(["-m", "tests.campaign", "--minutes", "2", "--first", "0", "--programs", str(N_SEEDS)])
    else:
        interpreter = _interpreter(sanitizer, folder)
        environment |= _of_this_interpreter(sanitizer, folder)
    if not _reports_mistake(sanitizer, interpreter, folder, environment):
        return 1
    status = max(subprocess.run([interpreter, *command], cwd=folder, env=environment, check=False).returncode
                 for command in commands)
    print(f"{sanitizer.name}: {'something was found' if status else 'nothing was found'}", flush=True)
    return int(bool(status))


def _reports_mistake(sanitizer: Sanitizer, interpreter: str, folder: Path, environment: dict[str, str]) -> bool:
    """Whether a mistake that is made on purpose is reported."""
    done = subprocess.run([interpreter, str(ROOT / "tools" / "mistakes.py"), sanitizer.name], cwd=folder,
                          env={"PYTHONPATH": str(folder)} | environment, capture_output=True, text=True, check=False)
    if done.returncode and sanitizer.report in done.stderr:
        return True
    print(f"{sanitizer.name}: a mistake on purpose is not reported\n{done.stderr}", flush=True)
    return False


def _interpreter(sanitizer: Sanitizer, folder: Path) -> str:
    """A Python whose main program has the sanitizer."""
    source, found = folder / "python.c", folder / "python"
    source.write_text("int Py_BytesMain(int, char **);\n"
                      "int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }\n")
    libraries, version = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDVERSION")
    subprocess.run([sanitizer.compiler, *sanitizer.flags.split(), "-fopenmp", "-rdynamic", str(source), "-o",
                    str(found), f"-L{libraries}", f"-lpython{version}", f"-Wl,-rpath,{libraries}"], check=True)
    return str(found)


def _of_this_interpreter(sanitizer: Sanitizer, folder: Path) -> dict[str, str]:
    """What another interpreter has to be told to find the packages, the MPI and Archer."""
    packages = sysconfig.get_path("purelib")
    found = {"PYTHONPATH": f"{folder}:{packages}"}
    libmpi = sorted(Path(sys.prefix).glob("lib/libmpi.so.*"))
    if libmpi:
        found["MPI4PY_LIBMPI"] = str(libmpi[0])
    resources = subprocess.run([sanitizer.compiler, "-print-resource-dir"], capture_output=True, text=True, check=True)
    archer = Path(resources.stdout.strip()).parent.parent / "libarcher.so"
    if not archer.exists():
        raise SystemExit(f"{sanitizer.compiler} has no {archer}: install LLVM's OpenMP (libomp-dev)")
    found["OMP_TOOL_LIBRARIES"] = str(archer)
    return found


def _runtime(sanitizer: Sanitizer) -> Path | None:
    """The library of a sanitizer, where its compiler has it."""
    if shutil.which(sanitizer.compiler) is None:
        return None
    found = subprocess.run([sanitizer.compiler, f"-print-file-name={sanitizer.runtime}"], capture_output=True,
                           text=True, check=True).stdout.strip()
    return Path(found).resolve() if Path(found).is_absolute() else None


def _copy(folder: Path) -> None:
    """The sources, for kernels of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("pgaspy", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copytree(ROOT / "algorithms", folder / "pgaspy" / "algorithms")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)


if __name__ == "__main__":
    sys.exit(main())
