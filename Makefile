# The two commands of this project: `make repro` runs the main job, `make test` the tests.
PYTHON ?= python3
BIN := .venv/bin
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1
export PYTHONUTF8 := 1
# stages and tests are many short programs: each would compile the project's modules anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: repro test lint docs paper atlas browser calibrate fresh fresh-atlas mutants

repro: .venv/installed
	$(BIN)/python -m flows.reproduce
	$(BIN)/python -m tasks.summary --scale quick

paper: .venv/installed
	$(BIN)/python -m flows.reproduce --scale paper
	$(BIN)/python -m tasks.summary --scale paper

# every cell of the atlas, docs/atlas.md; docs/performance/pipeline.md has its time
atlas: .venv/installed
	$(BIN)/python -m flows.reproduce --scale atlas
	$(BIN)/python -m tasks.site

# how often the statistical rules err, on simulated seeds: once after a change of tasks/judging
calibrate: .venv/installed
	$(BIN)/python -m tasks.calibrate

# stream roots, named before any of them had run, so that none is chosen by its outcome; 0 is the report's
ROOTS ?= 41 42

# a stage of the quick scale and what it needs, for example `make check@a_fig7`
check@% measure@% prepare@% simulate@% train@% verdicts@%: .venv/installed
	$(BIN)/python -m flows $@

fresh: .venv/installed
	$(BIN)/python -m flows.fresh $(ROOTS) --jobs 2

# the whole atlas at other roots, as long as `make atlas` each; named before it ran
ATLAS_ROOTS ?= 12

fresh-atlas: .venv/installed
	$(BIN)/python -m flows.fresh $(ATLAS_ROOTS) --scale atlas
	$(BIN)/python -m tasks.site

# three files of tests at once: on two cores one of them mostly waits, for a server or a timer
test: .venv/installed browser lint
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# the documentation as a site, build/docs/index.html; a warning is an error
docs: .venv/installed
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs

# plants mistakes, one at a time, and runs the tests that should find them: docs/mutants.md
mutants: .venv/installed browser
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.mutants.run

# the report is tested in a real browser
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || { \
	  echo "make test needs Chromium or Chrome on the PATH; please install one"; exit 1; }

# the help of the command gramlab, as a page
docs/reference/cli.md: .venv/installed gramlab/cli/*.py tasks/commands/*.py tasks/compare.py flows/claims.py
	$(BIN)/typer gramlab.cli utils docs --name gramlab --title "The command gramlab" --output docs/reference/cli.md

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# uv resolves and unpacks in a tenth of pip's time; the constraints pin what it may choose. Stages are many short programs,
# which start in half the time where modules are compiled beforehand
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "gramlab needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable '.[pipeline,dev]'
	touch $@
