/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operands of -x.
 *
 *   operands          DST is
 *   ----------------  ---------------------------------------------------------
 *   none              `.`; refused when that is `/`, which nobody named
 *   DST               a directory, or new: then made, if its parent is there
 *   -C DST PATTERN... a directory
 *   DST ...           refused: patterns need -C
 */
#include "spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "diag.h"
#include "host.h"
#include "path.h"
#include "text.h"

static int refuse_memory(void)
{
	diag_fail(STATUS_USAGE, NULL, ENOMEM, "operands");
	return -1;
}

/* Shows how members are chosen: what was given, with the first one as DST. */
static int refuse_patterns(const struct opts *opts)
{
	struct text text;

	text_init(&text);
	text_put(&text, "tarpipe -x -C ");
	for (int i = 0; i < opts->noperands; i++) {
		if (i > 0)
			text_put(&text, " ");
		path_put_quoted(&text, opts->operands[i]);
	}
	diag_fail(STATUS_USAGE, opts->operands[1], 0,
		  "-x unpacks into one DST; to choose members: %s", text.bytes);
	text_destroy(&text);
	return -1;
}

static int refuse_host(const char *operand, const char *colon)
{
	struct text text;

	text_init(&text);
	text_put(&text, "ssh ");
	text_add(&text, operand, (size_t)(colon - operand));
	text_put(&text, " tarpipe -x ");
	path_put_quoted(&text, colon[1] ? colon + 1 : ".");
	diag_fail(STATUS_USAGE, operand, 0,
		  "hosts are not reached yet; use: %s (a local name is written "
		  "./%s)", text.bytes, operand);
	text_destroy(&text);
	return -1;
}

/* The operand that is DST, or NULL after a message. */
static const char *dst_operand(const struct opts *opts)
{
	const char *dst = ".", *colon;

	if (opts->directory) {
		dst = opts->directory;
	} else if (opts->noperands > 1) {
		(void)refuse_patterns(opts);
		return NULL;
	} else if (opts->noperands == 1) {
		dst = opts->operands[0];
		colon = host_colon(dst);
		if (colon) {
			if (opts->mode == MODE_COMPARE)
				diag_fail(STATUS_USAGE, dst, 0,
					  SPEC_COMPARE_HOST);
			else
				(void)refuse_host(dst, colon);
			return NULL;
		}
	}
	if (*dst)
		return dst;
	diag_fail(STATUS_USAGE, NULL, 0, "operand DST is empty");
	return NULL;
}

/* `/` gets nothing that nobody said. */
static int check_default(const struct opts *opts, const struct stat *st)
{
	struct stat slash;

	if (opts->directory || opts->noperands > 0 || stat("/", &slash) != 0 ||
	    slash.st_dev != st->st_dev || slash.st_ino != st->st_ino)
		return 0;
	diag_fail(STATUS_USAGE, "/", 0,
		  "is where you are; to unpack there, name it: tarpipe -x /");
	return -1;
}

/* It isn't there: it must be no dangling symlink, and its parent be there. */
static int look_new(struct spec *spec, const struct opts *opts,
		    const char *given, struct stat *anchor)
{
	if (lstat(spec->dst_shown, anchor) == 0) {
		diag_fail(STATUS_USAGE, given, 0,
			  "is a symlink to what is not there");
		return -1;
	}
	if (opts->directory) {
		diag_fail(STATUS_USAGE, given, ENOENT, "stat");
		return -1;
	}
	spec->dst_new = true;
	spec->dst_parent = path_parent(spec->dst_shown);
	if (!spec->dst_parent)
		return refuse_memory();
	if (stat(spec->dst_parent, anchor) == 0)
		return 0;
	diag_fail(STATUS_USAGE, spec->dst_parent, errno,
		  "stat: only the last component of DST is made");
	return -1;
}

static int look(struct spec *spec, const struct opts *opts, const char *given,
		struct stat *anchor)
{
	if (stat(spec->dst_shown, anchor) != 0) {
		if (errno == ENOENT)
			return look_new(spec, opts, given, anchor);
		diag_fail(STATUS_USAGE, given, errno, "stat");
		return -1;
	}
	if (S_ISDIR(anchor->st_mode))
		return check_default(opts, anchor);
	diag_fail(STATUS_USAGE, given, ENOTDIR, "DST");
	return -1;
}

/* The resolved path; of what is new by its parent's. */
static char *resolved(const struct spec *spec)
{
	char *parent, *path;

	if (!spec->dst_new) {
		path = realpath(spec->dst_shown, NULL);
		return path ? path : strdup(spec->dst_shown);
	}
	parent = realpath(spec->dst_parent, NULL);
	path = path_join(parent ? parent : spec->dst_parent,
			 path_base(spec->dst_shown));
	free(parent);
	return path;
}

static int resolve(struct spec *spec, const struct opts *opts)
{
	const char *given = dst_operand(opts);
	struct stat anchor;

	if (!given)
		return -1;
	spec->dst_shown = path_strip(given, false);
	if (!spec->dst_shown)
		return refuse_memory();
	if (look(spec, opts, given, &anchor) != 0)
		return -1;
	spec->anchor_dev = anchor.st_dev;
	spec->anchor_ino = anchor.st_ino;
	spec->dst = resolved(spec);
	if (!spec->dst)
		return refuse_memory();
	spec->dst_is_copy = true;
	spec->dst_keeps = (opts->preserve_denied & PRESERVE_ROOT) ||
			  (!spec->dst_new &&
			   !(opts->preserve_asked & PRESERVE_ROOT));
	return 0;
}

int spec_resolve_extract(struct spec *spec, const struct opts *opts)
{
	int result;

	*spec = (struct spec){ 0 };
	result = resolve(spec, opts);
	if (result != 0)
		spec_destroy(spec);
	return result;
}
