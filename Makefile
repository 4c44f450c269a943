# The two commands to begin with: make run, make test. All of it works in the
# tree and needs no server.

GO       ?= go
PLUGINS  := file-source kafka-source parquet postgres socket-source

# make faults (empty: the harness's own default) and make bench
KILLS  ?=
SEED   ?= 7
MUTANT ?=
BROKER ?=
SINK   ?=
HOSTS  ?=
SLEEPERS ?=
POSITIONS ?=
TOPOLOGY ?=
WHAT   ?= fast
export ROWS RUNS ONLY PROFILE

.PHONY: build run test faults bench model generate fmt clean

build:
	@mkdir -p bin
	$(GO) build -o bin/twg ./cmd/twg
	@for p in $(PLUGINS); do echo "$(GO) build -o bin/twg-plugin-$$p ./plugins/$$p"; \
	  $(GO) build -o bin/twg-plugin-$$p ./plugins/$$p || exit 1; done

# Real earthquakes from a broker of our own into Parquet files.
run: build
	@examples/quickstart.sh

# Everything that shows that twg works; does its own set-up.
test:
	@test/all.sh

# Kill -9 at seeded moments on real processes; the last line is the verdict.
# MUTANT=commit-on-send, no-fsync or skip-coverage must be caught. BROKER=kafka:
# over a real one, which is restarted too. SINK=postgres: into a real database,
# likewise; MUTANT= commit-on-send, commit-on-write or no-epoch. HOSTS=2: two side by side.
# POSITIONS=store: named partitions, whose position the sink keeps; HOSTS=2: with rivals.
# TOPOLOGY=raw-first: a host that ingests, two that recover, two secondaries; MUTANT=
# no-fence, cover-before-receipt or no-live-floor.
# SLEEPERS=: after how many kills a host sleeps and wakes when another has taken over.
faults:
	@$(GO) run ./test/faults -seed $(SEED) $(if $(KILLS),-kills $(KILLS)) $(if $(MUTANT),-mutant $(MUTANT)) \
	  $(if $(BROKER),-broker $(BROKER)) $(if $(SINK),-sink $(SINK)) $(if $(HOSTS),-hosts $(HOSTS)) \
	  $(if $(POSITIONS),-positions $(POSITIONS)) $(if $(SLEEPERS),-sleepers $(SLEEPERS)) \
	  $(if $(TOPOLOGY),-topology $(TOPOLOGY))

# Speed against a one-process yardstick; ROWS=, RUNS= and ONLY= shorten it.
bench:
	@$(GO) run ./bench

# Every order of events that two hosts and a few faults allow: docs/model. WHAT=
# names other lines: all, recovery/fast, core/pq-2full.
model:
	@command -v spin >/dev/null && command -v gcc >/dev/null || { \
	  root() { if [ "$$(id -u)" = 0 ]; then "$$@"; else sudo "$$@"; fi; }; \
	  root apt-get update -qq && root apt-get install -y -qq --no-install-recommends spin gcc libc6-dev; }
	@docs/model/run.sh $(WHAT)

generate:
	$(GO) generate ./internal/twgpb

fmt:
	gofmt -l -w cmd host internal plugins sdk test bench
	@for f in examples/hcl/*.hcl; do $(GO) run ./cmd/twg fmt $$f || exit 1; done

clean:
	rm -rf bin out bench/out test/.cache docs/model/build
