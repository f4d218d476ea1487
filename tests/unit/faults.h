/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults: calls that fail, or come short, when a test says so.
 *
 * A test program lists the calls it wants with -Wl,--wrap and gives each a
 * wrapper:
 *
 *     WRAPPED(int, fchmod, int fd, mode_t mode)
 *     {
 *             return fault_due(FCHMOD, NULL, NULL) ? -1 : __real_fchmod(fd, mode);
 *     }
 *
 * and a test then says, for instance, that the second one fails:
 *
 *     fault_set(FCHMOD, (struct fault){ .after = 1, .err = EPERM });
 *
 * Only calls out of libtarpipe.a and the test itself come here; hardened builds
 * call openat by another name, too (__openat_2), on systems with 32-bit
 * offsets others do.  A test that asserts fault_hits notices.
 */
#ifndef TARPIPE_FAULTS_H
#define TARPIPE_FAULTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "thread.h"

#define WRAPPED(type, call, ...)           \
	type __real_##call(__VA_ARGS__);   \
	type __wrap_##call(__VA_ARGS__);   \
	type __wrap_##call(__VA_ARGS__)

enum fault_call {
	OPENAT, CLOSE, PREAD, PWRITE, FTRUNCATE, FSTAT, FSTATAT, FCHOWN, FCHOWNAT,
	FCHMOD, FUTIMENS, UTIMENSAT, LISTXATTR, GETXATTR, SETXATTR, REMOVEXATTR,
	LINKAT, RENAMEAT, UNLINKAT, MKDIRAT, SYMLINKAT, MKNODAT, READLINKAT,
	GETDENTS, LSEEK, FDATASYNC, CLONE, RANGE, MALLOC, CALLOC, REALLOC,
	READ, WRITE, FSYNC,
	FAULT_CALLS
};

enum { EVERY_TIME = 1 << 30 };

struct fault {
	const char *name;	/* only calls with this name; NULL: with any */
	unsigned after;		/* so many go well first */
	unsigned times;		/* then so many fail; 0 means 1 */
	int err;		/* with this errno; 0: they don't fail */
	size_t most;		/* ... but transfer at most so many bytes; 0: any */
	void (*hook)(void);	/* ... and this happens before them */
};

static struct {
	struct lock lock;
	struct fault set[FAULT_CALLS];
	unsigned hits[FAULT_CALLS];
	bool on[FAULT_CALLS];
} faults = { .lock = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER } };

static inline void fault_set(enum fault_call call, struct fault fault)
{
	lock_take(&faults.lock);
	faults.set[call] = fault;
	if (fault.times == 0)
		faults.set[call].times = 1;
	faults.hits[call] = 0;
	faults.on[call] = true;
	lock_give(&faults.lock);
}

static inline void faults_clear(void)
{
	lock_take(&faults.lock);
	memset(faults.on, 0, sizeof(faults.on));
	lock_give(&faults.lock);
}

/* How many calls were met by it since it was set. */
static inline unsigned fault_hits(enum fault_call call)
{
	lock_take(&faults.lock);
	unsigned hits = faults.hits[call];
	lock_give(&faults.lock);
	return hits;
}

/*
 * Asks for one call: true when it has to fail, with errno set.  `len`, where the
 * call has one, is made shorter.
 */
static inline bool fault_due(enum fault_call call, const char *name, size_t *len)
{
	struct fault *set = &faults.set[call];
	struct fault due = { 0 };
	int before = errno;

	lock_take(&faults.lock);
	if (faults.on[call] &&
	    (!set->name || (name && strcmp(set->name, name) == 0))) {
		if (set->after > 0) {
			set->after--;
		} else if (set->times > 0) {
			set->times--;
			faults.hits[call]++;
			due = *set;
		}
	}
	lock_give(&faults.lock);
	if (due.hook)
		due.hook();
	if (due.most > 0 && len && *len > due.most)
		*len = due.most;
	errno = due.err ? due.err : before;
	return due.err != 0;
}

#endif
