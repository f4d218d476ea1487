/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member's data and attributes.
 *
 * Data stay where they are, in the ring of tar bytes: a SPAN says where, and the worker
 * that has written them lets them go.  Copied are only pieces that are so small that
 * it costs less.
 */
#include "untaring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "sums.h"

enum {
	SMALL = 4096,			/* a piece that is copied */
	XATTR_SIZE_MAX = 64 << 10,	/* the kernel's */
};

void untar_head(const struct untar *untar, struct record *head,
		enum record_type type)
{
	size_t len;

	memset(head, 0, sizeof(*head));
	head->type = (uint8_t)type;
	head->dir = (uint32_t)untar->depth;
	head->name = parts_get(&untar->path, untar->path.count - 1, &len);
	head->name_len = (uint16_t)len;
	head->flags = untar->attributes.flags;
	head->meta = untar->meta;
}

/* ---- data ---- */

/* One record with these data, or -- where they are too many for one -- the first of them. */
static struct record data_record(const struct untar *untar,
				 const struct instream_data *data,
				 struct record_span *span)
{
	struct record record = { .first = data->offset };

	if (data->span && data->size >= SMALL) {
		*span = (struct record_span){ data->bytes, data->span };
		record.type = RECORD_SPAN;
		record.second = data->size;
		record.data = span;
		record.data_len = sizeof(*span);
		return record;
	}
	record.type = RECORD_PIECE;
	record.data = data->bytes;
	record.data_len = (uint32_t)(data->size < untar->piece_max ?
					     data->size : untar->piece_max);
	return record;
}

static int put_records(struct untar *untar, struct instream_data data)
{
	struct record_span span;

	while (data.size > 0) {
		struct record record = data_record(untar, &data, &span);
		size_t done = record.data_len;

		if (record.type == RECORD_SPAN) {
			done = data.size;
			instream_hold(data.span);
		}
		if (untar_emit(untar, &record) != 0) {
			if (record.type == RECORD_SPAN)
				instream_release(data.span);
			return -1;
		}
		data.bytes = (const char *)data.bytes + done;
		data.size -= done;
		data.offset += done;
	}
	return 0;
}

/*
 * All data came: whether they are true.  As instream_read, with the size that the file has
 * in the end.
 */
static int check_data(struct untar *untar, uint64_t *size)
{
	int got = *size > 0 ? instream_check(untar->config.in, size, true) : 0;

	if (got == -1)
		untar->broken = true;
	return got;
}

/* The same, and sums of it. */
static int put_data(struct untar *untar, const struct instream_data *data)
{
	int got;

	if (!untar->sums)
		return put_records(untar, *data);
	/* Whoever writes them may be through before they are summed up. */
	if (data->span)
		instream_hold(data->span);
	got = put_records(untar, *data);
	if (got == 0)
		got = sums_add(untar->sums, data->bytes, data->size, data->offset);
	if (data->span)
		instream_release(data->span);
	return got;
}

/*
 * Head, data and end in one reservation: all of a small file reaches one worker.  One that
 * is not whole never does.
 */
static int put_whole(struct untar *untar, const struct record *head,
		     const struct instream_data *data)
{
	struct record end = { .type = RECORD_END, .first = head->meta.size };
	struct record_span span;
	const void *bytes = NULL;
	bool held = false;
	struct record body = data_record(untar, data, &span);
	size_t used = record_size(RECORD_FILE, head->name_len, 0);
	size_t size = used + record_size(RECORD_END, 0, 0);
	unsigned char *at;

	if (data->size > 0)
		size += record_size((enum record_type)body.type, 0,
				    body.data_len);
	if (untar->sums)
		size += sums_small_size();
	at = ring_reserve(untar->ring, size);
	if (!at)
		return -1;
	record_encode(at, head);
	if (data->size > 0) {
		held = body.type == RECORD_SPAN;
		if (held)
			instream_hold(data->span);
		bytes = record_encode(at + used, &body);
		if (held)
			bytes = data->bytes;
		used += record_size((enum record_type)body.type, 0,
				    body.data_len);
	}
	if (check_data(untar, &end.first) != 0) {
		if (held)
			instream_release(data->span);
		return 0;
	}
	if (untar->sums)
		used += sums_put_small(at + used, bytes, (size_t)end.first);
	record_encode(at + used, &end);
	used += record_size(RECORD_END, 0, 0);
	ring_commit(untar->ring, used);
	return 0;
}

/* The next data; as instream_read. */
static int next_data(struct untar *untar, struct instream_data *data)
{
	int got = instream_read(untar->config.in, data);

	if (got == -1)
		untar->broken = true;
	return got;
}

/* Data, attributes, end.  The first data are there already, if `got` is 1. */
static int put_parts(struct untar *untar, const struct record *head,
		     struct instream_data *data, int got)
{
	uint64_t size = head->meta.size;
	int failure = 0;

