/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sync: what was written is on the disk when the run ends (--sync).
 *
 * Every file system that is written to gets a descriptor before the first write to it: a
 * failure of writing back is told once to each descriptor that was open then, and to none
 * that is opened later.  At the end each is synced through its own (syncfs(2)).
 */
#ifndef TARPIPE_SYNC_H
#define TARPIPE_SYNC_H

#include <sys/types.h>

struct syncs;

/* NULL with errno ENOMEM.  syncs_free accepts NULL. */
struct syncs *syncs_new(void);
void syncs_free(struct syncs *syncs);

/*
 * Something will be written below this open directory, which is on device `dev`.  Opens
 * it again, once for each device.  Any thread.  Returns 0, or -1 with errno.
 */
int syncs_meet(struct syncs *syncs, int dir, dev_t dev);

/*
 * Syncs all that were met, when no worker is left.  What can't be written is told under
 * the name `shown`: the run is STATUS_STOPPED then, for nobody knows which file it is.
 */
void syncs_finish(struct syncs *syncs, const char *shown);

#endif
