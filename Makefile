.DEFAULT_GOAL := help

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# For all that is compiled here, so that builds, linters and tests compile no package twice.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# What a binary is made of: the files of its module that are not tests or prose. Folders are among them, because a
# folder's time changes when a file in it is deleted.
unbuilt := -name .git -o -name bin -o -name .hiregate -o -name .ci -o -name testdata -o -name docs -o -name deploy -o -name tools -o -name scripts -o -name dist
files    = -mindepth 1 \( $(unbuilt) $(1) \) -prune -o ! -name '*_test.go' ! -name '*.md' ! -name '.*' ! -name Makefile -print
hiregate_sources     := $(shell find . $(call files,-o -name temporal-dev -o -name s3-dev -o -name dex-dev -o -name bench -o -name powercut))
temporal_dev_sources := $(shell find cmd/temporal-dev $(call files,))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build, then run everything on this machine, data in ./.hiregate; flags with ARGS="--reset --http 8081"
	@bin/hiregate dev $(ARGS)

.PHONY: build
build: bin/hiregate bin/temporal-dev ## build bin/hiregate and bin/temporal-dev

bin/hiregate: $(hiregate_sources) scripts/build.sh
	@scripts/build.sh "the gateway" $@ cmd/hiregate "-X github.com/hiregate/hiregate/internal/version.Version=$(VERSION)"

# For the tests that kill the gateway at named moments (internal/failpoint).
bin/hiregate-failpoints: $(hiregate_sources) scripts/build.sh
	@scripts/build.sh "the gateway with failpoints, for tests" $@ cmd/hiregate "" -tags failpoints

# For the test of a rolling upgrade: the gateway of the commit from which one has to work.
former := e0246018
bin/hiregate-former: Makefile scripts/former.sh
	@scripts/former.sh $(former) $@

bin/temporal-dev: $(temporal_dev_sources) scripts/build.sh
	@scripts/build.sh "a Temporal server with its UI" $@ cmd/temporal-dev "-X main.version=$(VERSION)"