	if (untar_emit(untar, head) != 0)
		return -1;
	if (untar->sums)
		sums_begin(untar->sums);
	for (; got > 0; got = next_data(untar, data)) {
		/* Who says so much of a file may say anything. */
		if (data->offset > size || data->size > size - data->offset) {
			diag_fail(STATUS_PARTIAL, untar->member.path, 0,
				  "has data beyond its size: left out");
			failure = EBADMSG;
			break;
		}
		if (put_data(untar, data) != 0)
			return -1;
	}
	if (got == 0 && failure == 0)
		got = check_data(untar, &size);
	if (got < 0)
		failure = EBADMSG;
	if (untar->broken)
		failure = EIO;
	if (untar->sums && sums_end(untar->sums, size) != 0)
		return -1;
	return untar_rest(untar, &untar->attributes, size, failure);
}

int untar_file(struct untar *untar)
{
	struct instream_data data = { 0 };
	struct record head;
	int got = 0;

	untar_head(untar, &head, RECORD_FILE);
	if (untar->member.sparse && untar_keeps(untar, PRESERVE_HOLES))
		head.flags |= RECORD_SPARSE;
	untar->bytes += head.meta.size;
	if (head.meta.size > 0)
		got = next_data(untar, &data);
	if (got >= 0 && !untar->member.sparse &&
	    !(head.flags & RECORD_MORE) && data.offset == 0 &&
	    data.size == head.meta.size &&
	    (data.size <= untar->piece_max || data.span) &&
	    (data.size <= SUMS_BLOCK || !untar->sums))
		return put_whole(untar, &head, &data);
	return put_parts(untar, &head, &data, got);
}

/* ---- attributes ---- */

static bool wanted(const struct untar *untar, const char *name,
		   enum xattr_class class)
{
	return xattr_classify(name) == class &&
	       untar_keeps(untar, class == XATTR_ACL ? PRESERVE_ACL :
						       PRESERVE_XATTR);
}

static bool attributes_add(struct attributes *to, const struct record *record)
{
	size_t need = record_size(RECORD_XATTR, record->name_len,
				  record->data_len);

	if (to->size - to->used < need) {
		size_t size = 2 * (to->used + need);
		unsigned char *records = realloc(to->records, size);

		if (!records)
			return false;
		to->records = records;
		to->size = size;
	}
	record_encode(to->records + to->used, record);
	to->used += need;
	return true;
}

/* One value, in as many records as the ring wants. */
static bool attribute_add(struct untar *untar, const struct tar_xattr *xattr)
{
	size_t name_len = strlen(xattr->name), at = 0;
	size_t most = untar->piece_max - record_size(RECORD_XATTR, name_len, 0);

	do {
		size_t left = xattr->size - at;
		struct record record = {
			.type = RECORD_XATTR,
			.name = xattr->name,
			.name_len = (uint16_t)name_len,
			.data = (const char *)xattr->value + at,
			.data_len = (uint32_t)(left < most ? left : most),
			.first = at,
			.second = xattr->size,
		};

		if (!attributes_add(&untar->attributes, &record))
			return false;
		at += record.data_len;
	} while (at < xattr->size);
	return true;
}

static bool attribute_fits(const struct untar *untar,
			   const struct tar_xattr *xattr)
{
	size_t len = strlen(xattr->name);

	if (len > 0 && len <= RECORD_NAME_MAX && xattr->size <= XATTR_SIZE_MAX)
		return true;
	diag_fail(STATUS_PARTIAL, untar->member.path,
		  len > RECORD_NAME_MAX ? ENAMETOOLONG : E2BIG, "attribute %s",
		  xattr->name);
	return false;
}

void untar_attributes(struct untar *untar)
{
	const struct tar_member *member = &untar->member;
	struct attributes *to = &untar->attributes;

	to->used = 0;
	to->flags = 0;
	for (int class = XATTR_PLAIN; class <= XATTR_PRIVILEGED; class++)
		for (size_t i = 0; i < member->nxattrs; i++) {
			const struct tar_xattr *xattr = &member->xattrs[i];

			if (!wanted(untar, xattr->name,
				    (enum xattr_class)class) ||
			    !attribute_fits(untar, xattr))
				continue;
			if (!attribute_add(untar, xattr)) {
				untar_no_memory(untar);
				return;
			}
			to->flags |= class == XATTR_ACL ?
					     RECORD_MORE | RECORD_ACL :
					     RECORD_MORE;
		}
}

int untar_rest(struct untar *untar, const struct attributes *attributes,
	       uint64_t size, int failure)
{
	struct record end = { .type = RECORD_END, .first = size,
			      .second = (uint64_t)failure };

	if (!attributes)
		return 0;
	for (size_t at = 0; failure == 0 && at < attributes->used;) {
		struct record record;
		void *to;

		if (record_decode(&record, attributes->records + at,
				  attributes->used - at) != 0)
			abort();
		to = ring_reserve(untar->ring, record.size);
		if (!to)
			return -1;
		memcpy(to, attributes->records + at, record.size);
		ring_commit(untar->ring, record.size);
		at += record.size;
	}
	return untar_emit(untar, &end);
}
