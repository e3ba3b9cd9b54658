#!/bin/sh
# Prints the table of docs/simulate.md: p99 at ten servers, by load, of no copies, copies at the p95 of service, and two at once.
# Usage: docs/hedging-under-load.sh target/release/fantail
set -eu
fantail=$1
file=$(mktemp)
trap 'rm -f "$file"' EXIT

p99() {                                          # load, cancellation, share of the branch
    cat > "$file" <<EOF
[scenario]
arrivals = "$1/s"
shares = { branch = "$3" }
[scenario.server.pool]
replicas = 10
slots = 1
cancellation = "$2"
[plan.none.branch.call]
latency = "lognormal:median=606.530659ms,sigma=1"
[plan.p95]
hedge = { after = "p95", extra = "100%", burst = 1000000 }
[plan.p95.branch.call]
latency = "lognormal:median=606.530659ms,sigma=1"
repeatable = true
[plan.race]
hedge = { race = 2 }
[plan.race.branch.call]
latency = "lognormal:median=606.530659ms,sigma=1"
repeatable = true
EOF
    "$fantail" simulate "$file" -j 3e5 --seed 7 -p p99 -f csv 2>/dev/null |
        awk -F, 'NR == 1 { next } { printf " %.1f |", $6 }' || true
}

echo "| load | none | at p95 | two at once | at p95, never cancelled | at p95, identical |"
echo "|---|---|---|---|---|---|"
for load in 2 3 4 5 6 7 8; do
    at_once=$(p99 $load "at once" "0%")
    never=$(p99 $load never "0%" | cut -d'|' -f2)
    identical=$(p99 $load "at once" "100%" | cut -d'|' -f2)
    echo "| $load of 10 |$at_once$never|$identical|"
done
