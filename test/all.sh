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

command -v go >/dev/null || { echo "make test needs Go, https://go.dev/dl" >&2; exit 1; }
set_up_python
mkdir -p test/.cache
export TWG_TEST_CACHE=$PWD/test/.cache

step "Layout"
unformatted=$(gofmt -l $(git ls-files '*.go'))
[ -z "$unformatted" ] || { echo "not formatted; run make fmt: $unformatted" >&2; exit 1; }

step "Build"
make build

step "Vet"
go vet ./...

# The fuzz targets' seeds run with the tests.
step "Tests with the race detector: host, sdk, wire"
go test -race -timeout 10m ./host/... ./sdk/... ./internal/wire/...

step "The other tests, pyarrow and DuckDB among them"
go test -timeout 10m $(go list ./... | grep -vE '/twg/(host|sdk|internal/wire)(/|$)')

step "make run"
make run | tee test/.cache/run.txt
grep -qx 'delivered 1707 records' test/.cache/run.txt

step "make faults, a short one"
make faults KILLS=10 SEED="${SEED:-7}"

step "make faults must find builds with a flaw"
make faults MUTANT=all SEED="${SEED:-7}"

printf '\nAll of it passed, in %s s.\n' "$SECONDS"
