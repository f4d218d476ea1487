/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks come out of the ring in whole tar blocks; what is less than a seal's length
 * is put together in `small`, so that a seal, a header or an end mark never lies across two
 * of them.  Bytes are hashed when the reader is done with their block, because only
 * then it is known how far the archive went.
 */
#include "instream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "hash.h"
#include "seal.h"
#include "text.h"
#include "thread.h"

enum { BLOCK_MAX = 256 << 10 };

struct instream_span {
	struct instream *in;
	struct instream_span *next;	/* while it is free */
	unsigned number;		/* the ring's */
	unsigned users;
};

enum state { BETWEEN, WITHIN, OVER, STUCK };

struct instream {
	struct instream_config config;
	enum state state;
	struct tar_reader *reader;

	/* the block: [pos, given) is the reader's, what follows is left */
	struct instream_span *span;	/* NULL: it is `small` */
	const char *block;
	size_t pos, given, len;
	uint64_t base;			/* offset of the block's first byte */
	char small[SEAL_SIZE];
	bool ended, aborted;

	/* the archive */
	uint64_t begin;
	bool sealed;			/* it has our head */
	struct hash *hash;
	uint64_t entries;
	struct text path;		/* of the member, for messages */

	uint64_t members;
	uint64_t member_at;

	struct lock lock;		/* guards what is below, and users of spans */
	struct instream_span *free;
	struct instream_span spans[INSTREAM_SPANS + 1];
};

struct instream *instream_new(const struct instream_config *config)
{
	struct instream *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->config = *config;
	in->block = in->small;
	for (size_t i = 0; i < sizeof(in->spans) / sizeof(in->spans[0]); i++) {
		in->spans[i].in = in;
		in->spans[i].next = in->free;
		in->free = &in->spans[i];
	}
	lock_init(&in->lock);
	text_init(&in->path);
	return in;
}

/* ---- spans ---- */

static struct instream_span *span_take(struct instream *in, size_t size)
{
	struct instream_span *span;

	lock_take(&in->lock);
	span = in->free;
	in->free = span->next;
	span->users = 1;
	lock_give(&in->lock);
	span->number = ring_take(in->config.ring, size);
	return span;
}

void instream_hold(struct instream_span *span)
{
	lock_take(&span->in->lock);
	span->users++;
	lock_give(&span->in->lock);
}

void instream_release(struct instream_span *span)
{
	struct instream *in = span->in;
	unsigned number = span->number;
	bool last;

	lock_take(&in->lock);
	last = --span->users == 0;
	if (last) {
		span->next = in->free;
		in->free = span;
	}
	lock_give(&in->lock);
	if (last)
		ring_release(in->config.ring, number);
}

static void drop_block(struct instream *in)
{
	if (in->span)
		instream_release(in->span);
	in->span = NULL;
}

void instream_free(struct instream *in)
{
	if (!in)
		return;
	tar_reader_free(in->reader);
	hash_free(in->hash);
	drop_block(in);
	text_destroy(&in->path);
	lock_destroy(&in->lock);
	free(in);
}

/* ---- bytes ---- */

/* 1 with what lies in the ring; 0 at the end or after an abort. */
static int peek(struct instream *in, const void **bytes, size_t *size)
{
	int result;

	if (in->ended)
		return 0;
	if (in->config.waiting)
		in->config.waiting(in->config.arg);
	result = ring_peek(in->config.ring, bytes, size);
	in->ended = result <= 0;
	in->aborted = result < 0;
	return result > 0;
}

/* So that the producer has room while a block is in use. */
static size_t block_max(const struct instream *in)
{
	size_t most = ring_span_max(in->config.ring);

	if (most > BLOCK_MAX)
		most = BLOCK_MAX;
	return most < SEAL_SIZE ? SEAL_SIZE : most;
}

static void take_block(struct instream *in, const void *bytes, size_t size)
{
	size_t most = block_max(in);

	if (size > most)
		size = most;
	size -= size % TAR_BLOCK;
	in->span = span_take(in, size);
	in->block = bytes;
	in->len = size;
}

/* Fills `small` up from the ring. */
static void gather(struct instream *in)
{
	const void *bytes;
	size_t size;

	while (in->len < SEAL_SIZE && peek(in, &bytes, &size)) {
		size_t n = SEAL_SIZE - in->len;

		if (n > size)
			n = size;
		memcpy(in->small + in->len, bytes, n);
		ring_release(in->config.ring, ring_take(in->config.ring, n));
		in->len += n;
	}
}

