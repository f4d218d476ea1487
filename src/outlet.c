/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How bytes leave
 *
 * What a peek gives is written where it lies, as long as it makes whole blocks: the
 * ring knows nothing of blocks, so one that comes in parts is gathered in `block`
 * first.  On pipes and files, where boundaries mean nothing, blocks are those of a
 * header, or bytes, unless the user gave a size: what is there goes out, and nobody
 * waits for it.
 * On a tape records must lie at a page's begin, or FUSE takes a large one apart.
 *
 * The main output may fail in three ways: for good (the run stops); by EPIPE when
 * the reader has seen the end marks (it is left out, the tees go on); by EPIPE before,
 * which is for SIGPIPE to tell.  So that signal is held back while this thread
 * writes, thrown away where it means nothing, and let through in the last case.
 */
#include "outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "diag.h"
#include "end_tape.h"
#include "newfile.h"
#include "output.h"
#include "pace.h"
#include "signals.h"
#include "thread.h"

enum { PAGE = 4096, HEADER = 512 };

enum outlet_state { OUTLET_OPEN, OUTLET_ENDED, OUTLET_FAILED };

struct outlet {
	const struct opts *opts;
	struct outputs outs;
	struct newfile file;	/* the main output, when it is a new file */
	struct cache cache;
	struct hash *hash;
	struct pace pace;
	enum outlet_state state;
	size_t unit;		/* only whole ones go out, but for the last: 1, a
				   header's size, or opts->block */
	bool tape;		/* one of the outputs is a tape */
	bool broken;		/* SIGPIPE is to have its way */
	int err;		/* why the main output failed */
	uint64_t marks;		/* 0: not known yet */
	size_t have;		/* bytes gathered in ... */
	unsigned char *block;
};

static struct output *outlet_main(struct outlet *outlet)
{
	return &outlet->outs.out[0];
}

/* ---- opening ---- */

/* A drive of fixed blocks makes several of a record. */
static int tape_check(const struct outlet *outlet, const struct output *out)
{
	size_t block = outlet->opts->block;
	int64_t fixed = tape_block(out->end.fd);

	if (block > TAPE_RECORD_MOST) {
		diag_fail(STATUS_USAGE, out->name, 0, "a tape takes records of "
			  "at most %d bytes", TAPE_RECORD_MOST);
		return -1;
	}
	if (fixed > 0 && block % (size_t)fixed != 0) {
		diag_fail(STATUS_USAGE, out->name, 0, "the drive has blocks of "
			  "%" PRId64 " bytes: -s must be a multiple, and is %zu",
			  fixed, block);
		return -1;
	}
	return 0;
}

/*
 * Blocks that the user asked for, or that a device may need, are exact.  A pipe gives its
 * reader what is there, and GNU tar, reading one by its name, takes it for damage when
 * that is no whole number of headers.
 */
static void unit_raise(struct outlet *outlet, const struct output *out)
{
	size_t unit = 1;

	if (out->tape || outlet->opts->block_given || !out->end.stream)
		unit = outlet->opts->block;
	else if (!S_ISREG(out->st.st_mode))
		unit = HEADER;
	if (unit > outlet->unit)
		outlet->unit = unit;
}

/* What every output of an archive has to be. */
static int output_check(struct outlet *outlet, struct output *out)
{
	out->tape = tape_is(out->end.fd);
	if (out->tape && tape_check(outlet, out) != 0)
		return -1;
	if (!out->tape && S_ISCHR(out->st.st_mode) && isatty(out->end.fd)) {
		diag_fail(STATUS_USAGE, out->name, 0,
			  "is a terminal: missing -f?");
		return -1;
	}
	if (!out->tape)
		end_out_uncached(&out->end, &outlet->cache, &out->st);
	outlet->tape |= out->tape;
	unit_raise(outlet, out);
	return 0;
}

static int main_failed(const char *name, int err)
{
	diag_fail(err == EISDIR ? STATUS_USAGE : STATUS_STOPPED, name, err,
		  "open the output");
	return -1;
}

static int main_add(struct outlet *outlet, int fd, const char *name)
{
	int err;

	if (outputs_add(&outlet->outs, fd, name, outlet->opts->block))
		return output_check(outlet, outlet_main(outlet));
	err = errno;
	if (fd != STDOUT_FILENO)
		close(fd);
	return main_failed(name, err);
}

static int open_new(struct outlet *outlet, const char *name)
{
	if (newfile_open(&outlet->file, name) != 0)
		return main_failed(name, errno);
	return main_add(outlet, outlet->file.fd, name);
}

/* /dev/stdout, and what else leads to it. */
static bool is_stdout(const struct stat *st)
{
	struct stat out;

	return fstat(STDOUT_FILENO, &out) == 0 && st->st_dev == out.st_dev &&
	       st->st_ino == out.st_ino;
}

