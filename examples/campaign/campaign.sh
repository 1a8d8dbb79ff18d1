#!/bin/sh
# Two questions about faults in the digits network. See README.md.
set -eu
count=${COUNT:-2000}
faults="--faults weights,activations --seed 7" # the same seed gives the same faults, anywhere

# 1. How often is the digit another one? 10 % is what this project would put up with.
# With a store, a campaign that was stopped goes on, and a larger COUNT adds to what is there.
tflm-hil campaign digits $faults --count "$count" --store faults.sqlite \
  --json faults.json --html report.html --budget critical=0.1

# 2. The first fault that changed the digit, once more.
number=$(python3 -c '
import json
records = json.load(open("faults.json"))["records"]
print(next(one["id"] for one in records if one["outcome"] == "critical"))')
tflm-hil campaign digits $faults --replay "$number"
