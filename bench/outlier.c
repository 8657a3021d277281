/* A control loop that sleeps to a grid of 10 ms, SCHED_FIFO 80. Once, at a random time, a thread `injector`,
 * SCHED_FIFO 90, holds the loop's CPU for 500 us from an expiry on. Twenty times the loop asks for a time that passed
 * 400 us before, which looks as late and is nobody's fault. See jobs.py.
 *
 *     outlier SECONDS SEED [COMMAND ...]      beside a command, which ends by itself: tardy watch --comm loop ...
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FALSE_TRIGGERS = 20 };
static const int64_t grid_ns = 10000000, held_ns = 500000, early_ns = 100000, passed_ns = 400000;
static const int64_t second_ns = 1000000000;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * second_ns + now.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec until = { ns / second_ns, ns % second_ns };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* What the thread is called, on the last CPU, at a real-time priority. */
static void become(const char *name, int cpu, int prio)
{
	struct sched_param param = { .sched_priority = prio };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	prctl(PR_SET_NAME, name);
	if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror(name);
		exit(1);
	}
}

static int cpu;
static int64_t hold_at_ns;

static void *inject(void *unused)
{
	become("injector", cpu, 90);
	sleep_until(hold_at_ns - early_ns);
	while (now_ns() < hold_at_ns + held_ns)
		;
	return unused;
}

int main(int argc, char **argv)
{
	int64_t periods = argc > 2 ? atoll(argv[1]) * second_ns / grid_ns : 0;
	int64_t start_ns = (now_ns() / grid_ns + 200) * grid_ns;
	int64_t passed[FALSE_TRIGGERS];
	pthread_t injector;
	pid_t beside = 0;

	if (periods < 100) {
		fprintf(stderr, "outlier SECONDS SEED\n");
		return 2;
	}
	if (argc > 3 && (beside = fork()) == 0) {
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(1);
	}
	srandom(atoi(argv[2]));
	cpu = sched_getcpu();
	hold_at_ns = start_ns + (periods / 10 + random() % (periods * 8 / 10)) * grid_ns;
	for (int i = 0; i < FALSE_TRIGGERS; i++)
		passed[i] = random() % periods;
	become("loop", cpu, 80);
	pthread_create(&injector, NULL, inject, NULL);
	for (int64_t at = 0; at < periods; at++) {
		sleep_until(start_ns + at * grid_ns);
		for (int i = 0; i < FALSE_TRIGGERS; i++)
			if (passed[i] == at)
				sleep_until(now_ns() - passed_ns);
	}
	pthread_join(injector, NULL);
	if (beside)
		waitpid(beside, NULL, 0);
	printf("held the CPU at %.6f s of CLOCK_MONOTONIC\n", hold_at_ns / 1e9);
	return 0;
}
