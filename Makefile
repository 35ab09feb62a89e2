# Every target installs what it needs, also in a fresh clone.
PYTHON ?= python3
BIN := .venv/bin

# Corpora of the catalog are read from this directory if it has them.
ifneq ($(wildcard ../shared/data),)
export DRAGOMAN_DATA ?= $(abspath ../shared/data)
endif

.PHONY: quickstart test slow-test check bench bench-decoding bench-distillation bench-serving bench-training soak overload test-clients crash-test robustness fuzz mutation docs site course browser node clean

quickstart: .venv/installed
	$(BIN)/dragoman quickstart --output runs/quickstart

# Otherwise every process of the tests compiles the package and the tests again where the environment forbids bytecode.
test slow-test: export PYTHONDONTWRITEBYTECODE =

# One process runs all tests of a file, so that what they share is made once.
test: check $(if $(shell command -v npm),.venv/npm/installed)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

# The tests that make test leaves out: killed and interrupted processes, more exports, longer trainings, many odd inputs.
slow-test: .venv/extras $(if $(shell command -v npm),.venv/npm/installed)
	$(BIN)/python -m pytest -n 2 -m slow

check: .venv/extras
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy src tests docs benchmarks/*.py

# The benchmarks that need nothing but the built-in corpus and finish within minutes.
BENCHMARKS = attention_cost augmentation batch_sizes decoding doctor_data large_corpus markup placeholders training_parts
bench: .venv/extras
	test -e runs/quickstart/bundle || $(MAKE) quickstart
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python "benchmarks/$$name.py" || exit 1; done

# Runs every chapter of the course and every check of it.
course: .venv/installed
	$(BIN)/python -m pytest -s tests/learn

# Kills a run 200 times, at random moments and while it saves, and damages its files; kills commands of two kinds;
# resumes 500 runs with damaged files.
crash-test: .venv/installed
	$(BIN)/python -m pytest -s tests/training/test_crashes.py tests/training/test_killed_processes.py \
	  tests/training/test_damaged_runs.py --kills=200 --process-kills=20 --damages=500 --kill-seed=$$(date +%s)

# Loads 5,000 mutated bundles, translates 20,000 strange texts, and trains 1,000 mutated recipes.
robustness: .venv/extras
	$(BIN)/python -m pytest -s tests/robustness --bundles=5000 --strings=20000 --recipes=1000 --case-seed=$$(date +%s)

# Sends 5,000 valid, odd and hostile requests in all protocols to a server.
fuzz: .venv/extras
	$(BIN)/python -m pytest -s tests/serving/test_fuzz.py --requests=5000 --case-seed=$$(date +%s)

# Changes the search, the kernels, batches, checkpoints and so on in thousands of ways; the tests must notice. Takes hours.
mutation: .venv/extras
	$(BIN)/python -m pip install --quiet -c constraints.txt mutmut
	OMP_NUM_THREADS=1 $(BIN)/mutmut run
	$(BIN)/mutmut results

# Compares the engines and Hugging Face on one bundle: make bench-decoding BUNDLE=runs/mine CORPUS=multi30k:val
BUNDLE ?= runs/quickstart
CORPUS ?= captions:test
bench-decoding: .venv/extras
	test -e $(BUNDLE) || $(MAKE) quickstart
	$(BIN)/python benchmarks/decoding.py $(BUNDLE) --corpus $(CORPUS)

# Distills a run, and compares the student with its teacher: make bench-distillation BUNDLE=runs/mine CORPUS=multi30k:val
bench-distillation: .venv/extras
	test -e $(BUNDLE) || $(MAKE) quickstart
	$(BIN)/python benchmarks/distillation.py $(BUNDLE) --corpus $(CORPUS) --minutes $(MINUTES)

# Measures the server: make bench-serving BUNDLE=runs/mine CORPUS=multi30k:val
# LIBRETRANSLATE=DIR, an environment of Python with the package libretranslate, also compares it with LibreTranslate.
bench-serving: .venv/extras
	test -e $(BUNDLE) || $(MAKE) quickstart
	$(BIN)/python benchmarks/serving.py $(BUNDLE) --corpus $(CORPUS) $(if $(LIBRETRANSLATE),--libretranslate $(LIBRETRANSLATE))

# Keeps the server busy for ten minutes; its memory must not grow: make soak BUNDLE=runs/mine CORPUS=multi30k:val
MINUTES ?= 10
soak: .venv/extras
	test -e $(BUNDLE) || $(MAKE) quickstart
	$(BIN)/python benchmarks/soak.py $(BUNDLE) --corpus $(CORPUS) --minutes $(MINUTES)

# Sends twice as many requests as the server can answer: make overload BUNDLE=runs/mine CORPUS=multi30k:val
SECONDS ?= 120
overload: .venv/extras
	test -e $(BUNDLE) || $(MAKE) quickstart
	$(BIN)/python benchmarks/overload.py $(BUNDLE) --corpus $(CORPUS) --seconds $(SECONDS)

# Runs LibreTranslate's own tests of its API, unmodified, against our server. LIBRETRANSLATE=DIR is a checkout of its
# repository, or an environment of Python with the package libretranslate.
LIBRETRANSLATE_TESTS = $(wildcard $(addsuffix /libretranslate/tests/test_api,$(LIBRETRANSLATE) $(LIBRETRANSLATE)/lib/python*/site-packages))
test-clients: .venv/extras
	@test -n "$(LIBRETRANSLATE_TESTS)" || { echo "LIBRETRANSLATE=DIR must name a checkout of LibreTranslate" >&2; exit 1; }
	rm -rf build/test-clients && mkdir -p build/test-clients
	cp $(LIBRETRANSLATE_TESTS)/test_*.py build/test-clients  # their conftest.py and __init__.py import LibreTranslate
	PYTHONPATH=tests/serving $(BIN)/python -m pytest -p flask_client build/test-clients

