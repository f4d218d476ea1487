/* SPDX-License-Identifier: BSD-2-Clause */
/* What the operands of -c mean. */
#include "spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "host.h"
#include "parts.h"
#include "path.h"

static int refuse_memory(void)
{
	diag_fail(STATUS_USAGE, NULL, ENOMEM, "operands");
	return -1;
}

/* What can be said before looking at the disk. */
static int check_operand(const char *operand)
{
	const char *colon = host_colon(operand);

	if (operand[0] == '\0') {
		diag_fail(STATUS_USAGE, NULL, 0, "an operand is empty");
		return -1;
	}
	if (colon) {
		diag_fail(STATUS_USAGE, operand, 0, "hosts are not reached yet; "
			  "use: ssh %.*s tar -C %s -cf - . (a local name is "
			  "written ./%s)", (int)(colon - operand), operand,
			  colon[1] ? colon + 1 : ".", operand);
		return -1;
	}
	return 0;
}

/*
 * An operand with -C as the member's name, which has neither a root nor a way up: *name is
 * NULL for the top itself.  Returns 0, or -1: refused.
 */
static int member_name(char **name, const char *operand)
{
	struct parts parts = { 0 };
	enum parts_verdict verdict = parts_parse(&parts, operand);

	*name = NULL;
	if (verdict == PARTS_ABSOLUTE)
		diag_fail(STATUS_USAGE, operand, 0, "with -C operands are names "
			  "below it; this one begins with a slash");
	else if (verdict == PARTS_UPWARD)
		diag_fail(STATUS_USAGE, operand, 0, "with -C operands are names "
			  "below it; this one leads out by '..'");
	else if (parts.count > 0 && !(*name = strdup(parts.text)))
		verdict = PARTS_NO_MEMORY;
	if (verdict == PARTS_NO_MEMORY)
		(void)refuse_memory();
	parts_destroy(&parts);
	return verdict == PARTS_FINE || verdict == PARTS_LONG ? 0 : -1;
}

/* Fills in how a source is called; `entered`: its contents are what is packed. */
static int root_name(struct spec_root *root, const char *operand, bool member,
		     bool entered)
{
	root->path = path_strip(operand, false);
	if (!root->path)
		return refuse_memory();
	if (member || entered)
		return 0;
	if (!path_has_name(root->path)) {
		diag_fail(STATUS_USAGE, operand, 0, "has no name to be packed by; "
			  "alone it is packed as its contents");
		return -1;
	}
	root->as = strdup(path_base(root->path));
	return root->as ? 0 : refuse_memory();
}

static int compare_roots(const void *a, const void *b)
{
	const char *x = (*(const struct spec_root *const *)a)->as;
	const char *y = (*(const struct spec_root *const *)b)->as;

	return strcmp(x ? x : "", y ? y : "");
}

/* Two members of one name: unpacking would keep only the second. */
static int check_names(const struct spec *spec)
{
	const struct spec_root **sorted = calloc(spec->nroots, sizeof *sorted);
	int result = 0;

	if (!sorted)
		return refuse_memory();
	for (size_t i = 0; i < spec->nroots; i++)
		sorted[i] = &spec->roots[i];
	qsort(sorted, spec->nroots, sizeof *sorted, compare_roots);
	for (size_t i = 1; result == 0 && i < spec->nroots; i++)
		if (compare_roots(&sorted[i - 1], &sorted[i]) == 0) {
			diag_fail(STATUS_USAGE, sorted[i]->path, 0, "two operands "
				  "would be packed under this one's name");
			result = -1;
		}
	free(sorted);
	return result;
}

