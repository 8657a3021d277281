# From a fresh Debian 12 with Rust to a first answer: make run

# rustup's own place, for a shell that was started before rustup came.
export PATH := $(PATH):$(HOME)/.cargo/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
ARGS ?=

.PHONY: help run vm kernel kernel-torture test test-kernels faults soak bench clean
.DEFAULT_GOAL := help

help:
	@echo 'make run     install what is missing, build, and find out why threads are late here'
	@echo '             (make run ARGS="--load storm:40"; as root it sees most)'
	@echo 'make vm      kernels and programs for guests in counted time: downloads half a GB and'
	@echo '             compiles a kernel, some minutes; nothing is installed but what that needs'
	@echo 'make kernel  a kernel with switches between timer policies (kernel/), and what deferring the timers'
	@echo '             of 40 sleeping threads is worth on it: compiles for some minutes'
	@echo 'make kernel-torture  all loads in such a kernel that checks itself, its switches flipped at random: an hour'
	@echo '             of the time of a guest (ARGS="policies-kasan 600 2": kernel, seconds, seed)'
	@echo 'make test    format, lints and all tests'
	@echo 'make test-kernels  tardy run on Debian'"'"'s kernels from 5.10 to the newest, x86-64 and arm64, in guests:'
	@echo '             downloads 0.8 GB the first time, then some minutes; prints what works on which'
	@echo 'make faults  lets system calls of tardy fail one at a time, and kills it at random moments'
	@echo '             (needs strace; as root also for recordings; ARGS="--places 50 --kills 1000": more)'
	@echo 'make soak    tardy watch under loads for six hours, as root: does its memory grow? (ARGS="--hours 0.75")'
	@echo 'make bench   benchmarks, short, as root; they print, they do not judge (bench/README.md)'
	@echo 'make clean   remove what was built; recordings stay'

run:
	@scripts/setup.sh run
	cargo build --release --locked
	$(TARGET)/release/tardy run $(ARGS)

vm:
	@scripts/setup.sh vm
	cargo build --release --locked
	$(TARGET)/release/tardy vm fetch all
	$(TARGET)/release/tardy vm build
	scripts/build-guest.sh

kernel:
	@scripts/setup.sh vm
	cargo build --release --locked
	$(TARGET)/release/tardy vm build policies
	$(TARGET)/release/tardy experiment stacking-policies --rounds 2 --vm --kernel policies $(ARGS)

kernel-torture:
	@scripts/setup.sh vm
	cargo build --release --locked
	$(TARGET)/release/tardy vm build $(or $(firstword $(ARGS)),policies-debug)
	$(TARGET)/release/tardy vm fetch tools-x86_64
	TARDY=$(TARGET)/release/tardy kernel/torture $(ARGS)

test:
	@scripts/setup.sh test
	scripts/setup-test.sh
	scripts/soak-test.py
	scripts/test-rust-test.py
	cargo fmt --all --check
	rustfmt --check $$(git ls-files '*.rs') # registries declare modules where cargo does not look
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo check -p tardy-timers --no-default-features --locked # the core: no clock, no I/O
	cargo check -p tardy --no-default-features --locked # without eBPF
	cargo test --workspace --locked --no-run
	@if [ -n "$$TARDY_TEST_VM" ]; then $(TARGET)/debug/tardy vm build policies || \
		echo 'skipped: no guest with timer policies is booted, as its kernel could not be built'; fi
	scripts/test-rust.py
	@if [ -n "$$TARDY_TEST_VM" ]; then kernel/check; else \
		echo 'skipped: whether kernel/*.patch apply and compile is looked at with TARDY_TEST_VM=1 only'; fi
	scripts/test-python.sh

test-kernels:
	@scripts/setup.sh vm
	cargo build --release --locked
	$(TARGET)/release/tardy vm fetch matrix tools-x86_64 tools-arm64
	scripts/build-guest.sh x86_64 arm64
	TARDY_TEST_KERNELS=all cargo test -p tardy --test vm --locked -- --nocapture each_kernel

faults:
	@scripts/setup.sh test
	cargo build --release --locked
	scripts/faults.py --tardy $(TARGET)/release/tardy $(ARGS)

# Short, to see that they run and what they print; bench/README.md tells of each, --help of longer.
bench:
	@scripts/setup.sh test
	bench/explain.py --events 5000000 --rounds 2
	bench/cyclictest.py --rounds 2 --seconds 3
	bench/measure.py --rounds 1 --seconds 1 --cycles 2000
	bench/pi.py --blocks 2 --rounds 20000
	bench/tracing.py --blocks 2 --seconds 2
	bench/loads.py --rounds 1 --loops 50
	bench/jobs.py audio --groups 2 --seconds 2
	bench/jobs.py outlier --minutes 0.1
	bench/fixes.py --only above --more '--rounds 12 --block 100ms'
	bench/losses.py --rounds 1 --seconds 1 --storms 50,200
	bench/import.py --rounds 1 --seconds 1
	bench/inject.py --seconds 2
	bench/stolen.py --seconds 2
	bench/whatif.py --blocks 1 --seconds 2
	bench/whatif-sims.py --quick
	bench/compare.py --pairs 4 --later 2 --simulated 2
	bench/sim.py --rounds 1 --span 2
	bench/timers.py --rounds 1 --sizes 10,1e3 --ops 50000

# As root.
soak:
	@scripts/setup.sh run
	cargo build --release --locked
	scripts/soak.py --tardy $(TARGET)/release/tardy $(ARGS)

clean:
	cargo clean
