# Two commands from a bare checkout: `make reproduce` and `make test`. Everything they need is
# installed into .venv here, at the versions in constraints.txt; locked/ has the hash of every file
# that may be installed for that, the build backend's included.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# --no-deps: a locked file names all that its packages need, and older pips would look for extras of
# theirs again, without hashes.
INSTALL = $(PIP_INSTALL) --no-deps --require-hashes --requirement
INSTALL_PAOFED = $(PIP_INSTALL) --no-deps --no-build-isolation --editable .

# Where an environment forbids Python to keep compiled modules, every process would compile all of
# them again: seconds for each of the hundreds that the tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: reproduce demo bench test everyday lowest check own family collected format docs links lock clean

reproduce: $(VENV)/.runtime
	$(BIN)/paofed reproduce --out out

demo: $(VENV)/.demo
	$(BIN)/paofed demo --out out/demo.png

bench: $(VENV)/.runtime
	$(BIN)/python -m lab engines --scaling

# Four processes on two cores: some tests wait for a broker, a clock or a browser. CI also measures
# coverage, with which the tests take half as long again.
# What fails there is tried once more, alone (tests/once_more.py).
ONCE_MORE = $(if $(PAOFED_CI),|| $(1)/python -m tests.once_more $$? $(2))
test:
	$(MAKE) --jobs 2 own check family collected
	$(BIN)/pytest --numprocesses 4 --dist worksteal $(if $(PAOFED_CI),--cov --cov-report=) \
		$(call ONCE_MORE,$(BIN),--cov --cov-append --cov-report=)
ifdef PAOFED_CI
	$(BIN)/coverage report --include='paofed/core/*,paofed/algorithms/*,paofed/world/*' --fail-under=100
	$(BIN)/coverage report --fail-under=95 --format=total
endif

# On another Python: make everyday PYTHON=... VENV=out/... All modules and tests are imported there,
# and what depends on the interpreter is tested, in its everyday form: argparse's words, sqlite3, ssl,
# sockets and processes, pickles, archives, and what numba makes of bytecode. The other rooms compute
# with NumPy, whose numbers no interpreter changes: `make test` has tried them.
OF_THE_INTERPRETER := tests/cli tests/live tests/simulate/results \
	tests/simulate/spread tests/simulate/engines/own tests/simulate/engines/test_fast.py \
	tests/simulate/engines/test_workers.py $(wildcard tests/formats tests/test_*.py)
everyday:
	$(MAKE) --jobs 2 own family collected
	env --unset=PAOFED_CI $(BIN)/pytest --numprocesses 4 --dist worksteal $(OF_THE_INTERPRETER) \
		$(call ONCE_MORE,env --unset=PAOFED_CI $(BIN))

# The lowest versions that pyproject.toml allows, with tests that use each package. What old versions
# warn each other of is not ours to mend. The extra river asks for later versions of others: its
# lowest version is tried with those.
LOWEST := out/lowest
TELLING := tests/world tests/test_sklearn.py tests/theory/test_moments.py tests/experiments/race \
	tests/report/shared tests/simulate/results tests/simulate/spread tests/simulate/test_montecarlo.py \
	tests/live/device tests/live/fleet/test_authority.py
lowest:
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) -m tests.lowest >$(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--constraint $(LOWEST)/constraints.txt --editable \
		'.[sim,table,boost,pandas,xarray,sklearn,cluster,device,fleet,demo]' pytest pytest-xdist hypothesis
	env --unset=PAOFED_CI $(LOWEST)/bin/pytest --numprocesses 4 --dist worksteal \
		--override-ini filterwarnings=default $(TELLING) \
		$(call ONCE_MORE,env --unset=PAOFED_CI $(LOWEST)/bin,--override-ini filterwarnings=default)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		$$(grep -E '^(river|numba)=' $(LOWEST)/constraints.txt)
	$(LOWEST)/bin/pytest tests/test_river.py

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# What every process of the tests would do again: compile kernels, and the tests themselves. The
# kernels of one's own rules take longest: they are compiled while the tools are still installed.
own: $(VENV)/.runtime
family: $(VENV)/.dev
own family:
	$(BIN)/python -m tests.compiled $@
collected: $(VENV)/.dev
	@$(BIN)/pytest --collect-only -qqq >$(VENV)/.collected || { cat $(VENV)/.collected; exit 1; }

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site: every warning is an error, and links and anchors inside it must lead somewhere.
SPHINX = $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --doctree-dir out/doctrees
docs: $(VENV)/.dev
	$(SPHINX) --builder html docs out/site

# Asks every address outside the project; needs a network, so no test runs it.
links: $(VENV)/.dev
	$(SPHINX) --builder linkcheck docs out/links

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "paofed needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml locked/runtime.txt | $(BIN)/python
	$(INSTALL) locked/runtime.txt
	$(INSTALL_PAOFED)
	touch $@

$(VENV)/.demo: locked/demo.txt $(VENV)/.runtime
	$(INSTALL) locked/demo.txt
	touch $@

$(VENV)/.dev: locked/dev.txt $(VENV)/.runtime
	$(INSTALL) locked/dev.txt
	touch $(VENV)/.demo $@

# Writes locked/ anew, for every platform, after constraints.txt or the packages in pyproject.toml
# have changed; needs uv and a network. The build backend takes editables for an editable install.
LOCK = printf 'hatchling\neditables\n' | uv pip compile pyproject.toml - --quiet \
	--constraint constraints.txt \
	--universal --python-version 3.11.5 --generate-hashes --no-emit-index-url --no-annotate \
	--custom-compile-command 'make lock'
lock:
	$(LOCK) --extra sim --output-file locked/runtime.txt
	$(LOCK) --extra sim --extra fleet --extra demo --output-file locked/demo.txt
	$(LOCK) --extra all --extra docs --extra dev --output-file locked/dev.txt

clean:
	rm -rf $(VENV) out .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
