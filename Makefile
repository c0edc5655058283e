SWIFT ?= swift
# Without this, every change of the build plan rebuilds dependencies whose flags are then in another order.
export SWIFT_DETERMINISTIC_HASHING := 1
# Package.swift makes warnings errors.
export WARNINGS_AS_ERRORS := 1
# After a crash, the backtracer of Swift can take longer than a run may last. The signal is reported without it.
export SWIFT_BACKTRACE ?= enable=no

# The commit for --version. Only rules that build what is installed pass it; empty outside git.
BUILD_COMMIT ?= $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)
build static release: export BUILD_COMMIT := $(BUILD_COMMIT)

# What is not here is a script below Tests/Scripts: CONTRIBUTING.md names them, and .ci/nightly runs them.
.PHONY: build static release library wheel deb install manual help demo test test-release test-postgresql test-clients test-all
.PHONY: test-docs test-packaging test-spark fuzz lint check bench bench-scale receipts format
.PHONY: test-build test-release-build set-up set-up-tests

## the release binary, .build/release/receipt-bridge
build: set-up
	$(SWIFT) build -c release --product receipt-bridge

# Without debug information, which names temporary folders. The linker removes it, but not the digests of modules that contain it.
STRIPPED = --static-swift-stdlib -debug-info-format none -Xlinker -s -Xlinker --build-id=none -Xlinker -z -Xlinker now

# In its own scratch directory, because other flags would rebuild everything. PREPARED=1 skips the installation of packages.
## the same with Swift's runtime inside, stripped: .build-static/release/receipt-bridge
static: $(if $(PREPARED),,set-up)
	$(SWIFT) build -c release $(STRIPPED) --product receipt-bridge --scratch-path .build-static

# From an empty folder: what an earlier build left there could change the binary. Sources are named relative to this one.
## archive, wheel and Debian package of a release, with checksums and SBOM, in .build-release
release: $(if $(PREPARED),,set-up)
	rm -rf .build-release/static
	$(SWIFT) build -c release $(STRIPPED) --product receipt-bridge --scratch-path .build-release/static \
		-Xcc -ffile-prefix-map=$(CURDIR)=.
	$(SWIFT) build -c release $(STRIPPED) --target ReceiptBridgeLibrary --scratch-path .build-release/static
	.ci/release .build-release/static/release/receipt-bridge

## the library for other languages: .build/release/libreceipt_bridge.so
library: set-up
	$(SWIFT) build -c release --target ReceiptBridgeLibrary
	python3 Tests/Scripts/package/library.py .build/release .build/release/libreceipt_bridge.so

## a Python wheel of the library, in .build/release
wheel: library
	python3 Tests/Scripts/package/wheel.py .build/release .build/release

## a Debian package of the binary of make static, in .build-static (needs dpkg-dev)
deb: static
	Tests/Scripts/package/deb.sh .build-static/release/receipt-bridge .build-static

PREFIX ?= /usr/local
# The binary that `make install` installs.
TOOL ?= .build-static/release/receipt-bridge

# Builds nothing: under sudo there is often no Swift on the PATH, and only root can rebuild what root has built.
## installs what make static has built, manual page and completions below PREFIX (default /usr/local) and DESTDIR
install:
	@[ -x "$(TOOL)" ] || { echo "make install: $(TOOL) does not exist. Run make static first" >&2; exit 2; }
	install -D -m 0755 $(TOOL) $(DESTDIR)$(PREFIX)/bin/receipt-bridge
	install -D -m 0644 docs/receipt-bridge.1 $(DESTDIR)$(PREFIX)/share/man/man1/receipt-bridge.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(TOOL) --generate-completion-script bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/receipt-bridge
	$(TOOL) --generate-completion-script zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_receipt-bridge
	$(TOOL) --generate-completion-script fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/receipt-bridge.fish

## writes docs/receipt-bridge.1 from the help of the tool (needs Python)
manual: build
	python3 docs/manual.py .build/release/receipt-bridge >docs/receipt-bridge.1

## prints the rules that have a comment of two number signs above them
help:
	@awk '/^## / { text = substr($$0, 4); next } \
	    text && /^[a-z-]+:/ { printf "make %-15s %s\n", substr($$1, 1, index($$1, ":") - 1), text } { text = "" }' Makefile

# Built without optimization, which takes half the CPU time.
## a simulated App Store and the proxy: posts receipts, migrates and compares them (V=1 prints everything)
demo: set-up
	@$(if $(V),,echo "building; the first time takes five to eight minutes (make demo V=1 shows the compiler's lines)")
	@QUIET=$(if $(V),,1) Tests/Scripts/check/build.sh $(SWIFT) build --product receipt-bridge
	@V=$(V) Tests/Scripts/check/demo.sh .build/debug/receipt-bridge .build/demo

DEBUG_TESTS = .build/debug/receipt-bridgePackageTests.xctest
RELEASE_TESTS = .build/release/receipt-bridgePackageTests.xctest
FILTER ?=
# STRICT=--strict also fails for what tests leave behind, "--strict --slow" for a test that is slow in debug, too.
STRICT ?=
RUN_TESTS = python3 Tests/Scripts/check/run_tests.py

