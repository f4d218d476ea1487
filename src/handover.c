/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of regular files is given to be verified, and when: a run of sums waits until the
 * next one comes, or the file's end, so that a small file is one part, which is given when
 * the file has its name and its times.
 */
#include "object.h"

#include <errno.h>
#include <unistd.h>

static void tell(struct worker *worker)
{
	object_tell(worker, errno, "giving it to be verified");
	verified_drop(worker->object.verified);
	worker->object.verified = NULL;
}

void handover_begin(struct worker *worker)
{
	struct verify *verify = worker->restore->config.verify;
	struct object *object = &worker->object;

	if (!verify)
		return;
	worker->sums.count = 0;
	object->given = 0;
	object->verified = verified_new(verify, worker->dir, object->name);
	if (!object->verified)
		tell(worker);
}

void handover_begin_there(struct worker *worker)
{
	struct object *object = &worker->object;

	handover_begin(worker);
	if (!object->verified)
		return;
	object->reader = verify_open(object->apply.at.fd);
	if (object->reader < 0)
		tell(worker);
}

/* A part up to `to`, with the sums that wait.  NULL after a message. */
static struct part *make_part(struct worker *worker, uint64_t to)
{
	struct object *object = &worker->object;
	int fd = object->reader >= 0 ? object->reader : object->apply.at.fd;
	struct part *part = part_new(object->verified, fd, object->given, to,
				     worker->sums.count > 0 ? &worker->sums :
							      NULL);

	worker->sums.count = 0;
	object->given = to;
	if (!part)
		tell(worker);
	return part;
}

static int run_taken(void *arg, const struct sums_run *run)
{
	struct worker *worker = arg;
	struct object *object = &worker->object;
	struct part *part;

	if (worker->sums.count > 0) {
		part = make_part(worker, worker->sums.end);
		if (!part)
			return -1;
		part_give(part);
	}
	if (run->first * SUMS_BLOCK < object->given) {
		errno = EBADMSG;
		tell(worker);
		return -1;
	}
	worker->sums = *run;
	return 0;
}

void file_sums(struct worker *worker, const struct record *record)
{
	const struct object *object = &worker->object;
	struct sums_run run;

	if (object->type != RECORD_FILE || object->skip || !object->verified)
		return;
	sums_from_record(&run, record);
	(void)run_taken(worker, &run);
}

/* What lies behind `size` was read, but is not there any more. */
static void cut_sums(struct sums_run *run, uint64_t size)
{
	while (run->count > 0 && run->end > size) {
		run->count--;
		run->end = (run->first + run->count) * SUMS_BLOCK;
	}
}

void handover_cut(struct worker *worker, uint64_t size)
{
	struct object *object = &worker->object;

	if (object->verified && object->given > size)
		verified_cut(object->verified, size);
}

struct part *handover_rest(struct worker *worker, uint64_t size)
{
	struct object *object = &worker->object;
	const struct opts *opts = worker->restore->config.opts;
	struct sums_run *run = &worker->sums;
	uint64_t to = size;
	struct part *part;

	if (!object->verified)
		return NULL;
	if (run->count > 0 && run->end > size) {
		cut_sums(run, size);
		to = run->end < size ? run->end : size;
	}
	if (to < object->given)
		to = object->given;
	part = make_part(worker, to);
	if (part)
		part_is_last(part, size,
			     opts->preserve & PRESERVE_TIMES ?
				     &object->apply.meta.atime :
				     NULL);
	return part;
}

void handover_give(struct worker *worker, struct part *rest)
{
	if (rest && worker->object.type == 0)
		part_give(rest);
	else
		part_free(rest);	/* it came to nothing */
}

void handover_sums_of(struct worker *worker, int in, const struct stat *st)
{
	struct sums *sums;
	uint64_t at = 0, size = (uint64_t)st->st_size;
	ssize_t n = 1;

	if (!worker->object.verified)
		return;
	sums = sums_new(run_taken, worker);
	while (sums && at < size && n > 0) {
		n = pread(in, worker->buffer, COPY_SIZE, (off_t)at);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0 && sums_add(sums, worker->buffer, (size_t)n, at) != 0)
			break;
		else
			at += n > 0 ? (uint64_t)n : 0;
	}
	if (!sums || n < 0)
		tell(worker);
	else
		(void)sums_end(sums, at);
	sums_free(sums);
}
