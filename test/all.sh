#!/usr/bin/env bash
# What "make test" runs: everything that shows that twg works, on a machine
# that has Go and nothing else. What it sets up lies in test/.cache.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%s s so far)\n' "$1" "$SECONDS"; }

# What is missing of what the tests need besides Go: Python that can make a
# virtual environment, which takes pip; a C compiler, without which there is no
# race detector; for a real Kafka Java 17 and Maven; a real PostgreSQL.
missing() {
  python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3 python3-venv
  echo '#include <stdlib.h>' | $(go env CC) -E - >/dev/null 2>&1 || echo gcc libc6-dev
  java_is_new || newest_jre
  command -v mvn >/dev/null || echo maven
  command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || echo postgresql
}

java_is_new() {
  local version
  version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 17 ]
}

# The distribution's default may be older than what Kafka needs.
newest_jre() {
  local name
  for name in openjdk-21-jre-headless openjdk-17-jre-headless; do
    if LC_ALL=C apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]'; then echo "$name"; return; fi
  done
  echo default-jre-headless
}

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

apt_get() { root env DEBIAN_FRONTEND=noninteractive apt-get "$@"; }

set_up() {
  local packages
  packages=$(missing | xargs)
  [ -n "$packages" ] || return 0
  if ! command -v apt-get >/dev/null || { [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; }; then
    echo "make test needs what Debian calls $packages. Install it (here that takes root), and run make test again." >&2
    exit 1
  fi
  step "$packages, by apt-get"
  apt_get update -qq
  packages=$(missing | xargs) # the names of what there is are known only now
  apt_get install -y -qq --no-install-recommends $packages
  packages=$(missing | xargs)
  [ -z "$packages" ] || { echo "apt-get has installed what it has, and still missing is $packages" >&2; exit 1; }
}

command -v go >/dev/null || { echo "make test needs Go, https://go.dev/dl" >&2; exit 1; }
set_up
mkdir -p test/.cache
export TWG_TEST_CACHE=$PWD/test/.cache

step "Layout"
unformatted=$(find . -name '*.go' -not -path './test/.cache/*' -exec gofmt -l {} +)
[ -z "$unformatted" ] || { echo "not formatted; run make fmt: $unformatted" >&2; exit 1; }

step "Build"
make build

step "Vet"
go vet ./...
go vet -tags services ./...

step "Kafka, by mvn"
go run ./test/services/cmd fetch

# The fuzz targets' seeds run with the tests.
step "Tests with the race detector: host, sdk, wire"
go test -race -timeout 20m ./host/... ./sdk/... ./internal/wire/...

step "The other tests, pyarrow and DuckDB among them"
go test -timeout 20m $(go list ./... | grep -vE '/twg/(host|sdk|internal/wire)(/|$)')

step "Alerts and the dashboard, by promtool"
test/monitoring/check.sh

# One package after the other: each has a broker or a database of its own.
step "Tests against a real Kafka and a real PostgreSQL"
go test -tags services -p 1 -timeout 15m $(grep -rl --include='*_test.go' --exclude-dir=.cache '^//go:build services$' . | xargs -n 1 dirname | sort -u)

step "make run"
make run | tee test/.cache/run.txt
grep -qx 'delivered 1707 records' test/.cache/run.txt

step "make faults, a short one"
make faults KILLS=10 SEED="${SEED:-7}"

step "make faults over a real Kafka, two hosts in one group"
make faults KILLS=10 SEED="${SEED:-7}" BROKER=kafka HOSTS=2

step "make faults over a real Kafka into a real PostgreSQL"
make faults KILLS=5 SEED="${SEED:-7}" BROKER=kafka SINK=postgres SLEEPERS=4

step "make faults of a raw-first pipeline, two hosts that recover beside it"
make faults KILLS=10 SEED="${SEED:-7}" TOPOLOGY=raw-first

step "make faults must find builds with a flaw"
make faults MUTANT=all SEED="${SEED:-7}"
make faults MUTANT=all SEED="${SEED:-7}" SINK=postgres
make faults MUTANT=all SEED="${SEED:-7}" TOPOLOGY=raw-first

step "Random schedules and models must find builds with a flaw"
caught() { # mutant, what the tests then say, which tests
  local mutant=$1 word=$2 said
  shift 2
  said=$(go test -tags "services,mutant_$mutant" "$@" 2>&1 || true)
  grep -q "$word" <<<"$said" || { echo "$said" | tail -5; echo "mutant $mutant was not caught"; exit 1; }
  echo "mutant $mutant caught: $word"
}
caught no_live_floor 'above the live floor' ./host/pipeline -run RandomRawFirst -schedules 100
caught cover_before_receipt 'INV8: lane' ./host/pipeline -run RandomRawFirst -schedules 100
caught no_fence 'want an error of kind fenced' ./plugins/postgres/sink -run WindowsAgainstAModel -rapid.shrinktime=1s -rapid.nofailfile

step "100,000 steps of the simulated world"
go test ./host/pipeline -run 'World$' -steps 100000 -timeout 30m

step "The simulated world must find builds with a flaw"
noticed() { # tag, what the world then says
  local said
  said=$(go test -tags "mutant_$1" ./host/pipeline -run 'World$' -steps 300000 -seed 1 -timeout 30m 2>&1 || true)
  grep -q "$2" <<<"$said" || { echo "$said" | tail -5; echo "mutant $1 was not noticed"; exit 1; }
  echo "mutant $1 noticed: $2"
}
noticed commit_on_send 'INV1: h[0-9]* committed'
noticed cover_before_receipt 'INV8: lane'
noticed no_live_floor 'above the live floor'
noticed complete_unread 'a window is complete at'

printf '\nAll of it passed, in %s s.\n' "$SECONDS"
