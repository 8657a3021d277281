//! What is changed of a kernel's CPUs, in one that has cpusets as they are now, and two CPUs.

use super::cpus::Left;

/// A trial is killed while a process is alone on its CPU: whatever that took is given back.
#[test]
fn an_isolated_partition_is_taken_back_from_whom_is_killed() {
    let script = "
        mount -t cgroup2 none /sys/fs/cgroup
        state() {
            ls -d /sys/fs/cgroup/tardy-isolated 2> /dev/null || echo none
            cat /sys/fs/cgroup/cgroup.subtree_control /sys/devices/virtual/workqueue/cpumask
            taskset -p $1
            cat /proc/$1/cgroup
        }
        sh -c 'while :; do sleep 0.002; done' & late=$!
        taskset -p 1 $late > /dev/null
        state $late > before
        tardy verify --quiet --change isolate=1 -p $late --rounds 256 --block 200ms & tardy=$!
        until grep -q tardy-isolated /proc/$late/cgroup; do sleep 0.02; done
        state $late > within
        cat /sys/fs/cgroup/tardy-isolated/cpuset.cpus.partition > partition
        kill -9 $tardy
        tardy undo > undone
        state $late > after";
    let kernels = ["small", "policies", "policies-debug"];
    let Some(left) = Left::by(&kernels, &["--cpus", "2"], script) else { return };
    let [before, within, after] = ["before", "within", "after"].map(|name| left.text(name));
    assert!(before.starts_with("none\n") && before.contains("mask: 1"), "{before}");
    assert_eq!(left.text("partition"), "isolated\n");
    assert!(within.contains("cpuset") && within.contains("mask: 2"), "{within}");
    assert_eq!(before, after, "{}", left.text("undone"));
}
