/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * untar: members of a tar stream become records, for the same workers that restore a
 * copy.  The mirror of packtar, on the sink's side; runs in one thread.
 *
 * A member's path becomes the directories on the way, entered and left as the stream
 * goes, and one last component.  Nothing of what it has seen is remembered but the
 * directories it is in.
 */
#ifndef TARPIPE_UNTAR_H
#define TARPIPE_UNTAR_H

#include <stdbool.h>
#include <stdint.h>

#include "instream.h"
#include "opts.h"
#include "ring.h"
#include "select.h"

struct untar_config {
	const struct opts *opts;	/* borrowed */
	struct instream *in;		/* borrowed */
	struct ring *ring;		/* of records; borrowed */
	struct select *select;		/* borrowed; NULL: every member is wanted */
	bool keeps_root;		/* the destination directory keeps its own metadata */
};

struct untar;

/* NULL with errno ENOMEM. */
struct untar *untar_new(const struct untar_config *config);
void untar_free(struct untar *untar);

/*
 * Turns the whole stream into records, ends them and closes the ring.  What can't be
 * restored is told by diag and left out.  Returns 0; -1 when the stream broke (told) or a
 * ring was aborted: then the records are ended, too, so that what came is restored.
 */
int untar_run(struct untar *untar);

#endif
