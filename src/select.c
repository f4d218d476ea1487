/* SPDX-License-Identifier: BSD-2-Clause */
#include "select.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "names.h"
#include "nameset.h"
#include "path.h"

/* An including pattern, as it was given and as archive_match or the set has it. */
struct including {
	char *given;
	char *match;
	bool literal;			/* a mere name: in `literals` */
};

struct select {
	struct archive *excludes;
	struct archive *includes;
	/* Mere names: of lists, too many for pattern after pattern. */
	struct nameset *literals;
	struct nameset *excluded;	/* from the begin of any component */
	struct nameset *excluded_top;	/* from the begin of the path */
	struct archive_entry *entry;	/* used again for each name */
	size_t nexcluding;
	size_t nexcluding_patterns;	/* of them no mere names */
	struct including *including;
	size_t nincluding, room;
	size_t npatterns;		/* of them no literals */
	char *path;			/* the name that is asked for, cleaned */
	size_t path_room;
};

struct select *select_new(void)
{
	struct select *select = calloc(1, sizeof(*select));

	if (!select)
		return NULL;
	select->excludes = archive_match_new();
	select->includes = archive_match_new();
	select->literals = nameset_new();
	select->excluded = nameset_new();
	select->excluded_top = nameset_new();
	select->entry = archive_entry_new();
	if (select->excludes && select->includes && select->literals &&
	    select->excluded && select->excluded_top && select->entry)
		return select;
	select_free(select);
	errno = ENOMEM;
	return NULL;
}

void select_free(struct select *select)
{
	if (!select)
		return;
	for (size_t i = 0; i < select->nincluding; i++) {
		free(select->including[i].given);
		free(select->including[i].match);
	}
	free(select->including);
	free(select->path);
	archive_entry_free(select->entry);
	if (select->excludes)
		archive_match_free(select->excludes);
	if (select->includes)
		archive_match_free(select->includes);
	nameset_free(select->literals);
	nameset_free(select->excluded);
	nameset_free(select->excluded_top);
	free(select);
}

/* ---- patterns as archive_match is to have them ---- */

enum {
	BYTES = 256,
	LIST_MAX = 2 * BYTES + 2,	/* [...] with each byte, and backslashes */
};

static const char *without_dots(const char *path)
{
	while (path[0] == '.' && (path[1] == '/' || path[1] == '\0')) {
		path++;
		while (*path == '/')
			path++;
	}
	return path;
}

/* A path or a pattern without what may be in front of it. */
static const char *begin_of(const char *path)
{
	while (*path == '/')
		path++;
	return without_dots(path);
}

static const struct {
	const char *name;
	int (*has)(int byte);
} classes[] = {
	{ "alpha", isalpha }, { "digit", isdigit }, { "alnum", isalnum },
	{ "upper", isupper }, { "lower", islower }, { "space", isspace },
	{ "blank", isblank }, { "punct", ispunct }, { "print", isprint },
	{ "graph", isgraph }, { "cntrl", iscntrl }, { "xdigit", isxdigit },
};

/* Takes [:name:] at `p` into the set.  Returns what follows, or NULL: it is none. */
static const char *take_class(const char *p, const char *end, bool *set)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		size_t len = strlen(classes[i].name);

		if ((size_t)(end - p) < len + 4 || p[1] != ':' ||
		    strncmp(p + 2, classes[i].name, len) != 0 ||
		    strncmp(p + 2 + len, ":]", 2) != 0)
			continue;
		for (int byte = 1; byte < BYTES; byte++)
			if (classes[i].has(byte))
				set[byte] = true;
		return p + len + 4;
	}
	return NULL;
}

/* Takes one byte, perhaps behind a backslash.  Returns what follows, NULL at the end. */
static const char *take_byte(const char *p, const char *end, unsigned char *byte)
{
	if (p < end && *p == '\\')
		p++;
	if (p >= end)
		return NULL;
	*byte = (unsigned char)*p;
	return p + 1;
}

