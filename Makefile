# test and gen run from a clean checkout with Go and make alone; fmt and lint need git, ci also a C compiler
# (for the race detector). FLAGS is added to go test: FLAGS=-v. PKG is what test and test-all test: PKG=./gen.

FLAGS   ?=
PKG     ?= ./...
FUZZTIME ?= 30s
# git status, which go build runs as well, touches .git, and with it go test would not find its last results good any more.
export GIT_OPTIONAL_LOCKS = 0
# With -trimpath what a package compiles to does not depend on where it lies: every checkout, and every module that a test makes,
# finds in the build cache what another one has compiled, the standard library first of all.
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath)
SOURCES = $$(git ls-files -co --exclude-standard '*.go' | grep -v /testdata/)

# internal/test/run runs go test, shows progress and says at the end what did not run and why.
TESTRUN = go run ./internal/test/run

.PHONY: fmt lint test test-rest test-all race size gen bench bench-peers bench-check bench-test prove fuzz cover ci generated counterpart

# fmt formats every source file that is not test data.
fmt:
	gofmt -s -w $(SOURCES)

# lint says what go vet, staticcheck, hookgen vet and gofmt have against the sources.
lint:
	@bad=$$(gofmt -s -l $(SOURCES)); test -z "$$bad" || { echo "not formatted (make fmt):"; echo "$$bad"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go run ./cmd/hookgen vet ./...

# test is what a contributor runs ten times a day: all tests but the long ones (needs.Time). It
# writes what it left out to LEFT.
LEFT ?= .left-out
test:
	@rm -f $(LEFT)
	@LEFT=$(LEFT) $(TESTRUN) -short -p 2 -timeout 20m $(FLAGS) $(PKG)

# test-rest is what the last make test left out: long tests, those that need root, and those that the machine lacked something for.
test-rest:
	@$(TESTRUN) -rest $(LEFT) -p 2 -timeout 20m $(FLAGS)

# test-all is both at once.
test-all:
	@$(TESTRUN) -p 2 -timeout 20m $(FLAGS) $(PKG)

# race is the round with the race detector, in random order, over the packages whose goroutines share state; race.txt says what each shares.
RACEPKG ?= $$(sed -nE 's|^(\./[^ ]+) .*|\1|p' internal/test/run/race.txt)
race:
	@CGO_ENABLED=1 $(TESTRUN) -race -short -shuffle=on -p 2 -timeout 20m $(FLAGS) $(RACEPKG)

# size prints the lines of code by area, and in which column they count; FLAGS="-since main" also what has changed since main.
size:
	@go run ./internal/test/size $(FLAGS)

# gen writes all generated code, and the picture of the daemon's plan.
gen:
	go generate ./...

# bench prints what benchstat reads: FLAGS="-count 10 -bench Turn".
bench:
	go test -run '^$$' -bench . -benchmem $(FLAGS) ./...

# bench-peers measures Grapnel beside hand-written code and its peers, some twelve minutes, and writes docs/performance.md; FLAGS are
# those of bench/yardstick: FLAGS="-only Turn -rounds 3", which writes nothing.
bench-peers:
	cd bench && go run ./yardstick peers $(FLAGS)

# bench-check compares our own allocations, slopes and ratios with the budgets; only counts can fail it.
bench-check:
	cd bench && go run ./yardstick check $(FLAGS)

# bench-test tests the module of the benchmarks: every subject does its work once, and known-bad ones are caught. Then every
# benchmark of the root module runs once.
bench-test:
	cd bench && go generate ./routes && go mod tidy -diff && go vet ./...
	@$(TESTRUN) -C bench $(FLAGS) ./...
	@$(TESTRUN) -short -run '^$$' -bench . -benchtime 1x $$(git grep -l '^func Benchmark' -- '*_test.go' ':!bench' ':!runtime/provider/*/counterpart/*' | xargs -n1 dirname | sort -u | sed 's|^|./|')

# prove runs the gates that block no merge, each in at most fifteen minutes, and writes docs/evidence.md. STALE=1 runs those whose files
# have changed since they passed, ONLY='^kills$$' those whose name matches; FLAGS are those of internal/test/prove.
prove:
	go run ./internal/test/prove $(if $(STALE),-stale) $(if $(ONLY),-only '$(ONLY)') $(FLAGS)

# fuzz runs every fuzz target for FUZZTIME.
fuzz:
	@grep -rlE '^func Fuzz' --include='*_test.go' --exclude-dir=node_modules . | while read -r f; do \
	  for t in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/p' "$$f"); do \
	    echo "$$f $$t"; go test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$f")" || exit 1; \
	  done; done

# counterpart runs the vendors' SDKs beside our adapters: modules of their own, so that nobody
# else gets the SDKs; and a client that a generator makes of docs/openapi.yaml.
counterpart:
	@for m in runtime/provider/openai runtime/provider/anthropic runtime/provider/gemini client; do (cd $$m/counterpart && go mod tidy -diff && go vet ./...) && \
	  $(TESTRUN) -C $$m/counterpart $(FLAGS) ./... || exit 1; done

# cover writes coverage.out and prints the total.
cover:
	go test -p 2 -timeout 15m -coverpkg ./... -coverprofile coverage.out $(FLAGS) ./...
	go tool cover -func coverage.out | tail -n 1

# generated says what go mod tidy and go generate would change.
generated:
	go mod tidy -diff
	go generate ./... && git diff --exit-code -- '*_gen.go' docs/daemon-plan.md
	@new=$$(git ls-files -o --exclude-standard '*_gen.go' docs/daemon-plan.md); test -z "$$new" || { echo "not committed: $$new"; exit 1; }

# test-rest reads what test writes.
.NOTPARALLEL:

# ci is everything that a change must pass.
ci: lint test test-rest generated race
