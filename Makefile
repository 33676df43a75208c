# Every target sets up what it needs in .venv; nothing has to be installed by hand.
.PHONY: demo test check docs bench clean

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp
# the peers of the benchmarks bring much that the project itself does not need
PEERS := .venv-peers

demo: $(STAMP)-core
	$(BIN)/sunveil demo --out demo

test: $(STAMP)-test
	$(BIN)/python -m pytest -n 2

check: $(STAMP)-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)-docs
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	$(BIN)/sphinx-build -W -q -b doctest docs docs/_build/doctest

bench: $(PEERS)/.stamp
	$(PEERS)/bin/python -m benchmarks $(BENCH)

clean:
	rm -rf .venv $(PEERS) docs/_build demo build dist

.venv/bin/python:
	$(PYTHON) -m venv .venv || { echo "python3 has no venv module: apt-get install -y python3-venv, then try again"; exit 1; }

$(STAMP)-core: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(STAMP)-test $(STAMP)-check $(STAMP)-docs: $(STAMP)-%: $(STAMP)-core
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e ".[$*]"
	@touch $@

$(PEERS)/.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install -q --disable-pip-version-check -c constraints.txt -e ".[peers]"
	@touch $@
