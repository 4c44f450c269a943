#!/usr/bin/env bash
# What "make test" runs: everything that shows that twg works, on a machine
# that has Go and nothing else. What it sets up lies in test/.cache.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (%s s so far)\n' "$1" "$SECONDS"; }

root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# A virtual environment can only be made where Python has pip to put into it.
set_up_python() {
  if python3 -c 'import ensurepip, venv' 2>/dev/null; then return; fi
  step "Python 3 with venv, by apt-get"
  root apt-get update -qq
  root apt-get install -y -qq --no-install-recommends python3 python3-venv
}

# A real Kafka is a Java program that Maven fetches; a real PostgreSQL is the
# distribution's.
set_up_services() {
  local missing=()
  command -v java >/dev/null || missing+=(default-jre-headless)
  command -v mvn >/dev/null || missing+=(maven)
  command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
  [ ${#missing[@]} = 0 ] && return
  step "${missing[*]}, by apt-get"
  root apt-get update -qq
  root apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

command -v go >/dev/null || { echo "make test needs Go, https://go.dev/dl" >&2; exit 1; }
set_up_python
set_up_services
mkdir -p test/.cache
export TWG_TEST_CACHE=$PWD/test/.cache

step "Layout"
unformatted=$(gofmt -l $(git ls-files '*.go'))
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
go test -race -timeout 10m ./host/... ./sdk/... ./internal/wire/...

step "The other tests, pyarrow and DuckDB among them"
go test -timeout 10m $(go list ./... | grep -vE '/twg/(host|sdk|internal/wire)(/|$)')

# One package after the other: each has a broker or a database of its own.
step "Tests against a real Kafka and a real PostgreSQL"
go test -tags services -p 1 -timeout 15m $(git grep -l '^//go:build services$' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')

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

step "Random schedules must find builds with a flaw"
caught() { # tag, what the schedules then say
  local said
  said=$(go test -tags "mutant_$1" ./host/pipeline -run RandomRawFirst -schedules 100 2>&1 || true)
  grep -q "$2" <<<"$said" || { echo "$said" | tail -5; echo "mutant $1 was not caught"; exit 1; }
  echo "mutant $1 caught: $2"
}
caught no_live_floor 'above the live floor'
caught cover_before_receipt 'INV8: lane'

printf '\nAll of it passed, in %s s.\n' "$SECONDS"
