// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The programs that record. One file per family of hooks; a new hook is a new file and a line here.
 */
#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include "model.h" /* generated from the event model: tags, states, flags */
#include "ring.h"
#include "task.h"
#include "stolen.h"
#include "stacks.h"
#include "holders.h"
#include "flight.h"

#include "hooks/hrtimer.h"
#include "hooks/timer_list.h"
#include "hooks/timer_policy.h"
#include "hooks/irq.h"
#include "hooks/vectors.h"
#include "hooks/softirq.h"
#include "hooks/sched.h"
#include "hooks/idle.h"
#include "hooks/task.h"
#include "hooks/syscall.h"
#include "hooks/fault.h"
#include "hooks/signal.h"
#include "hooks/work.h"
#include "hooks/flight.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
