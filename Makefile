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

.PHONY: help library demo test test-build test-release test-release-build test-all test-all-run test-run test-suites-run test-scenarios-run test-cluster-run test-root test-postgresql test-exports clients test-clients test-bare test-docs docs-library test-example test-migrate-cluster test-upgrade test-deploy test-spark test-asan test-alerts test-browser test-openapi test-apple-mock-data test-static test-packaging test-wheel test-deb
.PHONY: fuzz lint check version bench bench-http bench-distance bench-scale bench-migrate soak build static wheel deb release install manual receipts format set-up set-up-tests

## the release binary, .build/release/receipt-bridge
build: set-up
	$(SWIFT) build -c release --product receipt-bridge

# Without debug information, which names temporary folders. The linker removes it, but not the digests of modules that contain it.
STRIPPED = --static-swift-stdlib -debug-info-format none -Xlinker -s -Xlinker --build-id=none -Xlinker -z -Xlinker now

# In its own scratch directory, because other flags would rebuild everything. PREPARED=1 skips the installation of packages.
## the same with the Swift runtime linked statically, stripped: .build-static/release/receipt-bridge
static: $(if $(PREPARED),,set-up)
	$(SWIFT) build -c release $(STRIPPED) --product receipt-bridge --scratch-path .build-static

# From an empty folder: what an earlier build left there could change the binary. Sources are named relative to this one.
## the archive of a release, the wheel and the Debian package, with checksums and SBOM, in .build-release
release: $(if $(PREPARED),,set-up)
	rm -rf .build-release/static
	$(SWIFT) build -c release $(STRIPPED) --product receipt-bridge --scratch-path .build-release/static \
		-Xcc -ffile-prefix-map=$(CURDIR)=.
	$(SWIFT) build -c release $(STRIPPED) --target ReceiptLibrary --scratch-path .build-release/static
	.ci/release .build-release/static/release/receipt-bridge

## the binary of make static on a bare Debian without Swift (needs root and debootstrap)
test-static: static
	Tests/Scripts/package/static.sh .build-static/release/receipt-bridge

## the library for other languages: .build/release/libreceipt_bridge.so
library: set-up
	$(SWIFT) build -c release --target ReceiptLibrary
	python3 Tests/Scripts/package/library.py .build/release .build/release/libreceipt_bridge.so

## a Python wheel of the library, in .build/release
wheel: library
	python3 Tests/Scripts/package/wheel.py .build/release .build/release

## the wheel in a new environment: 100,000 rows (ROWS=), forks and hostile values, pandas and others and a peer from PyPI
test-wheel: build library
	python3 Tests/Scripts/package/test_wheel.py .build/release/receipt-bridge --rows $(ROWS) --pandas --peer

## a Debian package of the binary of make static, in .build-static (needs dpkg-dev)
deb: static
	Tests/Scripts/package/deb.sh .build-static/release/receipt-bridge .build-static

## the Debian package on a minimal Debian that runs systemd (RELEASE=trixie): lintian, installation, service, upgrade,
## purge (needs root, debootstrap, lintian)
test-deb: static
	Tests/Scripts/package/test_deb.sh .build-static/release/receipt-bridge $(RELEASE)

PREFIX ?= /usr/local
# The binary that `make install` installs.
TOOL ?= .build-static/release/receipt-bridge

# Builds nothing: under sudo there is often no Swift on the PATH, and only root can rebuild what root has built.
## installs the binary of make static, its manual page and completions below PREFIX (default /usr/local) and DESTDIR;
## builds nothing, so run make static first
install:
	@[ -x "$(TOOL)" ] || { echo "make install: $(TOOL) does not exist. Run make static first" >&2; exit 2; }
	install -D -m 0755 $(TOOL) $(DESTDIR)$(PREFIX)/bin/receipt-bridge
	install -D -m 0644 docs/receipt-bridge.1 $(DESTDIR)$(PREFIX)/share/man/man1/receipt-bridge.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(TOOL) --generate-completion-script bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/receipt-bridge
	$(TOOL) --generate-completion-script zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_receipt-bridge
	$(TOOL) --generate-completion-script fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/receipt-bridge.fish

## regenerates docs/receipt-bridge.1 from the help of the tool (needs Python)
manual: build
	python3 docs/manual.py .build/release/receipt-bridge >docs/receipt-bridge.1

## manual page, completions, installation, the service, the wheel (needs Python, man, bash, systemd-analyze)
test-packaging: build library
	Tests/Scripts/package/packaging.sh .build/release/receipt-bridge
	python3 Tests/Scripts/package/test_wheel.py .build/release/receipt-bridge

