/* SPDX-License-Identifier: BSD-2-Clause */
#include "diag.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "text.h"
#include "thread.h"

/* A loss that is told once: its first name, and how often it happened. */
struct loss {
	uint64_t times;
	char *name;		/* NULL when there was none, or no memory */
	char *what;
	int err;
};

static const char *const loss_text[DIAG_KINDS] = {
	[DIAG_NO_XATTR] = "the destination holds no such attributes",
	[DIAG_NO_ACL] = "the destination holds no ACLs",
	[DIAG_NO_OWNER] = "the destination holds no owners",
	[DIAG_NO_MODE] = "the destination holds no modes",
	[DIAG_NO_TIMES] = "the destination holds no such times",
	[DIAG_NO_SPECIAL] = "the destination holds no such special files",
	[DIAG_NO_SYMLINK] = "the destination holds no symbolic links",
	[DIAG_NO_LINK] = "the destination holds no hard links",
	[DIAG_LABEL] = "the security policy refuses the label",
	[DIAG_SETID] = "setuid and setgid are left out under another owner or group",
	[DIAG_TAR_XATTR] = "the stream's format holds no extended attributes",
	[DIAG_TAR_ACL] = "the stream's format holds no ACLs",
	[DIAG_TAR_NSEC] = "the stream's format holds no fractions of seconds",
	[DIAG_TAR_ATIME] = "the stream's format holds no access times",
	[DIAG_TAR_HOLES] = "the stream's format holds no holes: filled with zeros",
	[DIAG_TAR_MTIME] = "the stream's format holds no times before 1970 or after 2242",
};

/*
 * What all threads share.  Two locks, so that a reader who does not empty our
 * standard error stops those who have something to say and nobody else.  Made
 * by initializers because the command line has messages before diag_init.
 */
static struct lock state_lock = { PTHREAD_MUTEX_INITIALIZER,
				  PTHREAD_COND_INITIALIZER };
static struct lock output_lock = { PTHREAD_MUTEX_INITIALIZER,
				   PTHREAD_COND_INITIALIZER };
static enum status highest;
static struct loss losses[DIAG_KINDS];
static bool be_quiet;
static bool list_errors;	/* names go to standard error */
static int log_fd = -1;

void diag_init(bool quiet)
{
	lock_take(&state_lock);
	be_quiet = quiet;
	lock_give(&state_lock);
}

void diag_raise(enum status status)
{
	lock_take(&state_lock);
	if (status > highest)
		highest = status;
	lock_give(&state_lock);
}

enum status diag_status(void)
{
	lock_take(&state_lock);
	enum status status = highest;
	lock_give(&state_lock);
	return status;
}

/* --- escaping --- */

/*
 * Decodes one UTF-8 character of at most `len` bytes.  Returns its length, or 0
 * for what is none (overlong, surrogate, beyond U+10FFFF, cut short).
 */
static size_t utf8_decode(const unsigned char *s, size_t len, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 :
		   s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	if (n == 0 || n > len)
		return 0;
	*code = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return n;
}

/* Characters that steer a terminal: C0, C1, line breaks, changes of direction. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
	       code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

/* Writes the escape of one byte (at most 4 characters and NUL) into `out`. */
static size_t escape_byte(char *out, unsigned char byte)
{
	static const char from[] = "\a\b\t\n\v\f\r\033\\";
	static const char to[] = "abtnvfre\\";
	const char *known = byte ? strchr(from, byte) : NULL;

	if (known)
		return (size_t)sprintf(out, "\\%c", to[known - from]);
	return (size_t)sprintf(out, "\\%03o", byte);
}

/*
 * Adds bytes escaped.  A backslash is doubled only where `doubled`: in a name
 * it must be told from an escape, in our own words a command may hold it that
 * somebody pastes.
 */
static void line_add_escaped(struct text *line, const char *bytes, size_t len,
			     bool doubled)
{
	const unsigned char *s = (const unsigned char *)bytes;
	uint32_t code = 0;
	char escape[8];

	while (len > 0) {
		size_t n = utf8_decode(s, len, &code);
		if (n > 0 && !is_control(code) && (code != '\\' || !doubled)) {
			text_add(line, (const char *)s, n);
		} else {
			if (n == 0)
				n = 1;
			for (size_t i = 0; i < n; i++)
				text_add(line, escape, escape_byte(escape, s[i]));
		}
		s += n;
		len -= n;
	}
}

size_t diag_escape(char *out, size_t size, const char *bytes, size_t len)
{
	struct text line;

	text_init(&line);
	line_add_escaped(&line, bytes, len, true);
	size_t whole = line.len;
	if (size > 0) {
		size_t n = whole < size ? whole : size - 1;
		memcpy(out, line.bytes, n);
		out[n] = '\0';
	}
	text_destroy(&line);
	return whole;
}

/* --- messages --- */

/* Nobody shall wait for a reader any more (diag_hurry). */
static uint64_t hurried;

/* Waits until `fd` takes a PIPE_BUF at least.  False when that is given up. */
static bool wait_writable(int fd)
{
	struct pollfd pfd = { fd, POLLOUT, 0 };

	while (poll(&pfd, 1, 100) <= 0)
		if (count_get(&hurried))
			return false;
	return true;
}

/* In one write where the kernel takes it so; never stuck behind a full pipe. */
static void bytes_print(int fd, const char *p, size_t left)
{
	while (left > 0 && wait_writable(fd)) {
		ssize_t n = write(fd, p, left < PIPE_BUF ? left : PIPE_BUF);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			break;	/* nobody listens: there is nowhere to say so */
		if (n > 0) {
			p += n;
			left -= (size_t)n;
		}
	}
}

void diag_hurry(void)
{
	count_add(&hurried, 1);
}

