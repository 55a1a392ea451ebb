#!/usr/bin/env bash
# check.sh FILE [KILOBYTES]: prints what a GIF is like; fails if it is larger than so many kilobytes.
set -euo pipefail

file=${1:?usage: check.sh FILE [KILOBYTES]}
limit=${2:-1000}

PYTHONPATH="$(cd "$(dirname "$0")/.." && pwd)" python3 -m gif_maker "$file"
if [ "$(stat -c %s "$file")" -gt $((limit * 1000)) ]; then
    echo "$file is over $limit kB" >&2
    exit 1
fi
