/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular files: small ones in one piece, large ones in pieces of their data, or by
 * reference.  A small one costs five calls: openat, fstat, flistxattr, pread, close.
 */
#include "packing.h"

#include <errno.h>
#include <string.h>

#include "extent.h"

/* A file on its way. */
struct file {
	struct source in;
	struct record head;
	uint64_t size;			/* what END will say */
	int failure;			/* errno of a failed read: it is thrown away */
	bool settled;			/* its holes can be asked for */
};

/*
 * A file that fits: head, data and, when nothing lies between, end in one
 * reservation.
 */
static int pack_small(struct pack *pack, struct file *file)
{
	size_t head_size = record_size(RECORD_FILE, file->head.name_len, 0);
	size_t end_size = record_size(RECORD_END, 0, 0);
	size_t size = (size_t)file->in.st.st_size, used = head_size;
	size_t need = head_size + record_size(RECORD_PIECE, 0, size + 1) +
		      pack_sum_room(pack) + end_size;
	unsigned char *at;
	struct record piece = { .type = RECORD_PIECE };
	struct record end = { .type = RECORD_END };
	ssize_t n = 0;

	if (ring_room(pack->ring) < need)
		source_pause(&file->in);
	at = ring_reserve(pack->ring, need);
	if (!at)
		return -1;
	source_resume(&file->in);
	if (size > 0)
		n = source_read(&file->in, at + head_size + RECORD_DATA_AT);
	source_note(pack, &file->in);
	if (n < 0) {
		source_tell_error(pack, errno, 0, "");
		file->failure = errno;
		return 1;
	}
	if ((size_t)n != size)
		source_tell_size(pack, &file->in, (uint64_t)n, "");
	file->size = (size_t)n > size ? size : (size_t)n;

	record_encode(at, &file->head);
	if (file->size > 0) {
		piece.data_len = (uint32_t)file->size;
		record_encode(at + used, &piece);
		used += record_size(RECORD_PIECE, 0, piece.data_len);
	}
	used += pack_sum_small(pack, at + used, at + head_size + RECORD_DATA_AT,
			       file->size);
	if (!(file->head.flags & RECORD_MORE)) {
		end.first = file->size;
		record_encode(at + used, &end);
		used += end_size;
	}
	pack_note_data(pack, at + head_size + RECORD_DATA_AT, file->size, 0);
	pack->bytes += file->size;
	ring_commit(pack->ring, used);
	return 0;
}

/*
 * Reads [from, to) into pieces.  Returns 0, 1 at a read error or the file's early
 * end (file->failure, file->size say what), or -1.
 */
static int pack_range(struct pack *pack, struct file *file, uint64_t from,
		      uint64_t to)
{
	while (from < to) {
		uint64_t left = to - from;
		size_t want = left < pack->piece_max ? (size_t)left :
						       pack->piece_max;
		unsigned char *at = ring_reserve(
			pack->ring, record_size(RECORD_PIECE, 0, want));
		struct record piece = { .type = RECORD_PIECE, .first = from };
		ssize_t n;

		if (!at)
			return -1;
		n = source_read_at(&file->in, at + RECORD_DATA_AT,
				   want, from);
		if (n < 0) {
			file->failure = errno;
			source_tell_error(pack, errno, from, "");
			return 1;
		}
		if (n == 0) {
			file->size = from;
			return 1;
		}
		pack_note_data(pack, at + RECORD_DATA_AT, (size_t)n, from);
		pack_sum_data(pack, at + RECORD_DATA_AT, (size_t)n, from);
		piece.data_len = (uint32_t)n;
		record_encode(at, &piece);
		ring_commit(pack->ring, record_size(RECORD_PIECE, 0, (size_t)n));
		if (pack_sum_send(pack) != 0)
			return -1;
		from += (uint64_t)n;
		pack->bytes += (uint64_t)n;
	}
	return 0;
}

/* Only the data of a file with holes; all of it where they can't be found. */
static int pack_extents(struct pack *pack, struct file *file)
{
	uint64_t size = (uint64_t)file->in.st.st_size, at = 0, start, end;
	int more, got;

	if (!(file->head.flags & RECORD_SPARSE) || !file->settled)
		return pack_range(pack, file, 0, size);
	while ((more = extent_next(file->in.fd, at, size, &start, &end)) > 0) {
		got = pack_range(pack, file, start, end);
		if (got != 0)
			return got;
		at = end;
	}
	/* "No data at all" in a file that has blocks is not to be believed. */
	if (more < 0 || (at == 0 && extent_has_blocks(file->in.fd)))
		return pack_range(pack, file, at, size);
	return 0;
}

/* A size that is made up: to the end of the file, wherever that is. */
static int pack_to_end(struct pack *pack, struct file *file)
{
	int got = pack_range(pack, file, 0, UINT64_MAX / 2);

	return got < 0 ? -1 : 0;
}

static int pack_pieces(struct pack *pack, struct file *file)
{
	int got;

	if (pack_emit(pack, &file->head) != 0)
		return -1;
	pack_sum_begin(pack);
	if (source_made_up(pack, &file->in)) {
		got = pack_to_end(pack, file);
	} else {
		source_sequential(pack, &file->in);
		file->size = (uint64_t)file->in.st.st_size;
		got = pack_extents(pack, file);
		if (got >= 0 && file->failure == 0)
			source_check(pack, &file->in, &file->size, "");
	}
	return got < 0 ? -1 : pack_sum_end(pack, file->size);
}

