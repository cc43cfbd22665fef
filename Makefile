# Needs Python 3.11 or newer and make; `make check` needs Node 18 or newer and npm too.

VENV := .venv
PY := $(VENV)/bin/python
# Each file says that the packages of a lock are installed. The packages for development include those for running.
RUNNING := $(VENV)/.installed-run
DEVELOPMENT := $(VENV)/.installed-dev
# Without a writable home directory, as for the user nobody, uv keeps its cache inside the environment.
ifndef UV_CACHE_DIR
export UV_CACHE_DIR := $(shell mkdir -p "$$HOME/.cache/uv" 2>/dev/null && test -w "$$HOME/.cache/uv" && echo "$$HOME/.cache/uv" || echo "$(CURDIR)/$(VENV)/.cache")
endif

# Colloquy has one settings module; ignore the variable of another Django project.
unexport DJANGO_SETTINGS_MODULE

.PHONY: help setup run reset test test-all check fmt schema bench quality torture lock bill audit \
	check-lint check-types check-imports check-migrations check-deployment check-openapi check-js lock-js

help:
	@echo "make run      start Colloquy on this machine with a demo; installs what running needs"
	@echo "make reset    delete the data of make run, to start over      (asks first; CONFIRM=yes does not)"
	@echo "make setup    install everything, development packages included"
	@echo "make test     run the tests that need no browser and little time (ARGS='-k name' for some of them)"
	@echo "make test-all run all tests, and more examples of each; browser tests need Chromium"
	@echo "make check    check lint, types, import contracts, migrations, deployment, OpenAPI, JavaScript"
	@echo "make fmt      format the code"
	@echo "make schema   update tests/openapi.yml and the clients after a change of the interface"
	@echo "make bench    measure CPU time                                 (ROWS=1,3 for some of the operations)"
	@echo "make quality  compare readings of answers with labels            (PROVIDER=anthropic for a model)"
	@echo "make torture  kill processes under load and check that no event is lost"
	@echo "make lock     update the requirements files after a change of pyproject.toml"
	@echo "make bill     print a bill of materials of the requirements as CycloneDX"
	@echo "make audit    compare the requirements with advisories           (ADVISORIES=osv.zip, IGNORE='ID ID')"
	@echo "make lock-js  update the lock of the JavaScript checks after a change of .ci/js/package.json"

setup: $(DEVELOPMENT)

$(DEVELOPMENT): requirements-dev.txt
	@.ci/setup $(VENV) requirements-dev.txt
	@touch $(RUNNING) $@

# Development packages that are installed already stay.
$(RUNNING): requirements.txt
	@.ci/setup $(VENV) $(if $(wildcard $(DEVELOPMENT)),requirements-dev.txt,requirements.txt)
	@touch $@

run: $(RUNNING)
	@exec $(PY) manage.py run

reset: $(RUNNING)
	@exec $(PY) manage.py reset $(if $(filter yes,$(CONFIRM)),--no-input)

test: setup
	$(PY) -m pytest --ignore=tests/browser -m 'not long' -p no:schemathesis $(ARGS)

test-all: setup
	COLLOQUY_THOROUGH=true $(PY) -m pytest $(ARGS)

fmt: setup
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .

# The environment of a server, without starting embedded servers.
ON_A_SERVER := COLLOQUY_SERVERS=none VAR_DIR=var BASE_URL=https://surveys.example.org TRUSTED_PROXIES=1 \
	SECRET_KEY=$(shell head -c 48 /dev/urandom | od -An -tx1 | tr -d ' \n')

check: check-lint check-types check-imports check-migrations check-deployment check-openapi check-js

check-lint: setup
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .

check-types: setup
	@$(ON_A_SERVER) $(PY) -m mypy

check-imports: setup
	$(PY) -c 'import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())'

check-migrations: setup
	$(PY) manage.py makemigrations --check --dry-run

check-deployment: setup
	@$(ON_A_SERVER) $(PY) manage.py check --deploy --fail-level WARNING

check-openapi: setup
	@$(ON_A_SERVER) $(PY) manage.py spectacular --validate --fail-on-warn --file $(VENV)/openapi.yml
	diff -u tests/openapi.yml $(VENV)/openapi.yml

# The packages that check the JavaScript and build the client for TypeScript; nothing else needs them.
NODE := $(VENV)/js

$(NODE)/.installed: .ci/js/package.json .ci/js/package-lock.json | $(DEVELOPMENT)
	@command -v npm >/dev/null || { echo "make check-js needs Node 18 or newer and npm." >&2; exit 1; }
	@mkdir -p $(NODE)
	@cp .ci/js/package.json .ci/js/package-lock.json $(NODE)
	cd $(NODE) && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

check-js: $(NODE)/.installed
	$(NODE)/node_modules/.bin/eslint --config .ci/js/eslint.config.js --max-warnings 0 .ci communities config surveys tests
	$(NODE)/node_modules/.bin/tsc --project .ci/js
	node --test $(wildcard tests/js/*.test.mjs)

schema: setup
	@$(ON_A_SERVER) $(PY) manage.py spectacular --validate --fail-on-warn --file tests/openapi.yml
	$(PY) config/clients/python/generate.py tests/openapi.yml

bench: setup
	$(PY) -m tests.bench $(ARGS)

# How well an AI provider reads labelled answers: PROVIDER=local, or a model whose key is set.
quality: setup
	@$(ON_A_SERVER) AI_PROVIDER=$(or $(PROVIDER),local) $(PY) -m tests.quality $(ARGS)

torture: setup
	$(PY) -m tests.torture $(ARGS)

COMPILE := $(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate
EXTRAS := $(addprefix --extra ,embeddings offline-ai openai parquet servers spss)

lock: $(DEVELOPMENT)
	$(COMPILE) $(EXTRAS) --extra telemetry --group dev pyproject.toml -o requirements-dev.txt
	$(COMPILE) $(EXTRAS) --group run pyproject.toml --constraint requirements-dev.txt -o requirements.txt

bill: | $(DEVELOPMENT)
	@$(PY) .ci/packages.py bill requirements.txt

audit: | $(DEVELOPMENT)
	@$(PY) .ci/packages.py audit requirements-dev.txt $(or $(ADVISORIES),$(error set ADVISORIES)) $(IGNORE)

# npm writes the addresses of sponsors too.
WITHOUT_SPONSORS := import json, pathlib; \
	file = pathlib.Path(".ci/js/package-lock.json"); \
	lock = json.loads(file.read_text()); \
	[each.pop("funding", None) for each in lock["packages"].values()]; \
	file.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")

lock-js: $(DEVELOPMENT)
	cd .ci/js && npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
	$(PY) -c '$(WITHOUT_SPONSORS)'
