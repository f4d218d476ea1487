/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture: what a piece of code writes to a descriptor, for tests.
 *
 *     capture_begin(STDERR_FILENO);
 *     ...
 *     assert_string_equal(capture_end(), "tarpipe: ...\n");
 */
#ifndef TARPIPE_CAPTURE_H
#define TARPIPE_CAPTURE_H

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	int fd;			/* the descriptor that is caught */
	int saved;		/* where it went before */
	int file;
	char text[65536];
} capture;

static inline void capture_begin(int fd)
{
	fflush(NULL);
	capture.fd = fd;
	capture.saved = dup(fd);
	capture.file = memfd_create("capture", MFD_CLOEXEC);
	assert(capture.saved >= 0 && capture.file >= 0);
	dup2(capture.file, fd);
}

/* Everything since capture_begin; overwritten by the next one. */
static inline const char *capture_end(void)
{
	fflush(NULL);
	dup2(capture.saved, capture.fd);
	close(capture.saved);
	ssize_t n = pread(capture.file, capture.text, sizeof capture.text - 1, 0);
	close(capture.file);
	capture.text[n < 0 ? 0 : n] = '\0';
	return capture.text;
}

#endif