## prints the targets that have a comment of two number signs above them
help:
	@awk '/^## / { text = text (text ? "\n                           " : "") substr($$0, 4); next } \
	    text && /^[a-z-]+:/ { printf "make %-21s %s\n", substr($$1, 1, index($$1, ":") - 1), text } { text = "" }' Makefile

# Built without optimization, which takes half the CPU time (docs/BENCHMARKS.md).
## builds without optimization, starts a simulated App Store and the proxy, posts receipts, migrates and
## compares them (V=1 prints the compiler's lines and the responses)
demo: set-up
	@$(if $(V),,echo "building; the first time takes five to ten minutes (make demo V=1 shows the compiler's lines)")
	@QUIET=$(if $(V),,1) Tests/Scripts/check/build.sh $(SWIFT) build --product receipt-bridge
	@V=$(V) Tests/Scripts/check/demo.sh .build/debug/receipt-bridge .build/demo

DEBUG_TESTS = .build/debug/receipt-bridgePackageTests.xctest
RELEASE_TESTS = .build/release/receipt-bridgePackageTests.xctest
FILTER ?=
# STRICT=--strict also fails for a test that is slow in debug, and for what tests leave behind.
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

# In two parts, so that an ordinary user can run tests that root has built.
## every test in debug and in release, with a PostgreSQL server of their own, and several servers of one
## database while servers and databases are killed and stopped (installs Debian packages); make test-all-run
## if both are built
test-all: test-build test-release-build
	$(MAKE) test-all-run

# The scenarios of several servers that mostly wait run beside the tests; the others expect a machine that is not overloaded.
WAITING_SCENARIOS = kill outage reconcile tls
CLUSTER = python3 Tests/Scripts/soak/cluster.py --tool .build/release/receipt-bridge

test-all-run: test-suites-run
	$(MAKE) test-scenarios-run

test-suites-run:
	$(MAKE) -j2 test-run test-cluster-run

test-scenarios-run:
	$(CLUSTER) --without $(WAITING_SCENARIOS)
	python3 Tests/Scripts/soak/migration_cluster.py --tool .build/release/receipt-bridge --rows 4000 --customers 200 --kills 2

test-cluster-run:
	$(CLUSTER) $(WAITING_SCENARIOS)

test-run:
	$(PYTHON_CLIENTS) Tests/Scripts/support/postgresql.sh $(RUN_TESTS) $(DEBUG_TESTS) $(STRICT)
	$(PYTHON_CLIENTS) Tests/Scripts/support/postgresql.sh $(RUN_TESTS) $(RELEASE_TESTS)

# Tests that are skipped for an ordinary user, because they mount a file system.
## the tests that only root can run: they mount a file system
test-root:
	$(RUN_TESTS) $(DEBUG_TESTS) --filter '^BatchTests[.]SinkFailureTests'

# Without a server these tests are skipped, which must not count as a success.
## the tests that need PostgreSQL, in debug (installs Debian packages)
test-postgresql: test-build
	REFUSE_SKIPPED=1 Tests/Scripts/support/postgresql.sh $(RUN_TESTS) $(DEBUG_TESTS) \
		--filter '^(PostgreSQLClientTests|StorageTests|EndToEndTests[.](StoreCommandTests|SharedMigrationTests|ReconcileTests))[./]'

## exports of PostgreSQL, MariaDB (if it is in PATH), MongoDB, pandas and Spark: every row must be right
test-exports: build
	Tests/Scripts/support/postgresql.sh python3 Tests/Scripts/check/exports.py .build/release/receipt-bridge

# Client libraries in Python, from PyPI. Other rules test them only if they are installed.
CLIENTS = .build/clients-venv
PYTHON_CLIENTS = RECEIPT_BRIDGE_PYTHON=$(if $(wildcard $(CLIENTS)/complete),$(CURDIR)/$(CLIENTS)/bin/python)

clients: $(CLIENTS)/complete

$(CLIENTS)/complete: Tests/Scripts/check/clients/requirements.txt Tests/Scripts/check/clients/server_api-requirements.txt
	python3 -m venv --clear $(CLIENTS)
	$(CLIENTS)/bin/pip install --quiet --disable-pip-version-check $(^:%=--requirement=%)
	touch $@

## client libraries in Python, in debug (needs Python and PyPI)
test-clients: test-build clients
	REFUSE_SKIPPED=1 RECEIPT_BRIDGE_PYTHON=$(CURDIR)/$(CLIENTS)/bin/python $(RUN_TESTS) $(DEBUG_TESTS) \
		--filter '^(EndToEndTests[.]ClientTests|SimulatorTests[.]AppleLibraryTests)[./]'

