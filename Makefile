# Everything runs in .venv, which the targets make and fill by themselves. Needed beforehand: Python 3.11 to 3.14 and a
# package registry that pip reaches. Another Python than the first one found: make PYTHON=/path/to/python3.12 test

.DEFAULT_GOAL := help
.PHONY: help demo test quick test-spark lint docs bench clean install java chromium services

BIN := .venv/bin
INSTALLED := .venv/.installed
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))

help: ## Show this list.
	@awk -F ' ## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: install java ## Run a stateful job, kill one of its processes with SIGKILL, and count what came out.
	@$(BIN)/rekindle demo $(ARGS)

OLDEST_SPARK := 4.0
test: install java chromium services ## Run everything that must hold: make lint and all tests. SEED=random draws other cases; ARGS: as pytest.
	@OLDEST_SPARK=$(OLDEST_SPARK) SEED=$(SEED) $(BIN)/python scripts/run_tests.py $(if $(ARGS),pytest $(ARGS),all)

quick: install ## Run what fails first, without a JVM: style, and the tests of checkpoints, HA, graph, state and API.
	@SEED=$(SEED) $(BIN)/python scripts/run_tests.py quick

SPARK ?= $(OLDEST_SPARK)
test-spark: java .venv-spark-$(SPARK)/.installed ## Run the tests that need Spark on another one: SPARK=4.0, 4.1 or 4.2.
	@.venv-spark-$(SPARK)/bin/pytest -p no:cacheprovider $(or $(ARGS),-m spark)

lint: install ## Check style and format (ruff), types (mypy) and that packages only import what is below them (import-linter).
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache

docs: install ## Make a website of the documentation, with search, in build/site.
	@$(BIN)/python scripts/build_docs.py build/site

BENCH ?= keyed_state
bench: install java ## Measure keyed_state, or BENCH=api, checkpoints, columns, connectors, faults, latency, queryable, recovery, scaling, serialization, state_backends, targets, transform_with_state.
	@$(BIN)/python benchmarks/$(BENCH).py $(ARGS)

clean: ## Remove what tools, tests and Spark leave behind; the environments stay.
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log artifacts
	@find src tests benchmarks examples scripts docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- what the targets above need ---

install: $(INSTALLED)

$(INSTALLED): pyproject.toml scripts/create_venv.py
	$(CHECK_PYTHON)
	@"$(PYTHON)" scripts/create_venv.py

.venv/spark-classes.jsa: $(INSTALLED) scripts/archive_classes.py
	@$(BIN)/python scripts/archive_classes.py

.venv-spark-%/.installed: pyproject.toml scripts/create_venv.py
	$(CHECK_PYTHON)
	@"$(PYTHON)" scripts/create_venv.py $*

define CHECK_PYTHON
	@if ! "$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null; then \
		echo "Rekindle needs Python 3.11 to 3.14, and there is none on the PATH (or PYTHON names another one)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.11 ..." >&2; \
		exit 1; \
	fi
endef

java: install
	@$(BIN)/python scripts/ensure_java.py

chromium: install
	@$(BIN)/python scripts/ensure_chromium.py

services: install
	@$(BIN)/python scripts/fetch_services.py