/* Takes a byte or a range.  As before. */
static const char *take_range(const char *p, const char *end, bool *set)
{
	unsigned char first, last;

	p = take_byte(p, end, &first);
	last = first;
	if (p && end - p >= 2 && p[0] == '-' && p[1] != ']')
		p = take_byte(p + 1, end, &last);
	for (int byte = first; p && byte <= last; byte++)
		set[byte] = true;
	return p;
}

/*
 * Reads [...] behind its bracket into the bytes that it matches.  Returns what follows
 * it, or NULL when it has no end.
 */
static const char *take_list(const char *p, const char *end, bool *set)
{
	bool negated = p < end && (*p == '!' || *p == '^');
	const char *first = p += negated, *next;

	memset(set, 0, BYTES * sizeof(*set));
	while (p && p < end && (*p != ']' || p == first)) {
		next = *p == '[' ? take_class(p, end, set) : NULL;
		p = next ? next : take_range(p, end, set);
	}
	if (!p || p >= end)
		return NULL;
	for (int byte = 1; negated && byte < BYTES; byte++)
		set[byte] = !set[byte];
	set[0] = false;
	return p + 1;
}

static char *put_list(char *to, const bool *set)
{
	*to++ = '[';
	for (int byte = 1; byte < BYTES; byte++) {
		if (!set[byte])
			continue;
		if (strchr("\\]-!^[", byte))
			*to++ = '\\';
		*to++ = (char)byte;
	}
	*to++ = ']';
	return to;
}

