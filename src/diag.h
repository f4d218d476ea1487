/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diag: every message and the exit status.
 *
 * The one room that prints messages.  Each is a single line on standard
 * error, written by one write(2), with control bytes and bytes that are no
 * UTF-8 escaped (\n, \ooo), so that a hostile name can neither forge a line
 * nor talk to the terminal:
 *
 *     tarpipe: NAME: what failed: reason
 *
 * All functions may be called from any thread.
 */
#ifndef TARPIPE_DIAG_H
#define TARPIPE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

/* The exit statuses of the contract; the highest raised during a run wins. */
enum status {
	STATUS_OK = 0,		/* everything as asked */
	STATUS_CHANGED = 1,	/* done, but the source changed underfoot */
	STATUS_PARTIAL = 2,	/* done as far as possible, something is missing */
	STATUS_STOPPED = 3,	/* the run could not go on */
	STATUS_USAGE = 64,	/* refused, nothing written */
};

/* Losses that are told once with a count, not once a name. */
enum diag_kind {
	DIAG_NO_XATTR,		/* the destination holds no such attributes */
	DIAG_NO_ACL,		/* ... no ACLs */
	DIAG_NO_OWNER,		/* ... no owners */
	DIAG_NO_MODE,		/* ... no modes */
	DIAG_NO_TIMES,		/* ... no times */
	DIAG_NO_SPECIAL,	/* ... no devices, FIFOs or sockets */
	DIAG_NO_SYMLINK,	/* ... no symbolic links */
	DIAG_NO_LINK,		/* ... no hard links */
	DIAG_LABEL,		/* a security label that the policy refuses */
	DIAG_SETID,		/* setid bits left out under another owner */
	DIAG_TAR_XATTR,		/* the stream's format holds no attributes */
	DIAG_TAR_ACL,		/* ... no ACLs */
	DIAG_TAR_NSEC,		/* ... no fractions of seconds */
	DIAG_TAR_ATIME,		/* ... no access times */
	DIAG_TAR_HOLES,		/* ... no holes */
	DIAG_TAR_MTIME,		/* ... no such times */
	DIAG_KINDS
};

/* Sets up messages; `quiet` silences diag_note.  Call once, before threads. */
void diag_init(bool quiet);

/* Raises the exit status to at least `status`. */
void diag_raise(enum status status);

/* The highest status raised so far. */
enum status diag_status(void);

/*
 * Says `tarpipe: NAME: WHAT: strerror(err)` and raises the status.  `name` may
 * be NULL (no name in front), `err` 0 (no reason behind); `what` is a printf
 * format and is itself not escaped, its arguments' control bytes are.
 */
void diag_fail(enum status status, const char *name, int err,
	       const char *what, ...) __attribute__((format(printf, 4, 5)));

/* The same for a line that informs and leaves the status alone; not with -q. */
void diag_note(const char *name, const char *what, ...)
	__attribute__((format(printf, 2, 3)));

/* From now on each line goes, with the time before it, to this descriptor also. */
void diag_log(int fd);

/* A line for the log alone; shaped like diag_note. */
void diag_record(const char *name, const char *what, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes text as it is to standard error: for lines whose form is not ours. */
void diag_text(const char *text);

/*
 * Lists a name, escaped, on standard output (-v, -n).
 */
void diag_list(const char *name);

/* From now on it lists on standard error: standard output has other bytes. */
void diag_list_beside(void);

/* Writes out what diag_list has gathered; a failure raises STATUS_PARTIAL. */
void diag_list_end(void);

/*
 * Counts one loss of a kind; the first name, attribute and reason are kept and
 * told by diag_summary, one line a kind: `... (and N more)`.  Raises
 * STATUS_PARTIAL.
 */
void diag_count(enum diag_kind kind, const char *name, const char *what,
		int err);

/*
 * From now on no message waits for a reader that does not read: it is dropped.  For
 * a process that has been told to end.
 */
void diag_hurry(void);

/* Prints the lines of diag_count.  Call once, at the end of a run. */
void diag_summary(void);

/*
 * Escapes `len` bytes for a terminal into `out` (of `size` bytes, always
 * NUL-terminated): valid UTF-8 without control characters stays, `\` becomes
 * `\\`, known controls \n \t \r \e ..., other bytes \ooo.  Returns the length that
 * the whole result needs, like snprintf.
 */
size_t diag_escape(char *out, size_t size, const char *bytes, size_t len);

/* Frees what diag_count kept and forgets the status (for tests). */
void diag_reset(void);

#endif
