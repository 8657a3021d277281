/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that are late, and those that make them late (fixes.py).
 *
 *   faults sleepers NAME POLICY CPU COUNT PERIOD_US WORK_US
 *       COUNT threads that sleep to one grid and then work. POLICY is `other` or a priority of SCHED_FIFO, CPU is a
 *       number or `any`. Whoever works longer than its period never sleeps.
 *   faults writes NAME POLICY CPU PERIOD_US WORK_US FILE
 *       A thread that sleeps, writes a byte to a device, and then works: the device's interrupt comes at once.
 *   faults timerfd NAME POLICY CPU PERIOD_US
 *       A thread that reads a timer's file again and again: such a timer expires in a softirq on PREEMPT_RT, whoever
 *       waits for it.
 *   faults barriers NAME CPU FROM
 *       A thread on FROM interrupts CPU as fast as it can: another thread of the same process computes there.
 *   faults packets NAME CPU FROM
 *       A thread on FROM sends datagrams to itself as fast as it can, in a network namespace of its own that has CPU
 *       receive them: an interrupt from CPU to CPU for each batch, and the softirq NET_RX.
 *   faults lock NAME CPU
 *       Three threads on one CPU. `NAME` of SCHED_FIFO 30 takes a lock every 5 ms, which one of SCHED_FIFO 10 holds
 *       for 300 µs; one of SCHED_FIFO 20 computes for 1 ms meanwhile. The lock hands no priority on.
 *
 * It says `ready` once all run, and goes on until it is killed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define US 1000ull
#define THREADS_MAX 512

struct sleeper {
	const char *name;
	int fifo; /* 0: SCHED_OTHER */
	int cpu; /* below 0: any */
	uint64_t period_ns, offset_ns, work_ns;
	pthread_mutex_t *lock;
	int file; /* 0: none */
};

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: %s\n", what, strerror(error));
		exit(1);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec until = { ns / 1000000000ull, ns % 1000000000ull };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Work is CPU time: who is kept from it goes on afterwards. */
static void work(uint64_t ns)
{
	struct timespec cpu;
	uint64_t until = 0;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
		uint64_t ran = cpu.tv_sec * 1000000000ull + cpu.tv_nsec;
		if (!until)
			until = ran + ns;
		if (ran >= until)
			return;
	} while (1);
}

static void become(const char *name, int fifo, int cpu)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
	if (cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		must(sched_setaffinity(0, sizeof(set), &set) ? errno : 0,
		     "sched_setaffinity");
	}
	if (fifo) {
		struct sched_param param = { .sched_priority = fifo };
		must(sched_setscheduler(0, SCHED_FIFO, &param) ? errno : 0,
		     "sched_setscheduler");
	}
}

static void *sleeps(void *arg)
{
	const struct sleeper *self = arg;
	become(self->name, self->fifo, self->cpu);
	for (;;) {
		/* The next point of a grid that all share. */
		uint64_t at = now_ns() / self->period_ns + 1;
		if (self->work_ns < self->period_ns)
			sleep_until(at * self->period_ns + self->offset_ns);
		if (self->lock)
			pthread_mutex_lock(self->lock);
		if (self->file)
			must(write(self->file, ".", 1) < 0 ? errno : 0, "write");
		if (self->work_ns)
			work(self->work_ns);
		if (self->lock)
			pthread_mutex_unlock(self->lock);
	}
	return NULL;
}

static void *computes(void *arg)
{
	const struct sleeper *self = arg;
	become(self->name, self->fifo, self->cpu);
	for (;;)
		work(1000 * US);
	return NULL;
}

static void start(void *(*body)(void *), void *arg)
{
	pthread_t thread;
	must(pthread_create(&thread, NULL, body, arg), "pthread_create");
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
	/* The first thread has no part in it. */
	for (;;)
		pause();
}

