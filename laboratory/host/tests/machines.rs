//! Three machines as they are, and with every file in turn missing, empty or garbage.
#![allow(missing_docs)]

mod fixture;

use fixture::Machine;
use std::fs;
use tardy_host::{Ability, State, doctor};

const MACHINES: [&str; 3] = ["firecracker-guest", "debian-rt-pc", "arm-board"];

fn show(name: &str) -> String {
    let host = Machine::new(name).host();
    let facts = serde_json::to_string_pretty(host.facts()).unwrap();
    format!("{}\n\n{}\n{facts}", host.summary(), doctor::render(&host, 100, false))
}

fn state(machine: &Machine, name: &str) -> (State, String) {
    let host = machine.host();
    let check = host.checks().iter().find(|check| check.name == name).expect("a check");
    (check.state, check.value.clone())
}

#[test]
fn a_firecracker_guest() {
    insta::assert_snapshot!(show("firecracker-guest"));
}

#[test]
fn a_pc_with_debians_realtime_kernel() {
    insta::assert_snapshot!(show("debian-rt-pc"));
}

#[test]
fn an_arm_board_with_little_to_tell() {
    insta::assert_snapshot!(show("arm-board"));
}

#[test]
fn json_keeps_its_schema() {
    let json = serde_json::to_value(Machine::new("debian-rt-pc").host()).unwrap();
    assert_eq!(json["schema"], "tardy.doctor/1");
    assert_eq!(json["host"]["cpus"], 4);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["checks"][1]).unwrap());
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["capabilities"][1]).unwrap());
    let facts: tardy_host::Facts = serde_json::from_value(json["host"].clone()).unwrap();
    assert_eq!(&facts, Machine::new("debian-rt-pc").host().facts());
}

#[test]
fn no_file_is_needed_and_none_is_trusted() {
    let garbage: [&[u8]; 8] = [
        b"",
        b"\n\n",
        b"\0\xff\xfe\x80",
        b"-1\n",
        b"99999999999999999999999999 99999999999999999999999 0-4294967295,8191",
        b"\x1f\x8b\x08\x00garbage",
        b"cpu  18446744073709551615 18446744073709551615 1 1 1 1 1 1\nCONFIG_HZ=0\n0\n(none)[x](",
        b"\x1b[2J\x1b]0;title\x07\xe2\x80\xae [always] SwapTotal: x\nCapEff: zz\nflags",
    ];
    for name in MACHINES {
        let mut machine = Machine::new(name);
        let whole = machine.host();
        let count = (whole.checks().len(), whole.capabilities().len());
        for path in machine.files.clone() {
            let content = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            let mut hosts = vec![machine.host()];
            fs::create_dir(&path).unwrap();
            hosts.push(machine.host());
            fs::remove_dir(&path).unwrap();
            for bytes in garbage {
                fs::write(&path, bytes).unwrap();
                hosts.push(machine.host());
            }
            fs::write(&path, &content[..content.len() / 2]).unwrap();
            hosts.push(machine.host());
            fs::write(&path, &content).unwrap();
            for host in hosts {
                assert_eq!((host.checks().len(), host.capabilities().len()), count, "{path:?}");
                let text = format!("{}\n{}", host.summary(), doctor::render(&host, 80, false));
                let steers = text.chars().any(|c| c.is_control() && c != '\n');
                assert!(!steers, "{path:?} steers the terminal:\n{text:?}");
            }
        }
        assert_eq!(machine.host(), whole, "every file is as it was");
        // All of them at once.
        for bytes in garbage {
            for path in machine.files.clone() {
                let path = path.to_str().unwrap().to_owned();
                machine.add(&path, bytes);
            }
            assert_eq!(machine.host().checks().len(), count.0);
        }
    }
}

