// SPDX-License-Identifier: MIT OR Apache-2.0
/* Threads with a policy and a CPU, all of which end when the plan does. */
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 32

static struct thread {
	pthread_t handle;
	const char *name;
	int prio, cpu;
	body *run;
	struct log log;
} threads[THREADS_MAX];
static int thread_count;
static pthread_barrier_t all_there;

struct plan plan;

long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

void sleep_until(long long ns)
{
	struct timespec until = { ns / NS_PER_SEC, ns % NS_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

void die(const char *what)
{
	/* 2: this machine does not allow it, and the judge says so. */
	fprintf(stderr, "cannot have %s: %s\n", what, strerror(errno));
	exit(2);
}

bool over(void)
{
	return plan.stop || now_ns() >= plan.end_ns;
}

void move_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("a CPU of its own");
}

void be_deadline(long long runtime_ns, long long period_ns)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} wanted = { sizeof(wanted), 6, 0, 0, 0, runtime_ns, period_ns, period_ns };

	if (syscall(SYS_sched_setattr, 0, &wanted, 0))
		die("SCHED_DEADLINE");
}

/* The whole process, before it has threads: a single thread may not go everywhere in cgroup v2. */
void enter_group(void)
{
	char pid[16];
	int length = snprintf(pid, sizeof(pid), "%d", getpid());
	int file = plan.group ? open(plan.group, O_WRONLY) : -1;

	if (file < 0 || write(file, pid, length) != length)
		die("its control group");
	close(file);
}

static void *main_of(void *arg)
{
	struct thread *thread = arg;
	struct sched_param param = { thread->prio };

	if (thread->cpu >= 0)
		move_to(thread->cpu);
	log_begin(&thread->log, thread->name);
	if (thread->prio != ORDINARY && sched_setscheduler(0, SCHED_FIFO, &param))
		die("SCHED_FIFO");
	pthread_barrier_wait(&all_there);
	thread->run(&thread->log);
	return NULL;
}

/* A thread that begins with all others, in finish(); anywhere with a negative CPU. */
void start(const char *name, int prio, int cpu, body *run)
{
	if (thread_count == THREADS_MAX) {
		errno = EAGAIN;
		die("so many threads");
	}
	threads[thread_count++] = (struct thread){ .name = name, .prio = prio, .cpu = cpu, .run = run };
}

/* Lets all run until they end by themselves, and writes what they saw. */
void finish(FILE *out)
{
	pthread_barrier_init(&all_there, NULL, thread_count);
	for (int i = 0; i < thread_count; i++) {
		errno = pthread_create(&threads[i].handle, NULL, main_of, &threads[i]);
		if (errno)
			die("a thread");
	}
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i].handle, NULL);
	for (int i = 0; i < thread_count; i++)
		log_write(&threads[i].log, out);
}