static int pack_reference(struct pack *pack, struct file *file)
{
	struct record ref = {
		.type = RECORD_REF,
		.first = (uint64_t)file->in.fd,
		.second = (uint64_t)file->in.st.st_size,
	};

	file->size = (uint64_t)file->in.st.st_size;
	pack->bytes += file->size;
	pack_note_read(pack, file->in.fd, file->size);
	if (pack_emit(pack, &file->head) != 0 || pack_emit(pack, &ref) != 0)
		return -1;
	return pack_sum_unsent(pack, &file->in, file->settled, &file->failure);
}

bool pack_may_reference(void *arg, const struct stat *st)
{
	const struct pack *pack = arg;
	uint64_t least = pack->config.opts->reflink == REFLINK_ALWAYS ?
				 1 :
				 EXTENT_REFERENCE_MIN;

	return (uint64_t)st->st_size >= least &&
	       references_possible(pack->config.refs, st->st_dev,
				   pack->config.dst_dev);
}

static bool by_reference(struct pack *pack, const struct file *file)
{
	if ((file->head.flags & RECORD_SPARSE) && !file->settled)
		return false;
	return file->in.fd >= 0 && pack_may_reference(pack, &file->in.st) &&
	       !source_made_up(pack, &file->in);
}

/* Takes a place for a descriptor; the others are given back behind the ring. */
static bool enter_reference(struct pack *pack)
{
	struct references *refs = pack->config.refs;

	if (references_try(refs))
		return true;
	ring_urge(pack->ring);
	return references_enter(refs);
}

size_t pack_small_max(const struct pack *pack)
{
	return pack->piece_max - RECORD_ALIGN * 64;
}

/* One read takes all of it; what is zero in it, the other side finds as fast. */
static bool is_small(struct pack *pack, const struct file *file)
{
	return (uint64_t)file->in.st.st_size <= pack_small_max(pack) &&
	       !source_made_up(pack, &file->in);
}

/* What follows the data, but for a small file's END, which came with them. */
static int pack_rest(struct pack *pack, struct file *file)
{
	const struct xattr_source from = { .fd = file->in.fd };

	if (file->failure == 0 && pack_attributes(pack, &from) != 0)
		return -1;
	return pack_end(pack, file->size, file->failure);
}

/* Head, data, attributes, end.  The descriptor is gone afterwards. */
static int pack_contents(struct pack *pack, struct file *file)
{
	bool small = is_small(pack, file), referenced;
	int got;

	if (!small)
		source_note(pack, &file->in);
	if (!small && (file->head.flags & RECORD_SPARSE))
		file->settled = extent_settle(file->in.fd, &file->in.st) == 0;
	referenced = by_reference(pack, file) && enter_reference(pack);
	if (referenced)
		got = pack_reference(pack, file);
	else
		got = small ? pack_small(pack, file) : pack_pieces(pack, file);
	if (got == 0 && (referenced || !small ||
			 (file->head.flags & RECORD_MORE)))
		got = pack_rest(pack, file);
	pack_note_end(pack, file->size, file->failure);
	/* From its END on, the other side owns a referenced descriptor. */
	if (!referenced || got < 0)
		source_close(&file->in);
	if (referenced && got < 0)
		references_leave(pack->config.refs);
	if (file->failure != 0 && file->head.id != 0)
		links_forget(pack->links, file->in.st.st_dev, file->in.st.st_ino);
	return got < 0 ? -1 : 0;
}

/* --verify: what the destination has, it shall have from these bytes. */
static int sum_left_alone(struct pack *pack, struct file *file)
{
	if (!pack->sums)
		return 0;
	if (file->in.fd >= 0 && (file->head.flags & RECORD_SPARSE))
		file->settled = extent_settle(file->in.fd, &file->in.st) == 0;
	if (pack_sum_unsent(pack, &file->in, file->settled, &file->failure) != 0)
		return -1;
	if (file->failure == 0 && file->in.fd >= 0)
		source_check(pack, &file->in, &file->size, "");
	return 0;
}

/*
 * What the destination has already: head, attributes and end.  Its bytes are read for
 * the list of --manifest and the sums of --verify alone.
 */
static int pack_left_alone(struct pack *pack, struct file *file)
{
	source_note(pack, &file->in);
	file->size = (uint64_t)file->in.st.st_size;
	file->head.flags |= RECORD_HAVE;
	pack_note_left(pack, &file->in);
	if (pack_emit(pack, &file->head) != 0 || sum_left_alone(pack, file) != 0)
		return -1;
	return pack_rest(pack, file);
}

int pack_file(struct pack *pack)
{
	struct file file = { .failure = 0 };
	struct xattr_source from = { 0 };
	int got;

	switch (source_open(pack, &file.in)) {
	case SOURCE_OPEN:
		break;
	case SOURCE_SPECIAL:
		return pack_special(pack);
	case SOURCE_GONE:
		return 0;
	}
	pack_head(pack, &file.head, RECORD_FILE, &file.in.st);
	got = pack_owners(pack, &file.in.st);
	if (got == 0)
		got = pack_link(pack, &file.head, &file.in.st);
	if (got >= 0)
		pack_note(pack, &file.in.st, NULL, got > 0);
	if (got != 0) {
		source_close(&file.in);
		return got < 0 ? -1 : 0;
	}
	from.fd = file.in.fd;
	file.head.flags = (uint8_t)pack_list_attributes(pack, &from,
							 file.in.fetch);
	if (pack_keeps(pack, PRESERVE_HOLES) && extent_sparse(&file.in.st))
		file.head.flags |= RECORD_SPARSE;
	if (!pack_has(pack, &file.in))
		return pack_contents(pack, &file);
	got = pack_left_alone(pack, &file);
	source_close(&file.in);
	return got;
}
