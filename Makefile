# Every target makes what it needs, from a fresh clone on.
PYTHON ?= python3
BIN := .venv/bin

# Named corpora are read here before they are downloaded.
ifneq ($(wildcard ../shared/data),)
export DRAGOMAN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: quickstart test check bench docs browser clean

quickstart: .venv/installed
	$(BIN)/dragoman quickstart --output runs/quickstart

test: check
	$(BIN)/python -m pytest

check: .venv/installed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy src tests docs $(wildcard benchmarks/*.py)

bench: .venv/installed
	test -e runs/quickstart/bundle || $(MAKE) quickstart
	@for benchmark in $(sort $(wildcard benchmarks/[a-z]*.py)); do echo "== $$benchmark"; $(BIN)/python "$$benchmark" || exit 1; done

docs: .venv/installed
	$(BIN)/python docs/generate_recipes.py

# Tests of pages in a real browser skip without these.
browser: .venv/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[browser]'
	command -v chromium || { apt-get update -qq && apt-get install -y -qq chromium; }

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dragoman needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1); try: make PYTHON=python3.11" >&2; \
	  exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,spacy,huggingface]'
	@touch $@
