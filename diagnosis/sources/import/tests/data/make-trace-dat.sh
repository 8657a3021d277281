#!/bin/sh
# Makes the small recordings of this machine that the tests read, each with what `trace-cmd report`
# says of it: how many of each event, and when the first and the last sched_switch was.
#
#   v6-mono.dat v7-zstd-local.dat    and .counts beside each
#
#   make-trace-dat.sh FOLDER
#
# Needs root, trace-cmd, cyclictest. (A version 7 file compressed by zlib is made by the tests: Debian's
# trace-cmd cannot write one. The ARMv7 files are made by make-armv7.sh; `--counts FILE` makes what
# stands beside them.)
set -eu
here=$(dirname "$(realpath "$0")")

counts() {
    trace-cmd report -t "$1" 2> /dev/null | awk '
        match($0, / [0-9]+\.[0-9]+: [a-z_0-9]+: /) {
            split(substr($0, RSTART, RLENGTH), word, /[ :]+/)
            count[word[3]]++
            if (word[3] != "sched_switch") next
            if (!first) first = word[2]
            last = word[2]
        }
        END {
            print "first", first
            print "last", last
            for (name in count) print name, count[name]
        }' | sort
}
if [ "$1" = --counts ]; then
    counts "$2"
    exit
fi
out=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
grep -E ' (hrtimer_wakeup|tick_nohz_handler|tick_sched_timer|process_timeout|delayed_work_timer_fn|posix_timer_fn|it_real_fn|timerfd_tmrproc|watchdog_timer_fn|wb_workfn|vmstat_update)$' \
    /proc/kallsyms > "$scratch/kallsyms"
printf '1 init\n2 kthreadd\n4194303 long gone\n' > "$scratch/cmdlines"
# What else runs meanwhile is in the file too: again until it is small.
record() {
    file=$1
    shift
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sh "$here/record-apart.sh" --kallsyms "$scratch/kallsyms" --cmdlines "$scratch/cmdlines" -q \
            -e sched:sched_switch -e sched:sched_waking -e sched:sched_wakeup_new \
            -e sched:sched_migrate_task -e sched:sched_stat_runtime -e timer -e irq \
            -e irq_vectors:local_timer_entry -e irq_vectors:local_timer_exit \
            -e raw_syscalls -f 'comm == "cyclictest"' \
            -e power:cpu_idle -e workqueue:workqueue_execute_start \
            -e workqueue:workqueue_execute_end -o "$file" "$@" > /dev/null 2>&1
        [ "$(stat -c %s "$file")" -gt 120000 ] || return 0
    done
    echo "$file is large: something else is busy here" >&2
}
record "$out/v6-mono.dat" -C mono --file-version 6 cyclictest -q -p 80 -i 1000 -l 8 -t 1
record "$out/v7-zstd-local.dat" -C local --file-version 7 --compression zstd \
    cyclictest -q -p 80 -i 1000 -l 60 -t 2
for name in v6-mono v7-zstd-local; do
    counts "$out/$name.dat" > "$out/$name.counts"
done
