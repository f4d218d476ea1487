/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How bytes come in
 *
 * The first bytes are read into the stage, a buffer of one block or record, to see
 * whether they are compressed.  Plain bytes of anything but a tape are then read
 * straight into the ring; the records of a tape, whose size is found out as they
 * come, and compressed bytes all go through the stage.
 *
 * What was read is handed over at once, however little it is: the next read may wait.
 */
#include "intake.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "end_fd.h"
#include "end_tape.h"
#include "filter.h"
#include "hash.h"
#include "pace.h"
#include "thread.h"

enum { PAGE = 4096, RECORD_NEXT = 1 << 20 };

struct intake {
	const struct opts *opts;
	int fd;
	mode_t type;		/* S_IFREG ... */
	bool tape;
	const char *shown;
	struct pace pace;
	struct cache cache;
	struct cache_file data;	/* --no-cache */
	size_t owed;		/* bytes that it has not waited for yet */
	struct hash *hash;
	struct ring *ring;	/* while it runs */
	uint64_t bytes;
	uint64_t failed;	/* 0 or 1, for any thread */
	bool ended;		/* the end of the input was seen */

	/* The stage: `have` bytes, of which those from `at` on are not used yet. */
	unsigned char *stage;
	size_t size, have, at;
};

/* ---- opening ---- */

static int refuse(const char *shown, const char *why)
{
	diag_fail(STATUS_USAGE, shown, 0, "%s", why);
	return -1;
}