#[test]
fn the_mode_of_a_dynamic_kernel_is_the_one_it_runs_with() {
    let mut machine = Machine::new("firecracker-guest");
    assert_eq!(state(&machine, "preemption").1, "PREEMPT_DYNAMIC (none)", "what it was built with");
    machine.add("proc/cmdline", b"quiet preempt=voluntary\n");
    assert_eq!(state(&machine, "preemption").1, "PREEMPT_DYNAMIC (voluntary)");
    machine.add("sys/kernel/debug/sched/preempt", b"none voluntary (full) lazy\n");
    assert_eq!(
        state(&machine, "preemption"),
        (State::Notice, "PREEMPT_DYNAMIC (full)".into()),
        "debugfs knows best"
    );
}

#[test]
fn a_held_dma_latency_forbids_deep_states() {
    let mut machine = Machine::new("debian-rt-pc");
    assert_eq!(state(&machine, "idle_states").0, State::Problem);
    machine.add("dev/cpu_dma_latency", &90i32.to_ne_bytes());
    assert_eq!(state(&machine, "idle_states").0, State::Notice, "C6 with 85 µs is left");
    machine.add("dev/cpu_dma_latency", &0i32.to_ne_bytes());
    let (now, value) = state(&machine, "idle_states");
    assert_eq!(now, State::Good);
    assert_eq!(value, "intel_idle/menu: POLL 0, C1E 10 off, C6 85 off, C8 200 off, C10 890 off µs");
}

#[test]
fn rights_are_judged_where_the_kernel_asks_for_them() {
    let can = |machine: &Machine| {
        let host = machine.host();
        [Ability::Live, Ability::Tracefs, Ability::Realtime, Ability::LockMemory]
            .map(|ability| host.can(ability))
    };
    let mut machine = Machine::new("firecracker-guest");
    assert_eq!(can(&machine), [true; 4]);
    machine.add("proc/self/uid_map", b"         0       1000          1\n");
    assert_eq!(can(&machine), [false; 4], "root of a user namespace is nobody");

    let mut machine = Machine::new("firecracker-guest");
    machine.add("sys/fs/cgroup/cpu/cpu.rt_runtime_us", b"0\n");
    assert_eq!(can(&machine), [true, true, false, true], "the group refuses even root");

    let mut machine = Machine::new("firecracker-guest");
    // CAP_BPF, CAP_PERFMON and CAP_SYS_NICE, nothing else.
    machine.add("proc/self/status", b"CapEff:\t000000c000800000\n");
    assert_eq!(can(&machine), [true, false, true, false]);
    machine.add("sys/kernel/security/lockdown", b"none integrity [confidentiality]\n");
    assert_eq!(can(&machine), [false, false, true, false]);
}

#[test]
fn every_check_says_why_in_one_paragraph() {
    for name in MACHINES {
        for check in Machine::new(name).host().checks() {
            assert!(check.why.ends_with('.') && !check.value.is_empty(), "{check:?}");
            let texts = [&check.why].into_iter().chain(&check.changes).chain(&check.fix);
            for text in texts {
                assert!(!text.contains(['\n', '\x1b']) && !text.contains("  "), "{text:?}");
            }
        }
    }
}

#[test]
fn every_refusal_says_why_what_is_lost_and_what_helps() {
    for name in MACHINES {
        for capability in Machine::new(name).host().capabilities() {
            let texts = [&capability.why, &capability.lost, &capability.change];
            assert!(texts.iter().all(|text| text.is_some() != capability.ok), "{capability:?}");
        }
    }
}

#[test]
fn isolated_cpus_need_their_callbacks_offloaded() {
    let mut machine = Machine::new("debian-rt-pc");
    machine.add("sys/devices/system/cpu/nohz_full", b" (null)\n");
    assert_eq!(state(&machine, "isolation").0, State::Good, "2-N are the last two of four");
    machine.add("proc/cmdline", b"isolcpus=2-3 rcu_nocbs=3\n");
    assert_eq!(state(&machine, "isolation").0, State::Notice);
    machine.add("sys/devices/system/cpu/isolated", b"\n");
    assert_eq!(state(&machine, "isolation"), (State::Notice, "none".into()));
    assert_eq!(state(&machine, "irq_affinity").0, State::Good, "no CPU is kept free");
}

