/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes become sums and lines. */
#include "manifesting.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "mtree.h"
#include "opts.h"
#include "thread.h"

enum {
	BATCH = 64 << 10,	/* bytes of lines that are written at once */
	PIECE = 256 << 10,	/* bytes that are read at once */
	IDS_MAX = 1 << 28,
};

void listwriter_init(struct listwriter *writer)
{
	if (bytes_put(&writer->lines, "#mtree\n") != 0)
		writer->failed = true;
}

void listwriter_destroy(struct listwriter *writer)
{
	for (size_t i = 0; i < writer->nlisted; i++)
		free(writer->listed[i].path);
	free(writer->listed);
	bytes_free(&writer->lines);
	bytes_free(&writer->path);
	free(writer->room);
}

static void fail(struct listwriter *writer, int err, const char *what)
{
	if (!writer->failed)
		diag_fail(STATUS_PARTIAL, writer->shown, err, "%s", what);
	writer->failed = true;
}

void listwriter_flush(struct listwriter *writer)
{
	const unsigned char *at = writer->lines.at;
	size_t left = writer->lines.len;

	while (left > 0 && !writer->failed) {
		ssize_t n = write(writer->fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail(writer, errno, "writing the list");
			break;
		}
		at += n;
		left -= (size_t)n;
	}
	writer->lines.len = 0;
}

/* ---- lines ---- */

