// SPDX-License-Identifier: GPL-2.0
/*
 * Sections of known length in which nobody else can run, in functions of known names: what a recording with
 * kernel stacks is held against. Whoever writes a number of microseconds to
 * /sys/module/tardy_hold/parameters/without_interrupts_us or without_preemption_us spends them there.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/irqflags.h>

/* Longer than this a section is a mistake: nothing else runs on that CPU meanwhile. */
#define HOLD_US_MAX 20000

static void be_busy(unsigned int us)
{
	u64 end_ns = ktime_get_ns() + us * (u64)NSEC_PER_USEC;

	while (ktime_get_ns() < end_ns)
		cpu_relax();
}

static noinline void tardy_hold_interrupts(unsigned int us)
{
	unsigned long flags;

	local_irq_save(flags);
	be_busy(us);
	local_irq_restore(flags);
	/* So that this function is where the interrupts come, and not a call at its end. */
	barrier();
}

static noinline void tardy_hold_preemption(unsigned int us)
{
	preempt_disable();
	be_busy(us);
	preempt_enable();
	barrier();
}

static int us_of(const char *text, unsigned int *us)
{
	int error = kstrtouint(text, 0, us);

	if (!error && *us > HOLD_US_MAX)
		error = -ERANGE;
	return error;
}

static int set_without_interrupts(const char *text, const struct kernel_param *param)
{
	unsigned int us;
	int error = us_of(text, &us);

	if (!error)
		tardy_hold_interrupts(us);
	return error;
}

static int set_without_preemption(const char *text, const struct kernel_param *param)
{
	unsigned int us;
	int error = us_of(text, &us);

	if (!error)
		tardy_hold_preemption(us);
	return error;
}

static const struct kernel_param_ops without_interrupts = { .set = set_without_interrupts };
static const struct kernel_param_ops without_preemption = { .set = set_without_preemption };

module_param_cb(without_interrupts_us, &without_interrupts, NULL, 0200);
module_param_cb(without_preemption_us, &without_preemption, NULL, 0200);

MODULE_DESCRIPTION("Sections of known length without interrupts, or without preemption");
MODULE_LICENSE("GPL");