/* Sees to it that `least` bytes are left in the block, or all that come at all. */
static void refill(struct instream *in, size_t least)
{
	size_t left = in->len - in->pos, size;
	const void *bytes;

	if (left >= least)
		return;
	memmove(in->small, in->block + in->pos, left);
	drop_block(in);
	in->block = in->small;
	in->base += in->pos;
	in->pos = in->given = 0;
	in->len = left;
	if (left == 0 && peek(in, &bytes, &size) && size >= SEAL_SIZE)
		take_block(in, bytes, size);
	else
		gather(in);
}

static size_t left_of(const struct instream *in)
{
	return in->len - in->pos;
}

static uint64_t offset_of(const struct instream *in)
{
	return in->base + in->pos;
}

/* The archive's bytes up to there are used up. */
static void settle(struct instream *in, size_t upto)
{
	if (in->sealed)
		hash_add(in->hash, in->block + in->pos, upto - in->pos);
	in->pos = upto;
}

static ssize_t next_block(void *arg, const void **bytes)
{
	struct instream *in = arg;

	/* The last block may be no whole one: then not all of it will be used. */
	if (in->ended && in->given == in->len)
		return in->aborted ? -1 : 0;
	settle(in, in->given);
	refill(in, 1);
	if (in->aborted)
		return -1;
	*bytes = in->block + in->pos;
	in->given = in->len;
	return (ssize_t)left_of(in);
}

/* ---- what is told ---- */

static int stop(struct instream *in)
{
	in->state = STUCK;
	return -1;
}

/* The number of bytes that came at all. */
static unsigned long long all_bytes(const struct instream *in)
{
	return in->base + in->len;
}

/* The data of the last member are not passed yet. */
static bool within_member(const struct instream *in)
{
	return in->entries > 0 &&
	       in->begin + tar_reader_member_at(in->reader) == in->member_at;
}

static void tell_cut(struct instream *in)
{
	const char *shown = in->config.shown;

	if (within_member(in))
		diag_fail(STATUS_STOPPED, shown, 0,
			  "cut off at byte %llu, within %s", all_bytes(in),
			  in->path.bytes);
	else
		diag_fail(STATUS_STOPPED, shown, 0,
			  "cut off at byte %llu, within a header",
			  all_bytes(in));
}

static int tell_broken(struct instream *in)
{
	uint64_t at = in->begin + tar_reader_used(in->reader);

	if (in->aborted)
		return stop(in);
	if (tar_reader_cut(in->reader))
		tell_cut(in);
	else if (within_member(in))
		diag_fail(STATUS_STOPPED, in->config.shown, 0,
			  "%s: %s, before byte %llu", in->path.bytes,
			  tar_reader_error(in->reader), (unsigned long long)at);
	else if (at == 0)
		diag_fail(STATUS_STOPPED, in->config.shown, 0,
			  "not a tar archive");
	else
		diag_fail(STATUS_STOPPED, in->config.shown, 0, "%s at byte %llu",
			  tar_reader_error(in->reader), (unsigned long long)at);
	return stop(in);
}

static void tell_bad(struct instream *in)
{
	diag_fail(STATUS_PARTIAL, in->config.shown, 0,
		  "%s, at byte %llu, is left out: %s",
		  in->path.bytes, (unsigned long long)in->member_at,
		  tar_reader_error(in->reader));
}

static void tell_trouble(struct instream *in, const struct tar_member *member)
{
	if (member->trouble && !in->config.names_only)
		diag_fail(STATUS_PARTIAL, member->path, 0, "%s", member->trouble);
}

/* ---- an archive ---- */

static void close_archive(struct instream *in)
{
	tar_reader_free(in->reader);
	hash_free(in->hash);
	in->reader = NULL;
	in->hash = NULL;
	in->sealed = false;
	in->state = BETWEEN;
}

static int open_archive(struct instream *in)
{
	struct seal seal;

	refill(in, SEAL_SIZE);
	in->given = in->pos;
	in->begin = offset_of(in);
	in->entries = 0;
	in->sealed = left_of(in) >= SEAL_SIZE &&
		     seal_decode(in->block + in->pos, &seal) == SEAL_HEAD;
	if (in->sealed)
		in->hash = hash_new(HASH_XXH3);
	in->reader = tar_reader_new(next_block, in);
	in->state = WITHIN;
	if (in->reader && (in->hash || !in->sealed))
		return 0;
	diag_fail(STATUS_STOPPED, in->config.shown, errno, "reading");
	return stop(in);
}