/* A tape may look like a file: it is known by what it answers. */
static int open_main(struct outlet *outlet)
{
	const char *name = outlet->opts->file;
	struct stat st;
	int fd, err;

	if (!name || strcmp(name, "-") == 0)
		return main_add(outlet, STDOUT_FILENO, "standard output");
	fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	err = errno;
	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    (!S_ISREG(st.st_mode) || tape_is(fd)))
		return main_add(outlet, fd, name);
	if (fd >= 0)
		close(fd);
	else if (stat(name, &st) == 0 ? !S_ISREG(st.st_mode) : errno != ENOENT)
		return main_failed(name, err);
	if (fd >= 0 && is_stdout(&st))
		return main_add(outlet, STDOUT_FILENO, name);
	return open_new(outlet, name);
}

static int open_tee(struct outlet *outlet, const char *name)
{
	const struct output_not old = { outlet->file.old, "is an output already" };
	struct output *out;

	out = outputs_open(&outlet->outs, name, outlet->opts->block,
			   outlet->file.replaces ? &old : NULL);
	if (!out)
		return -1;
	if (newfile_unmake(&outlet->file, &out->st)) {
		diag_fail(STATUS_STOPPED, name, 0, "%s", old.why);
		return -1;
	}
	return output_check(outlet, out);
}

static int open_all(struct outlet *outlet)
{
	const struct opts *opts = outlet->opts;
	size_t block = (opts->block + PAGE - 1) / PAGE * PAGE;

	if (open_main(outlet) != 0)
		return -1;
	for (int i = 0; i < opts->ntees; i++)
		if (open_tee(outlet, opts->tees[i]) != 0)
			return -1;
	if (outlet->unit > 1)
		outlet->block = aligned_alloc(PAGE, block);
	if (opts->hash != HASH_NONE)
		outlet->hash = hash_new(opts->hash);
	if ((outlet->unit == 1 || outlet->block) &&
	    (opts->hash == HASH_NONE || outlet->hash))
		return 0;
	diag_fail(STATUS_STOPPED, NULL, ENOMEM, "setting up the output");
	return -1;
}

struct outlet *outlet_open(const struct opts *opts)
{
	struct outlet *outlet = calloc(1, sizeof(*outlet));

	if (!outlet) {
		diag_fail(STATUS_STOPPED, NULL, errno, "setting up the output");
		return NULL;
	}
	outlet->opts = opts;
	cache_init(&outlet->cache, opts->no_cache);
	outlet->file.dir = outlet->file.hold = -1;
	if (open_all(outlet) == 0)
		return outlet;
	outlet_free(outlet);
	return NULL;
}

void outlet_free(struct outlet *outlet)
{
	if (!outlet)
		return;
	for (int i = 0; i < outlet->outs.count; i++)
		if (outlet->outs.out[i].end.fd >= 0)
			close(outlet->outs.out[i].end.fd);
	cache_destroy(&outlet->cache, outlet->state != OUTLET_ENDED);
	newfile_drop(&outlet->file);
	hash_free(outlet->hash);
	free(outlet->block);
	free(outlet);
}

bool outlet_is(const struct outlet *outlet, const struct stat *st)
{
	const struct newfile *file = &outlet->file;

	if (file->dir >= 0 && file->replaces && file->old.st_dev == st->st_dev &&
	    file->old.st_ino == st->st_ino)
		return true;
	for (int i = 0; i < outlet->outs.count; i++) {
		const struct stat *own = &outlet->outs.out[i].st;

		if (S_ISREG(own->st_mode) && own->st_dev == st->st_dev &&
		    own->st_ino == st->st_ino)
			return true;
	}
	return false;
}

/* ---- writing ---- */

void outlet_marks(struct outlet *outlet, uint64_t bytes)
{
	(void)count_add(&outlet->marks, bytes - count_get(&outlet->marks));
}

uint64_t outlet_bytes(const struct outlet *outlet)
{
	return count_get(&outlet->outs.out[0].end.bytes);
}

/* Who reads has what it wants. */
static bool reader_done(const struct outlet *outlet)
{
	uint64_t marks = count_get(&outlet->marks);

	return marks > 0 && outlet_bytes(outlet) >= marks;
}

/* Returns 0 when the run goes on without it. */
static int main_broke(struct outlet *outlet)
{
	struct output *out = outlet_main(outlet);

	outlet->err = errno;
	if (errno == EPIPE && reader_done(outlet)) {
		out->failed = true;
		return 0;
	}
	outlet->broken = errno == EPIPE && !signals_ignored(SIGPIPE);
	if (!outlet->broken) {
		output_fail(out, STATUS_STOPPED, "safely out");
		return -1;
	}
	out->failed = true;
	diag_raise(STATUS_STOPPED);
	return -1;
}