## workers of one migration on one PostgreSQL, which are killed at random (needs Python and PostgreSQL;
## ROWS=1000000 for more rows)
test-migrate-cluster: build
	python3 Tests/Scripts/soak/migration_cluster.py --tool .build/release/receipt-bridge --rows $(or $(ROWS),100000)

## FROM=PATH, the binary of a previous release, is upgraded to this version under load, and back: a store in a file, a
## database with two servers, migrations (needs Python and PostgreSQL)
test-upgrade: build
	python3 Tests/Scripts/soak/upgrade.py --tool .build/release/receipt-bridge --from "$(FROM)"

## every block of commands of the documents, as it stands, in an empty folder (needs Python, curl, jq,
## sqlite3, nginx and PostgreSQL)
test-docs: build
	python3 Tests/Scripts/check/docs.py --tool .build/release/receipt-bridge

## the documentation of the library, in .build/docs-library; a warning is an error (needs docc, which is part of Swift)
docs-library: test-build
	Tests/Scripts/check/library_docs.sh .build/debug

# Not part of check, because it builds Hummingbird a second time.
## docs/examples/receipt-route, built as another package builds it, against Receipts/ (needs Python)
test-example: set-up-tests
	python3 Tests/Scripts/check/library_example.py

## the examples for docker compose and Kubernetes (needs Python, PyPI and promtool)
test-deploy: build
	Tests/Scripts/package/deploy.sh .build/release/receipt-bridge

# The current stable Debian, or another: RELEASE=bookworm.
RELEASE ?= trixie

## demo and tests on a bare Debian (RELEASE=trixie), as an ordinary user with sudo and 1,024 descriptors (needs
## root, debootstrap and Swift)
test-bare:
	Tests/Scripts/check/bare.sh $(RELEASE)

## the alert rules against series of metrics (needs Python; installs Prometheus from Debian)
test-alerts:
	@command -v promtool >/dev/null || .ci/set-up prometheus
	python3 Tests/Scripts/check/alerts.py

## the pages of a comparison, a migration and the status in a browser; screenshots in .build/browser (needs
## Python and Chromium)
test-browser: set-up
	mkdir -p .build/browser
	RECEIPT_BRIDGE_PAGES=$(CURDIR)/.build/browser $(SWIFT) test --disable-xctest \
		--filter '(ComparisonPageTests|StatusPageTests|ReportTests|CustomerPageTests)/sample'
	python3 Tests/Scripts/check/browser/page.py .build/browser

## the server against its OpenAPI document, with generated requests (needs Python and PyPI)
test-openapi: build
	python3 -m venv .build/openapi
	.build/openapi/bin/pip install --quiet schemathesis==4.32.5 openapi-spec-validator==0.9.0
	.build/openapi/bin/openapi-spec-validator docs/openapi.json
	python3 Tests/Scripts/check/openapi.py --tool .build/release/receipt-bridge --schemathesis .build/openapi/bin/schemathesis

LIBRARY ?=

## the mock signed data of Apple's Python library: all of it verifies, none of it changed (needs Python and
## PyPI, and git, or LIBRARY= a copy of the library)
test-apple-mock-data: build
	python3 -m venv .build/apple-mock-data
	.build/apple-mock-data/bin/pip install --quiet cryptography==48.0.0
	.build/apple-mock-data/bin/python Tests/Scripts/check/apple_mock_data.py --tool .build/release/receipt-bridge \
		$(if $(LIBRARY),--library $(LIBRARY))

ASAN_TEST = ASAN_OPTIONS=suppressions=$(CURDIR)/Tests/Scripts/check/asan.supp \
	LSAN_OPTIONS=suppressions=$(CURDIR)/$(1):print_suppressions=0 \
	$(RUN_TESTS) .build-asan/debug/receipt-bridgePackageTests.xctest

## every test in debug with AddressSanitizer and leak checking, in .build-asan
test-asan: set-up-tests
	Tests/Scripts/check/build.sh $(SWIFT) build --build-tests --sanitize=address --scratch-path .build-asan
	grep -v libcurl Tests/Scripts/check/leaks.supp >.build-asan/leaks.supp
	$(call ASAN_TEST,.build-asan/leaks.supp) --filter '^(TransportTests|AppStoreClientsTests|ServerTests)[.]'
	$(call ASAN_TEST,Tests/Scripts/check/leaks.supp)

