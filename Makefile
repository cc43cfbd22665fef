# `make run` and `make test` need Python 3.11 or newer and nothing else.

VENV := .venv
PY := $(VENV)/bin/python
LOCKED := $(VENV)/.locked
# Where nothing can be kept at home (as for the user nobody), uv keeps its downloads beside the environment.
ifndef UV_CACHE_DIR
export UV_CACHE_DIR := $(shell mkdir -p "$$HOME/.cache/uv" 2>/dev/null && test -w "$$HOME/.cache/uv" && echo "$$HOME/.cache/uv" || echo "$(CURDIR)/$(VENV)/.cache")
endif

# There is one settings module; a variable left over from another project shall not name its own.
unexport DJANGO_SETTINGS_MODULE

.PHONY: help setup run test check fmt schema bench torture lock \
	check-lint check-types check-imports check-migrations check-deployment check-openapi

help:
	@echo "make run    start Colloquy on this machine, with a demo"
	@echo "make test   run the tests              (ARGS='-k name' for some of them)"
	@echo "make check  lint, types, import contracts, migrations, deployment, OpenAPI"
	@echo "make fmt    format the code"
	@echo "make schema write tests/openapi.yml anew"
	@echo "make bench  measure"
	@echo "make torture  kill programs under load, and see that no event is lost"
	@echo "make lock   write the requirements files anew after a change of pyproject.toml"

setup: $(LOCKED)

$(LOCKED): requirements-dev.txt
	@.ci/setup $(VENV)
	@touch $@

run: setup
	@exec $(PY) manage.py run

test: setup
	$(PY) -m pytest $(ARGS)

fmt: setup
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .

# As if installed on a server, with nothing started.
ON_A_SERVER := COLLOQUY_SERVERS=none VAR_DIR=var BASE_URL=https://surveys.example.org \
	SECRET_KEY=$(shell head -c 48 /dev/urandom | od -An -tx1 | tr -d ' \n')

check: check-lint check-types check-imports check-migrations check-deployment check-openapi

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

schema: setup
	@$(ON_A_SERVER) $(PY) manage.py spectacular --validate --fail-on-warn --file tests/openapi.yml

bench: setup
	$(PY) -m tests.bench $(ARGS)

torture: setup
	$(PY) -m tests.torture $(ARGS)

lock:
	$(VENV)/bin/uv pip compile --universal --generate-hashes --no-header pyproject.toml -o requirements.txt -q
	$(VENV)/bin/uv pip compile --universal --generate-hashes --no-header --group dev pyproject.toml -o requirements-dev.txt -q