/* One operand.  Returns 1 when it makes a root, 0 when it is missing, or -1. */
static int root_set(struct spec_root *root, const struct opts *opts,
		    const char *operand, int dir)
{
	bool alone = opts->noperands == 1 && !opts->files_from;
	bool member = opts->directory != NULL;
	struct stat st, target;
	bool is_dir;

	if (check_operand(operand) != 0 ||
	    (member && member_name(&root->as, operand) != 0))
		return -1;
	if (fstatat(dir, operand, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		diag_fail(alone ? STATUS_USAGE : STATUS_PARTIAL, operand, errno,
			  "stat");
		free(root->as);
		root->as = NULL;
		return alone ? -1 : 0;
	}
	is_dir = S_ISDIR(st.st_mode) ||
		 (S_ISLNK(st.st_mode) && fstatat(dir, operand, &target, 0) == 0 &&
		  S_ISDIR(target.st_mode));
	root->follow = alone && !member && is_dir && S_ISLNK(st.st_mode);
	return root_name(root, operand, member, alone && is_dir) == 0 ? 1 : -1;
}

/* ---- operands that overlap ---- */

struct place {
	dev_t dev;
	ino_t ino;
};

static int place_order(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

/* The directory that a root is, or that it is in; -1: none can be found. */
static int root_directory(const struct spec_root *root, bool *is_root)
{
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int fd = openat(AT_FDCWD, root->path,
			root->follow ? flags : flags | O_NOFOLLOW);
	char *parent;

	*is_root = fd >= 0;
	if (fd >= 0)
		return fd;
	parent = path_parent(root->path);
	if (parent)
		fd = openat(AT_FDCWD, parent, flags);
	free(parent);
	return fd;
}

static struct place place_of(int fd)
{
	struct stat st = { 0 };

	(void)fstat(fd, &st);
	return (struct place){ st.st_dev, st.st_ino };
}

/* Is what a root is in, or one further up, a root also? */
static bool is_within(int fd, bool is_root, const struct place *roots, size_t n)
{
	struct place at = place_of(fd), below = { 0, 0 };
	bool found = false;

	while (!found && fd >= 0 && place_order(&at, &below) != 0) {
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		found = !is_root && bsearch(&at, roots, n, sizeof(at), place_order);
		is_root = false;
		close(fd);
		fd = up;
		below = at;
		at = place_of(fd);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

bool spec_overlaps(const struct spec *spec)
{
	struct place *places;
	bool found, is_root;
	size_t n = 0;
	int fd;

	if (spec->nroots < 2)
		return false;
	places = calloc(spec->nroots, sizeof(*places));
	found = !places;
	for (size_t i = 0; !found && i < spec->nroots; i++) {
		fd = root_directory(&spec->roots[i], &is_root);
		if (fd >= 0 && is_root)
			places[n++] = place_of(fd);
		if (fd >= 0)
			close(fd);
	}
	if (n > 1)
		qsort(places, n, sizeof(*places), place_order);
	for (size_t i = 1; i < n; i++)
		found = found || place_order(&places[i - 1], &places[i]) == 0;
	for (size_t i = 0; n > 0 && !found && i < spec->nroots; i++) {
		fd = root_directory(&spec->roots[i], &is_root);
		found = fd >= 0 && is_within(fd, is_root, places, n);
	}
	free(places);
	return found;
}

int spec_resolve_create(struct spec *spec, const struct opts *opts, int dir)
{
	size_t n = (size_t)opts->noperands;

	*spec = (struct spec){ 0 };
	spec->roots = calloc(n + 1, sizeof *spec->roots);	/* and one for -T */
	if (!spec->roots)
		return refuse_memory();
	for (size_t i = 0; i < n; i++) {
		struct spec_root *root = &spec->roots[spec->nroots];
		int got = root_set(root, opts, opts->operands[i], dir);

		if (got < 0) {
			spec->nroots++;		/* what it has is freed */
			spec_destroy(spec);
			return -1;
		}
		spec->nroots += (size_t)got;
	}
	if (n > 0 && spec->nroots == 0 && !opts->files_from) {
		diag_fail(STATUS_USAGE, NULL, 0, "no source is there, nothing is "
			  "packed");
		return -1;
	}
	if (check_names(spec) == 0)
		return 0;
	spec_destroy(spec);
	return -1;
}

/* -f and --tee: a place of this machine that has a name. */
static int check_place(const char *option, const char *place)
{
	const char *colon = host_colon(place);

	if (place[0] == '\0') {
		diag_fail(STATUS_USAGE, NULL, 0, "%s: the name is empty", option);
		return -1;
	}
	if (!colon)
		return 0;
	diag_fail(STATUS_USAGE, place, 0, "%s: hosts are not reached yet; use "
		  "a pipe to or from ssh %.*s (a local name is written ./%s)",
		  option, (int)(colon - place), place, place);
	return -1;
}

int spec_check_stream(const struct opts *opts)
{
	if (opts->file && check_place("-f", opts->file) != 0)
		return -1;
	for (int i = 0; i < opts->ntees; i++)
		if (check_place("--tee", opts->tees[i]) != 0)
			return -1;
	return 0;
}