SECONDS ?= 60
RUNS ?= 0
TARGETS ?=
SEEDS ?=

## mutated inputs through every parser, with AddressSanitizer; SECONDS= or RUNS= for each target (needs
## Python)
fuzz: set-up
	FUZZ=1 $(SWIFT) build -c release --product receipt-bridge-fuzz --scratch-path .build-fuzz
	python3 Tests/Scripts/check/fuzz.py --tool .build-fuzz/release/receipt-bridge-fuzz --seconds $(SECONDS) --runs $(RUNS) \
		--targets "$(TARGETS)" --seeds "$(SEEDS)"

## format, imports between targets, links of the documents, tests of each threat, cases of each alert, values in
## the log, versions
lint: set-up
	$(SWIFT) format lint --strict --recursive Sources Tests Package.swift
	python3 Tests/Scripts/check/imports.py
	python3 Tests/Scripts/check/links.py
	python3 Tests/Scripts/check/language.py --columns Sources Tests Package.swift
	python3 Tests/Scripts/check/threats.py
	python3 Tests/Scripts/check/alerts.py --list
	python3 Tests/Scripts/check/log_values.py
	$(SWIFT) build --explicit-target-dependency-import-check error
	python3 Tests/Scripts/package/release.py

## all that a commit must pass: lint, test-alerts, test-all, docs-library, test-clients, test-docs, test-packaging
check: lint test-alerts test-all docs-library test-clients test-docs test-packaging

version:
	@python3 Tests/Scripts/package/release.py --version

# JSON=FILE writes the values of all runs. Two such files of nine runs are compared by Tests/Scripts/bench/compare_benchmarks.py.
JSON ?=
RUNS_OF_BENCHMARKS ?= $(if $(JSON),9,1)

## the measurements of this machine, with the cost of shadowing (needs Python and wrk)
bench: build
	python3 Tests/Scripts/bench/bench.py --tool .build/release/receipt-bridge --runs $(RUNS_OF_BENCHMARKS) $(if $(JSON),--json $(JSON))
	python3 Tests/Scripts/bench/shadowing.py --tool .build/release/receipt-bridge

## the routes compared with a bare route, and forwarding compared with nginx (needs Python, wrk, h2load and
## nginx)
bench-http: build
	python3 Tests/Scripts/bench/http_bench.py --tool .build/release/receipt-bridge --runs $(RUNS_OF_BENCHMARKS) $(if $(JSON),--json $(JSON))
	python3 Tests/Scripts/bench/passthrough.py --tool .build/release/receipt-bridge

## forwarding to an upstream that takes 0 to 3 s, compared with nginx (needs Python, wrk and nginx)
bench-distance: build
	python3 Tests/Scripts/bench/distance.py --tool .build/release/receipt-bridge --runs $(if $(JSON),3,1) $(if $(JSON),--json $(JSON))

## one server on SQLite compared with one, two and three on PostgreSQL (needs Python, wrk and PostgreSQL)
bench-scale: build
	python3 Tests/Scripts/bench/scale_bench.py --tool .build/release/receipt-bridge

MINUTES ?= 10

## ten minutes (MINUTES=10) of load with changing faults of the App Store (needs Python)
soak: build
	python3 Tests/Scripts/soak/soak.py --tool .build/release/receipt-bridge --minutes $(MINUTES)

ROWS ?= 100000
PAIRS ?=

## 100,000 rows from each kind of source to each kind of result, checked and measured, and the filter compared
## with a migration from file to file (needs Python)
bench-migrate: build
	python3 Tests/Scripts/bench/migration.py --tool .build/release/receipt-bridge --rows $(ROWS) --pairs "$(PAIRS)" $(if $(SMALL),--small)

## 200,000 rows (ROWS=) through PySpark, GNU parallel and one process: the same rows, and their cost (needs
## Python and PyPI; installs a Java runtime and GNU parallel from Debian)
test-spark: build
	Tests/Scripts/bench/spark.sh .build/release/receipt-bridge $(if $(filter command line environment,$(origin ROWS)),$(ROWS),200000)

## regenerates Receipts/ from fixed seeds
receipts: set-up
	RECEIPT_BRIDGE_RECEIPTS=1 $(SWIFT) test --disable-xctest --filter CommittedReceiptsTests/write

## formats the sources
format:
	$(SWIFT) format --in-place --recursive Sources Tests Package.swift

set-up:
	@SWIFT="$(SWIFT)" .ci/set-up

set-up-tests:
	@SWIFT="$(SWIFT)" .ci/set-up python3
