/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes through the ring are notes: a header, and behind it the strings of an entry or
 * the bytes of a file.
 */
#include "manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "manifesting.h"
#include "newfile.h"
#include "ring.h"
#include "thread.h"

enum {
	RING_SIZE = 8 << 20,
	SPANS = 64,
	DATA_MAX = 256 << 10,	/* bytes of one note */
	TAKE_MAX = 1 << 20,	/* bytes of notes that are taken at once */
	COPIES_MAX = 8,		/* descriptors that wait to be read from */
	ALIGN = 8,
};

struct manifest {
	char *path;
	struct newfile file;
	struct ring *ring;
	struct thread thread;
	struct lock lock;
	unsigned copies;		/* guarded by the lock */
	uint64_t stop;			/* a counter: what comes is of no use */
	bool broken;			/* the packer's: it is said no more */
	struct listwriter writer;	/* the thread's */
};

/* ---- the packing thread ---- */

/* Room for a note and what is behind it; NULL when nobody wants it. */
static struct note *note_begin(struct manifest *manifest, enum note_kind kind,
			       size_t more)
{
	size_t size = sizeof(struct note) + more;
	struct note *note;

	size += (ALIGN - size % ALIGN) % ALIGN;
	if (manifest->broken)
		return NULL;
	note = ring_reserve(manifest->ring, size);
	if (!note)
		return NULL;
	memset(note, 0, sizeof(*note));
	note->kind = kind;
	note->size = (uint32_t)size;
	return note;
}

static void note_end(struct manifest *manifest, const struct note *note)
{
	ring_commit(manifest->ring, note->size);
}

void manifest_entry(struct manifest *manifest,
		    const struct manifest_entry *entry)
{
	size_t path = strlen(entry->path) + 1;
	size_t target = entry->target ? strlen(entry->target) + 1 : 0;
	struct note *note;

	if (path + target > DATA_MAX) {
		diag_fail(STATUS_PARTIAL, entry->path, ENAMETOOLONG,
			  "left out of the list");
		manifest->broken = true;
		return;
	}
	note = note_begin(manifest, NOTE_ENTRY, path + target);
	if (!note)
		return;
	note->meta = entry->meta;
	note->offset = entry->nlink;
	note->id = entry->id;
	note->further = entry->further;
	note->last = entry->last;
	note->target = (uint32_t)(target ? path : 0);
	memcpy(note + 1, entry->path, path);
	if (target)
		memcpy((char *)(note + 1) + path, entry->target, target);
	note_end(manifest, note);
}

void manifest_data(struct manifest *manifest, const void *bytes, size_t size,
		   uint64_t offset)
{
	const char *from = bytes;

	while (size > 0) {
		size_t n = size < DATA_MAX ? size : DATA_MAX;
		struct note *note = note_begin(manifest, NOTE_DATA, n);

		if (!note)
			return;
		note->offset = offset;
		note->length = (uint32_t)n;
		memcpy(note + 1, from, n);
		note_end(manifest, note);
		from += n;
		offset += n;
		size -= n;
	}
}

/* Waits until few enough descriptors are on their way. */
static void copies_enter(struct manifest *manifest)
{
	ring_urge(manifest->ring);
	lock_take(&manifest->lock);
	while (manifest->copies >= COPIES_MAX)
		lock_wait(&manifest->lock);
	manifest->copies++;
	lock_give(&manifest->lock);
}

static void copies_leave(struct manifest *manifest)
{
	lock_take(&manifest->lock);
	manifest->copies--;
	lock_notify(&manifest->lock);
	lock_give(&manifest->lock);
}

void manifest_read(struct manifest *manifest, int fd, uint64_t size)
{
	struct note *note;
	int own;

	if (manifest->broken)
		return;
	copies_enter(manifest);
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	note = note_begin(manifest, NOTE_READ, 0);
	if (!note) {
		copies_leave(manifest);
		return;
	}
	note->fd = own < 0 ? -errno : own;
	note->offset = size;
	note_end(manifest, note);
}

