/* SPDX-License-Identifier: BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "end_tape.h"
#include "thread.h"

struct output *outputs_add(struct outputs *outputs, int fd, const char *name,
			   size_t block)
{
	struct output *out = &outputs->out[outputs->count];

	if (outputs->count == OUTPUTS_MAX) {
		errno = EMFILE;
		return NULL;
	}
	*out = (struct output){ .name = name };
	if (fstat(fd, &out->st) != 0)
		return NULL;
	end_out_init(&out->end, fd, block);
	outputs->count++;
	return out;
}

/* ---- opening by name ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return S_ISREG(a->st_mode) && S_ISREG(b->st_mode) &&
	       a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_output(const struct outputs *outputs, const struct stat *st)
{
	for (int i = 0; i < outputs->count; i++)
		if (same_file(st, &outputs->out[i].st))
			return true;
	return false;
}

/* A file is emptied only when it is sure that nothing else here needs it. */
static int output_empty(const struct outputs *outputs, int fd, const char *name,
			const struct output_not *other)
{
	const char *why = NULL;
	struct stat st;

	if (fstat(fd, &st) != 0) {
		diag_fail(STATUS_STOPPED, name, errno, "open the output");
		return -1;
	}
	if (is_output(outputs, &st))
		why = "is an output already";
	else if (other && same_file(&st, &other->st))
		why = other->why;
	if (why) {
		diag_fail(STATUS_STOPPED, name, 0, "%s", why);
		return -1;
	}
	if (S_ISREG(st.st_mode) && ftruncate(fd, 0) != 0) {
		diag_fail(STATUS_STOPPED, name, errno, "empty the output");
		return -1;
	}
	return 0;
}

struct output *outputs_open(struct outputs *outputs, const char *name,
			    size_t block, const struct output_not *other)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	struct output *out = NULL;

	if (fd >= 0 && output_empty(outputs, fd, name, other) != 0)
		goto close;
	if (fd >= 0)
		out = outputs_add(outputs, fd, name, block);
	if (out)
		return out;
	diag_fail(STATUS_STOPPED, name, errno, "open the output");
close:
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* ---- writing ---- */

bool outputs_go_on(const struct outputs *outputs)
{
	for (int i = 0; i < outputs->count; i++)
		if (!outputs->out[i].failed)
			return true;
	return false;
}

size_t outputs_share(const struct outputs *outputs, size_t size)
{
	for (int i = 0; i < outputs->count; i++)
		if (!outputs->out[i].failed)
			size = end_out_share(&outputs->out[i].end, size);
	return size;
}

int output_write(struct output *out, const void *bytes, size_t size)
{
	if (!out->tape)
		return end_out_write(&out->end, bytes, size);
	if (tape_write(out->end.fd, bytes, size) != 0)
		return -1;
	count_add(&out->end.bytes, size);
	return 0;
}

void output_fail(struct output *out, enum status status, const char *where)
{
	out->failed = true;
	diag_fail(status, out->name, errno, "write, %" PRIu64 " bytes are %s",
		  out->end.bytes, where);
}

int output_close(struct output *out, bool sync, enum status status)
{
	if (end_out_close(&out->end, sync && !out->failed) == 0 || out->failed)
		return out->failed ? -1 : 0;
	out->failed = true;
	diag_fail(status, out->name, errno, "close, %" PRIu64
		  " bytes were written and may be lost", out->end.bytes);
	return -1;
}
