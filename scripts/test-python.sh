#!/bin/sh
# Builds the Python package, installs it in a virtual environment under target/, and tests it there;
# then has that environment's DuckDB read what `tardy export` writes, Perfetto's own classes check the
# traces that the exporter writes, and a second reader of traces check what `tardy explain` says of them.
#
#   scripts/test-python.sh [arguments for pytest]
#
# What it needs it takes from PyPI, by hash (timers/python/requirements-test.txt), the first time and
# when that file changes.
set -eu

# rustup's own place, for a shell that was started before rustup came.
PATH=$PATH:${HOME:-}/.cargo/bin
export PATH

root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/timers/python
mkdir -p "${CARGO_TARGET_DIR:-$root/target}"
target=$(cd "${CARGO_TARGET_DIR:-$root/target}" && pwd)
environment=$target/python-venv
python=$environment/bin/python

if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: there is no python3, so the Python package is not tested"
    exit 0
fi

# A new Python, or a checkout that was moved, needs a new environment.
wanted="$(python3 -c 'import sys; print(sys.version, sys.prefix)') $environment
$(cat "$here/requirements-test.txt")"
if [ ! -x "$python" ] || [ "$(cat "$environment/made-for" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$environment"
    if ! python3 -m venv "$environment"; then
        rm -rf "$environment"
        echo "test-python: python3 has no venv; Debian has it in the package python3-venv" >&2
        exit 1
    fi
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        -r "$here/requirements-test.txt"
    printf '%s\n' "$wanted" >"$environment/made-for"
fi

# A target folder of its own: extension modules are built with other settings than cargo's, and the
# two would undo each other's work.
wheels=$target/python-wheels
rm -rf "$wheels"
PATH=$environment/bin:$PATH maturin build --quiet --locked --profile dev \
    --manifest-path "$here/Cargo.toml" --target-dir "$target/python" --interpreter "$python" \
    --out "$wheels"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index \
    --force-reinstall "$wheels"/tardy_rt-*.whl

example() {
    cargo run --quiet --locked --manifest-path "$root/Cargo.toml" --target-dir "$target" "$@"
}
example -p tardy-perfetto --example schema >"$target/perfetto-schema.txt"
example -p tardy-export --example perfetto_sample "$target/perfetto-sample.pftrace"
"$python" "$root/diagnosis/perfetto/tests/official/check_perfetto.py" \
    "$target/perfetto-schema.txt" "$target/perfetto-sample.pftrace"

cd "$target"
"$python" -m mypy --config-file "$here/pyproject.toml" --cache-dir "$target/mypy" -p tardy
"$python" -m mypy.stubtest --mypy-config-file "$here/pyproject.toml" tardy
# From elsewhere, so that what is tested is what was installed.
cd "$here/tests"
TARDY_WHEELS=$wheels
export TARDY_WHEELS
"$python" -m pytest -p no:cacheprovider -c "$here/pyproject.toml" --rootdir "$here/tests" "$@" .

# Elsewhere that test is skipped where there is no DuckDB; here it must be.
PATH=$environment/bin:$PATH TARDY_TEST_DUCKDB=must \
    cargo test --quiet --locked --manifest-path "$root/Cargo.toml" -p tardy --test export duckdb

# The second reader first holds itself against traces whose truth is known, then tardy against itself.
# TARDY_TEST_TRACES names more traces, with colons between.
cargo build --quiet --locked --manifest-path "$root/Cargo.toml" --target-dir "$target" -p tardy
cd "$root/diagnosis/explain/tests/second_reader"
"$python" -m mypy --strict --cache-dir "$target/mypy" check.py test_*.py
TARDY_BIN=$target/debug/tardy "$python" -m pytest -p no:cacheprovider -c "$here/pyproject.toml" --rootdir . .
