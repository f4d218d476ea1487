/* SPDX-License-Identifier: BSD-2-Clause */
/* What is packed, told to the list of --manifest, if there is one. */
#include "packing.h"

#include <errno.h>

#include "manifest.h"
#include "path.h"

void pack_note(struct pack *pack, const struct stat *st, const char *target,
	       bool further)
{
	struct manifest_entry entry = {
		.nlink = st->st_nlink,
		.target = target,
		.further = further,
	};

	if (!pack->config.manifest)
		return;
	if (!S_ISDIR(st->st_mode)) {
		entry.id = pack->met.id;
		entry.last = pack->met.last;
	}
	meta_from_stat(&entry.meta, st);
	entry.path = ahead_member(pack->ahead);
	if (!entry.path) {
		pack_tell(pack, ENOMEM, "listing it");
		return;
	}
	if (pack->config.opts->strip > 0)
		entry.path = path_strip_components(entry.path,
						   pack->config.opts->strip);
	if (!entry.path)
		entry.path = ".";	/* all is cut off of the top */
	manifest_entry(pack->config.manifest, &entry);
}

void pack_note_data(struct pack *pack, const void *bytes, size_t size,
		    uint64_t offset)
{
	if (pack->config.manifest)
		manifest_data(pack->config.manifest, bytes, size, offset);
}

void pack_note_read(struct pack *pack, int fd, uint64_t size)
{
	if (pack->config.manifest)
		manifest_read(pack->config.manifest, fd, size);
}

void pack_note_end(struct pack *pack, uint64_t size, int failure)
{
	if (pack->config.manifest)
		manifest_end(pack->config.manifest, size, failure);
}