static int intake_begin(struct intake *intake)
{
	const char *file = intake->opts->file;
	struct stat st;

	intake->fd = STDIN_FILENO;
	intake->shown = "standard input";
	if (file && strcmp(file, "-") != 0) {
		intake->shown = file;
		intake->fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (intake->fd < 0 || fstat(intake->fd, &st) != 0) {
		diag_fail(STATUS_STOPPED, intake->shown, errno,
			  "open the input");
		return -1;
	}
	intake->type = st.st_mode & S_IFMT;
	if (S_ISDIR(st.st_mode))
		return refuse(intake->shown, "is a directory");
	intake->tape = tape_is(intake->fd);
	if (!intake->tape && S_ISCHR(st.st_mode) && isatty(intake->fd))
		return refuse(intake->shown, "is a terminal: missing -f?");
	(void)end_prepare(intake->fd);
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
		cache_begin_in(&intake->data, &intake->cache, intake->fd, &st);
		if (intake->data.cache)
			cache_stream(&intake->data);
	}
	if (S_ISREG(st.st_mode))
		(void)posix_fadvise(intake->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

/* Returns 0, or -1 with errno ENOMEM and the old stage. */
static int stage_resize(struct intake *intake, size_t size)
{
	/* FUSE takes a large read apart that doesn't begin with a page. */
	unsigned char *stage = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE *
							   PAGE);

	if (!stage)
		return -1;
	free(intake->stage);
	intake->stage = stage;
	intake->size = size;
	return 0;
}

/* A drive of fixed blocks is read in whole ones. */
static size_t first_size(const struct intake *intake)
{
	size_t size = intake->opts->block;
	int64_t fixed = intake->tape ? tape_block(intake->fd) : 0;

	if (size < FILTER_MAGIC)
		size = FILTER_MAGIC;
	if (fixed > 0)
		size += (size_t)fixed - 1 - (size - 1) % (size_t)fixed;
	return size;
}

struct intake *intake_open(const struct opts *opts)
{
	struct intake *intake = calloc(1, sizeof(*intake));

	if (!intake)
		goto no_memory;
	intake->opts = opts;
	cache_init(&intake->cache, opts->no_cache);
	if (intake_begin(intake) != 0)
		goto free;
	if (stage_resize(intake, first_size(intake)) != 0)
		goto no_memory;
	if (opts->hash == HASH_NONE)
		return intake;
	intake->hash = hash_new(opts->hash);
	if (intake->hash)
		return intake;
no_memory:
	diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the input");
free:
	intake_free(intake);
	return NULL;
}

void intake_free(struct intake *intake)
{
	if (!intake)
		return;
	if (intake->fd > STDIN_FILENO)
		close(intake->fd);
	hash_free(intake->hash);
	free(intake->stage);
	free(intake);
}

const char *intake_shown(const struct intake *intake)
{
	return intake->shown;
}

bool intake_is_tape(const struct intake *intake)
{
	return intake->tape;
}

bool intake_failed(const struct intake *intake)
{
	return count_get(&intake->failed) != 0;
}

uint64_t intake_bytes(const struct intake *intake)
{
	return count_get(&intake->bytes);
}

/* ---- reading ---- */

static void fail(struct intake *intake)
{
	if (!intake_failed(intake))
		(void)count_add(&intake->failed, 1);
}

/* Tells why a read failed.  Returns -1. */
static int read_failed(struct intake *intake)
{
	diag_fail(STATUS_STOPPED, intake->shown, errno,
		  "read after %" PRIu64 " bytes", intake->bytes);
	fail(intake);
	return -1;
}

/* Tells that a record can't be had.  Returns -1. */
static int record_failed(struct intake *intake, bool again)
{
	diag_fail(STATUS_STOPPED, intake->shown, 0, "read after %" PRIu64
		  " bytes: the record is larger than %zu bytes%s", intake->bytes,
		  intake->size, again ? "" : ", and the drive can't go back: "
					     "give its size with -s or -b");
	fail(intake);
	return -1;
}

/* Counts and hashes what a read gave. */
static void bytes_came(struct intake *intake, const void *bytes, size_t size)
{
	(void)count_add(&intake->bytes, size);
	if (intake->hash)
		hash_add(intake->hash, bytes, size);
	intake->owed = size;
}

/* Before a read, which may wait: what came has to be on its way.  Returns its most. */
static size_t read_begin(struct intake *intake, size_t size)
{
	size_t most = pace_step(&intake->pace);

	ring_flush(intake->ring);
	pace_wait(&intake->pace, intake->owed);
	intake->owed = 0;
	return size < most ? size : most;
}

/* As end_read. */
static ssize_t bytes_read(struct intake *intake, void *to, size_t size)
{
	ssize_t n;

	if (!intake->data.cache)
		return end_read(intake->fd, to, size);
	do
		n = cache_read(&intake->data, to, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

/* The next record, into the stage; makes that larger until it holds it. */
static ssize_t record_read(struct intake *intake)
{
	bool again;
	ssize_t n;

	while ((n = tape_read(intake->fd, intake->stage, intake->size,
			      &again)) < 0 && errno == ENOMEM) {
		size_t size = 2 * intake->size;

		if (size < RECORD_NEXT)
			size = RECORD_NEXT;
		if (!again || size > TAPE_RECORD_MOST)
			return record_failed(intake, again);
		if (stage_resize(intake, size) != 0)
			break;
	}
	return n < 0 ? read_failed(intake) : n;
}

/*
 * After the filemark: the next one begins behind it, and `mt fsf` goes there, as after
 * tar, which never reads it.  At the begin it is the one that was left so.
 */
static ssize_t filemark_met(struct intake *intake)
{
	if (intake->bytes > 0) {
		(void)tape_unmark(intake->fd);
		return 0;
	}
	return record_read(intake);
}

/* Reads once, into the stage, which is used up.  As read(2); a failure is told. */
static ssize_t stage_fill(struct intake *intake)
{
	size_t size;
	ssize_t n;

	if (intake->ended)
		return 0;
	size = read_begin(intake, intake->size);
	if (intake->tape) {
		n = record_read(intake);
		if (n == 0)
			n = filemark_met(intake);
	} else {
		n = bytes_read(intake, intake->stage, size);
		if (n < 0)
			(void)read_failed(intake);
	}
	intake->at = 0;
	intake->have = n > 0 ? (size_t)n : 0;
	intake->ended = n <= 0;
	bytes_came(intake, intake->stage, intake->have);
	return n;
}

/* Reads what filter_detect wants to see.  0, or -1. */
static int stage_begin(struct intake *intake)
{
	if (stage_fill(intake) < 0)
		return -1;
	while (!intake->tape && !intake->ended && intake->have < FILTER_MAGIC) {
		unsigned char *to = intake->stage + intake->have;
		ssize_t n = bytes_read(intake, to,
				     FILTER_MAGIC - intake->have);

		if (n < 0)
			return read_failed(intake);
		intake->ended = n == 0;
		intake->have += (size_t)n;
		bytes_came(intake, to, (size_t)n);
	}
	return 0;
}

/* ---- into the ring ---- */

/* What the stage holds goes into the ring.  0, or -1 after an abort. */
static int stage_copy(struct intake *intake)
{
	size_t most = ring_span_max(intake->ring);

	while (intake->at < intake->have) {
		size_t size = intake->have - intake->at;
		void *to;

		if (size > most)
			size = most;
		to = ring_reserve(intake->ring, size);
		if (!to)
			return -1;
		memcpy(to, intake->stage + intake->at, size);
		ring_commit(intake->ring, size);
		intake->at += size;
	}
	return 0;
}

static int run_tape(struct intake *intake)
{
	ssize_t n;

	do {
		if (stage_copy(intake) != 0)
			return -1;
		n = stage_fill(intake);
	} while (n > 0);
	return (int)n;
}

/* One read straight into the ring.  As read(2), with ECANCELED after an abort. */
static ssize_t direct_read(struct intake *intake, size_t block)
{
	void *to = ring_reserve(intake->ring, block);
	ssize_t n;

	if (!to)
		return -1;
	n = bytes_read(intake, to, read_begin(intake, block));
	if (n <= 0)
		return n < 0 ? read_failed(intake) : 0;
	bytes_came(intake, to, (size_t)n);
	ring_commit(intake->ring, (size_t)n);
	return n;
}

static int run_plain(struct intake *intake)
{
	size_t block = intake->opts->block, most = ring_span_max(intake->ring);
	ssize_t n = 1;

	if (stage_copy(intake) != 0)
		return -1;
	while (n > 0 && !intake->ended) {
		n = direct_read(intake, block < most ? block : most);
		intake->ended = n == 0;
	}
	return n < 0 ? -1 : 0;
}

/* filter_source */
static ssize_t filter_give(void *arg, const void **bytes)
{
	struct intake *intake = arg;
	size_t size;

	if (intake->at == intake->have) {
		ssize_t n = stage_fill(intake);

		if (n <= 0)
			return n;
	}
	*bytes = intake->stage + intake->at;
	size = intake->have - intake->at;
	intake->at = intake->have;
	return (ssize_t)size;
}

static void filter_tell(struct intake *intake, enum filter_kind kind,
			const struct filter_in *filter)
{
	if (errno == EBADMSG)
		diag_fail(STATUS_STOPPED, intake->shown, 0,
			  "%s, at byte %" PRIu64 " as compressed",
			  filter_in_error(filter), filter_in_used(filter));
	else
		diag_fail(STATUS_STOPPED, intake->shown, errno,
			  "%s, at byte %" PRIu64 " as compressed",
			  filter_name(kind), filter_in_used(filter));
	fail(intake);
}

/* Decompresses into the ring.  0 at the end, -1 with errno, told or not. */
static int filter_copy(struct intake *intake, struct filter_in *filter)
{
	size_t block = intake->opts->block, most = ring_span_max(intake->ring);
	ssize_t n = 1;

	if (block > most)
		block = most;
	while (n > 0) {
		void *to = ring_reserve(intake->ring, block);

		if (!to)
			return -1;
		n = filter_in_read(filter, to, block);
		if (n > 0)
			ring_commit(intake->ring, (size_t)n);
	}
	return (int)n;
}

static int run_filter(struct intake *intake, enum filter_kind kind)
{
	struct filter_in *filter = filter_in_new(kind, filter_give, intake);
	int rc;

	if (!filter) {
		diag_fail(STATUS_STOPPED, NULL, errno, "setting up %s",
			  filter_name(kind));
		fail(intake);
		return -1;
	}
	rc = filter_copy(intake, filter);
	/* A read that failed, and an abort, have been told. */
	if (rc != 0 && ring_reason(intake->ring) == 0 && !intake_failed(intake))
		filter_tell(intake, kind, filter);
	if (rc == 0 && filter_in_junk(filter))
		diag_fail(STATUS_PARTIAL, intake->shown, 0,
			  "something else follows the %s stream, after byte %"
			  PRIu64, filter_name(kind), filter_in_used(filter));
	filter_in_free(filter);
	return rc;
}

static int run(struct intake *intake)
{
	enum filter_kind kind;

	if (stage_begin(intake) != 0)
		return -1;
	kind = filter_detect(intake->stage, intake->have);
	if (kind != FILTER_NONE)
		return run_filter(intake, kind);
	return intake->tape ? run_tape(intake) : run_plain(intake);
}

/* ---- the end ---- */

/* Reads on to the end of the input, whatever it says. */
static void drain(struct intake *intake)
{
	ssize_t n = 1;

	while (!intake->ended && n > 0) {
		n = bytes_read(intake, intake->stage, intake->size);
		if (n > 0)
			bytes_came(intake, intake->stage, (size_t)n);
		intake->ended = n == 0;
	}
}

static bool has_writer(const struct intake *intake)
{
	return S_ISFIFO(intake->type) || S_ISSOCK(intake->type);
}

void intake_run(struct intake *intake, struct ring *ring, bool to_end)
{
	bool hashed;
	int rc;

	intake->ring = ring;
	pace_init(&intake->pace, intake->opts->read_rate);
	rc = run(intake);
	/* What came before a failure is good. */
	ring_close(ring);
	hashed = rc == 0 && intake->hash;
	if (!intake->tape && (hashed || (to_end && has_writer(intake))))
		drain(intake);
	if (hashed && intake->ended)
		hash_tell(intake->hash);
}