static int main_write(struct outlet *outlet, const void *bytes, size_t size)
{
	struct output *out = outlet_main(outlet);

	if (outlet->hash)
		hash_add(outlet->hash, bytes, size);
	if (out->failed || output_write(out, bytes, size) == 0)
		return 0;
	return main_broke(outlet);
}

/* The tees first get what the main output gets, which may be the last. */
static int piece_write(struct outlet *outlet, const void *bytes, size_t size,
		       size_t padded)
{
	struct output *out = outlet_main(outlet);

	for (int i = 1; i < outlet->outs.count; i++) {
		struct output *tee = &outlet->outs.out[i];

		if (tee->failed ||
		    output_write(tee, bytes, tee->tape ? padded : size) == 0)
			continue;
		output_fail(tee, STATUS_PARTIAL, "safely out");
	}
	if (main_write(outlet, bytes, out->tape ? padded : size) != 0)
		return -1;
	pace_wait(&outlet->pace, size);
	return 0;
}

/* What is gathered goes out; less than a block only at the end. */
static int block_write(struct outlet *outlet)
{
	size_t size = outlet->have, unit = outlet->unit;

	if (outlet->tape)
		memset(outlet->block + size, 0, unit - size);
	outlet->have = 0;
	return piece_write(outlet, outlet->block, size, unit);
}

/* How much can be written from where it lies; 0: it has to be gathered. */
static size_t direct_size(const struct outlet *outlet, const void *bytes,
			  size_t size)
{
	size_t unit = outlet->unit, most = pace_step(&outlet->pace);

	if (outlet->have > 0 || size < unit ||
	    (outlet->tape && (uintptr_t)bytes % PAGE != 0))
		return 0;
	if (outlet->tape)
		return unit;
	size = outputs_share(&outlet->outs, size);
	if (size > most)
		size = most > unit ? most : unit;
	return size - size % unit;
}

static int bytes_write(struct outlet *outlet, struct ring *ring,
		       const void *bytes, size_t size)
{
	size_t direct = direct_size(outlet, bytes, size);
	size_t want = outlet->unit - outlet->have;
	unsigned span;
	int rc = 0;

	if (direct > 0)
		size = direct;
	else if (size > want)
		size = want;
	span = ring_take(ring, size);
	if (direct > 0) {
		rc = piece_write(outlet, bytes, size, size);
	} else {
		memcpy(outlet->block + outlet->have, bytes, size);
		outlet->have += size;
	}
	ring_release(ring, span);
	if (direct == 0 && outlet->have == outlet->unit)
		rc = block_write(outlet);
	return rc;
}

/* 0 at the end, -1 when the main output failed or the ring was aborted. */
static int outlet_write_all(struct outlet *outlet, struct ring *ring)
{
	const void *bytes;
	size_t size;
	int more;

	while ((more = ring_peek(ring, &bytes, &size)) > 0)
		if (bytes_write(outlet, ring, bytes, size) != 0)
			return -1;
	if (more == 0 && outlet->have > 0)
		return block_write(outlet);
	return more;
}

/* Throws away the SIGPIPE of writes that failed. */
static void pipe_signal_drop(void)
{
	static const struct timespec none;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	while (sigtimedwait(&set, NULL, &none) < 0 && errno == EINTR)
		;
}

void outlet_run(struct outlet *outlet, struct ring *ring)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	pace_init(&outlet->pace, outlet->opts->write_rate);
	outlet->state = outlet_write_all(outlet, ring) == 0 ? OUTLET_ENDED :
							      OUTLET_FAILED;
	if (outlet->state == OUTLET_FAILED)
		ring_abort(ring, outlet->err ? outlet->err : EIO);
	if (!outlet->broken)
		pipe_signal_drop();
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the end ---- */

static int main_close(struct outlet *outlet)
{
	struct output *out = outlet_main(outlet);
	bool sync = outlet->file.dir >= 0 || S_ISBLK(out->st.st_mode);

	if (out->failed) {		/* its reader went, content */
		(void)close(out->end.fd);
		out->end.fd = -1;
		return 0;
	}
	if (output_close(out, sync && !out->tape, STATUS_STOPPED) != 0)
		return -1;
	if (outlet->file.dir < 0 || newfile_name(&outlet->file) == 0)
		return 0;
	diag_fail(STATUS_STOPPED, out->name, errno,
		  "give the complete file its name");
	return -1;
}

int outlet_finish(struct outlet *outlet)
{
	int rc = -1;

	for (int i = 1; i < outlet->outs.count; i++)
		(void)output_close(&outlet->outs.out[i], false, STATUS_PARTIAL);
	if (outlet->state != OUTLET_ENDED)
		return -1;
	rc = main_close(outlet);
	if (rc == 0)
		hash_tell(outlet->hash);
	return rc;
}