/* Another one directly behind its end is not meant: there was a mark at least. */
static bool is_trailer(struct instream *in, struct seal *seal)
{
	refill(in, SEAL_SIZE);
	return left_of(in) >= SEAL_SIZE &&
	       seal_decode(in->block + in->pos, seal) == SEAL_TRAILER;
}

/* 0 when the archive is as whole as can be known; -1 told. */
static int check_seal(struct instream *in)
{
	uint64_t end = offset_of(in);
	struct seal seal;
	bool trailer = is_trailer(in, &seal);

	if (in->aborted)
		return stop(in);
	if (!trailer && in->sealed) {
		diag_fail(STATUS_STOPPED, in->config.shown, 0,
			  "cut off or damaged at byte %llu: the trailer is missing",
			  (unsigned long long)end);
		return stop(in);
	}
	if (!trailer)
		return 0;
	in->pos += SEAL_SIZE;
	if (!in->sealed)
		diag_fail(STATUS_PARTIAL, in->config.shown, 0,
			  "damaged: a trailer at byte %llu, and no head at byte %llu",
			  (unsigned long long)end, (unsigned long long)in->begin);
	else if (seal.sum != hash_sum(in->hash) ||
		 seal.bytes != end - in->begin || seal.entries != in->entries)
		diag_fail(STATUS_PARTIAL, in->config.shown, 0,
			  "the checksum of bytes %llu to %llu is wrong: damaged, "
			  "and used all the same",
			  (unsigned long long)in->begin, (unsigned long long)end);
	return 0;
}

/* One mark: the end as tar takes it, unless nothing more comes. */
static int check_lone_mark(struct instream *in)
{
	refill(in, TAR_BLOCK);
	if (in->aborted)
		return stop(in);
	if (left_of(in) < TAR_BLOCK) {
		diag_fail(STATUS_STOPPED, in->config.shown, 0,
			  "cut off at byte %llu: the second end mark is missing",
			  all_bytes(in));
		return stop(in);
	}
	if (in->config.ignore_zeros && !in->sealed)
		return 0;
	diag_fail(STATUS_PARTIAL, in->config.shown, 0,
		  "a lone zero block before byte %llu%s",
		  (unsigned long long)offset_of(in),
		  in->config.ignore_zeros ? "" :
			": taken for the end; --ignore-zeros reads on");
	return 0;
}

/* After TAR_END: is it the end?  0, or -1 told. */
static int check_end(struct instream *in)
{
	unsigned marks = tar_reader_marks(in->reader);

	settle(in, (size_t)(in->begin + tar_reader_used(in->reader) - in->base));
	in->given = in->pos;
	if (in->aborted)
		return stop(in);
	if (marks == 2)
		return check_seal(in);
	if (marks == 1)
		return check_lone_mark(in);
	/* Who broke before the first byte has said why. */
	if (all_bytes(in) == 0 && diag_status() < STATUS_STOPPED)
		diag_fail(STATUS_STOPPED, in->config.shown, 0,
			  "empty: no archive");
	else if (all_bytes(in) > 0)
		diag_fail(STATUS_STOPPED, in->config.shown, 0,
			  "cut off at byte %llu: end marks are missing",
			  all_bytes(in));
	return stop(in);
}

/* ---- after an archive ---- */

/* Passes over zeros.  True with the block that has another byte as the next one. */
static bool find_nonzero(struct instream *in)
{
	for (;;) {
		refill(in, 1);
		if (left_of(in) == 0)
			return false;
		while (in->pos < in->len && in->block[in->pos] == 0)
			in->pos++;
		if (in->pos == in->len)
			continue;
		in->pos -= in->pos % TAR_BLOCK;
		return true;
	}
}

static void take_all(struct instream *in)
{
	do {
		in->pos = in->given = in->len;
		refill(in, 1);
	} while (left_of(in) > 0);
}

static void tell_rest(struct instream *in)
{
	refill(in, TAR_BLOCK);
	if (left_of(in) >= TAR_BLOCK && ustar_is_signed(in->block + in->pos))
		diag_fail(STATUS_PARTIAL, in->config.shown, 0,
			  "another archive follows at byte %llu: "
			  "--ignore-zeros reads on",
			  (unsigned long long)offset_of(in));
	else
		diag_fail(STATUS_PARTIAL, in->config.shown, 0,
			  "junk follows at byte %llu",
			  (unsigned long long)offset_of(in));
}

