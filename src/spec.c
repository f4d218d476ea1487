/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which form the operands have is read from their slashes alone; what is on the
 * disk then says what the form means, or that it is refused.
 *
 *   operands         form   SRC is        DST is      arrives as
 *   ---------------  -----  ------------  ----------  -------------------------
 *   SRC DST          BARE   directory *   directory   DST becomes SRC; refused when
 *                                                     it holds only other things
 *                           directory *   new         DST, made
 *                           directory *   other       refused
 *                           other         directory   DST/basename
 *                           other         other, new  DST, in DST's parent
 *   SRC/ DST[/]      MERGE  directory *   directory   contents, beside DST's own
 *                           directory *   new         DST, made
 *                           directory *   other       refused
 *                           other         any         refused
 *   SRC[/]... DIR/   INTO   any           directory   DIR/basename
 *                           any           new         DIR/basename, DIR made
 *                           any           other       refused
 *   SRC... DIR                                        refused: the slash is missing
 *
 *   * also a symlink to one, which is entered; INTO takes the link itself.
 *
 * A `new` DST is one whose parent exists.  Whatever the form, a destination that
 * is a source, or within one, is refused, by device and inode.
 */
#include "spec.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"
#include "host.h"
#include "path.h"
#include "planning.h"
#include "temp.h"
#include "text.h"

/* Nothing is written: much that a copy must not do may be compared. */
static bool is_compare(const struct plan *plan)
{
	return plan->opts->mode == MODE_COMPARE;
}

/* --- refusals --- */

int refuse(const char *name, int err, const char *format, ...)
{
	struct text text;
	va_list args;

	text_init(&text);
	va_start(args, format);
	for (const char *p = format; *p; p++) {
		if (*p != '%')
			text_add(&text, p, 1);
		else if (*++p == 's')
			text_put(&text, va_arg(args, const char *));
		else
			path_put_operand(&text, va_arg(args, const char *),
					 *p == 'Q');
	}
	va_end(args);
	diag_fail(STATUS_USAGE, name, err, "%s", text.bytes);
	text_destroy(&text);
	return -1;
}

static int refuse_memory(void)
{
	return refuse(NULL, ENOMEM, "operands");
}

/* Refuses HOST:PATH and shows the pipe that does it. */
static int refuse_host(const struct plan *plan, const char *operand)
{
	const char *src = plan->src[0].given, *dst = plan->dst_given;
	struct stat st;
	struct text pipe;

	/* a directory's contents travel, unless the form takes it by its name */
	bool by_name = plan->form == FORM_INTO ||
		       (!host_colon(src) && stat(src, &st) == 0 &&
			!S_ISDIR(st.st_mode));
	text_init(&pipe);
	host_put_pipe(&pipe, src, dst, by_name);
	refuse(operand, 0, "hosts are not reached yet; use: %s (into a "
	       "directory that is there%s; a local name is written ./%s)",
	       pipe.bytes, plan->nsrc > 1 ? ", and so for each source" : "",
	       operand);
	text_destroy(&pipe);
	return -1;
}

/* --- what can be said before looking at the disk --- */

