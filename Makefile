# Each target makes the .venv that it needs by itself.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help setup demo lab test nightly image-test lint bench build clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## make .venv, and install the system packages where that is allowed

$(STAMP): pyproject.toml scripts/system_packages.sh
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet "torch>=2.11,<2.14"
	$(BIN)/pip install --quiet --editable ".[test]"
	bash scripts/system_packages.sh
	@touch $@

build: $(STAMP) ## make source/, release/ and solutions/ from labs/
	$(BIN)/gradlab build

demo: $(STAMP) ## show the main job: build, prove, grade a class, write feedback and a report
	$(BIN)/gradlab demo

lab: $(STAMP) ## open JupyterLab on copies of the released labs, in work/
	@mkdir -p work && cp -rn release/. work/
	$(BIN)/jupyter lab --notebook-dir work $(if $(filter 0,$(shell id -u)),--allow-root)

test: $(STAMP) ## run all tests (at most 15 minutes on two cores)
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

nightly: $(STAMP) image-test ## what takes longer: images, mutants of every reference solution, fifty times the fuzzing
	$(BIN)/gradlab prove --mutate
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest -n 2 tests/build tests/wire tests/submission tests/examiner/test_outputs.py tests/results tests/runner/test_resume.py tests/runner/test_same_bytes.py tests/prove/test_attempts.py tests/browser/test_labs_in_a_window.py

image-test: $(STAMP) ## build both images of the Dockerfile and run them, without a Docker engine (needs root)
	GRADLAB_IMAGES=1 $(BIN)/pytest -s --timeout 2400 tests/images

lint: $(STAMP) ## ruff, mypy on packages and labs, hadolint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile
	@for lab in labs/*/lab.py; do $(BIN)/mypy --config-file scripts/mypy_labs.ini $$lab || exit 1; done

bench: $(STAMP) ## measure, and print the figures as ratios
	$(BIN)/python -m benchmarks

clean: ## remove what was made here, the .venv too
	rm -rf .venv build dist *.egg-info demo artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
