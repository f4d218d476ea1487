/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tar stream against a tree.  A thread of its own reads the stream into the ring; the
 * members are compared as they come out of it.
 */
#include "comparing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "instream.h"
#include "intake.h"
#include "job.h"
#include "parts.h"
#include "path.h"
#include "ring.h"
#include "spec.h"
#include "tar.h"
#include "thread.h"

enum { PATIENCE = 300 };	/* ms, for a reader that was told to stop */

struct stream {
	struct compare *compare;
	const struct opts *opts;
	struct intake *intake;
	struct ring *ring;
	struct instream *in;
	struct thread reader;
	struct parts target;		/* of a hard link */
	struct tar_member member;
	uint64_t data;			/* bytes of the member's that came */
	uint64_t number;		/* of members */
};

/* ---- contents ---- */

/* The bytes of one piece; false at the first difference or failure, which is told. */
static bool compare_piece(struct stream *stream, const struct found *found,
			  const struct instream_data *data)
{
	unsigned char *room = stream->compare->room.other;
	const char *bytes = data->bytes;

	for (size_t done = 0; done < data->size;) {
		size_t want = data->size - done < SAMEFILE_PIECE ?
				      data->size - done :
				      SAMEFILE_PIECE;
		uint64_t at = data->offset + done;
		ssize_t n = samefile_read(found->fd, room, want, at);
		size_t same;

		if (n < 0) {
			diag_fail(STATUS_PARTIAL,
				  compare_where(stream->compare, found->name),
				  errno, "reading at byte %llu",
				  (unsigned long long)at);
			return false;
		}
		same = samefile_first(bytes + done, room, (size_t)n);
		if (same < want) {
			differ_say(stream->opts, found->name,
				   "content: differs from byte %llu on",
				   (unsigned long long)(at + same));
			return false;
		}
		done += want;
	}
	return true;
}

/* A hole of the stream's: zeros. */
static bool compare_zeros(struct stream *stream, const struct found *found,
			  uint64_t from, uint64_t to)
{
	const struct samefile_side side = { found->fd, found->st };
	uint64_t at = from;

	switch (samefile_zero(&stream->compare->room, &side, &at, to)) {
	case SAMEFILE_EQUAL:
		return true;
	case SAMEFILE_DIFFERENT:
		differ_say(stream->opts, found->name,
			   "content: differs from byte %llu on",
			   (unsigned long long)at);
		return false;
	default:
		diag_fail(STATUS_PARTIAL,
			  compare_where(stream->compare, found->name), errno,
			  "reading at byte %llu", (unsigned long long)at);
		return false;
	}
}

/* Returns -1 when the stream is at its end before its time, else 0. */
static int compare_contents(struct stream *stream, const struct found *found)
{
	uint64_t size = stream->member.meta.size, done = 0;
	struct instream_data data;
	int result;

	stream->data = 0;
	while ((result = instream_read(stream->in, &data)) == 1) {
		stream->data += data.size;
		if (!compare_zeros(stream, found, done, data.offset) ||
		    !compare_piece(stream, found, &data))
			return 0;
		done = data.offset + data.size;
	}
	if (result < 0)
		return result == TAR_DATA_BAD ? 0 : -1;
	if (compare_zeros(stream, found, done, size) && stream->member.sparse &&
	    (stream->opts->preserve & PRESERVE_HOLES)) {
		const struct samefile_side side = { found->fd, found->st };

		differ_holes(stream->opts, found->name, stream->data,
			     samefile_data(&side));
	}
	return 0;
}

/*
 * Whether the member's data are true, and the size that its file had in the end.  Returns 0,
 * or -1 when the stream can't go on.
 */
static int check_data(struct stream *stream, uint64_t *size)
{
	const struct tar_member *member = &stream->member;

	*size = member->meta.size;
	if (!S_ISREG(member->meta.mode) || member->hardlink || *size == 0)
		return 0;
	return instream_check(stream->in, size, false) == -1 ? -1 : 0;
}

/* Of one that shrank, the stream has more than -x has made of it. */
static int compare_sizes(struct stream *stream, const struct found *found,
			 struct want *want)
{
	if (check_data(stream, &want->meta.size) != 0)
		return -1;
	if (differ_same_size(stream->opts, found->name, want, &found->st))
		diag_fail(STATUS_CHANGED, found->name, 0,
			  "its content is not compared");
	return 0;
}

static int compare_regular(struct stream *stream, struct found *found,
			   struct want *want)
{
	int result = 0;

	if (want->meta.size != (uint64_t)found->st.st_size)
		return compare_sizes(stream, found, want);
	if (compare_open(stream->compare, found) != 0)
		return 0;
	result = compare_contents(stream, found);
	close(found->fd);
	found->fd = -1;
	return result;
}

/* ---- members ---- */