# An S3 server, for the tests of documents in a bucket. It need not be fast: unoptimized, it compiles in two thirds of the time.
bin/s3-dev: $(wildcard cmd/s3-dev/*) scripts/build.sh
	@scripts/build.sh "an S3 server, for tests" $@ cmd/s3-dev "-s -w" '-gcflags=github.com/...=-N -l'

# An OpenID provider, for the tests of the gate and of sign-in.
bin/dex-dev: $(wildcard cmd/dex-dev/*) scripts/build.sh
	@scripts/build.sh "dex, for tests" $@ cmd/dex-dev "-s -w"

.PHONY: deps
deps: ## install what the tests need besides Go, gcc, make, git and Node
	@scripts/deps.sh

.PHONY: test
# No value of ours is in SQLite, which is C that was translated to Go, or in Argon2, which reads all of its memory: -race took a third
# and half of the processor time of their tests. A package can be left out that has no copies of generic functions, because those
# would serve all others and hide their synchronization: modernc.org/sqlite and modernc.org/libc have some.
unwatched := -gcflags=modernc.org/...=-d=checkptr=0 '-gcflags=modernc.org/sqlite/lib=-d=checkptr=0 -race=false' \
	-gcflags=golang.org/x/crypto/argon2=-race=false
test: export HIREGATE_BIN := $(CURDIR)/bin/hiregate
test: export HIREGATE_FAILPOINTS_BIN := $(CURDIR)/bin/hiregate-failpoints
test: export HIREGATE_FORMER_BIN := $(CURDIR)/bin/hiregate-former
test: export TEMPORAL_DEV_BIN := $(CURDIR)/bin/temporal-dev
test: export S3_DEV_BIN := $(CURDIR)/bin/s3-dev
test: export DEX_DEV_BIN := $(CURDIR)/bin/dex-dev
# Otherwise each process with the race detector sleeps for a second when it ends.
test: export GORACE := atexit_sleep_ms=50
test: deps build bin/hiregate-failpoints bin/hiregate-former bin/s3-dev bin/dex-dev bin/tools ## run every test; each that failed runs again, alone
	@echo "Testing cmd/temporal-dev, cmd/release and deploy/kubernetes"
	@export CGO_ENABLED=0; cd cmd/temporal-dev; ../../scripts/gotest.sh ./... -timeout 5m $(TESTFLAGS); \
		cd ../release; ../../scripts/gotest.sh ./... -timeout 20m $(TESTFLAGS); \
		cd ../../deploy/kubernetes; ../../scripts/gotest.sh ./... -timeout 5m $(TESTFLAGS)
	@echo "Testing internal/schedules" # not again where one fails: another order of goroutines may hide it
	@TMPDIR=$$(scripts/testfolder.sh) CGO_ENABLED=0 go test ./internal/schedules -vet=off -timeout 20m $(TESTFLAGS)
	@echo "Testing internal/e2e, and beside it all else with the race detector, what takes long first"
	@export GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=$$(scripts/testfolder.sh); \
		CGO_ENABLED=0 scripts/gotest.sh ./internal/e2e -timeout 30m $(TESTFLAGS) & e2e=$$!; \
		scripts/gotest.sh "$$(go list ./workflows/export ./workflows/dispatch ./modules/... ./... | grep -v /internal/e2e$$)" \
			-race $(unwatched) -p 2 -timeout 20m $(TESTFLAGS) || failed=1; \
		wait $$e2e && [[ -z $${failed:-} ]]

.PHONY: schedules
schedules: ## try random schedules: how many with N=10000, from which seed on with SEED=1
	@TMPDIR=$$(scripts/testfolder.sh) CGO_ENABLED=0 go test ./internal/schedules -vet=off -count=1 -timeout 0 -v \
		-schedules $(or $(N),1000) -seed $(or $(SEED),$$(date +%s))

.PHONY: kills
kills: build bin/hiregate-failpoints bin/s3-dev ## kill gateways at each step and at random, on each database: how often with N=100
	@TMPDIR=$$(scripts/testfolder.sh) CGO_ENABLED=0 go test ./internal/e2e -vet=off -count=$(or $(N),10) -timeout 0 -v \
		-run 'TestKilled(AtEachStepOfAGroup|InABurst)$$' -everywhere

.PHONY: bitflips
bitflips: bin/s3-dev ## flip bits of what is stored, one at a time: how many of each kind with N=500, from which seed on with SEED=1
	@TMPDIR=$$(scripts/testfolder.sh) CGO_ENABLED=0 S3_DEV_BIN=$(CURDIR)/bin/s3-dev go test ./internal/schedules ./internal/documents \
		-vet=off -count=1 -timeout 0 -v -run 'TestBitflips$$' -bitflips $(or $(N),500) -seed $(or $(SEED),1)

# What make check tests: packages whose tests need no server, no binary of ours and no other program, and take seconds. The few
# tests in them that do need one are left out by name; go test wants the names of subtests last.
checked := ./cmd/hiregate ./schemas ./modules/documents ./modules/listener ./modules/receiver \
	$(addprefix ./internal/,compliance config egress fairpool filetype gateway model hropen identity bodies inbox jsonstream layers \
	metrics password retention sample trigger vault webhook)
unchecked := OpenSSL|TestVerifyOnTheWire|TestExportOnTheWire|TestAbsentHeadersAreNotInvented|/^postgres$$

.PHONY: check
check: lint ## run before a commit, three minutes: lint, and the tests that need nothing but Go and a C compiler
	@echo "Testing what needs no server, with the race detector"
	@TMPDIR=$$(scripts/testfolder.sh) scripts/gotest.sh "$(checked)" -race $(unwatched) -timeout 5m -skip '$(unchecked)' $(TESTFLAGS)

# The linters, gotestsum and oapi-codegen, in the versions that tools/go.mod names.
bin/tools: tools/go.mod tools/go.sum
	@echo "Building the linters, gotestsum and oapi-codegen"
	@GOBIN=$(CURDIR)/$@ go -C tools install tool
	@touch $@

# Without C, as the build does it, so that both compile the same packages. staticcheck leaves cmd/temporal-dev out: it would
# analyse the whole Temporal server, for minutes, to look at a handful of files.
.PHONY: lint
lint: export CGO_ENABLED := 0
lint: bin/tools ## gofmt, go vet, staticcheck, workflowcheck
	@echo "gofmt"
	@unformatted=$$(gofmt -l .); if [[ -n $$unformatted ]]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@echo "go vet"
	@go vet ./...
	@go -C cmd/temporal-dev vet ./...
	@go -C cmd/s3-dev vet ./...
	@go -C cmd/dex-dev vet ./...
	@go -C cmd/bench vet ./...
	@go -C cmd/release vet ./...
	@go -C cmd/powercut vet ./...
	@go -C deploy/kubernetes vet ./...
	@echo "staticcheck"
	@bin/tools/staticcheck ./...
	@cd cmd/bench && ../../bin/tools/staticcheck ./...
	@cd cmd/release && ../../bin/tools/staticcheck ./...
	@echo "workflowcheck"
	@bin/tools/workflowcheck ./workflows/...

.PHONY: release
release: ## write dist/: archives, packages, images, their components and checksums; one target with ARGS="-only linux/amd64"
	@CGO_ENABLED=0 go -C cmd/release build -buildvcs=false -o $(CURDIR)/bin/release .
	@bin/release $(ARGS)

# What compiles on Linux compiles elsewhere, but for these packages: internal/platform has a test of that.
.PHONY: portable
portable: export CGO_ENABLED := 0
portable: ## compile the packages that have files of their own for an operating system, for each of them
	@for target in linux/arm64 darwin/arm64 windows/amd64; do \
		echo "$$target"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} go vet ./internal/platform ./internal/filelock; \
	done

.PHONY: bench
bench: build bin/s3-dev ## measure the gateway and a bare Caddy; flags with ARGS="-rounds 1", one scenario with SCENARIO=burst
	@CGO_ENABLED=0 go -C cmd/bench build -buildvcs=false -o $(CURDIR)/bin/bench .
	@bin/bench -temporal-dev bin/temporal-dev -s3-dev bin/s3-dev $(if $(SCENARIO),-scenario $(SCENARIO)) $(ARGS)

.PHONY: powercut
powercut: build ## cut the power of a gateway under load, as root, with FUSE and loop devices; how often with N=30, SEED=1; with DATABASE=postgres
	@CGO_ENABLED=0 go -C cmd/powercut build -buildvcs=false -o $(CURDIR)/bin/powercut .
	@bin/powercut -cuts $(or $(N),30) -seed $(or $(SEED),1) $(if $(filter postgres,$(DATABASE)),-postgres)

.PHONY: clean
clean: ## remove what was built; keep the data in ./.hiregate
	@rm -rf bin