## every test in debug, in several processes at once, also on a fresh machine. FILTER=REGEX for some of them
test: test-build
	$(RUN_TESTS) $(DEBUG_TESTS) $(STRICT) --filter "$(FILTER)"

test-build: set-up-tests
	Tests/Scripts/check/build.sh $(SWIFT) build --build-tests

## the same with optimization and more data
test-release: test-release-build
	$(RUN_TESTS) $(RELEASE_TESTS) --filter "$(FILTER)"

test-release-build: set-up-tests
	Tests/Scripts/check/build.sh $(SWIFT) build -c release --build-tests

# Without a server these tests are skipped, which must not count as a success.
## the tests that need PostgreSQL, in debug (installs Debian packages)
test-postgresql: test-build
	REFUSE_SKIPPED=1 Tests/Scripts/support/postgresql.sh $(RUN_TESTS) $(DEBUG_TESTS) \
		--filter '^(StorageTests|EndToEndTests[.](StoreCommandTests|SharedMigrationTests|ReconcileTests))[./]'

## the tests of client libraries in Python, in debug (needs Python and PyPI)
test-clients: test-build
	python=$$(Tests/Scripts/check/clients.sh) && REFUSE_SKIPPED=1 RECEIPT_BRIDGE_PYTHON=$$python \
		$(RUN_TESTS) $(DEBUG_TESTS) --filter '^(EndToEndTests[.]ClientTests|SimulatorTests[.]AppleLibraryTests)[./]'

# The tests and scenarios of .ci/run.
## every test in debug and release, with PostgreSQL, and servers of one database that are killed (installs packages)
test-all: test-build test-release-build
	Tests/Scripts/check/suites.sh $(STRICT)

## every block of commands of the documents, as it stands (needs Python, curl, jq, sqlite3, nginx and PostgreSQL)
test-docs: build
	python3 Tests/Scripts/check/docs.py --tool .build/release/receipt-bridge

## manual page, completions, installation, the service, the wheel (needs Python, man, bash, systemd-analyze)
test-packaging: build library
	Tests/Scripts/package/packaging.sh .build/release/receipt-bridge
	python3 Tests/Scripts/package/test_wheel.py .build/release/receipt-bridge

ROWS ?=

## 200,000 rows (ROWS=) by PySpark, GNU parallel and one process (needs Python and PyPI; installs Debian packages)
test-spark: build
	Tests/Scripts/bench/spark.sh .build/release/receipt-bridge $(ROWS)

SECONDS ?= 60
RUNS ?= 0
TARGETS ?=
SEEDS ?=

## mutated inputs through every parser, with AddressSanitizer; SECONDS= or RUNS= for each of TARGETS= (needs Python)
fuzz: set-up
	FUZZ=1 $(SWIFT) build -c release --product receipt-bridge-fuzz --scratch-path .build-fuzz
	python3 Tests/Scripts/check/fuzz.py --tool .build-fuzz/release/receipt-bridge-fuzz --seconds $(SECONDS) --runs $(RUNS) \
		--targets "$(TARGETS)" --seeds "$(SEEDS)"

## format, imports, links of the documents, tests of each threat, cases of each alert, values in the log, versions
lint: set-up-tests
	SWIFT="$(SWIFT)" Tests/Scripts/check/lint.sh
	$(SWIFT) build --explicit-target-dependency-import-check error
	python3 Tests/Scripts/package/release.py

## all that a commit must pass: lint, test-all, -clients, -docs and -packaging, alert rules, the library's documentation
check: lint test-all test-clients test-docs test-packaging
	python3 Tests/Scripts/check/alerts.py
	SWIFT="$(SWIFT)" Tests/Scripts/check/library_docs.sh .build/debug

# JSON=FILE writes the values of nine runs, for Tests/Scripts/bench/compare_benchmarks.py.
JSON ?=

## the measurements of this machine, with the cost of shadowing; JSON=FILE for nine runs (needs Python and wrk)
bench: build
	python3 Tests/Scripts/bench/bench.py --tool .build/release/receipt-bridge $(if $(JSON),--runs 9 --json $(JSON))
	python3 Tests/Scripts/bench/shadowing.py --tool .build/release/receipt-bridge

## one server on SQLite compared with one, two and three on PostgreSQL (needs Python, wrk and PostgreSQL)
bench-scale: build
	python3 Tests/Scripts/bench/scale_bench.py --tool .build/release/receipt-bridge

## writes Receipts/ from fixed seeds
receipts: set-up
	RECEIPT_BRIDGE_RECEIPTS=1 $(SWIFT) test --disable-xctest --filter CommittedReceiptsTests/write

## formats the sources
format:
	$(SWIFT) format --in-place --recursive Sources Tests Package.swift

set-up:
	@SWIFT="$(SWIFT)" .ci/set-up

set-up-tests:
	@SWIFT="$(SWIFT)" .ci/set-up python3
