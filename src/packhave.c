/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that the destination has already (--continue): their data stay where they are. */
#include "packing.h"

bool pack_has(struct pack *pack, const struct source *source)
{
	const struct have_seen *seen = ahead_seen(pack->ahead);
	const struct xattr_source from = { .fd = source->fd };

	/* Whether a size means something is asked of what may be left alone only. */
	if (!pack->config.have || !have_fits(seen, &source->st) ||
	    source_made_up(pack, source))
		return false;
	/* Without a descriptor it has none: a helper has seen to that. */
	return have_takes(pack->config.have, seen, &source->st,
			  source->fd >= 0 ? &from : NULL);
}

void pack_note_left(struct pack *pack, struct source *source)
{
	uint64_t size = (uint64_t)source->st.st_size;
	const struct fetch *fetch = source->fetch;

	if (source->fd >= 0)
		pack_note_read(pack, source->fd, size);
	else if (fetch && fetch->data && fetch->got == source->st.st_size)
		pack_note_data(pack, fetch->data, (size_t)size, 0);
	pack_note_end(pack, size, 0);
}
