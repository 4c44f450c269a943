#!/usr/bin/env bash
# What "make run" runs: a broker in a process of its own, with a week of real
# earthquakes, and twg, which moves them into Parquet files and ends.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf out/earthquakes out/broker.log
mkdir -p out

bin/twg dev kafka --listen 127.0.0.1:0 \
  --load earthquakes=examples/data/earthquakes.ndjson --key /id --timestamp /properties/time \
  >out/broker.log 2>&1 &
broker=$!
trap 'kill "$broker" 2>/dev/null; wait "$broker" 2>/dev/null || true' EXIT

until address=$(sed -n 's/^kafka broker at //p' out/broker.log) && [ -n "$address" ]; do
  kill -0 "$broker" 2>/dev/null || { cat out/broker.log >&2; exit 1; }
  sleep 0.1
done

echo "A broker with 1707 earthquakes serves at $address." >&2
TWG_BROKERS=$address bin/twg run --until-caught-up examples/hcl/quickstart.hcl