/* Only stars are left. */
static bool all_stars(const char *p, const char *end)
{
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* Writes what is at `*from`, and moves both on. */
static void put_next(char **to, const char **from, const char *start,
		     const char *end)
{
	bool set[BYTES];
	const char *p = *from;
	const char *behind = *p == '[' ? take_list(p + 1, end, set) : NULL;

	if (behind) {
		*to = put_list(*to, set);
		*from = behind;
		return;
	}
	if (*p == '\\' && p + 1 < end)
		*(*to)++ = *p++;
	else if (*p == '[' || (*p == '^' && p == start) ||
		 (*p == '$' && p + 1 == end))
		*(*to)++ = '\\';
	else if (*p == '*' && p > start && p[-1] == '/' && all_stars(p, end))
		*(*to)++ = '?';
	*(*to)++ = *p;
	*from = p + 1;
}

/* Makes a pattern for archive_match; "" when nothing is left.  NULL with ENOMEM. */
static char *pattern_make(const char *given, bool anchored)
{
	const char *from = begin_of(given), *start = from;
	const char *end = from + strlen(from);
	size_t lists = 0;
	char *made, *to;

	while (end > from && end[-1] == '/')
		end--;
	for (const char *p = from; p < end; p++)
		lists += *p == '[';
	made = malloc(2 * (size_t)(end - from) + lists * LIST_MAX + 2);
	if (!made)
		return NULL;
	to = made;
	if (anchored && from > given && from < end)
		*to++ = '^';
	while (from < end)
		put_next(&to, &from, start, end);
	*to = '\0';
	return made;
}

/* ---- adding ---- */

static int added(struct archive *match, int got)
{
	if (got == ARCHIVE_OK)
		return 0;
	errno = archive_errno(match);
	if (errno <= 0)
		errno = ENOMEM;
	return -1;
}

/* Nothing in it has a meaning of its own, or may be written in another way. */
static bool is_literal(const char *match)
{
	return !strpbrk(match, "*?[\\") && !strstr(match, "//") &&
	       !strstr(match, "/./") && !path_ends_with(match, "/.");
}

static int exclude_add(struct select *select, const char *match)
{
	bool top = match[0] == '^';	/* a `^` of the name has a backslash */

	if (is_literal(match))
		return nameset_add(top ? select->excluded_top :
					 select->excluded,
				   match + top);
	select->nexcluding_patterns++;
	return added(select->excludes,
		     archive_match_exclude_pattern(select->excludes, match));
}

int select_exclude(struct select *select, const char *pattern)
{
	char *made = pattern_make(pattern, true);
	int got = 0;

	if (!made)
		return -1;
	if (made[0] != '\0') {
		got = exclude_add(select, made);
		select->nexcluding++;
	}
	free(made);
	return got;
}

static int including_add(struct select *select, struct including new)
{
	int got;

	size_t room = select->room ? 2 * select->room : 16;
	struct including *more = select->including;

	if (!new.given || !new.match)
		return -1;
	if (select->nincluding == select->room) {
		more = realloc(more, room * sizeof(*more));
		if (!more)
			return -1;
		select->including = more;
		select->room = room;
	}
	new.literal = is_literal(new.match);
	got = new.literal ? nameset_add(select->literals, new.match) :
			    added(select->includes,
				  archive_match_include_pattern(select->includes,
								new.match));
	if (got != 0)
		return -1;
	more[select->nincluding++] = new;
	select->npatterns += !new.literal;
	return 0;
}

int select_include(struct select *select, const char *pattern)
{
	struct including new = {
		.given = strdup(pattern),
		.match = pattern_make(pattern, false),
	};

	/* `.` is all there is. */
	if (new.match && new.match[0] == '\0' && pattern[0] != '\0') {
		free(new.match);
		new.match = strdup("*");
	}
	if (pattern[0] != '\0' && including_add(select, new) == 0)
		return 0;
	free(new.given);
	free(new.match);
	return pattern[0] != '\0' ? -1 : 0;
}

/* tar's way with the lines of -X. */
static void trim(char *line)
{
	size_t len = strlen(line);

	while (len > 0 && isspace((unsigned char)line[len - 1]))
		line[--len] = '\0';
}

static int exclude_lines(struct select *select, const char *text)
{
	char *copy = strdup(text), *rest = copy, *line;
	int got = copy ? 0 : -1;

	while (got == 0 && (line = strsep(&rest, "\n"))) {
		trim(line);
		got = select_exclude(select, line);
	}
	free(copy);
	return got;
}

/* Something else than a list of excludes for --null is taken for lines. */
static int exclude_name(struct select *select, const struct names *names,
			const char *name)
{
	if (names_had_nul(names))
		return select_exclude(select, name);
	return exclude_lines(select, name);
}

static int include_name(struct select *select, const struct names *names,
			const char *name)
{
	(void)names;
	return select_include(select, name);
}

static int add_from(struct select *select, const char *file, bool null,
		    int (*add)(struct select *select, const struct names *names,
			       const char *name))
{
	struct names *names = names_open(file, null);
	const char *name;
	int got = 0, err;

	if (!names)
		return -1;
	while (got == 0 && (name = names_next(names)))
		got = add(select, names, name);
	err = errno;
	names_close(names);
	errno = err;
	return err == 0 ? got : -1;
}

int select_exclude_from(struct select *select, const char *file, bool null)
{
	return add_from(select, file, null, exclude_name);
}

int select_include_from(struct select *select, const char *file, bool null)
{
	return add_from(select, file, null, include_name);
}

/* ---- from the command line ---- */

/* A list can't come where the archive comes from. */
static int check_standard_input(const struct opts *opts, const char *file)
{
	if (strcmp(file, "-") != 0 ||
	    (opts->file && strcmp(opts->file, "-") != 0))
		return 0;
	diag_fail(STATUS_USAGE, NULL, 0,
		  "standard input can't be the archive and a list at once; name one "
		  "of them: -f FILE");
	return -1;
}

static int tell_list(const char *file, const char *option)
{
	bool nul = errno == EILSEQ;

	diag_fail(STATUS_USAGE, file, nul ? 0 : errno, "%s (%s)",
		  names_failure(errno), option);
	return -1;
}

static int add_excludes(struct select *select, const struct opts *opts,
			bool members)
{
	for (size_t i = 0; i < opts->nchoices; i++) {
		const struct choice *choice = &opts->choices[i];

		if (!choice->file) {
			if (select_exclude(select, choice->text) != 0)
				return tell_list(choice->text, "--exclude");
			continue;
		}
		if (members && check_standard_input(opts, choice->text) != 0)
			return -1;
		if (select_exclude_from(select, choice->text, opts->null) != 0)
			return tell_list(choice->text, "-X");
	}
	return 0;
}

static int add_members(struct select *select, const struct opts *opts,
		       char *const *operands, int noperands)
{
	for (int i = 0; i < noperands; i++)
		if (select_include(select, operands[i]) != 0)
			return tell_list(operands[i], "a pattern");
	if (!opts->files_from)
		return 0;
	if (check_standard_input(opts, opts->files_from) != 0)
		return -1;
	if (select_include_from(select, opts->files_from, opts->null) != 0)
		return tell_list(opts->files_from, "-T");
	return 0;
}

struct select *select_from_opts(const struct opts *opts, bool members,
				char *const *operands, int noperands)
{
	struct select *select = select_new();

	if (!select) {
		diag_fail(STATUS_USAGE, NULL, errno, "patterns");
		return NULL;
	}
	if (add_excludes(select, opts, members) == 0 &&
	    (!members ||
	     add_members(select, opts, operands, noperands) == 0))
		return select;
	select_free(select);
	return NULL;
}

/* ---- asking ---- */

bool select_is_empty(const struct select *select)
{
	return select->nexcluding == 0 && select->nincluding == 0;
}

/* The path without empty components and `.`; as it is, where memory is short. */
static const char *path_clean(struct select *select, const char *path)
{
	size_t room = strlen(path) + 1, len = 0;

	if (select->path_room < room) {
		char *more = realloc(select->path, 2 * room);

		if (!more)
			return path;
		select->path = more;
		select->path_room = 2 * room;
	}
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n > 0 && !(n == 1 && *path == '.')) {
			if (len > 0)
				select->path[len++] = '/';
			memcpy(select->path + len, path, n);
			len += n;
		}
		path += n + (path[n] == '/');
	}
	select->path[len] = '\0';
	return select->path;
}

