#!/bin/sh
# Fuzzes a target, guided by coverage, with the stable compiler: libFuzzer, which needs a C++ compiler.
#
#   fuzz/run.sh TARGET EXECUTIONS [OPTIONS OF libFuzzer]
#
# New inputs go to fuzz/found/TARGET, where later runs begin; what breaks something goes there too, as
# crash-*, timeout-* or oom-*. `fuzz/run.sh TARGET 1 FILE` runs one input. EXECUTIONS 0: no end.
#
set -eu
target=${1:?usage: fuzz/run.sh TARGET EXECUTIONS [OPTIONS OF libFuzzer]}
executions=${2:?usage: fuzz/run.sh TARGET EXECUTIONS [OPTIONS OF libFuzzer]}
shift 2
cd "$(dirname "$0")/.."
if [ ! -d "fuzz/corpus/$target" ]; then
    echo "there is no target $target; there are: $(ls fuzz/corpus | tr '\n' ' ')" >&2
    exit 2
fi
host=$(rustc -vV | sed -n 's/^host: //p')
# TARDY_FUZZ_FAST=1 leaves out that comparisons are watched, by which libFuzzer finds numbers and words that are looked
# for: twice as many executions, for when those have been found.
if [ -n "${TARDY_FUZZ_FAST:-}" ]; then
    build="${CARGO_TARGET_DIR:-target}/fuzz-fast" compares=
else
    build="${CARGO_TARGET_DIR:-target}/fuzz" compares=-Cllvm-args=-sanitizer-coverage-trace-compares
fi
# What `cargo fuzz` sets, less what needs a nightly compiler. With --target, so that build scripts and
# macros are not instrumented.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    $compares -Ccodegen-units=1" \
    cargo build --quiet --locked --profile fuzz --package tardy-fuzz --features libfuzzer \
    --target "$host" --target-dir "$build"
found="fuzz/found/$target"
mkdir -p "$found"
export TARDY_FUZZ_TARGET="$target"
# What one input took the next one takes again, without the kernel.
export MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TOP_PAD_=16777216
run="$build/$host/fuzz/tardy-fuzz -timeout=10 -rss_limit_mb=2048 -artifact_prefix=$found/"
if [ -f "${1:-}" ]; then
    exec $run "$@"
fi
[ "$executions" = 0 ] && executions=-1
exec $run -runs="$executions" -dict="fuzz/dictionaries/$target.dict" "$@" "$found" "fuzz/corpus/$target"