void manifest_end(struct manifest *manifest, uint64_t size, int failure)
{
	struct note *note = note_begin(manifest, NOTE_END, 0);

	if (!note)
		return;
	note->offset = size;
	note->failure = failure;
	note_end(manifest, note);
}

/* ---- the manifest's thread ---- */

static void take_note(struct manifest *manifest, const struct note *note)
{
	listwriter_take(&manifest->writer, note);
	if (note->kind != NOTE_READ)
		return;
	if (note->fd >= 0)
		close(note->fd);
	copies_leave(manifest);
}

/* The notes that lie whole in `size` bytes; returns how many bytes those are. */
static size_t take_notes(struct manifest *manifest, const unsigned char *bytes,
			 size_t size)
{
	size_t done = 0;

	while (done < size && done < TAKE_MAX) {
		const struct note *note = (const void *)(bytes + done);

		take_note(manifest, note);
		done += note->size;
	}
	return done;
}

static void manifest_main(void *arg)
{
	struct manifest *manifest = arg;
	const void *bytes;
	size_t size;

	while (ring_peek(manifest->ring, &bytes, &size) == 1) {
		size = take_notes(manifest, bytes, size);
		ring_release(manifest->ring, ring_take(manifest->ring, size));
	}
	listwriter_flush(&manifest->writer);
}

/* ---- begin and end ---- */

static void manifest_free(struct manifest *manifest)
{
	ring_free(manifest->ring);
	listwriter_destroy(&manifest->writer);
	lock_destroy(&manifest->lock);
	free(manifest->path);
	free(manifest);
}

static struct manifest *manifest_new(const char *path)
{
	struct manifest *manifest = calloc(1, sizeof(*manifest));
	const struct ring_config ring = {
		.size = RING_SIZE,
		.low = 100,
		.spans = SPANS,
		.batch = 64 << 10,
	};

	if (!manifest)
		return NULL;
	lock_init(&manifest->lock);
	manifest->path = strdup(path);
	manifest->ring = ring_new(&ring);
	if (manifest->path && manifest->ring)
		return manifest;
	manifest_free(manifest);
	return NULL;
}

struct manifest *manifest_open(const char *path, unsigned keeps)
{
	struct manifest *manifest = manifest_new(path);

	if (!manifest) {
		diag_fail(STATUS_STOPPED, path, ENOMEM, "beginning the list");
		return NULL;
	}
	if (newfile_open(&manifest->file, path) != 0) {
		diag_fail(STATUS_USAGE, path, errno, "beginning the list");
		manifest_free(manifest);
		return NULL;
	}
	manifest->writer.fd = manifest->file.fd;
	manifest->writer.shown = manifest->path;
	manifest->writer.keeps = keeps;
	manifest->writer.stop = &manifest->stop;
	listwriter_init(&manifest->writer);
	if (thread_start(&manifest->thread, "manifest", manifest_main,
			 manifest) == 0)
		return manifest;
	diag_fail(STATUS_STOPPED, path, errno, "starting a thread");
	close(manifest->file.fd);
	newfile_drop(&manifest->file);
	manifest_free(manifest);
	return NULL;
}

void manifest_close(struct manifest *manifest, bool whole)
{
	if (!manifest)
		return;
	if (!whole)
		(void)count_add(&manifest->stop, 1);
	ring_close(manifest->ring);
	thread_join(&manifest->thread);
	whole = whole && !manifest->broken && !manifest->writer.failed;
	if (close(manifest->file.fd) != 0 && whole) {
		diag_fail(STATUS_PARTIAL, manifest->path, errno,
			  "writing the list");
		whole = false;
	}
	if (whole && newfile_name(&manifest->file) != 0)
		diag_fail(STATUS_PARTIAL, manifest->path, errno,
			  "naming the list");
	newfile_drop(&manifest->file);
	manifest_free(manifest);
}
