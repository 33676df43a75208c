# Every target sets up what it needs in .venv; nothing has to be installed by hand.
.PHONY: demo serve test check docs package reproduce audit lowest bench fuzz golden clean

PYTHON ?= python3
BIN := .venv/bin
# a registry that does not answer at once is asked again for some minutes
PIP := pip install -q --disable-pip-version-check --retries 12
# the lowest versions that pyproject.toml allows, and the peers of the benchmarks, live apart
LOWEST := .venv-lowest
PEERS := .venv-peers

demo: .venv/.stamp-publish
	$(BIN)/sunveil demo --out demo

# a first look: the console and the portal over a simulated fleet, which is kept in demo/service
serve: .venv/.stamp-service,synthetic
	$(BIN)/sunveil serve --demo --open $(SERVE)

# one thread for each worker, whose waiting ones would take the other's time; and whole modules for
# each as long as there are any, so that what their tests share is made once. Four on two cores:
# half of the time tests wait for processes and pages. What `make lowest` tries is in other tests.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
# each worker would rewrite the assertions of every test anew where Python is told to keep nothing
test: export PYTHONDONTWRITEBYTECODE =
test: .venv/.stamp-test
	$(BIN)/python -m pytest -n 4 --dist worksteal --ignore tests/test_lowest.py

check: .venv/.stamp-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/words.py

# a gallery that was made with other sources is made again
docs: .venv/.stamp-docs docs/gallery/.stamp
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	$(BIN)/sphinx-build -W -q -b doctest docs docs/_build/doctest

docs/gallery/.stamp: $(shell find src/sunveil -name '*.py')
	rm -rf docs/gallery
	@mkdir -p docs/gallery
	@touch $@

# a wheel and an sdist, and a first inference from the wheel alone
package: .venv/.stamp-package
	.ci/package.sh $(BIN)/python

# the paper's figures and statements; REPRODUCE="--meters FILE ..." on another system
reproduce: .venv/.stamp-publish
	$(BIN)/python -m reproduction --out demo/reproduction $(REPRODUCE)

# every entry point, and planted faults; tests have a short form of it. AUDIT="--only NEM12", "--part 2/9"
audit: .venv/.stamp-service,synthetic
	PYTHONPATH=tests $(BIN)/python -m audit $(AUDIT)

# a short part of the tests; of newer packages, the old ones use what is deprecated by now
lowest: $(LOWEST)/.stamp
	$(LOWEST)/bin/python -m pytest -o filterwarnings=default tests/test_lowest.py \
	    tests/meters/test_meters_files.py tests/meters/test_meters_green_button.py \
	    tests/meters/test_meters_formats.py

bench: $(PEERS)/.stamp
	$(PEERS)/bin/python -m benchmarks $(BENCH)

# 100,000 spoilt files and arguments; FUZZ="-k nem12" tries one format
fuzz: .venv/.stamp-test
	$(BIN)/python -m pytest -q -n auto --hypothesis-profile fuzz tests/meters/test_meters_fuzz.py $(FUZZ)

# golden files are recorded; GOLDEN="compare ledger" compares one, and GOLDEN=--help says more
golden: export OPENBLAS_NUM_THREADS = 1
golden: export OMP_NUM_THREADS = 1
golden: .venv/.stamp-test
	PYTHONPATH=tests $(BIN)/python -m golden $(or $(GOLDEN),record)

clean:
	rm -rf .venv $(LOWEST) $(PEERS) docs/_build docs/gallery demo build dist

.venv/bin/python:
	$(PYTHON) -m venv .venv || { echo "python3 has no venv module: apt-get install -y python3-venv, then try again"; exit 1; }

# .stamp-a,b: the extras a and b are installed
.venv/.stamp-%: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/$(PIP) -c constraints.txt -e ".[$*]"
	@touch $@

$(LOWEST)/.stamp: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/$(PIP) -c $(LOWEST)/constraints.txt -e ".[all]" pytest hypothesis httpx
	@touch $@

$(PEERS)/.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	grep -v '^pandas' constraints.txt > $(PEERS)/constraints.txt
	$(PEERS)/bin/$(PIP) -c $(PEERS)/constraints.txt -e ".[peers]"
	@touch $@
