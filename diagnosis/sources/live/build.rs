//! Compiles the BPF programs and makes the header that gives them the model's numbers.

use libbpf_cargo::SkeletonBuilder;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};
use tardy_model::Kind;
use tardy_model::event::{Priority, Switch, Taken, TaskGroup, TaskInfo, TimerMode, Vector};

/// The record that follows a timer's event; never leaves this crate.
const TAG_TIMER_DEFINITION: u8 = 0xf0;

/// Slots of a ring that are kept for claims which interrupt each other: two slots for each of the
/// contexts that a CPU nests (a task, a softirq, an interrupt, an NMI), twice over.
const RESERVED_SLOTS: u32 = 16;

/// Places of threads whose lateness a flight recorder looks at.
const DUES: u32 = 1 << 16;

/// Frames of a stack, with those of the interrupt and of what takes it: some ten.
const STACK_FRAMES: u32 = 32;

/// Frames of a program's stack.
const USER_FRAMES: u32 = 12;

/// Stacks that are kept of each CPU until they are read.
const STACK_SLOTS: u32 = 256;

/// Holders of plain mutexes that are remembered: those whose ids have the same low bits share a place.
const HOLDERS: u32 = 1 << 10;

/// How far apart two stacks of one kind are on one CPU, at least.
const STACKS_APART_NS: u32 = 100_000;

/// In the flags of an expiry: in the same loop as the one before. Never leaves this crate.
const EXPIRY_SAME_LOOP: u32 = 0x80;

/// In the number of a system call: made by a program of 32 bits, by the table of those. No table reaches it, nor
/// is it the bit of x32. Never leaves this crate.
const CALL_COMPAT: u32 = 1 << 29;

/// Threads and processes whose system calls can be watched at once.
const WATCHED_MAX: u32 = 16_384;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("model.h"), model_header()).expect("OUT_DIR can be written");

    let include = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are");
    let arch = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        other => panic!("no recorder for {other:?} yet: bpf/hooks/syscall.h needs its registers"),
    };
    let source = Path::new("bpf/live.bpf.c");
    SkeletonBuilder::new()
        .source(source)
        .clang(env::var("CLANG").unwrap_or_else(|_| "clang-19".into()))
        .clang_args([
            "-mcpu=v3",
            "-Wall",
            "-Wno-visibility",
            &format!("-D__TARGET_ARCH_{arch}"),
            &format!("-I{include}"),
            &format!("-I{}", out.display()),
        ])
        .build_and_generate(out.join("live.skel.rs"))
        .expect("the BPF programs compile (clang-19 must be installed, or named in CLANG)");
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=CLANG");
}

fn model_header() -> String {
    let mut header =
        String::from("/* Generated from the event model by build.rs. */\n#pragma once\n");
    let mut define = |name: &str, value: u32| {
        writeln!(header, "#define {name} {value}").expect("a String takes every write");
    };
    for (tag, name) in Kind::TAGS {
        define(&format!("TAG_{}", upper_snake(name)), u32::from(*tag));
    }
    define("TAG_TIMER_DEFINITION", TAG_TIMER_DEFINITION.into());
    define("DEFINITION_TIMER_LIST", 1);
    define("WATCHED_MAX", WATCHED_MAX);
    define("RESERVED_SLOTS", RESERVED_SLOTS);
    define("DUES", DUES);
    define("EXPIRY_SAME_LOOP", EXPIRY_SAME_LOOP);
    define("CALL_COMPAT", CALL_COMPAT);
    define("STACK_FRAMES", STACK_FRAMES);
    define("USER_FRAMES", USER_FRAMES);
    define("STACK_SLOTS", STACK_SLOTS);
    define("HOLDERS", HOLDERS);
    define("STACKS_APART_NS", STACKS_APART_NS);
    define("STACK_INTERRUPTED", Taken::Interrupted as u32);
    define("STACK_LEFT", Taken::Left as u32);
    define("STACK_SLEPT", Taken::Slept as u32);
    define("IRQ_VECTOR", 1);
    define("VECTOR_LOCAL_TIMER", Vector::LOCAL_TIMER.0);
    define("MODE_SOFT", TimerMode::SOFT.into());
    define("MODE_IN_THREAD", TimerMode::IN_THREAD.into());
    define("SWITCH_PREEMPTED", Switch::PREEMPTED.into());
    define("PRIORITY_RELEASED", Priority::RELEASED.into());
    define("INFO_KERNEL", TaskInfo::KERNEL.into());
    define("INFO_BATCH", TaskInfo::BATCH.into());
    define("INFO_IDLE", TaskInfo::IDLE.into());
    define("GROUP_THROTTLED", TaskGroup::THROTTLED.into());
    define("INFO_WATCHED", TaskInfo::WATCHED.into());
    define("INFO_SYSCALLS", TaskInfo::SYSCALLS.into());
    header.push_str("#define NO_STACKS (~0ULL)\n");
    header.push_str("#define VECTORS(hook)");
    for (number, name) in Vector::NAMES.iter().enumerate() {
        write!(header, " hook({name}, {number})").expect("a String takes every write");
    }
    header.push('\n');
    header
}

/// `TimerArm` → `TIMER_ARM`.
fn upper_snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_uppercase());
    }
    out
}
