#!/bin/sh
# Fuzz the native scanner for a minute, or with another limit of libFuzzer, with the vectors as seeds:
#
#   sh native/fuzz/run.sh [-max_total_time=SECONDS | -runs=NUMBER] [-max_len=BYTES]
#
# It needs cargo and a C++ compiler (libFuzzer is C++), no nightly and no cargo-fuzz; `cargo fuzz run records` works too.
# Failing inputs are in target/found; `target/*/release/records FILE` reads one of them again.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- -max_total_time=60
host=$(rustc -vV | sed -n 's/^host: //p')
found=${CARGO_TARGET_DIR:-target}/found
seeds=${CARGO_TARGET_DIR:-target}/seeds

# The flags of cargo-fuzz for `--sanitizer none`: coverage of branches, which the stable compiler supports.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 ${RUSTFLAGS:-}" \
  cargo build --quiet --release --target "$host"

mkdir -p "$found" "$seeds"
number=0
for name in $(grep -o 'name: "[^"]*"' ../src/dialects.rs | cut -d'"' -f2); do # in the order of DIALECTS: the first byte of a seed is the index
  for log in ../../tests/vectors/"$name"/*.log; do
    { printf "\\$(printf %03o $number)\\177"; cat "$log"; } > "$seeds/$name-$(basename "$log")"
  done
  number=$((number + 1))
done

log=$found/log
if ! "${CARGO_TARGET_DIR:-target}/$host/release/records" -max_len=8192 "$@" -timeout=60 -rss_limit_mb=1024 \
  -print_final_stats=1 -dict=words.dict -artifact_prefix="$found/" "$seeds" > "$log" 2>&1; then
  tail -n 60 "$log" >&2
  exit 1
fi
sed -n 's/^stat::/fuzz: /p' "$log"