/* Each pattern is asked, so that it is known which of them have met something. */
static bool is_included(struct select *select, const char *path)
{
	bool named = nameset_covers(select->literals, path);

	return (select->npatterns > 0 &&
		archive_match_path_excluded(select->includes, select->entry) == 0) ||
	       named;
}

static bool is_excluded(struct select *select, const char *path)
{
	if (nameset_covers(select->excluded_top, path))
		return true;
	for (const char *from = path; from; from = strchr(from, '/')) {
		from += *from == '/';
		if (nameset_covers(select->excluded, from))
			return true;
	}
	return select->nexcluding_patterns > 0 &&
	       archive_match_path_excluded(select->excludes, select->entry) != 0;
}

bool select_wants(struct select *select, const char *path, bool directory)
{
	(void)directory;	/* no pattern speaks of types so far */
	if (select_is_empty(select))
		return true;
	path = path_clean(select, path);
	if (*path == '\0') {
		/* the top itself: no pattern is about it, but one for all */
		if (select->nincluding == 0)
			return true;
		path = ".";
	}
	archive_entry_copy_pathname(select->entry, path);
	if (select->nincluding > 0 && !is_included(select, path))
		return false;
	return select->nexcluding == 0 || !is_excluded(select, path);
}

bool select_hook(void *select, const char *path, bool directory)
{
	return select_wants(select, path, directory);
}

/* The next pattern that matched nothing, in the order they were added. */
static const char *next_unmatched(struct select *select)
{
	const char *pattern;
	int got = archive_match_path_unmatched_inclusions_next(select->includes,
							       &pattern);

	return got == ARCHIVE_OK ? pattern : NULL;
}

unsigned select_unmatched(struct select *select,
			  void (*tell)(void *arg, const char *pattern), void *arg)
{
	const char *pattern = next_unmatched(select);
	unsigned n = 0;

	for (size_t i = 0; i < select->nincluding; i++) {
		const struct including *one = &select->including[i];
		bool met = one->literal ?
				   nameset_met(select->literals, one->match) :
				   !pattern || strcmp(one->match, pattern) != 0;

		if (met)
			continue;
		if (!one->literal)
			pattern = next_unmatched(select);
		tell(arg, one->given);
		n++;
	}
	return n;
}

static void tell_unmatched(void *arg, const char *pattern)
{
	(void)arg;
	diag_fail(STATUS_PARTIAL, pattern, 0, "no member of the stream matches");
}

void select_tell_unmatched(struct select *select)
{
	(void)select_unmatched(select, tell_unmatched, NULL);
}
