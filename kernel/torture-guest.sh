# What the guest of kernel/torture runs, by busybox: loads of all kinds, round after round, while switches are flipped,
# a CPU goes and comes, and programs are stopped and made to go on, all at random by a seed. Says a line a round, and
# counts: every sleep that was begun has to be back, or a round does not end and its limit counts it as lost; and none
# may be back before its time, as sleeps whose time is taken and the timer that is moved tell.
#
#   sh torture-guest.sh SEED SECONDS
#
# The last line is `torture: …` with all counts; what the kernel complained of comes before it.

# Without busybox's own programs nothing below does what it says.
for program in cat usleep killall awk timeout; do
    command -v $program >/dev/null || {
        echo "torture: the guest has no $program: tardy vm fetch tools-x86_64"
        exit 1
    }
done

seed=$1
seconds=$2
# A round's work takes some seconds of the guest's time; one that takes so many has lost a sleep.
round_limit=300
policies=/sys/kernel/timer_policy
cpu1=/sys/devices/system/cpu/cpu1/online
go=/tmp/torture-goes-on

# Each loop has numbers of its own: `pick N` sets `picked` to 0 … N − 1.
state=$((seed * 7919 + 12345))
pick() {
    state=$(((state * 1103515245 + 12345) & 0x7fffffff))
    picked=$(((state >> 8) % $1))
}

# usleep of up to $1 ms.
rest() {
    pick "$1"
    usleep $((picked * 1000 + 1000))
}

choose() {
    # shellcheck disable=SC2086 # words on purpose
    set -- $1
    pick $#
    shift "$picked"
    echo "$1"
}

flips() {
    state=$((seed * 104729 + 1))
    count=0
    while [ -e $go ]; do
        pick 6
        case $picked in
        0) switch=defer_nonrt positions='0 1' ;;
        1) switch=defer_rt positions='0 1' ;;
        2) switch=rearm positions='today lazy eager_double' ;;
        3) switch=softirq_expires_next positions='updated stale' ;;
        4) switch=levels positions='0 1' ;;
        5) switch=order positions='off inherit batch' ;;
        esac
        choose "$positions" > /tmp/to
        cat /tmp/to > $policies/$switch || echo "flip of $switch failed"
        count=$((count + 1))
        echo $count > /tmp/flips
        rest 40
    done
}

plugs() {
    state=$((seed * 15485863 + 1))
    count=0
    [ -e $cpu1 ] || return
    while [ -e $go ]; do
        echo 0 > $cpu1
        rest 60
        echo 1 > $cpu1
        count=$((count + 1))
        echo $count > /tmp/plugs
        rest 200
    done
}

# Signals without handlers: sleeps are begun anew for what is left of them.
stops() {
    state=$((seed * 32452843 + 1))
    count=0
    while [ -e $go ]; do
        killall -STOP tardy 2> /tmp/nobody
        rest 5
        killall -CONT tardy 2> /tmp/nobody
        count=$((count + 1))
        echo $count > /tmp/stops
        rest 100
    done
}

# Numbers behind a key in JSON, summed.
sum() {
    grep -o "\"$1\": *[0-9]*" "$2" | awk '{ gsub(/[^0-9]/, "", $NF); all += $NF } END { print all + 0 }'
}

lost=0
early=0
returned=0
moves=0
failed=0
# Runs tardy for at most a round's limit. 143 and 124 are a limit's; nothing else takes so long.
limited() {
    timeout -s KILL $round_limit "$@" > /tmp/out 2> /tmp/err
    status=$?
    case $status in
    0) ;;
    137 | 143 | 124)
        lost=$((lost + 1))
        echo "LOST: $* did not end in $round_limit s"
        ;;
    *)
        failed=$((failed + 1))
        echo "failed ($status): $*: $(tail -n 1 /tmp/err)"
        ;;
    esac
}

: > $go
mkdir -p /tmp
flips &
plugs &
stops &

round=0
while [ "$(cut -d. -f1 /proc/uptime)" -lt "$seconds" ]; do
    round=$((round + 1))
    pick 10
    # Real-time loads leave time to others, also where a kernel that checks itself has one CPU of 125 MIPS.
    case $picked in
    0) load=storm:20,seed=$round ;;
    1) load=timers:12,kind=futex,seed=$round+storm:8,fifo=3 ;;
    2) load=timers:12,kind=timerfd,seed=$round+timers:6,level=2,seed=$round ;;
    3) load=timers:8,kind=posix,seed=$round+timers:3,kind=sleep,fifo=40,seed=$round ;;
    4) load=timers:2,kind=rearm+storm:8 ;;
    5) load=timers:8,level=1+timers:3,level=2,fifo=20+timers:3,level=3,fifo=50 ;;
    6) load=hackbench:1,fds=4+timers:6,level=3 ;;
    7) load=net:2,tcp,rate=500000+timers:6,kind=futex,fifo=10 ;;
    8) load=irq:1,rate=500+mem:1,size=4m,faults+storm:6 ;;
    9) load=disk:1,size=1m,dir=/tmp+cpu:1+storm:6,fifo=2 ;;
    esac
    echo 1 > $policies/sleep_calls
    pick 5
    case $picked in
    0 | 1 | 2)
        limited tardy load "$load" -D 2s --json
        count=$(sum count /tmp/out)
        returned=$((returned + count))
        ;;
    3)
        pick 3
        limited tardy measure sleep -l 150 -r $((50 + picked * 400)) --seed $round --json
        count=$(sum samples /tmp/out)
        returned=$((returned + count))
        hasty=$(sum early /tmp/out)
        early=$((early + hasty))
        [ "$hasty" -eq 0 ] || echo "EARLY: $hasty of $count sleeps of round $round"
        ;;
    4)
        load=staircase:$load
        limited tardy measure staircase -a 0 --timer-levels 3,2,2,1,0 -D 2s --load "${load#staircase:}" --json
        count=$(sum samples /tmp/out)
        returned=$((returned + count))
        ;;
    esac
    i=0
    while [ $i -lt 200 ]; do
        pick 400
        echo $((picked * 1000)) > $policies/rearm_move
        i=$((i + 1))
    done
    moves=$((moves + i))
    echo 0 > $policies/sleep_calls
    echo "round $round: $load: $count back; at $(cut -d' ' -f1 /proc/uptime) s"
done

rm $go
wait
echo 1 > $cpu1 2> /tmp/nobody
echo off > $policies/order
sleep 1
dmesg > dmesg.txt
complaints=$(grep -c -E 'WARNING:|BUG:|ODEBUG|KASAN|INFO: |Oops|stack backtrace|circular|inconsistent|Call Trace' dmesg.txt)
grep -n -E 'WARNING:|BUG:|ODEBUG|KASAN|INFO: |Oops|circular|inconsistent' dmesg.txt | head -n 40
# Of the timer that was moved: moves, expiries, lateness in all and at most, and expiries before their time.
# shellcheck disable=SC2046 # words on purpose
set -- $(cat $policies/rearm_move)
early=$((early + $5))
echo "torture: seed $seed, $(cut -d. -f1 /proc/uptime) s, rounds $round, sleeps back $returned, lost $lost, \
too early $early, failed $failed, timer moves $moves (expired $2), flips $(cat /tmp/flips), CPU out and in $(cat /tmp/plugs 2> /tmp/nobody), \
stops $(cat /tmp/stops), complaints $complaints"
[ "$lost" -eq 0 ] && [ "$early" -eq 0 ] && [ "$complaints" -eq 0 ]