static int check_operands(const struct plan *plan)
{
	char *const *operands = plan->opts->operands;

	for (int i = 0; i < plan->opts->noperands; i++)
		if (operands[i][0] == '\0')
			return refuse(NULL, 0, "operand %s is empty",
				      i == plan->opts->noperands - 1 ? "DST" : "SRC");
	for (int i = 0; i < plan->opts->noperands; i++)
		if (host_colon(operands[i]))
			return is_compare(plan) ?
				refuse(operands[i], 0, SPEC_COMPARE_HOST) :
				refuse_host(plan, operands[i]);
	if (plan->nsrc > 1 && !plan->dst_slash)
		return refuse(plan->dst_given, 0, "the destination of several "
			      "sources is a directory and is written with a "
			      "slash: tarpipe SRC... %Q", plan->dst_given);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* INTO: every source has a name of its own. */
static int check_names(const struct plan *plan)
{
	const char **names = calloc(plan->nsrc, sizeof *names);
	int result = names ? 0 : refuse_memory();

	for (size_t i = 0; result == 0 && i < plan->nsrc; i++) {
		const struct source *src = &plan->src[i];
		names[i] = path_base(src->path);
		if (!path_has_name(src->path))
			result = refuse(src->given, 0, "has no name to go by in "
					"%Q; for its contents: tarpipe %Q %q",
					plan->dst, src->path, plan->dst);
	}
	if (result == 0)
		qsort(names, plan->nsrc, sizeof *names, compare_names);
	for (size_t i = 1; result == 0 && i < plan->nsrc; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			result = refuse(names[i], 0, "two sources have this name, "
					"both would become %Q%q", plan->dst, names[i]);
	free(names);
	return result;
}

/* --- sources --- */

/* Looks at a source.  Returns 0, or -1 with errno when it isn't there. */
static int source_look(struct source *src)
{
	if (lstat(src->path, &src->own) != 0)
		return -1;
	src->there = true;
	src->link = S_ISLNK(src->own.st_mode);
	src->target = src->own;
	if (src->link && stat(src->path, &src->target) != 0)
		src->target = (struct stat){ 0 };
	src->dir = S_ISDIR(src->target.st_mode);
	return 0;
}

/* Looks at all of them; one that is missing among several is left out. */
static int sources_look(struct plan *plan)
{
	enum status status = plan->nsrc > 1 ? STATUS_PARTIAL : STATUS_USAGE;
	size_t there = 0;

	for (size_t i = 0; i < plan->nsrc; i++) {
		if (source_look(&plan->src[i]) == 0)
			there++;
		else
			diag_fail(status, plan->src[i].given, errno, "stat");
	}
	if (there == 0 && plan->nsrc > 1)
		return refuse(NULL, 0, "no source is there, nothing is copied");
	if (there == 0)
		return -1;
	if (plan->form == FORM_MERGE && !plan->src[0].dir)
		return refuse(plan->src[0].given, ENOTDIR, "a SRC with a "
			      "trailing slash means its contents");
	return 0;
}

bool plan_enters(const struct plan *plan, const struct source *src)
{
	return src->dir && !(src->link && plan->form == FORM_INTO);
}

/* Names of a list are below one directory. */
static int check_list(const struct plan *plan)
{
	const struct source *src = &plan->src[0];

	if (!plan->opts->files_from)
		return 0;
	if (plan->nsrc > 1)
		return refuse(NULL, 0, "the names in %s (-T) are below one SRC, not "
			      "several: tarpipe -T %q SRC DST",
			      plan->opts->files_from, plan->opts->files_from);
	if (!plan_enters(plan, src))
		return refuse(src->given, ENOTDIR, "the names in %s (-T) are below "
			      "it", plan->opts->files_from);
	return 0;
}

/* --- the destination --- */

/* DST isn't there: it must be no dangling symlink, and its parent be there. */
static int dst_look_new(struct plan *plan)
{
	struct stat st;
	int result = 0;

	if (lstat(plan->dst, &st) == 0)
		return refuse(plan->dst_given, 0, "is a symlink to what is not there");
	char *parent = path_parent(plan->dst);
	if (!parent)
		return refuse_memory();
	if (stat(parent, &st) != 0)
		result = refuse(parent, errno, "stat: only the last component of "
				"%q is made", plan->dst);
	free(parent);
	plan->dst_kind = DST_NEW;
	return result;
}

static int dst_look(struct plan *plan)
{
	if (stat(plan->dst, &plan->dst_stat) != 0)
		return errno == ENOENT && !is_compare(plan) ?
			dst_look_new(plan) :
			refuse(plan->dst_given, errno, "stat");
	plan->dst_kind = S_ISDIR(plan->dst_stat.st_mode) ? DST_DIR : DST_OTHER;
	if (plan->dst_kind == DST_OTHER && plan->dst_slash)
		return refuse(plan->dst_given, ENOTDIR, "a trailing slash means "
			      "a directory");
	if (plan->dst_kind == DST_OTHER && plan->src[0].dir)
		return refuse(plan->dst_given, ENOTDIR, "%s is a directory",
			      plan->src[0].given);
	return 0;
}

bool plan_becomes_file(const struct plan *plan)
{
	return plan->form == FORM_BARE && !plan->src[0].dir &&
	       plan->dst_kind != DST_DIR;
}

/* The resolved path, or the path itself where that can't be found out. */
static char *path_real(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

/* Fills spec->dst and its kin for a file that becomes DST. */
static int dst_set_file(struct spec *spec, const struct plan *plan)
{
	struct stat st;
	bool link = lstat(plan->dst, &st) == 0 && S_ISLNK(st.st_mode);
	char *file = link ? realpath(plan->dst, NULL) : strdup(plan->dst);

	if (!file)
		return refuse(plan->dst_given, errno, "realpath");
	spec->roots[0].as = strdup(path_base(file));
	spec->dst_shown = path_parent(file);
	spec->dst = spec->dst_shown ? path_real(spec->dst_shown) : NULL;
	free(file);
	return spec->dst && spec->roots[0].as ? 0 : refuse_memory();
}

/* Fills spec->dst and its kin for a directory. */
static int dst_set_dir(struct spec *spec, const struct plan *plan)
{
	spec->dst_shown = strdup(plan->dst);
	spec->dst_new = plan->dst_kind == DST_NEW;
	if (!spec->dst_new) {
		spec->dst = path_real(plan->dst);
		return spec->dst && spec->dst_shown ? 0 : refuse_memory();
	}
	spec->dst_parent = path_parent(plan->dst);
	char *real = spec->dst_parent ? path_real(spec->dst_parent) : NULL;
	if (real)
		spec->dst = path_join(real, path_base(plan->dst));
	free(real);
	return spec->dst && spec->dst_shown ? 0 : refuse_memory();
}

const char *spec_anchor(const struct spec *spec)
{
	return spec->dst_new ? spec->dst_parent : spec->dst_shown;
}

/* Fills all of spec that says where the copy goes. */
static int dst_set(struct spec *spec, const struct plan *plan)
{
	struct stat st;
	int result = plan_becomes_file(plan) ? dst_set_file(spec, plan) :
					  dst_set_dir(spec, plan);

	if (result != 0)
		return -1;
	if (stat(spec_anchor(spec), &st) != 0)
		return refuse(spec_anchor(spec), errno, "stat");
	spec->anchor_dev = st.st_dev;
	spec->anchor_ino = st.st_ino;
	return 0;
}

/* --- the bare form into what holds other things --- */

/* The next entry that counts, NULL at the end or on an error. */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL)
		if (!path_is_dot(entry->d_name) && !temp_is_name(entry->d_name) &&
		    strcmp(entry->d_name, "lost+found") != 0)
			return entry->d_name;
	return NULL;
}

/* Whether a top-level name of SRC is in DST; true also when SRC can't be read. */
static bool has_name_of(DIR *dst, const char *src_path)
{
	DIR *src = opendir(src_path);
	const char *name;
	struct stat st;
	bool found = !src;

	while (!found && (name = next_name(src)) != NULL)
		found = fstatat(dirfd(dst), name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (src)
		closedir(src);
	return found;
}

static int check_bare(const struct plan *plan)
{
	const struct source *src = &plan->src[0];

	if (plan->form != FORM_BARE || !src->dir || plan->dst_kind != DST_DIR)
		return 0;
	DIR *dst = opendir(plan->dst);
	if (!dst)
		return refuse(plan->dst_given, errno, "opendir");
	bool fine = next_name(dst) == NULL || has_name_of(dst, src->path);
	closedir(dst);
	if (fine)
		return 0;
	if (!path_has_name(src->path))
		return refuse(plan->dst_given, 0, "holds things, but nothing that "
			      "%s has; to merge: tarpipe %Q %q", src->given,
			      src->path, plan->dst);
	return refuse(plan->dst_given, 0, "holds things, but nothing that %s has; "
		      "to merge: tarpipe %Q %q; to make %Q%q: tarpipe %q %Q",
		      src->given, src->path, plan->dst, plan->dst,
		      path_base(src->path), src->path, plan->dst);
}

/* --- the whole --- */

/* Whether DST keeps its own metadata; says so when nobody asked. */
static bool dst_keeps(const struct plan *plan)
{
	struct stat slash;

	if (plan->opts->preserve_denied & PRESERVE_ROOT)
		return true;
	if (plan->dst_kind == DST_NEW ||
	    (plan->opts->preserve_asked & PRESERVE_ROOT))
		return false;
	bool sticky = plan->dst_stat.st_mode & S_ISVTX;
	if (!sticky && (stat("/", &slash) != 0 ||
			!same_file(&slash, &plan->dst_stat)))
		return false;
	if (is_compare(plan))
		return true;
	diag_note(plan->dst_given, "keeps its own mode, owner and times, because "
		  "it is %s (--preserve=root gives it those of %s)",
		  sticky ? "sticky" : "the root directory", plan->src[0].given);
	return true;
}

static int roots_set(struct spec *spec, const struct plan *plan)
{
	bool by_name = plan->form == FORM_INTO ||
		       (!plan->src[0].dir && !plan_becomes_file(plan));

	spec->roots = calloc(plan->nsrc, sizeof *spec->roots);
	if (!spec->roots)
		return refuse_memory();
	for (size_t i = 0; i < plan->nsrc; i++) {
		const struct source *src = &plan->src[i];
		if (!src->there)
			continue;
		struct spec_root *root = &spec->roots[spec->nroots++];
		root->path = strdup(src->path);
		root->as = by_name ? strdup(path_base(src->path)) : NULL;
		root->follow = src->link && plan_enters(plan, src);
		if (!root->path || (by_name && !root->as))
			return refuse_memory();
	}
	return 0;
}

static enum form form_read(const struct opts *opts, bool dst_slash)
{
	const char *src = opts->operands[0];

	if (opts->noperands == 2 && (path_ends_with(src, "/") || path_ends_with(src, "/.")))
		return FORM_MERGE;
	return dst_slash ? FORM_INTO : FORM_BARE;
}

static int plan_init(struct plan *plan, const struct opts *opts)
{
	assert(opts->noperands >= 2);
	*plan = (struct plan){ .opts = opts };
	plan->nsrc = (size_t)opts->noperands - 1;
	plan->dst_given = opts->operands[plan->nsrc];
	plan->dst_slash = path_ends_with(plan->dst_given, "/");
	plan->form = form_read(opts, plan->dst_slash);
	plan->dst = path_strip(plan->dst_given, false);
	plan->src = calloc(plan->nsrc, sizeof *plan->src);
	if (!plan->dst || !plan->src)
		return refuse_memory();
	for (size_t i = 0; i < plan->nsrc; i++) {
		plan->src[i].given = opts->operands[i];
		plan->src[i].path = path_strip(opts->operands[i],
					       plan->form == FORM_MERGE);
		if (!plan->src[i].path)
			return refuse_memory();
	}
	return 0;
}

static void plan_destroy(struct plan *plan)
{
	for (size_t i = 0; plan->src && i < plan->nsrc; i++)
		free(plan->src[i].path);
	free(plan->src);
	free(plan->dst);
}

/* The steps, in the order of what they need; nothing is written in any. */
static int plan_to_spec(struct plan *plan, struct spec *spec)
{
	if (check_operands(plan) != 0 ||
	    (plan->form == FORM_INTO && check_names(plan) != 0) ||
	    sources_look(plan) != 0 || check_list(plan) != 0 ||
	    dst_look(plan) != 0 ||
	    roots_set(spec, plan) != 0 || dst_set(spec, plan) != 0)
		return -1;
	if (!is_compare(plan) &&
	    (plan_check_itself(plan, spec) != 0 || check_bare(plan) != 0))
		return -1;
	spec->merges = plan->form == FORM_MERGE;
	spec->dst_is_copy = spec->roots[0].as == NULL;
	spec->dst_keeps = spec->dst_is_copy && dst_keeps(plan);
	return 0;
}

int spec_resolve(struct spec *spec, const struct opts *opts)
{
	struct plan plan;

	*spec = (struct spec){ 0 };
	int result = plan_init(&plan, opts);
	if (result == 0)
		result = plan_to_spec(&plan, spec);
	plan_destroy(&plan);
	if (result != 0)
		spec_destroy(spec);
	return result;
}

/* Opens the directory that was looked at.  As the next. */
static int anchor_open(const struct spec *spec, int flags)
{
	int fd = open(spec_anchor(spec), flags | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		diag_fail(STATUS_STOPPED, spec_anchor(spec), errno, "open");
	} else if (st.st_dev != spec->anchor_dev || st.st_ino != spec->anchor_ino) {
		diag_fail(STATUS_STOPPED, spec_anchor(spec), 0,
			  "was replaced by another directory meanwhile");
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Makes DST in its parent.  Returns a descriptor, or -1 after a message. */
static int dst_make(const struct spec *spec)
{
	/* who makes it a copy sets the mode when all is in it */
	mode_t mode = spec->dst_is_copy && !spec->dst_keeps ? 0700 : 0777;
	const char *name = path_base(spec->dst);
	int parent = anchor_open(spec, O_PATH);
	int fd = -1;

	if (parent < 0)
		return -1;
	if (mkdirat(parent, name, mode) != 0) {
		diag_fail(STATUS_STOPPED, spec->dst_shown, errno, "mkdir");
	} else {
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			    O_CLOEXEC);
		if (fd < 0)
			diag_fail(STATUS_STOPPED, spec->dst_shown, errno, "open");
	}
	close(parent);
	return fd;
}

int spec_open_dst(const struct spec *spec)
{
	return spec->dst_new ? dst_make(spec) : anchor_open(spec, O_RDONLY);
}

void spec_destroy(struct spec *spec)
{
	for (size_t i = 0; i < spec->nroots; i++) {
		free(spec->roots[i].path);
		free(spec->roots[i].as);
	}
	free(spec->roots);
	free(spec->dst);
	free(spec->dst_shown);
	free(spec->dst_parent);
	*spec = (struct spec){ 0 };
}
