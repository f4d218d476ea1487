/* SPDX-License-Identifier: BSD-2-Clause */
#include "budget.h"

#include <fcntl.h>
#include <sys/resource.h>

enum {
	FDS_OWN = 5,		/* to come: DST, signals, one in passing */
	FDS_LOOKED_AT = 1024,
	FDS_WORKER = 3,		/* a file, a handle, a spare */
};

/* Descriptors that are open already: ours, and what the caller left open. */
static unsigned fds_open(unsigned limit)
{
	unsigned count = 0;

	for (unsigned fd = 0; fd < limit && fd < FDS_LOOKED_AT; fd++)
		if (fcntl((int)fd, F_GETFD) >= 0)
			count++;
	return count;
}

static unsigned fds_free(void)
{
	struct rlimit limit;
	unsigned most = 1024, taken;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
			most = limit.rlim_cur < 4096 ? (unsigned)limit.rlim_cur :
						       4096;
	}
	taken = fds_open(most) + FDS_OWN;
	return most > taken ? most - taken : 0;
}

static unsigned at_most(unsigned n, unsigned most)
{
	return n < most ? n : most;
}

/* The least is what one worker and a walk need; below that it can't be helped. */
void budget_share(struct budget *budget, unsigned jobs, bool tree,
		  bool verify, unsigned held)
{
	unsigned all = fds_free(), each = FDS_WORKER + held + verify;

	budget->workers = jobs;
	while (budget->workers > 1 && budget->workers * each > all / 3)
		budget->workers--;
	all -= at_most(all, budget->workers * each);
	budget->walk = budget->references = budget->ahead = 0;
	budget->verify = verify ? at_most(all / 4, 1024) : 0;
	if (verify && budget->verify < 2)
		budget->verify = 2;
	all -= at_most(all, budget->verify);
	if (tree) {
		budget->walk = at_most(all / 4, 64);
		if (budget->walk < 3)
			budget->walk = 3;
		all -= at_most(all, budget->walk);
		budget->references = at_most(all / 3, 64);
		all -= budget->references;
		budget->ahead = at_most(all / 3, 512);
		all -= budget->ahead;
	}
	budget->gate = at_most(all, 256);
	if (budget->gate < 2)
		budget->gate = 2;
}