/* 1: there is another archive to read; 0: all is done; -1 told. */
static int look_behind(struct instream *in, bool lone)
{
	bool more;

	close_archive(in);
	if (!in->config.drain && !in->config.ignore_zeros) {
		in->state = OVER;
		return 0;
	}
	/* After a lone mark something has been told already. */
	more = find_nonzero(in);
	if (more && in->config.ignore_zeros) {
		refill(in, TAR_BLOCK);
		if (left_of(in) >= TAR_BLOCK &&
		    ustar_is_signed(in->block + in->pos))
			return 1;
	}
	if (more && !lone)
		tell_rest(in);
	take_all(in);
	in->state = OVER;
	return in->aborted ? stop(in) : 0;
}

/* ---- members ---- */

static int end_archive(struct instream *in)
{
	bool lone = tar_reader_marks(in->reader) == 1;

	if (check_end(in) != 0)
		return -1;
	return look_behind(in, lone && !in->config.ignore_zeros);
}

static void count_member(struct instream *in, const char *path)
{
	in->entries++;
	in->members++;
	in->member_at = in->begin + tar_reader_member_at(in->reader);
	in->path.len = 0;
	text_put(&in->path, path ? path : "a member");
}

/* 1; 0 at the archive's end; -1 told; 2: not this one. */
static int read_member(struct instream *in, struct tar_member *member)
{
	switch (tar_read_member(in->reader, member)) {
	case TAR_MEMBER:
		count_member(in, member->path);
		tell_trouble(in, member);
		return 1;
	case TAR_BAD_MEMBER:
		count_member(in, member->path);
		tell_bad(in);
		return 2;
	case TAR_END:
		return 0;
	case TAR_BROKEN:
		break;
	}
	return tell_broken(in);
}

int instream_next(struct instream *in, struct tar_member *member)
{
	int result;

	if (in->state == OVER)
		return 0;
	if (in->state == STUCK)
		return -1;
	for (;;) {
		if (in->state == BETWEEN && open_archive(in) != 0)
			return -1;
		result = read_member(in, member);
		if (result == 1 || result == -1)
			return result;
		if (result == 2)
			continue;
		result = end_archive(in);
		if (result != 1)
			return result;
	}
}

int instream_read(struct instream *in, struct instream_data *data)
{
	const char *bytes;
	int result;

	if (in->state != WITHIN)
		return in->state == STUCK ? -1 : 0;
	result = tar_read_data(in->reader, &data->bytes, &data->size,
			       &data->offset);
	if (result == TAR_DATA_BAD && !in->aborted)
		tell_bad(in);
	else if (result < 0)
		return tell_broken(in);
	bytes = data->bytes;
	data->span = NULL;
	if (result > 0 && in->span && bytes >= in->block &&
	    bytes < in->block + in->len)
		data->span = in->span;
	return result;
}

static void tell_flaw(const struct instream *in, const struct flaw *flaw,
		      bool keeps)
{
	unsigned long long at = flaw->at;

	if (flaw->shrank)
		diag_fail(STATUS_CHANGED, in->path.bytes, 0,
			  "shrank to %llu bytes while it was packed: %s", at,
			  keeps ? "cut to them" : "zeros follow them");
	else
		diag_fail(STATUS_PARTIAL, in->path.bytes, 0,
			  "damaged from byte %llu on, where it could not be read "
			  "when it was packed: %s", at,
			  keeps ? "left out" : "zeros stand there");
}

int instream_check(struct instream *in, uint64_t *size, bool keeps)
{
	struct flaw flaw;
	int got;

	if (in->state != WITHIN)
		return in->state == STUCK ? -1 : 0;
	if (!in->sealed)
		return 0;
	got = tar_read_flaw(in->reader, &flaw);
	if (got < 0)
		return tell_broken(in);
	/* More than all of it: then all of it may be anything. */
	if (got == 0 || *size == 0)
		return 0;
	if (flaw.at >= *size)
		flaw = (struct flaw){ false, 0 };
	tell_flaw(in, &flaw, keeps);
	if (!flaw.shrank)
		return TAR_DATA_BAD;
	*size = flaw.at;
	return 0;
}

uint64_t instream_members(const struct instream *in)
{
	return in->members;
}

uint64_t instream_member_at(const struct instream *in)
{
	return in->member_at;
}