#[test]
fn tracefs_is_found_wherever_it_is_mounted() {
    let mut machine = Machine::new("firecracker-guest");
    assert_eq!(state(&machine, "tracefs"), (State::Good, "not mounted; can be".into()));
    machine.add(
        "proc/self/mounts",
        b"tracefs /mnt/closed tracefs rw 0 0\ndebugfs /sys/kernel/debug debugfs rw 0 0\n",
    );
    machine.add("mnt/closed/README", b"");
    assert_eq!(state(&machine, "tracefs").1, "/mnt/closed, not for this user");
    machine.add("sys/kernel/debug/tracing/events/sched/enable", b"0\n");
    assert_eq!(state(&machine, "tracefs"), (State::Good, "/sys/kernel/debug/tracing".into()));
}

#[test]
fn a_guest_is_known_by_its_processor_or_its_firmware() {
    let hypervisor = |machine: &Machine| machine.host().facts().hypervisor.clone();
    // On x86 the processor's flag decides: a cloud's bare machine has the cloud's name in its DMI.
    let mut machine = Machine::new("debian-rt-pc");
    machine.add("sys/class/dmi/id/sys_vendor", b"Google\n");
    assert_eq!(hypervisor(&machine), None);
    machine.add("proc/cpuinfo", b"flags : fpu hypervisor\n");
    assert_eq!(hypervisor(&machine).as_deref(), Some("Google Compute Engine"));
    machine.add("sys/class/dmi/id/sys_vendor", b"Somebody\n");
    assert_eq!(hypervisor(&machine).as_deref(), Some("unknown hypervisor"));

    let mut machine = Machine::new("arm-board");
    machine.add("proc/device-tree/hypervisor/compatible", b"linux,kvm\0");
    assert_eq!(hypervisor(&machine).as_deref(), Some("KVM"));
    machine.add("sys/class/dmi/id/sys_vendor", b"QEMU\n");
    assert_eq!(hypervisor(&machine).as_deref(), Some("QEMU/KVM"));

    let mut machine = Machine::new("arm-board");
    machine.add("sys/class/dmi/id/sys_vendor", b"Amazon EC2\n");
    machine.add("sys/class/dmi/id/product_name", b"c7g.metal\n");
    assert_eq!(hypervisor(&machine), None);
    machine.add("sys/class/dmi/id/product_name", b"c7g.large\n");
    assert_eq!(hypervisor(&machine).as_deref(), Some("Amazon EC2"));
}

#[test]
fn a_program_without_ebpf_says_so_whatever_the_kernel_takes() {
    for name in MACHINES {
        let host = Machine::new(name).host().without_ebpf();
        assert!(!host.can(Ability::Live), "{name}");
        let live = host.capabilities().iter().find(|it| it.name == Ability::Live).unwrap();
        assert_eq!(live.why.as_deref(), Some("This build of tardy has no eBPF."));
        let falls_back = live.lost.as_ref().unwrap().contains("tracefs");
        assert_eq!(falls_back, host.can(Ability::Tracefs), "{name}");
    }
}

#[test]
fn colours_are_all_that_colour_adds() {
    let host = Machine::new("debian-rt-pc").host();
    let mut plain = String::new();
    let coloured = doctor::render(&host, 100, true);
    let mut parts = coloured.split("\x1b[");
    plain.push_str(parts.next().unwrap());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    assert_eq!(plain, doctor::render(&host, 100, false));
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for name in MACHINES {
        let text = doctor::render(&Machine::new(name).host(), 80, false);
        for line in text.lines() {
            let is_one_word = line.split_whitespace().count() <= 2;
            assert!(line.chars().count() <= 80 || is_one_word, "{line}");
        }
    }
}

#[test]
fn this_machine_can_be_probed() {
    let host = tardy_host::Host::probe();
    assert!(host.facts().cpus > 0);
    assert!(!host.facts().release.is_empty());
    assert!(host.summary().starts_with(&host.facts().release));
}