static int put(struct listwriter *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int put(struct listwriter *writer, const char *format, ...)
{
	char words[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	return bytes_add(&writer->lines, words, (size_t)len);
}

/* Full paths, from `.` on, so that a line means the same wherever it stands. */
static int put_path(struct listwriter *writer, const char *path)
{
	if (path[0] == '\0' || strcmp(path, ".") == 0)
		return put(writer, ".");
	return bytes_put(&writer->lines, "./") == 0 ?
		       mtree_put_name(&writer->lines, path) :
		       -1;
}

static const char *type_word(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block";
	case S_IFCHR:
		return "char";
	default:
		return "file";
	}
}

/* What all types have, as far as it is kept. */
static int put_meta(struct listwriter *writer, const struct note *note)
{
	const struct meta *meta = &note->meta;
	int result = put(writer, " type=%s", type_word(meta->mode));

	if (writer->keeps & PRESERVE_MODE)
		result |= put(writer, " mode=%04o", meta->mode & 07777);
	if (writer->keeps & PRESERVE_OWNER)
		result |= put(writer, " uid=%u gid=%u", meta->uid, meta->gid);
	/* How many names of it will be there nobody knows who sees one. */
	if (note->offset == 1 && !S_ISDIR(meta->mode))
		result |= put(writer, " nlink=1");
	if (writer->keeps & PRESERVE_TIMES)
		result |= put(writer, " time=%lld.%09ld",
			      (long long)meta->mtime.tv_sec, meta->mtime.tv_nsec);
	if (S_ISBLK(meta->mode) || S_ISCHR(meta->mode))
		result |= put(writer, " device=native,%u,%u", meta->rdev_major,
			      meta->rdev_minor);
	return result;
}

static int put_digest(struct listwriter *writer, uint64_t size,
		      const unsigned char *digest)
{
	int result = put(writer, " size=%llu sha256digest=",
			 (unsigned long long)size);

	for (size_t i = 0; i < SHA256_SIZE; i++)
		result |= put(writer, "%02x", digest[i]);
	return result;
}

static int put_target(struct listwriter *writer, const char *target)
{
	return bytes_put(&writer->lines, " link=") == 0 ?
		       mtree_put_name(&writer->lines, target) :
		       -1;
}

/* A line is complete, or could not be made. */
static void end_line(struct listwriter *writer, int result)
{
	if (result != 0 || bytes_put(&writer->lines, "\n") != 0)
		fail(writer, ENOMEM, "making the list");
	if (writer->lines.len >= BATCH)
		listwriter_flush(writer);
}

/* ---- inodes with several names ---- */

/* Where what is known of an id stands; NULL without memory. */
static struct listed *listed_at(struct listwriter *writer, uint32_t id)
{
	size_t room = writer->nlisted ? writer->nlisted : 64;
	struct listed *bigger;

	if (id < writer->nlisted)
		return &writer->listed[id];
	while (room <= id && room < IDS_MAX)
		room *= 2;
	bigger = room > id ? realloc(writer->listed, room * sizeof(*bigger)) :
			     NULL;
	if (!bigger)
		return NULL;
	memset(bigger + writer->nlisted, 0,
	       (room - writer->nlisted) * sizeof(*bigger));
	writer->listed = bigger;
	writer->nlisted = room;
	return &bigger[id];
}

static void listed_forget(struct listed *listed)
{
	free(listed->path);
	listed->path = NULL;
}

/* Its first name is complete. */
static void listed_keep(struct listwriter *writer, uint32_t id, const char *path,
			uint64_t size, const unsigned char *digest)
{
	struct listed *listed = listed_at(writer, id);

	if (listed) {
		listed_forget(listed);
		listed->path = strdup(path);
		listed->size = size;
		if (digest)
			memcpy(listed->digest, digest, SHA256_SIZE);
	}
	if (!listed || !listed->path)
		fail(writer, ENOMEM, "remembering other names");
}

/* A further name: what its first name was is known. */
static void put_further(struct listwriter *writer, const struct note *note,
			const char *path, const char *target)
{
	struct listed *listed = listed_at(writer, note->id);
	int result;

	if (!listed || !listed->path)
		return;		/* its first name failed */
	result = bytes_put(&writer->lines, "#hardlink ");
	result |= put_path(writer, listed->path);
	result |= bytes_put(&writer->lines, "\n");
	result |= put_path(writer, path);
	result |= put_meta(writer, note);
	if (S_ISREG(note->meta.mode))
		result |= put_digest(writer, listed->size, listed->digest);
	if (target)
		result |= put_target(writer, target);
	end_line(writer, result);
	if (note->last)
		listed_forget(listed);
}

/* ---- notes ---- */

static void take_entry(struct listwriter *writer, const struct note *note)
{
	const char *path = (const char *)(note + 1);
	const char *target = note->target ? path + note->target : NULL;
	int result;

	writer->open = S_ISREG(note->meta.mode) && !note->further;
	if (note->further) {
		put_further(writer, note, path, target);
		return;
	}
	if (writer->open) {
		writer->head = *note;
		writer->path.len = 0;
		if (bytes_add(&writer->path, path, strlen(path) + 1) != 0)
			fail(writer, ENOMEM, "making the list");
		writer->done = 0;
		writer->bad = false;
		sha256_begin(&writer->sum);
		return;
	}
	result = put_path(writer, path);
	result |= put_meta(writer, note);
	if (target)
		result |= put_target(writer, target);
	end_line(writer, result);
	if (note->id != 0)
		listed_keep(writer, note->id, path, 0, NULL);
}

/* What lies before the offset is a hole. */
static void fill_up(struct listwriter *writer, uint64_t offset)
{
	if (offset > writer->done) {
		sha256_add_zeros(&writer->sum, offset - writer->done);
		writer->done = offset;
	}
}

static void take_data(struct listwriter *writer, const struct note *note)
{
	fill_up(writer, note->offset);
	sha256_add(&writer->sum, note + 1, note->length);
	writer->done += note->length;
}

static void take_copy(struct listwriter *writer, const struct note *note)
{
	uint64_t size = note->offset;
	ssize_t n = 1;

	if (!writer->room)
		writer->room = malloc(PIECE);
	errno = writer->room ? -note->fd : ENOMEM;
	if (note->fd < 0 || !writer->room)
		n = -1;
	while (n > 0 && writer->done < size && count_get(writer->stop) == 0) {
		uint64_t left = size - writer->done;

		n = sha256_add_from(&writer->sum, note->fd, writer->room,
				    left < PIECE ? (size_t)left : PIECE,
				    writer->done);
		writer->done += n > 0 ? (uint64_t)n : 0;
	}
	writer->bad = n < 0;
	if (n < 0)
		diag_fail(STATUS_PARTIAL, (const char *)writer->path.at, errno,
			  "left out of the list: reading at byte %llu",
			  (unsigned long long)writer->done);
}

static void take_end(struct listwriter *writer, const struct note *note)
{
	const char *path = (const char *)writer->path.at;
	unsigned char digest[SHA256_SIZE];
	int result;

	if (!writer->open)
		return;
	writer->open = false;
	fill_up(writer, note->offset);
	sha256_end(&writer->sum, digest);
	if (note->failure != 0 || writer->bad)
		return;
	result = put_path(writer, path);
	result |= put_meta(writer, &writer->head);
	result |= put_digest(writer, writer->done, digest);
	end_line(writer, result);
	if (writer->head.id != 0)
		listed_keep(writer, writer->head.id, path, writer->done, digest);
}

void listwriter_take(struct listwriter *writer, const struct note *note)
{
	if (writer->failed || count_get(writer->stop) > 0)
		return;
	switch ((enum note_kind)note->kind) {
	case NOTE_ENTRY:
		take_entry(writer, note);
		break;
	case NOTE_DATA:
		take_data(writer, note);
		break;
	case NOTE_READ:
		take_copy(writer, note);
		break;
	case NOTE_END:
		take_end(writer, note);
		break;
	}
}
