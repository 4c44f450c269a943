#!/usr/bin/env bash
# promtool's word on the metrics' names and on examples/monitoring: the alerts
# are rules, fire when their test wants it and only then, and the dashboard's
# queries can be asked.
# promtool is taken from the path or, on Debian and its like, out of the package
# prometheus, which is unpacked under test/.cache and not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${TWG_TEST_CACHE:-$PWD/test/.cache}/promtool

find_promtool() {
  command -v promtool && return
  if [ ! -x "$cache/usr/bin/promtool" ]; then
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || {
      echo "This needs promtool, which is a part of Prometheus; put it into the path." >&2
      return 1
    }
    mkdir -p "$cache"
    (cd "$cache" && rm -f prometheus_*.deb && apt-get download -qq prometheus >&2 && dpkg -x prometheus_*.deb . && rm -f prometheus_*.deb)
  fi
  echo "$cache/usr/bin/promtool"
}

promtool=$(find_promtool)
"$promtool" check metrics <host/admin/metrics/testdata/metrics.txt
"$promtool" check config examples/monitoring/prometheus.yml
"$promtool" test rules examples/monitoring/alerts_test.yml
queries=$(mktemp)
trap 'rm -f "$queries"' EXIT
go run ./test/monitoring examples/monitoring/dashboard.json >"$queries"
"$promtool" check rules "$queries"