/* The line, newline included, with the time in front. */
static void line_log(const struct text *line)
{
	time_t now = time(NULL);
	struct text entry;
	struct tm tm;
	char when[32];

	if (log_fd < 0 || !gmtime_r(&now, &tm))
		return;
	text_init(&entry);
	text_add(&entry, when, strftime(when, sizeof(when), "%FT%TZ ", &tm));
	text_add(&entry, line->bytes, line->len);
	bytes_print(log_fd, entry.bytes, entry.len);
	text_destroy(&entry);
}

/* `fd` is -1 for a line that goes to the log alone. */
static void line_print_to(int fd, struct text *line)
{
	text_put(line, "\n");
	line->bytes[line->len - 1] = '\n';	/* also when it is cut short */

	lock_take(&output_lock);
	if (fd >= 0)
		bytes_print(fd, line->bytes, line->len);
	line_log(line);
	lock_give(&output_lock);
}

static void line_print(struct text *line)
{
	line_print_to(STDERR_FILENO, line);
}

static void line_add_name(struct text *line, const char *name)
{
	text_put(line, "tarpipe: ");
	if (name) {
		line_add_escaped(line, name, strlen(name), true);
		text_put(line, ": ");
	}
}

static void line_add_reason(struct text *line, int err)
{
	if (err) {
		text_put(line, ": ");
		text_put(line, strerror(err));
	}
}

__attribute__((format(printf, 2, 0)))
static void line_add_format(struct text *line, const char *what, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, what, args) < 0) {
		text_put(line, what);
		return;
	}
	line_add_escaped(line, text, strlen(text), false);
	free(text);
}

__attribute__((format(printf, 4, 0)))
static void message(int fd, const char *name, int err, const char *what,
		    va_list args)
{
	struct text line;
	int saved = errno;

	text_init(&line);
	line_add_name(&line, name);
	line_add_format(&line, what, args);
	line_add_reason(&line, err);
	line_print_to(fd, &line);
	text_destroy(&line);
	errno = saved;
}

void diag_fail(enum status status, const char *name, int err,
	       const char *what, ...)
{
	va_list args;

	diag_raise(status);
	va_start(args, what);
	message(STDERR_FILENO, name, err, what, args);
	va_end(args);
}

void diag_note(const char *name, const char *what, ...)
{
	va_list args;

	lock_take(&state_lock);
	bool quiet = be_quiet;
	lock_give(&state_lock);
	if (quiet)
		return;
	va_start(args, what);
	message(STDERR_FILENO, name, 0, what, args);
	va_end(args);
}

void diag_log(int fd)
{
	lock_take(&output_lock);
	log_fd = fd;
	lock_give(&output_lock);
}

void diag_record(const char *name, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	message(-1, name, 0, what, args);
	va_end(args);
}

void diag_text(const char *text)
{
	lock_take(&output_lock);
	bytes_print(STDERR_FILENO, text, strlen(text));
	lock_give(&output_lock);
}

/* --- names listed --- */

/* The process dies of SIGPIPE, as others do, and need not say why. */
static bool dies_of_pipe(int err)
{
	struct sigaction action;

	return err == EPIPE && sigaction(SIGPIPE, NULL, &action) == 0 &&
	       action.sa_handler != SIG_IGN;
}

/* Told once: a full disk would fail for every name. */
static void list_check(void)
{
	static uint64_t told;
	int err = errno;

	if (!ferror(stdout))
		return;
	clearerr(stdout);
	if (dies_of_pipe(err))
		diag_raise(STATUS_PARTIAL);
	else if (count_add(&told, 1) == 1)
		diag_fail(STATUS_PARTIAL, NULL, err,
			  "writing names to standard output");
}

void diag_list(const char *name)
{
	struct text line;

	text_init(&line);
	line_add_escaped(&line, name, strlen(name), true);
	text_put(&line, "\n");
	if (list_errors)
		diag_text(line.bytes);
	else
		fwrite(line.bytes, 1, line.len, stdout);
	list_check();
	text_destroy(&line);
}

void diag_list_beside(void)
{
	list_errors = true;
}

void diag_list_end(void)
{
	fflush(stdout);
	list_check();
}

/* --- losses that are told once --- */

void diag_count(enum diag_kind kind, const char *name, const char *what,
		int err)
{
	int saved = errno;
	struct loss *loss = &losses[kind];

	diag_raise(STATUS_PARTIAL);
	lock_take(&state_lock);
	if (loss->times++ == 0) {
		loss->name = name ? strdup(name) : NULL;
		loss->what = what ? strdup(what) : NULL;
		loss->err = err;
	}
	lock_give(&state_lock);
	errno = saved;
}

static void loss_print(const struct loss *loss, const char *text)
{
	struct text line;
	char more[40];

	text_init(&line);
	line_add_name(&line, loss->name);
	if (loss->what) {
		line_add_escaped(&line, loss->what, strlen(loss->what), false);
		line_add_reason(&line, loss->err);
		text_put(&line, ": ");
	}
	text_put(&line, text);
	if (loss->times > 1) {
		snprintf(more, sizeof more, " (and %ju more)",
			 (uintmax_t)(loss->times - 1));
		text_put(&line, more);
	}
	line_print(&line);
	text_destroy(&line);
}

void diag_summary(void)
{
	for (int kind = 0; kind < DIAG_KINDS; kind++)
		if (losses[kind].times > 0)
			loss_print(&losses[kind], loss_text[kind]);
}

void diag_reset(void)
{
	lock_take(&state_lock);
	for (int kind = 0; kind < DIAG_KINDS; kind++) {
		free(losses[kind].name);
		free(losses[kind].what);
	}
	memset(losses, 0, sizeof losses);
	highest = STATUS_OK;
	list_errors = false;
	lock_give(&state_lock);
}
