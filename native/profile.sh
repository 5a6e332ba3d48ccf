#!/bin/sh
# Write target/pgo.profdata, for builds with RUSTFLAGS=-Cprofile-use=FILE (docs/native.md, "Build it"): the native scanner is built with
# counters, and reads the logs of train.py. It needs maturin, and `rustup component add llvm-tools`.
set -eu
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-$PWD/target}
made=$target/profile
host=$(rustc -vV | sed -n 's/^host: //p')

rm -rf "$made"
# With a target the flags do not apply to build scripts and macros. No zig: it cannot link the counters.
RUSTFLAGS="-Cprofile-generate=$made/raw" maturin build --release --locked --target "$host" --out "$made"
python3 -m pip install --quiet --no-deps --target "$made/site" "$made"/*.whl
PYTHONPATH="$made/site" python3 train.py
"$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" merge -o "$target/pgo.profdata" "$made/raw"
echo "$target/pgo.profdata"
