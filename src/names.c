/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"

enum { READ_SIZE = 64 << 10 };

struct names {
	const char *file;
	int fd;
	char end;		/* what ends a name */
	bool done;		/* nothing more to read */
	bool had_end;		/* a name so far */
	char *bytes;
	size_t at, len, room;	/* names that are here: [at, len) */
};

/* Returns -1 with errno for what can't be read anyway. */
static int check_readable(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) != 0)
		return -1;
	if ((flags & O_ACCMODE) == O_WRONLY)
		errno = EBADF;
	else if (S_ISDIR(st.st_mode))
		errno = EISDIR;
	else
		return 0;
	return -1;
}

struct names *names_open(const char *file, bool null)
{
	struct names *names = calloc(1, sizeof(*names));
	bool standard = strcmp(file, "-") == 0;
	int err;

	if (!names)
		return NULL;
	names->file = standard ? "standard input" : file;
	names->end = null ? '\0' : '\n';
	names->fd = standard ? STDIN_FILENO :
			       open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (names->fd >= 0 && check_readable(names->fd) == 0)
		return names;
	err = errno;
	names_close(names);
	errno = err;
	return NULL;
}

int names_from_opts(struct names **names, const struct opts *opts)
{
	*names = NULL;
	if (!opts->files_from)
		return 0;
	*names = names_open(opts->files_from, opts->null);
	if (*names)
		return 0;
	diag_fail(STATUS_USAGE, opts->files_from, errno, "opening the list (-T)");
	return -1;
}

bool names_had_nul(const struct names *names)
{
	return names->end == '\0' && names->had_end;
}

const char *names_file(const struct names *names)
{
	return names->file;
}

const char *names_failure(int err)
{
	return err == EILSEQ ? "a name with a NUL byte; names that end in "
			       "NUL are read with --null" :
			       "reading the list";
}

/* Standard input may have been made not to wait, by somebody it is shared with. */
static bool wait_for(const struct names *names)
{
	struct pollfd ready = { .fd = names->fd, .events = POLLIN };

	return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

/* Reads one more piece behind what is here.  Returns 0, or -1 with errno. */
static int names_read(struct names *names)
{
	ssize_t n;

	names->len -= names->at;
	if (names->len > 0)
		memmove(names->bytes, names->bytes + names->at, names->len);
	names->at = 0;
	if (names->len > NAMES_LENGTH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (names->room - names->len < READ_SIZE) {
		size_t room = 2 * names->len + READ_SIZE + 1;
		char *bytes = realloc(names->bytes, room);

		if (!bytes)
			return -1;
		names->bytes = bytes;
		names->room = room;
	}
	do
		n = read(names->fd, names->bytes + names->len, READ_SIZE);
	while (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_for(names))));
	if (n < 0)
		return -1;
	names->done = n == 0;
	names->len += (size_t)n;
	return 0;
}

/* Where the first name ends, from `from` on, or NULL. */
static char *names_end(const struct names *names, size_t from)
{
	return from < names->len ? memchr(names->bytes + from, names->end,
					  names->len - from) :
				   NULL;
}

bool names_ready(const struct names *names)
{
	return names->done || names_end(names, names->at) != NULL;
}

/* Takes the name that ends at `end`. */
static const char *names_take(struct names *names, char *end)
{
	char *name = names->bytes + names->at;
	bool last = end == names->bytes + names->len;	/* without an end */

	names->had_end |= !last;
	*end = '\0';
	names->at = (size_t)(end - names->bytes) + !last;
	if (strlen(name) == (size_t)(end - name))
		return name;
	errno = EILSEQ;
	return NULL;
}

const char *names_next(struct names *names)
{
	size_t seen = names->at;	/* no end before it */

	for (;;) {
		char *end = names_end(names, seen);

		if (!end && names->done && names->at < names->len)
			end = names->bytes + names->len;
		if (end && end == names->bytes + names->at) {
			seen = ++names->at;	/* an empty one */
			continue;
		}
		if (end)
			return names_take(names, end);
		errno = 0;
		if (names->done)
			return NULL;
		seen = names->len - names->at;
		if (names_read(names) != 0)
			return NULL;
	}
}

void names_close(struct names *names)
{
	if (!names)
		return;
	if (names->fd > STDIN_FILENO)
		close(names->fd);
	free(names->bytes);
	free(names);
}
