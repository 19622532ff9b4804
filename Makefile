# Two commands do everything: `make demo` and `make test`. `make bench` measures speed and memory,
# `make accuracy` statistical quality, `make reach` whether mixtures find the top of the likelihood,
# `make scale` files, Dask and Spark (it makes 6 GB of files), `make fuzz` reads spoiled files,
# `make faults` interrupts commands and fills disks, `make reproduce` the paper's figures and
# claims (QUICK=--quick for minutes instead of an hour), `make docs` builds the documentation site.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check

.PHONY: demo test lint docs bench accuracy reach scale fuzz faults reproduce clean

demo: .venv/.demo
	$(BIN)/spectralmirror demo --output output/demo

test: .venv/.dev lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Not --quiet: then warnings, such as broken links, are not counted. The notice is about MkDocs 2.
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open output/site/index.html; for search, too: $(PYTHON) -m http.server -d output/site"

bench: .venv/.dev
	$(BIN)/python -m benchmarks

accuracy: .venv/.dev
	$(BIN)/python -c 'from benchmarks.accuracy import main; main()'

reach: .venv/.dev
	$(BIN)/python -c 'from benchmarks.mixture import main; main()'

scale: .venv/.dev
	$(BIN)/python -c 'from benchmarks.scale import main; main()'

fuzz: .venv/.dev
	$(BIN)/python -c 'from benchmarks.fuzz import main; main()'

faults: .venv/.dev
	$(BIN)/python -c 'from benchmarks.faults import main; main()'

reproduce: .venv/.dev
	$(BIN)/spectralmirror reproduce all $(QUICK) --output output/reproduction

clean:
	rm -rf .venv output

# The stamps below are written only after an install has succeeded, and are newer than
# pyproject.toml until that changes: a second run installs nothing.
.venv/.python:
	@$(PYTHON) -c 'import sys; ok = sys.version_info >= (3, 11); \
	  ok or sys.stderr.write("spectralmirror needs Python 3.11 or newer, but $(PYTHON) is %d.%d: install a newer one and say `make PYTHON=python3.12 ...`.\n" % sys.version_info[:2]); \
	  sys.exit(0 if ok else 1)'
	@echo "Creating .venv"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.demo: .venv/.python pyproject.toml
	@echo "Installing spectralmirror into .venv"
	@$(PIP) --editable .
	@touch $@

.venv/.dev: .venv/.python pyproject.toml
	@echo "Installing spectralmirror with its development tools into .venv"
	@$(PIP) --editable '.[dev]'
	@touch $@ .venv/.demo
