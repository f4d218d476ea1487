/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended attributes of whatever is packed. */
#include "packing.h"

#include <errno.h>
#include <string.h>

static bool wanted(const struct pack *pack, const char *name,
		   enum xattr_class class)
{
	return xattr_classify(name) == class &&
	       pack_keeps(pack, class == XATTR_ACL ? PRESERVE_ACL : PRESERVE_XATTR);
}

bool pack_wants_attribute(const struct pack *pack, const char *name)
{
	enum xattr_class class = xattr_classify(name);

	return class != XATTR_SKIP && wanted(pack, name, class);
}

/* Into pack->names, as xattr_list. */
static ssize_t list_names(struct pack *pack, const struct xattr_source *from,
			  const struct fetch *fetch)
{
	if (!fetch || !fetch->listed)
		return xattr_list(from, &pack->names);
	return xattr_buffer_fill(&pack->names, fetch->text,
				 (size_t)fetch->text_len);
}

/* Lists the object's attributes into pack->names; returns the head's flags. */
unsigned pack_list_attributes(struct pack *pack,
			      const struct xattr_source *from,
			      const struct fetch *fetch)
{
	unsigned flags = 0;
	ssize_t len;

	pack->names_len = 0;
	if (!pack_keeps(pack, PRESERVE_XATTR | PRESERVE_ACL) || pack->item.unasked)
		return 0;
	len = list_names(pack, from, fetch);
	if (len < 0) {
		pack_tell(pack, errno, "listing its attributes");
		return 0;
	}
	pack->names_len = (size_t)len;
	for (size_t at = 0; at < pack->names_len;
	     at += strlen(pack->names.bytes + at) + 1) {
		const char *name = pack->names.bytes + at;

		for (int class = XATTR_PLAIN; class <= XATTR_PRIVILEGED; class++)
			if (wanted(pack, name, (enum xattr_class)class))
				flags |= RECORD_MORE;
		if (wanted(pack, name, XATTR_ACL))
			flags |= RECORD_ACL;
	}
	return flags;
}

/* One attribute, in as many pieces as the ring wants. */
static int pack_value(struct pack *pack, const char *name, size_t size)
{
	size_t name_len = strlen(name);
	size_t most = pack->piece_max - record_size(RECORD_XATTR, name_len, 0);
	size_t at = 0;

	do {
		size_t piece = size - at < most ? size - at : most;
		struct record record = {
			.type = RECORD_XATTR,
			.name = name,
			.name_len = (uint16_t)name_len,
			.data = pack->value.bytes + at,
			.data_len = (uint32_t)piece,
			.first = at,
			.second = size,
		};

		if (pack_emit(pack, &record) != 0)
			return -1;
		at += piece;
	} while (at < size);
	return 0;
}

ssize_t pack_read_attribute(struct pack *pack, const struct xattr_source *from,
			    const char *name)
{
	ssize_t size = xattr_get(from, name, &pack->value);

	if (size < 0)
		diag_fail(errno == ENODATA ? STATUS_CHANGED : STATUS_PARTIAL,
			  pack_shown(pack), errno, "reading attribute %s", name);
	return size;
}

static int pack_attribute(struct pack *pack, const struct xattr_source *from,
			  const char *name)
{
	ssize_t size = pack_read_attribute(pack, from, name);

	if (size < 0)
		return 0;
	if (strlen(name) > RECORD_NAME_MAX) {
		diag_fail(STATUS_PARTIAL, pack_shown(pack), ENAMETOOLONG,
			  "attribute %s", name);
		return 0;
	}
	return pack_value(pack, name, (size_t)size);
}

/* All that were listed, class by class: the order in which they can be set. */
int pack_attributes(struct pack *pack, const struct xattr_source *from)
{
	for (int class = XATTR_PLAIN; class <= XATTR_PRIVILEGED; class++) {
		for (size_t at = 0; at < pack->names_len;
		     at += strlen(pack->names.bytes + at) + 1) {
			const char *name = pack->names.bytes + at;

			if (wanted(pack, name, (enum xattr_class)class) &&
			    pack_attribute(pack, from, name) != 0)
				return -1;
		}
	}
	return 0;
}
