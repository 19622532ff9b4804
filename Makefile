# Two commands do everything: `make demo` and `make test`. `make bench` measures speed and memory,
# `make accuracy` statistical quality, `make reach` whether mixtures find the top of the likelihood,
# `make real DATA=folder` the same on real data, and predictions there,
# `make flexmix DATA=folder` membership and shared coefficients against R's flexmix,
# `make peers` compares with flexmix, mixtools, lme4, bayesm, LCL, choice-learn and StepMix (DATA=folder),
# `make wide` embeddings and sparse text with many features,
# `make trust` coverage, calibration and faults of the model, `make memory` peak memory and leaks,
# `make scale` files, Dask and Spark (it makes 6 GB of files), `make fuzz` reads damaged files,
# `make faults` interrupts commands and fills disks, `make reproduce` the paper's figures and
# claims (QUICK=--quick for minutes instead of an hour), `make docs` builds the documentation site.
# `make choice` measures choices among alternatives (DATA=folder with surveys, LCL=python),
# `make properties` tries the properties on many new examples,
# `make wheel` installs what we would publish (wheel, sdist) into empty environments, uses it there,
# `make oldest` runs the core tests with the oldest dependencies that pyproject.toml allows.
PYTHON ?= python3
BIN := .venv/bin
NOT_CORE := report/test_browser.py docs experiments rows/test_spark.py rows/test_spark_choices.py rows/test_spark_lost.py
INSTALL := -m pip install --quiet --quiet --disable-pip-version-check
PIP := $(BIN)/python $(INSTALL)

.PHONY: demo test lint docs bench accuracy reach real flexmix choice peers wide trust memory scale fuzz faults reproduce properties \
  wheel oldest clean

demo: .venv/.demo
	$(BIN)/spectralmirror demo --output output/demo

test: .venv/.dev lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

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

real: .venv/.dev
	$(BIN)/python -m benchmarks.real
	$(BIN)/python -m benchmarks.real_prediction

choice: .venv/.dev
	$(BIN)/python -c 'from benchmarks.choice import main; main()'

flexmix: .venv/.dev
	$(BIN)/python -m benchmarks.membership_flexmix

peers: .venv/.dev
	@for name in lcl-choice choice-learn stepmix; do $(MAKE) --no-print-directory output/peers/$$name/.installed; done
	$(BIN)/python -m benchmarks.peers

wide: .venv/.dev
	$(BIN)/python -m benchmarks.wide

trust: .venv/.dev
	$(BIN)/python -c 'from benchmarks.trust import main; main()'

memory: .venv/.dev
	$(BIN)/python -c 'from benchmarks.memory import main; main()'

scale: .venv/.dev
	$(BIN)/python -c 'from benchmarks.scale import main; main()'

fuzz: .venv/.dev
	$(BIN)/python -c 'from benchmarks.fuzz import main; main()'

faults: .venv/.dev
	$(BIN)/python -c 'from benchmarks.faults import main; main()'

reproduce: .venv/.dev
	$(BIN)/spectralmirror reproduce all $(QUICK) --output output/reproduction

properties: .venv/.dev
	$(BIN)/python -m pytest --numprocesses 2 --hypothesis-profile wide -m hypothesis tests

# First the core alone, then with everything that a user may install for the command line.
# Warnings are errors, and the types are those that a user's own type checker sees.
wheel: .venv/.dev
	rm -rf output/wheel
	$(BIN)/hatchling build -d output/wheel
	$(PYTHON) -m venv output/wheel/venv
	output/wheel/venv/bin/python $(INSTALL) output/wheel/*.whl
	cd output/wheel && venv/bin/python -W error ../../tests/core.py
	$(PYTHON) -m venv output/wheel/sdist
	output/wheel/sdist/bin/python $(INSTALL) output/wheel/*.tar.gz
	cd output/wheel && sdist/bin/python -W error ../../tests/core.py
	output/wheel/venv/bin/python $(INSTALL) "$$(echo output/wheel/*.whl)[cli]" 'mypy==2.4.*'
	cd output/wheel && venv/bin/mypy --strict ../../tests/user.py
	cd output/wheel && venv/bin/python -W error ../../tests/user.py
	cd output/wheel && venv/bin/python -W error -m spectralmirror demo --output demo --quiet

# What others warn of is not our fault here, and sites, browsers and Spark are left out.
oldest: output/oldest/.installed
	output/oldest/venv/bin/python -m pytest --numprocesses 2 --dist loadfile \
	  -o filterwarnings=default --disable-warnings $(foreach name,$(NOT_CORE),--ignore tests/$(name))

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
	@$(PIP) --editable '.[cli]'
	@touch $@

output/oldest/.installed: pyproject.toml tools/oldest.py
	@echo "Installing the oldest dependencies into output/oldest"
	@$(PYTHON) -m venv --clear output/oldest/venv
	@$(PYTHON) tools/oldest.py cli dask > output/oldest/requirements.txt
	@output/oldest/venv/bin/python $(INSTALL) --requirement output/oldest/requirements.txt \
	  hatchling hypothesis 'pandas<3' pytest pytest-xdist statsmodels
	@output/oldest/venv/bin/python $(INSTALL) --no-deps --editable .
	@touch $@

# Other people's packages, each in an environment of its own: what cannot be installed is skipped.
output/peers/%/.installed:
	@echo "Installing $* into output/peers/$*"
	@$(PYTHON) -m venv --clear output/peers/$*
	@if output/peers/$*/bin/python $(INSTALL) $*; then touch $@; \
	  else echo "$* could not be installed, and is skipped"; rm -rf output/peers/$*; fi

.venv/.dev: .venv/.python pyproject.toml
	@echo "Installing spectralmirror with its development tools into .venv"
	@$(PIP) --editable '.[dev]'
	@touch $@ .venv/.demo
