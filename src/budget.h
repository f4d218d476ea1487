/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * budget: one budget of descriptors, shared out before anything is opened: each part
 * stays within its own, so none can starve another.
 */
#ifndef TARPIPE_BUDGET_H
#define TARPIPE_BUDGET_H

#include <stdbool.h>

struct budget {
	unsigned walk;		/* directories of the source */
	unsigned gate;		/* directories of the destination */
	unsigned references;	/* source files on their way */
	unsigned verify;	/* files that wait to be verified */
	unsigned ahead;		/* source files and directories looked at ahead */
	unsigned workers;
};

/*
 * Raises the soft limit to the hard one, and shares out what is free of it for `jobs`
 * workers at most, each of which keeps `held` beside its own; with `tree` there is a source
 * to be walked, with `verify` files are verified.
 */
void budget_share(struct budget *budget, unsigned jobs, bool tree,
		  bool verify, unsigned held);

#endif