static int sleepers(char **args, const char *file)
{
	static struct sleeper one;
	one = (struct sleeper){
		.name = args[0],
		.fifo = atoi(args[1]),
		.cpu = strcmp(args[2], "any") ? atoi(args[2]) : -1,
		.period_ns = strtoull(args[4], NULL, 10) * US,
		.work_ns = strtoull(args[5], NULL, 10) * US,
		.file = file ? open(file, O_WRONLY | O_NOCTTY) : 0,
	};
	must(one.file < 0 ? errno : 0, "open");
	int count = atoi(args[3]);
	if (count < 1 || count > THREADS_MAX || !one.period_ns)
		return 2;
	for (int i = 0; i < count; i++)
		start(sleeps, &one);
	ready();
	return 0;
}

static void *reads_timer(void *arg)
{
	const struct sleeper *self = arg;
	long seconds = self->period_ns / 1000000000ull, rest_ns = self->period_ns % 1000000000ull;
	struct itimerspec every = { { seconds, rest_ns }, { seconds, rest_ns } };
	uint64_t count;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);

	must(timer < 0 ? errno : 0, "timerfd_create");
	become(self->name, self->fifo, self->cpu);
	must(timerfd_settime(timer, 0, &every, NULL) ? errno : 0, "timerfd_settime");
	for (;;)
		must(read(timer, &count, sizeof(count)) < 0 ? errno : 0, "read");
	return NULL;
}

static int timerfd(char **args)
{
	static struct sleeper one;
	one = (struct sleeper){
		.name = args[0],
		.fifo = atoi(args[1]),
		.cpu = atoi(args[2]),
		.period_ns = strtoull(args[3], NULL, 10) * US,
	};
	if (!one.period_ns)
		return 2;
	start(reads_timer, &one);
	ready();
	return 0;
}

static int barriers(char **args)
{
	static struct sleeper beside;
	beside = (struct sleeper){ .name = args[0], .cpu = atoi(args[1]) };
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		must(errno, "membarrier");
	start(computes, &beside);
	become(args[0], 0, atoi(args[2]));
	puts("ready");
	fflush(stdout);
	for (;;)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	return 0;
}

static int packets(char **args)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	char packet[64] = { 0 };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(unshare(CLONE_NEWNET | CLONE_NEWNS) ? errno : 0, "unshare");
	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ? errno : 0, "mount");
	must(mount("none", "/sys", "sysfs", 0, NULL) ? errno : 0, "mount /sys");
	int socket_fd = socket(AF_INET, SOCK_DGRAM, 0);
	must(ioctl(socket_fd, SIOCSIFFLAGS, &lo) ? errno : 0, "lo");
	/* Nobody reads: what does not fit is dropped. */
	must(bind(socket_fd, (struct sockaddr *)&to, sizeof(to)) ? errno : 0, "bind");
	FILE *mask = fopen("/sys/class/net/lo/queues/rx-0/rps_cpus", "w");
	must(mask ? 0 : errno, "rps_cpus");
	fprintf(mask, "%x\n", 1u << atoi(args[1]));
	must(fclose(mask) ? errno : 0, "rps_cpus");
	become(args[0], 0, atoi(args[2]));
	puts("ready");
	fflush(stdout);
	for (;;)
		sendto(socket_fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to));
	return 0;
}

static int lock(char **args)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct sleeper low, middle, high;
	int cpu = atoi(args[1]);
	uint64_t period_ns = 5000 * US;
	low = (struct sleeper){ "holder", 10, cpu, period_ns, 0, 300 * US, &mutex, 0 };
	middle = (struct sleeper){ "between", 20, cpu, period_ns, 100 * US, 1000 * US, NULL, 0 };
	high = (struct sleeper){ args[0], 30, cpu, period_ns, 150 * US, 10 * US, &mutex, 0 };
	start(sleeps, &low);
	start(sleeps, &middle);
	start(sleeps, &high);
	ready();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 8 && !strcmp(argv[1], "sleepers"))
		return sleepers(argv + 2, NULL);
	if (argc == 8 && !strcmp(argv[1], "writes")) {
		char *args[] = { argv[2], argv[3], argv[4], "1", argv[5], argv[6] };
		return sleepers(args, argv[7]);
	}
	if (argc == 6 && !strcmp(argv[1], "timerfd"))
		return timerfd(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "barriers"))
		return barriers(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "packets"))
		return packets(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "lock"))
		return lock(argv + 2);
	return 2;
}
