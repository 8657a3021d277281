//! The system calls that are given up (seccomp).
//!
//! Filters see numbers, not what pointers lead to: so `clone3`, whose flags stand in memory, is "not implemented", and
//! C libraries fall back to `clone`, whose flags can be seen. Another architecture's calls end the process: they have
//! other numbers. Those of x32 have this one's with a bit set, and are refused.

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A file of a stranger's, perhaps by way of a program.
    Reads { starts_programs: bool },
    /// Events.
    Records,
    /// Events, and keeps a command that it ends.
    Watches,
    /// What others have recorded.
    Shows,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filter {
    use super::Role;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter, sock_filter,
    };
    use std::collections::BTreeMap;

    /// Calls that reading a file and writing results have no use for.
    const REFUSED: [i64; 63] = [
        libc::SYS_socket,
        libc::SYS_ptrace,
        libc::SYS_kcmp,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_process_mrelease,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
        libc::SYS_pidfd_getfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_quotactl,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        libc::SYS_mknodat,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_vhangup,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_acct,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        // Memory, messages and locks of other processes, by number or name.
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_mq_timedsend,
        libc::SYS_mq_timedreceive,
        libc::SYS_mq_notify,
    ];

    /// Of those, what recording takes.
    const OF_RECORDERS: [i64; 2] = [libc::SYS_bpf, libc::SYS_perf_event_open];

    const OF_PROGRAMS: [i64; 2] = [libc::SYS_execve, libc::SYS_execveat];

    /// Requests of `ioctl`: keys are pushed into a terminal (and what is selected there is pasted), and signals are
    /// sent to whom a descriptor names. `asm-generic/ioctls.h`, `sockios.h`.
    const TIOCSTI: u64 = 0x5412;
    const TIOCLINUX: u64 = 0x541c;
    const FIOSETOWN: u64 = 0x8901;
    const SIOCSPGRP: u64 = 0x8902;

    /// Commands of `fcntl` that do the latter: by them any process gets any signal, and nobody calls `kill`.
    const OWNERS: [i32; 3] = [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX];
    const F_SETSIG: i32 = 10;
    const F_SETOWN_EX: i32 = 15;

    /// Flags of `clone` by which a process gets a view of the system of its own.
    const NAMESPACES: [i32; 7] = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];

    /// Calls that send a signal, with the argument that says to whom: the process itself may (that is how it aborts).
    const SIGNALS: [(i64, u8); 4] = [
        (libc::SYS_kill, 0),
        (libc::SYS_tgkill, 0),
        (libc::SYS_rt_sigqueueinfo, 0),
        (libc::SYS_rt_tgsigqueueinfo, 0),
    ];

    /// And those that do not say whose the thread is, or name it by a descriptor.
    const SIGNALS_TO_ANY: [i64; 3] =
        [libc::SYS_tkill, libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal];

    /// Calls that change how a thread is scheduled, with the argument that says whose; 0 is the caller.
    const SCHEDULING: [(i64, u8); 6] = [
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
    ];

    /// Calls of x32 have it, `asm/unistd.h`.
    const X32: u32 = 0x4000_0000;

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// That an argument is so. Only its lower 32 bits count: the kernel looks at no others of these.
    fn argument(number: u8, is: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
        SeccompCondition::new(number, SeccompCmpArgLen::Dword, is, value).ok()
    }

    /// A call is refused where all of this holds.
    fn all<const N: usize>(of: [Option<SeccompCondition>; N]) -> Option<SeccompRule> {
        SeccompRule::new(of.into_iter().collect::<Option<Vec<_>>>()?).ok()
    }

    /// A call is refused where an argument is so with one of these.
    fn any(
        number: u8,
        values: impl IntoIterator<Item = u64>,
        is: impl Fn(u64) -> SeccompCmpOp,
    ) -> Option<Vec<SeccompRule>> {
        values.into_iter().map(|value| all([argument(number, is(value), value)])).collect()
    }

    fn rules(role: Role, own: u32) -> Option<Rules> {
        let records = matches!(role, Role::Records | Role::Watches);
        let starts_programs = role == Role::Reads { starts_programs: true };
        let of_recorders = |call: &&i64| records && OF_RECORDERS.contains(call);
        let refused = REFUSED.iter().filter(|call| !of_recorders(call));
        let mut rules: Rules = refused.map(|call| (*call, Vec::new())).collect();
        let same = |_| SeccompCmpOp::Eq;
        let requests = [TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP];
        rules.insert(libc::SYS_ioctl, any(1, requests, same)?);
        rules.insert(libc::SYS_fcntl, any(1, OWNERS.map(|it| it as u64), same)?);
        let flags = NAMESPACES.map(|flag| u64::from(flag.cast_unsigned()));
        rules.insert(libc::SYS_clone, any(0, flags, SeccompCmpOp::MaskedEq)?);
        let is_not = |number, value| argument(number, SeccompCmpOp::Ne, value);
        // Oneself goes by both.
        let of_others = all([is_not(0, 0), is_not(0, own.into())])?;
        rules.insert(libc::SYS_prlimit64, vec![of_others]);
        if starts_programs {
            // They end one another, and set themselves up: a domain of Landlock holds their signals.
            return Some(rules);
        }
        rules.extend(OF_PROGRAMS.map(|call| (call, Vec::new())));
        if role != Role::Watches {
            for (call, whose) in SIGNALS {
                rules.insert(call, vec![all([is_not(whose, own.into())])?]);
            }
            rules.extend(SIGNALS_TO_ANY.map(|call| (call, Vec::new())));
        }
        if !records {
            for (call, whose) in SCHEDULING {
                rules.insert(call, vec![all([is_not(whose, 0)])?]);
            }
        }
        Some(rules)
    }

    /// An instruction that answers at once where the number that was loaded is so, and else goes on.
    fn answer(jump: u16, number: u32, error: i32) -> [sock_filter; 2] {
        let refuse = u32::from(SeccompAction::Errno(error.cast_unsigned()));
        [
            sock_filter { code: jump, jt: 0, jf: 1, k: number },
            sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse },
        ]
    }

    /// Instructions of the kernel's filters, `linux/bpf_common.h`: load a word; jump where it is equal, or at least so
    /// much; return.
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;

    pub(super) fn program(role: Role, own: u32) -> Option<BpfProgram> {
        let arch = std::env::consts::ARCH.try_into().ok()?;
        let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let filter = SeccompFilter::new(rules(role, own)?, SeccompAction::Allow, refuse, arch);
        let rest = BpfProgram::try_from(filter.ok()?).ok()?;
        let clone3 = u32::try_from(libc::SYS_clone3).ok()?;
        let mut program = vec![sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 }];
        if cfg!(target_arch = "x86_64") {
            program.extend(answer(IF_AT_LEAST, X32, libc::EPERM));
        }
        program.extend(answer(IF_EQUAL, clone3, libc::ENOSYS));
        program.extend(rest);
        Some(program)
    }

    pub(super) fn give_up(role: Role) {
        if let Some(program) = program(role, std::process::id()) {
            let _ = apply_filter(&program);
        }
    }
}

