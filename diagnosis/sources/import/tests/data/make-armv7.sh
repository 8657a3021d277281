#!/bin/sh
# Boots Debian's PREEMPT_RT kernel for ARMv7 in counted time (QEMU's -icount), lets trace-cmd record
# cyclictest there, and writes what it recorded to the given folder:
#
#   armv7-v7-zstd-local.dat   version 7, zstd, trace clock `local`
#   armv7-v6-mono.dat         version 6, trace clock `mono`
#   armv7.txt                 `uname -a` there, and what cyclictest said of itself
#
#   make-armv7.sh FOLDER
#
# Nothing is installed: packages are downloaded with a package database of its own and unpacked under
# ${XDG_CACHE_HOME:-$HOME/.cache}/tardy/vm/armv7 (about 400 MB), where later runs find them. Needs
# apt-get, dpkg, cpio or the downloaded one, a network the first time. The guest has a time limit and
# ends before this script does. Ends with 77 where the packages cannot be had. Times in the guest are a count of its instructions, but what the host
# seeds it with is not, so two recordings are alike, not equal.
set -eu
out=$(realpath "${1:?usage: make-armv7.sh FOLDER}")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tardy/vm/armv7
limit_s=900
mkdir -p "$cache" "$out"

apt_of_armhf() {
    apt="$cache/apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : > "$apt/status"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    printf 'deb [signed-by=%s] http://deb.debian.org/debian bookworm main\n' "$key" > "$apt/sources.list"
    command="$1"
    shift
    apt-get -qq -o Dir::State="$apt" -o Dir::State::Lists="$apt/lists" \
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" \
        -o Dir::Cache::archives="$apt/archives" -o Dir::Etc::sourcelist="$apt/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o APT::Architecture=armhf \
        -o APT::Architectures::=armhf -o APT::Sandbox::User=root -o Debug::NoLocking=1 \
        "$command" "$@"
}

# 77, as test programs say that they were skipped.
cannot_be_had() {
    echo "make-armv7: Debian's packages cannot be had here" >&2
    exit 77
}

# The guest's programs and kernel.
if [ ! -e "$cache/guest.done" ]; then
    apt_of_armhf update || cannot_be_had
    apt_of_armhf install --download-only --no-install-recommends -y trace-cmd rt-tests busybox-static ||
        cannot_be_had
    apt_of_armhf install --download-only --no-install-recommends -y linux-image-rt-armmp || cannot_be_had
    rm -rf "$cache/guest"
    mkdir "$cache/guest"
    for package in "$cache"/apt/archives/*.deb; do
        dpkg -x "$package" "$cache/guest"
    done
    touch "$cache/guest.done"
fi
kernel=$(ls "$cache"/guest/boot/vmlinuz-*-rt-armmp | tail -n 1)

# The host's QEMU, where it is not installed.
if [ ! -e "$cache/host.done" ]; then
    rm -rf "$cache/host"
    mkdir -p "$cache/host/archives/partial"
    missing=
    command -v qemu-system-arm > /dev/null || missing="$missing qemu-system-arm"
    command -v cpio > /dev/null || missing="$missing cpio"
    if [ -n "$missing" ]; then
        host_packages() {
            # shellcheck disable=SC2086 # one word a package
            apt-get -qq install --download-only --no-install-recommends -y \
                -o Dir::Cache="$cache/host" -o Dir::Cache::archives="$cache/host/archives" \
                -o APT::Sandbox::User=root -o Debug::NoLocking=1 $missing
        }
        # A machine that was never asked has no lists of packages.
        host_packages || { apt-get -qq update && host_packages; } || cannot_be_had
        for package in "$cache"/host/archives/*.deb; do
            dpkg -x "$package" "$cache/host/root"
        done
    fi
    touch "$cache/host.done"
fi
root="$cache/host/root"
PATH="$PATH:$root/usr/bin:$root/bin"
libraries="$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu"
firmware="$root/usr/share/qemu"
[ -d "$firmware" ] || firmware=/usr/share/qemu

# The guest's first file system.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree="$work/tree"
mkdir -p "$tree/bin" "$tree/lib" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/tmp"
guest="$cache/guest"
cp "$guest/bin/busybox" "$guest/usr/bin/trace-cmd" "$guest/usr/bin/cyclictest" "$tree/bin/"
for library in ld-linux-armhf.so.3 libc.so.6 libzstd.so.1 libtraceevent.so.1 libtracefs.so.1 \
    libnuma.so.1 libpthread.so.0 librt.so.1 libdl.so.2; do
    file=$(find "$guest/lib" "$guest/usr/lib" -name "$library" | head -n 1)
    [ -n "$file" ] && cp -L "$file" "$tree/lib/"
done
cat > "$tree/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mkdir -p /usr/bin /sbin
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing
# The whole would be some MB; these are the timers' functions.
grep -E ' (hrtimer_wakeup|tick_sched_timer|process_timeout|delayed_work_timer_fn|posix_timer_fn|it_real_fn|sched_rt_period_timer|timerfd_tmrproc|idle_worker_timeout|pool_mayday_timeout|poll_spurious_irqs|watchdog_timer_fn|inactive_task_timer|dl_task_timer|napi_watchdog|wake_up_[a-z_]*)$' /proc/kallsyms > /tmp/kallsyms
mount --bind /tmp/kallsyms /proc/kallsyms
cd /tmp
cyclictest -q -m -p 98 -i 1000 -l 300 -t 1 > /dev/null
events="-e sched -e timer -e irq -e raw_syscalls -e power:cpu_idle"
trace-cmd record -q -C local --file-version 7 --compression zstd -o v7.dat $events \
    cyclictest -q -m -p 98 -i 1000 -l 1500 -t 1 > said.txt 2> error7.txt
trace-cmd record -q -C mono --file-version 6 -o v6.dat $events \
    cyclictest -q -m -p 98 -i 1000 -l 40 -t 1 > /dev/null 2> error6.txt
(uname -a; cat said.txt; cat error7.txt error6.txt) > all.txt
stty -onlcr < /dev/console
for file in all.txt v7.dat v6.dat; do
    echo "BEGIN $file"
    base64 $file
    echo "END $file"
done
reboot -f
INIT
chmod +x "$tree/init"
(cd "$tree" && find . | LD_LIBRARY_PATH="$libraries" cpio -o -H newc --quiet) | gzip > "$work/initrd.gz"

LD_LIBRARY_PATH="$libraries" timeout -s KILL "$limit_s" nice qemu-system-arm -L "$firmware" \
    -M virt -cpu cortex-a15 -smp 1 -m 512M -accel tcg,thread=single -icount shift=1,sleep=off \
    -rtc base=2020-01-01T00:00:00,clock=vm -seed 1 -nodefaults -no-user-config \
    -kernel "$kernel" -initrd "$work/initrd.gz" \
    -append "console=ttyAMA0 quiet panic=-1 norandmaps" \
    -nographic -serial stdio -monitor none -no-reboot < /dev/null > "$work/console"

part() {
    tr -d '\r' < "$work/console" | sed -n "/^BEGIN $1\$/,/^END $1\$/p" | sed '1d;$d' | base64 -d
}
if ! grep -q '^END v6.dat' "$work/console"; then
    echo "the guest did not finish; the end of its console:" >&2
    tail -n 20 "$work/console" >&2
    exit 1
fi
part all.txt > "$out/armv7.txt"
part v7.dat > "$out/armv7-v7-zstd-local.dat"
part v6.dat > "$out/armv7-v6-mono.dat"