# Compares training with other programs, each in a separate environment.
bench-training: .venv/extras .venv-peers/installed
	$(BIN)/python benchmarks/training.py

# Writes the generated pages. The picture of the README: python docs/generate_animation.py runs/quickstart
docs: .venv/installed
	$(BIN)/python docs/generate_recipes.py
	$(BIN)/python docs/generate_findings.py
	$(BIN)/python docs/generate_reference.py

# The pages as a website that needs no network: open build/site/index.html
site: .venv/extras
	$(BIN)/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet -c docs . build/site

# Installs Chromium and a font for Devanagari on Debian; without them, the tests of pages are skipped.
browser:
	command -v chromium >/dev/null && fc-list :lang=hi | grep -q . || { \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-lohit-deva fontconfig; }

# Installs node, npm, a client of the server and axe-core; without them, their tests are skipped.
node:
	command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; }
	$(MAKE) .venv/npm/installed

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dragoman needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1); try: make PYTHON=python3.11" >&2; \
	  exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[serving,dev,browser,spacy,clients]'
	@touch $@

# The versions and checksums are in package-lock.json.
.venv/npm/installed: tests/serving/npm/package.json tests/serving/npm/package-lock.json | .venv/installed
	mkdir -p $(@D) && cp $^ $(@D)
	npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund
	@touch $@

# The packages that exports and engines need.
.venv/extras: .venv/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[huggingface,onnx,argos,neighbors,tensorboard,site,teachers]'
	@touch $@

# Training in these programs needs only a part of their dependencies, and all of them cannot be installed together.
.venv-peers/installed: constraints.txt
	$(PYTHON) -m venv .venv-peers/joeynmt
	$(PYTHON) -m venv .venv-peers/eole
	.venv-peers/joeynmt/bin/python -m pip install --quiet --no-deps joeynmt==2.3.0
	.venv-peers/joeynmt/bin/python -m pip install --quiet -c constraints.txt torch numpy sacrebleu sentencepiece subword-nmt \
	  sacremoses importlib_metadata pyyaml packaging tensorboard matplotlib seaborn datasets pandas six wrapt portalocker
	.venv-peers/joeynmt/bin/python -m pip install --quiet 'setuptools<81'  # with pkg_resources
	.venv-peers/eole/bin/python -m pip install --quiet --no-deps eole==0.6.0
	.venv-peers/eole/bin/python -m pip install --quiet -c constraints.txt torch configargparse ctranslate2 fastapi \
	  huggingface-hub datasets numpy pandas protobuf pyahocorasick pyonmttok pyyaml rapidfuzz rich sacrebleu safetensors \
	  sentencepiece six subword-nmt tensorboard tokenizers torch-optimi uvicorn waitress pydantic spacy aiohttp
	@touch $@