/// Gives them up, for this thread and those that it starts.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn give_up(role: Role) {
    filter::give_up(role);
}

/// There is no filter for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn give_up(role: Role) {
    // So that what a role says is read here too.
    let _ = matches!(role, Role::Reads { starts_programs: true });
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::Role;
    use super::filter::program;

    const READER: Role = Role::Reads { starts_programs: false };
    const WITH_PROGRAMS: Role = Role::Reads { starts_programs: true };
    const OWN: u32 = 1234;

    /// What a filter answers, by `linux/seccomp.h`: allowed, an error, or the process ends.
    const ALLOWED: u32 = 0x7fff_0000;
    const EPERM: u32 = 0x0005_0001;
    const ENOSYS: u32 = 0x0005_0026;
    const ENDS: u32 = 0x8000_0000;

    const ARCH: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };

    /// What the kernel makes of a call.
    fn answer(role: Role, arch: u32, call: i64, arguments: &[u64]) -> u32 {
        let program = program(role, OWN).expect("there is a filter");
        let word = |at: u32| match at {
            0 => call as u32,
            4 => arch,
            // Of 64 bits each, the lower half first.
            at => {
                let argument = arguments.get((at as usize - 16) / 8).copied().unwrap_or(0);
                (argument >> (32 * (at / 4 % 2))) as u32
            }
        };
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let jumps = |is_so: bool| usize::from(if is_so { step.jt } else { step.jf });
            match step.code {
                0x20 => value = word(step.k),
                0x54 => value &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jumps(value == step.k),
                0x25 => at += jumps(value > step.k),
                0x35 => at += jumps(value >= step.k),
                0x06 => return step.k,
                code => panic!("an instruction that nobody wrote: {code:#x}"),
            }
        }
    }

    fn told(role: Role, call: i64, arguments: &[u64]) -> u32 {
        answer(role, ARCH, call, arguments)
    }

    #[test]
    fn no_keys_are_pushed_into_a_terminal_whatever_the_upper_bits_say() {
        for role in [READER, WITH_PROGRAMS, Role::Records, Role::Watches, Role::Shows] {
            for request in [0x5412, 0x541c, 0x8901, 0x8902] {
                for upper in [0, 1 << 32, 0xffff_ffff << 32] {
                    let arguments = [0, request | upper];
                    assert_eq!(told(role, libc::SYS_ioctl, &arguments), EPERM, "{role:?}");
                }
            }
            // The size of a terminal, TIOCGWINSZ.
            assert_eq!(told(role, libc::SYS_ioctl, &[1, 0x5413]), ALLOWED, "{role:?}");
        }
    }

    #[test]
    fn no_other_process_gets_a_signal_or_a_limit() {
        let (own, other, all) = (u64::from(OWN), 1, (-1_i64).cast_unsigned());
        let by_name = [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo];
        for role in [READER, Role::Records, Role::Shows] {
            for call in by_name.into_iter().chain([libc::SYS_rt_tgsigqueueinfo]) {
                for whom in [other, all, 0] {
                    assert_eq!(told(role, call, &[whom, 9, 9]), EPERM, "{role:?} {call} {whom}");
                }
                assert_eq!(told(role, call, &[own, own, 6]), ALLOWED, "who aborts, by {call}");
            }
            for call in [libc::SYS_tkill, libc::SYS_pidfd_send_signal, libc::SYS_pidfd_open] {
                assert_eq!(told(role, call, &[own]), EPERM, "{role:?} {call}");
            }
        }
        assert_eq!(told(Role::Watches, libc::SYS_kill, &[other, 2]), ALLOWED, "its command");
        for role in [READER, WITH_PROGRAMS, Role::Records, Role::Watches, Role::Shows] {
            assert_eq!(told(role, libc::SYS_prlimit64, &[other, 7]), EPERM, "{role:?}");
            for whom in [0, own] {
                assert_eq!(told(role, libc::SYS_prlimit64, &[whom, 7]), ALLOWED, "{role:?}");
            }
            // A pipe whose owner is another process, and whose signal is SIGKILL.
            for command in [8, 10, 15] {
                assert_eq!(told(role, libc::SYS_fcntl, &[0, command, 1]), EPERM, "{role:?}");
            }
            assert_eq!(told(role, libc::SYS_fcntl, &[0, 1030, 3]), ALLOWED, "a copy of it");
        }
    }

    #[test]
    fn who_reads_or_shows_moves_no_other_thread() {
        for (role, expected) in [(READER, EPERM), (Role::Shows, EPERM), (Role::Records, ALLOWED)] {
            assert_eq!(told(role, libc::SYS_sched_setaffinity, &[1]), expected, "{role:?}");
            assert_eq!(told(role, libc::SYS_setpriority, &[0, 1, 19]), expected, "{role:?}");
            assert_eq!(told(role, libc::SYS_setpriority, &[0, 0, 19]), ALLOWED, "{role:?}");
        }
    }

    #[test]
    fn no_namespace_is_entered_or_made() {
        // As a C library starts a thread.
        let thread = libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND | libc::CLONE_FILES;
        for role in [READER, WITH_PROGRAMS, Role::Records, Role::Watches, Role::Shows] {
            assert_eq!(told(role, libc::SYS_clone3, &[]), ENOSYS, "its flags are not seen");
            assert_eq!(told(role, libc::SYS_clone, &[thread as u64]), ALLOWED, "{role:?}");
            for bit in [17, 25, 26, 27, 28, 29, 30] {
                let flags = thread as u64 | 1 << bit;
                assert_eq!(told(role, libc::SYS_clone, &[flags]), EPERM, "{role:?} {bit}");
                assert_eq!(told(role, libc::SYS_clone, &[flags | 1 << 40]), EPERM, "{role:?}");
            }
            for call in [libc::SYS_unshare, libc::SYS_setns] {
                assert_eq!(told(role, call, &[]), EPERM, "{role:?}");
            }
        }
    }

    #[test]
    fn calls_of_another_architecture_do_not_pass() {
        for role in [READER, WITH_PROGRAMS, Role::Records, Role::Watches, Role::Shows] {
            if cfg!(target_arch = "x86_64") {
                for call in [libc::SYS_execve, libc::SYS_kill, libc::SYS_getpid] {
                    assert_eq!(told(role, call | 0x4000_0000, &[]), EPERM, "{role:?}");
                }
            }
            assert_eq!(told(role, libc::SYS_getpid, &[]), ALLOWED);
            // 32-bit x86, where 11 is execve.
            assert_eq!(answer(role, 0x4000_0003, 11, &[]), ENDS, "{role:?}");
        }
    }

    #[test]
    fn programs_are_started_by_who_needs_one() {
        for call in [libc::SYS_execve, libc::SYS_execveat] {
            assert_eq!(told(READER, call, &[]), EPERM);
            assert_eq!(told(WITH_PROGRAMS, call, &[]), ALLOWED);
            assert_eq!(told(Role::Watches, call, &[]), EPERM);
        }
        assert_eq!(told(Role::Records, libc::SYS_bpf, &[]), ALLOWED);
        assert_eq!(told(READER, libc::SYS_bpf, &[]), EPERM);
    }
}
