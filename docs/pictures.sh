#!/bin/sh
# Draws the pictures of the documentation: each by one command that anybody can run.
#   docs/pictures.sh [FANTAIL [FOLDER]]
# A test compares what it draws with what is committed.
set -eu
fantail=${1:-fantail}
folder=${2:-$(dirname "$0")/pictures}
mkdir -p "$folder"

draw() {
    picture=$folder/$1.svg
    shift
    "$fantail" predict --plot "$picture" "$@" >/dev/null
}

call=lognormal:median=1s,sigma=0.6
draw density    -n 1 --latency $call --view pdf
draw averages   -n 1 --latency lognormal:median=1s,sigma=1 --view pdf
draw returned   -n 1 --latency $call --view cdf
draw slowest    --latency $call --sweep n=1..1000:4 --view cdf
draw growth     --latency $call --sweep n=1..1000:60
draw barriers   --latency $call --sweep n=1..1000:300 --strategy all --strategy share:95% --strategy share:50%
draw hedging    --latency $call --sweep n=1..1000:60 --strategy all --strategy hedge:p95 --strategy race:2
draw tail       -n 8 --latency $call --strategy all --strategy first:5 --strategy hedge:p95 --strategy race:2
draw verdicts   -n 5 --required 3 --latency p50=0.8s,p95=1.5s,p99=2.4s --sweep deadline=0.5s..5s:120
