// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 *	inject INJECTION CPU OTHER_CPU SECONDS OUT [PROCS]
 *
 * Runs one injection on a CPU and writes what its threads saw to OUT (see log.c). PROCS is the file by
 * which a process enters a control group. Without arguments it lists the injections.
 */
#include "inject.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct culprit *const culprits[] = {
	&spin, &deadline, &budget, &contend, &unmap, &call, &membarriers, &tlb, &remote_membarriers,
	&remote_tlb, &quota, &pi_chain, &plain_chain, &fault, &asleep, &asleep_plain,
};
#define CULPRITS (sizeof(culprits) / sizeof(culprits[0]))

static const struct culprit *named(const char *name)
{
	for (size_t i = 0; i < CULPRITS; i++)
		if (strcmp(culprits[i]->name, name) == 0)
			return culprits[i];
	fprintf(stderr, "there is no injection %s\n", name);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct culprit *culprit;
	FILE *out;

	if (argc < 6) {
		for (size_t i = 0; i < CULPRITS; i++)
			printf("%-18s %s\n", culprits[i]->name, culprits[i]->summary);
		return argc > 1;
	}
	culprit = named(argv[1]);
	plan.cpu = atoi(argv[2]);
	plan.other_cpu = atoi(argv[3]);
	plan.begin_ns = now_ns();
	plan.end_ns = plan.begin_ns + (long long)(atof(argv[4]) * NS_PER_SEC);
	plan.group = argc > 6 ? argv[6] : NULL;
	out = fopen(argv[5], "w");
	if (!out)
		die("a file for its records");
	/* What is there already: a map that comes and goes would be locked too with MCL_FUTURE. */
	mlockall(MCL_CURRENT);
	culprit->start();
	finish(out);
	return fclose(out) ? 1 : 0;
}
