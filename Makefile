# Short names for the usual steps. NATIVE=1: use all instructions of this machine; WERROR=1: warnings are errors.
JOBS   ?= $(shell nproc)
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local
SWITCH  = -DKARDAN_NATIVE=$(if $(filter 1,$(NATIVE)),ON,OFF) -DKARDAN_WERROR=$(if $(filter 1,$(WERROR)),ON,OFF)

MAKEFLAGS += --no-print-directory

.PHONY: all demo install test cross bench viewer test-viewer python test-python sanitize fuzz format check campaign clean

all:
	tools/setup build
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS)

demo: ## simulate a Stewart platform and write a report with a moving drawing
	tools/setup build viewer
	tools/build-viewer
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS) --target kardan_cli
	build/kardan simulate models/stewart.yaml --output build/demo

install: ## libraries, headers, command line, files for pkg-config and CMake into PREFIX (below DESTDIR, if given)
	tools/setup build
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS) --target product
	cmake --install build --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

viewer: ## the 3-D viewer of reports, which the next build takes in (npm)
	tools/setup build viewer
	tools/build-viewer --required

test-viewer: ## reports in a real browser (npm, chromium)
	tools/setup build viewer browser
	tools/build-viewer --required
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS) --target kardan_cli
	tools/test-viewer

python: ## the Python package as a wheel (Debian's python3-dev, -numpy, -cffi, ..)
	tools/setup build python
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS) --target product
	tools/build-python build

test-python: python ## the Python package in an environment of its own
	tools/test-python build

test: ## build everything and run all tests
	tools/setup build test
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS)
	tools/run-tests build

cross: ## binaries of FMUs for aarch64-linux and x86_64-windows, and their test (qemu, wine); YAML=sources of LibYAML
	tools/setup build test cross
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS) --target test_runtime_cross cross_client kardan_cli kardan_fmu
	tools/cross-fmu build aarch64-linux "$(YAML)"
	tools/cross-fmu build x86_64-windows "$(YAML)"
	tools/run-tests build test_runtime_cross

bench: ## build and run all benchmarks
	tools/setup build bench
	cmake --preset release $(SWITCH)
	cmake --build build -j$(JOBS)
	tools/run-bench build

sanitize: ## all tests with the address and undefined-behaviour sanitizers; SHORT=1: those of tests/long are neither built nor run
	tools/setup build test
	cmake --preset sanitize -DKARDAN_WERROR=$(if $(filter 1,$(WERROR)),ON,OFF) -DKARDAN_SHORT=$(if $(SHORT),ON,OFF)
	cmake --build build-sanitize -j$(JOBS)
	SHORT=$(SHORT) TEST_TIMEOUT=$${TEST_TIMEOUT:-900} tools/run-tests build-sanitize

fuzz: ## all readers of outside input with random input; FUZZ_SECONDS for each
	tools/setup build fuzz
	cmake --preset fuzz -DKARDAN_WERROR=$(if $(filter 1,$(WERROR)),ON,OFF)
	cmake --build build-fuzz -j$(JOBS) --target $(notdir $(basename $(wildcard tests/fuzz/fuzz_*.c)))
	tools/run-fuzz build-fuzz $(FUZZ_SECONDS)

format: ## bring all C files into the house format
	tools/setup format
	tools/check-format --fix

check: ## everything that continuous integration runs
	tools/setup
	.ci/run

campaign: ## what takes hours: all numbers of all tests, sanitizers over all tests, thread sanitizer, valgrind, coverage, long fuzzing, faults, mutants; PART= one of them
	tools/setup build test fuzz
	tools/run-campaign $(PART)

clean:
	rm -rf build build-debug build-sanitize build-thread build-fuzz build-coverage build-mutate