static void compare_hardlink(struct stream *stream, const struct found *found)
{
	struct found other = { .fd = -1 };
	const char *path = path_strip_components(stream->member.hardlink,
						 stream->opts->strip);
	struct stat st = found->st;

	if (!(stream->opts->preserve & PRESERVE_LINKS))
		return;
	if (!path || parts_parse(&stream->target, path) != PARTS_FINE ||
	    stream->target.count == 0) {
		diag_fail(STATUS_PARTIAL, found->name, 0,
			  "refused: its link's target");
		return;
	}
	other.name = stream->target.text;
	if (compare_find(stream->compare, &other) != 1)
		return;
	if (other.st.st_dev != st.st_dev || other.st.st_ino != st.st_ino)
		differ_say(stream->opts, found->name,
			   "links: is not one file with %s", other.name);
}

static void compare_member_attributes(struct stream *stream,
				      const struct found *found)
{
	struct attrs *wanted = &stream->compare->wanted;
	const struct tar_member *member = &stream->member;

	attrs_clear(wanted);
	for (size_t i = 0; i < member->nxattrs; i++)
		if (attrs_add(wanted, stream->opts, member->xattrs[i].name,
			      member->xattrs[i].value,
			      member->xattrs[i].size) != 0) {
			differ_fail(found->name, ENOMEM, "its attributes");
			return;
		}
	compare_attributes(stream->compare, found);
}

/* Two members that are no links of each other are two files. */
static void compare_alias(struct stream *stream, const struct found *found)
{
	const struct stat own = {
		.st_ino = (ino_t)++stream->number,
		.st_nlink = 1,
	};

	alias_meet(stream->compare->alias, stream->opts, found->name, &own,
		   &found->st);
}

/* What was found under its name.  As the next. */
static int compare_found(struct stream *stream, struct found *found)
{
	const struct tar_member *member = &stream->member;
	struct want want = { .meta = member->meta, .known = WANT_ALL };

	if (member->hardlink) {
		compare_hardlink(stream, found);
		return 0;
	}
	if (!differ_same_type(stream->opts, found->name, member->meta.mode,
			      &found->st))
		return 0;
	if (member->trouble)
		diag_fail(STATUS_PARTIAL, found->name, 0, "%s", member->trouble);
	compare_alias(stream, found);
	differ_meta(stream->opts, found->name, &want, &found->st);
	compare_member_attributes(stream, found);
	if (S_ISLNK(member->meta.mode))
		compare_target(stream->compare, found, member->target);
	if (S_ISREG(member->meta.mode))
		return compare_regular(stream, found, &want);
	return 0;
}

/* Returns 0, or -1 when the stream can't go on. */
static int compare_member(struct stream *stream)
{
	const struct tar_member *member = &stream->member;
	bool is_dir = S_ISDIR(member->meta.mode) && !member->hardlink;
	struct found found = { .fd = -1 };
	uint64_t size;

	found.name = compare_take(stream->compare, member->path,
				  stream->opts->strip, is_dir);
	if (!found.name || !compare_wants_type(stream->compare, member->meta.mode))
		return 0;
	if (compare_find(stream->compare, &found) == 1 &&
	    compare_found(stream, &found) != 0)
		return -1;
	return check_data(stream, &size);
}

/* ---- the run ---- */

static void reader_main(void *arg)
{
	struct stream *stream = arg;

	intake_run(stream->intake, stream->ring,
		   !intake_is_tape(stream->intake));
}

static int make_parts(struct stream *stream)
{
	const struct opts *opts = stream->opts;
	struct ring_config ring = job_ring_config(opts, INSTREAM_SPANS);
	struct instream_config in = {
		.shown = intake_shown(stream->intake),
		.ignore_zeros = opts->ignore_zeros,
		.drain = !intake_is_tape(stream->intake),
	};

	in.ring = stream->ring = job_ring(&ring);
	if (!stream->ring)
		return -1;
	stream->in = instream_new(&in);
	if (stream->in && thread_start(&stream->reader, "intake", reader_main,
				       stream) == 0)
		return 0;
	diag_fail(STATUS_STOPPED, NULL, errno, "setting up the run");
	return -1;
}

/* Names that the stream has not are extra, if all of it was read. */
static void stream_go(struct stream *stream)
{
	int result;

	while ((result = instream_next(stream->in, &stream->member)) == 1)
		if (compare_member(stream) != 0) {
			result = -1;
			break;
		}
	if (result == 0) {
		thread_join(&stream->reader);
		compare_extras(stream->compare);
		return;
	}
	ring_abort(stream->ring, EPIPE);
	stream->compare->stuck = !thread_join_within(&stream->reader, PATIENCE);
}

void compare_stream(struct compare *compare)
{
	/* A reader that is stuck still uses it when this has returned. */
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the run");
		return;
	}
	stream->compare = compare;
	stream->opts = compare->opts;
	if (spec_check_stream(compare->opts) == 0)
		stream->intake = intake_open(compare->opts);
	if (stream->intake && make_parts(stream) == 0)
		stream_go(stream);
	if (compare->stuck)
		return;
	instream_free(stream->in);
	ring_free(stream->ring);
	intake_free(stream->intake);
	parts_destroy(&stream->target);
	free(stream);
}
