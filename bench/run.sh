#!/bin/sh
# run.sh - all benchmarks: figures, each with a ratio to a limit or a peer measured in the same run.
cd "$(dirname "$0")/.." || exit 2
python3 bench/compile.py && python3 bench/graphs.py && exec python3 bench/read.py
