# Needs Python 3.11 or later with venv, and make; everything else is installed into .venv.
# Another interpreter: make test PYTHON=/path/to/python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEV := $(VENV)/.installed-dev
RUN := $(VENV)/.installed-run
BROWSER := $(VENV)/.installed-browser
LIBRARIES ?= .venv-libraries
ENGINES ?= .venv-engines
# More than the cores of a small machine: many tests wait for processes and sockets.
WORKERS ?= 4

# A browser on a busy machine has a second try.
PAGE_TESTS := $(BIN)/python -m pytest -q -n 2 tests/gateway/page

# Tests are compiled once and kept, whatever the shell says: that is half of what a worker of
# pytest does before its first test.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: venv run test page screenshots types collect pairs requirements laws cuts mutations judges libraries engines bench local-questions screens docs site fmt clean

venv: $(DEV)

# The stamps are older than pyproject.toml when an install has to be done again.
$(DEV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(RUN) $(DEV)

# The runtime alone; a dev install includes it, and touches this stamp too.
$(RUN): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli,client,gateway,local,schema,store]'
	touch $(RUN)

# A demonstration, then the gateway, until Ctrl-C.
run: $(RUN)
	$(BIN)/interlingua demo
	@echo
	@echo "The gateway starts now; Ctrl-C stops it, and make run PORT=8401 takes another port."
	$(BIN)/interlingua serve $(if $(PORT),--port $(PORT))

test: $(DEV) $(BROWSER)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory -j2 types collect
	$(PAGE_TESTS) || $(PAGE_TESTS) --last-failed --last-failed-no-failures=none
	$(BIN)/python -m pytest -q -n $(WORKERS) --ignore=tests/gateway/page

types: $(DEV)
	$(BIN)/mypy

# Compiles all tests, so that not every worker has to; its names are shown only if that fails.
collect: $(DEV)
	@$(BIN)/python -m pytest -qq --collect-only > $(VENV)/collected 2>&1 || \
		(tail -n 60 $(VENV)/collected; false)

# Every official SDK through the gateway to every provider, in every way.
pairs: $(DEV)
	INTERLINGUA_ALL_PAIRS=1 $(BIN)/python -m pytest -q -n $(WORKERS) tests/gateway

# A browser for the tests of the page, tried once: what cannot be had is said, and its tests are
# skipped. make test BROWSER= does not try.
$(BROWSER): $(DEV)
	$(BIN)/python -m tests.gateway.page.install
	touch $@

# The page in a real browser. Installing one needs root.
page: $(DEV)
	$(BIN)/python -m tests.gateway.page.install --needed
	INTERLINGUA_PAGE=1 $(BIN)/python -m pytest -q tests/gateway/page

# Pictures of the page for docs/page.md.
screenshots: $(DEV)
	$(BIN)/python -m tests.gateway.page.install --needed
	$(BIN)/python -m tests.gateway.page.screenshots

# What the formats' own packages say of the transcripts that we write; node is needed for one.
judges: $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ag-ui-protocol atif datasets \
		opentelemetry-util-genai
	-npm install --silent --no-audit --no-fund --prefix $(VENV)/judges ai@7 zod @ag-ui/client@1
	$(BIN)/python -m pytest -q -rs tests/transcripts/test_judges.py tests/transcripts/test_judges_otel.py

# What other libraries make of the messages that we write for them, and all recorded traffic through
# each; they are large, so they have an environment of their own.
libraries:
	test -x $(LIBRARIES)/bin/python || $(PYTHON) -m venv $(LIBRARIES)
	$(LIBRARIES)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[cli]' \
		pytest hypothesis pydantic-ai-slim langchain-core llama-index-core llm openai-agents \
		datasets transformers
	INTERLINGUA_EVERY=1 $(LIBRARIES)/bin/python -m pytest -q -rs \
		tests/views/test_real_libraries.py tests/views/test_real_training.py \
		tests/views/test_libraries.py

# The adapters for engines, each with the real one; they are large, so they have an environment of
# their own. Spark needs Java.
engines:
	test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[arrow,client,store,zstd]' pytest hypothesis datasets 'ray[data]' daft polars duckdb pyspark pandas
	$(ENGINES)/bin/python -m pytest -q -rs tests/engines

requirements: $(DEV)
	@$(BIN)/python -m pytest -q --no-header --no-summary --tb=no -n auto --requirements

laws: $(DEV)
	$(BIN)/python -m tests.laws.run
	$(BIN)/python -m tests.laws.parquet

# Every recorded stream, cut at every byte.
cuts: $(DEV)
	$(BIN)/python -m tests.laws.cuts

# A hundred thousand broken bodies; takes some minutes.
mutations: $(DEV)
	$(BIN)/python -m tests.laws.mutate --count 100000

# The pages as a site to look at, in build/site; its generator is installed here and needed nowhere else.
site: $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'zensical>=0.0.70'
	$(BIN)/python docs/site.py

docs: $(DEV)
	$(BIN)/python docs/generate.py

bench: $(DEV)
	$(BIN)/python -m bench

# Fifty everyday questions for the model in the box; takes some minutes.
local-questions: $(DEV)
	$(BIN)/python -m bench.local

# The screens of a chat that tests compare with, as they are now.
screens: $(DEV)
	$(BIN)/python -m tests.cli.test_chat_looks

fmt: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
