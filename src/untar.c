/* SPDX-License-Identifier: BSD-2-Clause */
#include "untar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "diag.h"
#include "path.h"
#include "sums.h"
#include "untaring.h"

enum { PIECE_MAX = 256 << 10, LEVELS = 64 };

/* sums_taker */
static int untar_sums(void *arg, const struct sums_run *run)
{
	const struct record record = sums_to_record(run);

	return untar_emit(arg, &record);
}

struct untar *untar_new(const struct untar_config *config)
{
	struct untar *untar = calloc(1, sizeof(*untar));
	/* A head and an end go with it. */
	size_t most = ring_span_max(config->ring) -
		      record_size(RECORD_FILE, RECORD_NAME_MAX, 0) -
		      record_size(RECORD_PIECE, 0, RECORD_ALIGN) -
		      record_size(RECORD_SUMS, 0, sizeof(uint64_t)) -
		      record_size(RECORD_END, 0, 0);

	if (!untar)
		return NULL;
	untar->config = *config;
	untar->ring = config->ring;
	untar->piece_max = most < PIECE_MAX ? most : PIECE_MAX;
	untar->room = LEVELS;
	untar->levels = calloc(LEVELS, sizeof(*untar->levels));
	if (config->opts->verify)
		untar->sums = sums_new(untar_sums, untar);
	if (untar->levels && (untar->sums || !config->opts->verify))
		return untar;
	untar_free(untar);
	errno = ENOMEM;
	return NULL;
}

void untar_free(struct untar *untar)
{
	if (!untar)
		return;
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < NAMES_KNOWN; i++)
			free(untar->known[kind][i].name);
	if (untar->levels)
		levels_destroy(untar);
	sums_free(untar->sums);
	parts_destroy(&untar->path);
	parts_destroy(&untar->target);
	free(untar->attributes.records);
	free(untar);
}

bool untar_keeps(const struct untar *untar, unsigned part)
{
	return untar->config.opts->preserve & part;
}

int untar_emit(struct untar *untar, const struct record *record)
{
	size_t size = record_size((enum record_type)record->type,
				  record->name_len, record->data_len);
	void *at = ring_reserve(untar->ring, size);

	if (!at)
		return -1;
	record_encode(at, record);
	ring_commit(untar->ring, size);
	return 0;
}

void untar_no_memory(struct untar *untar)
{
	diag_fail(STATUS_STOPPED, untar->member.path, ENOMEM,
		  "unpacking this member");
	untar->broken = true;
}

/* ---- owners by name ---- */

/*
 * The stream may give one number several names, so the workers, who are behind, can't
 * be told which one holds: they get numbers that are ours already.
 */
static uint32_t owner_here(struct untar *untar, enum owner_kind kind,
			   uint32_t id, const char *name)
{
	struct known_name *known = &untar->known[kind][id % NAMES_KNOWN];
	struct owners *owners;

	if (!name || !*name)
		return id;
	if (known->name && known->id == id && strcmp(known->name, name) == 0)
		return known->here;
	free(known->name);
	known->name = strdup(name);
	known->id = known->here = id;
	owners = owners_new();
	if (owners) {
		owners_learn(owners, kind, id, name);
		known->here = owners_map(owners, kind, id);
	}
	owners_free(owners);
	return known->here;
}

static long whole_nanoseconds(long ns)
{
	return ns >= 0 && ns < 1000000000 ? ns : 0;
}

/* What the member is to have here. */
static void member_meta(struct untar *untar)
{
	const struct tar_member *member = &untar->member;
	struct meta *meta = &untar->meta;

	*meta = member->meta;
	meta->atime.tv_nsec = whole_nanoseconds(meta->atime.tv_nsec);
	meta->mtime.tv_nsec = whole_nanoseconds(meta->mtime.tv_nsec);
	if (!untar->config.opts->names)
		return;
	meta->uid = owner_here(untar, OWNER_USER, meta->uid, member->user);
	meta->gid = owner_here(untar, OWNER_GROUP, meta->gid, member->group);
}

/* ---- names ---- */

static void refuse(const struct untar *untar, int err, const char *why)
{
	diag_fail(STATUS_PARTIAL,
		  *untar->member.path ? untar->member.path : NULL, err, "%s",
		  why);
}

/* Tells what is wrong with the member's path, or with its link's target. */
static void refuse_path(struct untar *untar, enum parts_verdict verdict,
			bool target)
{
	static const char *const why[][2] = {
		[PARTS_EMPTY] = { "refused: a member without a name",
				  "refused: a link without a target" },
		[PARTS_ABSOLUTE] = { "refused: an absolute path",
				     "refused: its link's target is an "
				     "absolute path" },
		[PARTS_UPWARD] = { "refused: a path with `..`",
				   "refused: its link's target is a path with "
				   "`..`" },
		[PARTS_LONG] = { "refused: a component of its path",
				 "refused: a component of its link's target" },
	};

	if (verdict == PARTS_NO_MEMORY)
		untar_no_memory(untar);
	else
		refuse(untar, verdict == PARTS_LONG ? ENAMETOOLONG : 0,
		       why[verdict][target]);
}

/* What is left of a path that is fine; a `.` counts, as with tar.  False: nothing. */
static bool strip(struct parts *parts, const char *path, unsigned count)
{
	const char *rest = path_strip_components(path, count);

	return rest && parts_parse(parts, rest) == PARTS_FINE &&
	       parts->count > 0;
}

/* The member's path is fine and wanted, and what is to be made of it is in `path`. */
static bool path_take(struct untar *untar)
{
	const struct untar_config *config = &untar->config;
	enum parts_verdict verdict = parts_parse(&untar->path,
						 untar->member.path);
	const char *name = untar->member.path;
	bool is_dir = S_ISDIR(untar->member.meta.mode) &&
		      !untar->member.hardlink;

	if (verdict == PARTS_FINE)
		name = untar->path.count > 0 ? untar->path.text : ".";
	if (config->select && !select_wants(config->select, name, is_dir))
		return false;
	if (verdict != PARTS_FINE) {
		refuse_path(untar, verdict, false);
		return false;
	}
	if (config->opts->strip > 0)
		return strip(&untar->path, untar->member.path,
			     config->opts->strip);
	if (untar->path.count > 0 || is_dir)
		return true;
	refuse(untar, 0, "refused: the destination itself is a directory");
	return false;
}

/* The same for a link's target, which is in `target` then. */
static bool target_take(struct untar *untar)
{
	struct select *select = untar->config.select;
	enum parts_verdict verdict = parts_parse(&untar->target,
						 untar->member.hardlink);

	if (verdict == PARTS_FINE && untar->target.count == 0)
		verdict = PARTS_EMPTY;
	untar->target_left_out = verdict == PARTS_FINE && select &&
				 !select_wants(select, untar->target.text, false);
	if (verdict != PARTS_FINE)
		refuse_path(untar, verdict, true);
	else if (!strip(&untar->target, untar->member.hardlink,
			untar->config.opts->strip))
		refuse(untar, 0, "left out: nothing is left of its link's target");
	else
		return true;
	return false;
}

static bool type_is_known(struct untar *untar)
{
	mode_t mode = untar->member.meta.mode;

	if (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) || S_ISCHR(mode) ||
	    S_ISBLK(mode) || S_ISFIFO(mode))
		return true;
	refuse(untar, 0, "refused: a member of no known type");
	return false;
}

/* ---- kinds of members ---- */

/* A head with a path as its data, which has to fit into the ring. */
static int put_path(struct untar *untar, struct record *head, const char *path)
{
	size_t len = strlen(path);

	if (record_size((enum record_type)head->type, head->name_len, len) >
	    ring_span_max(untar->ring)) {
		refuse(untar, ENAMETOOLONG, "its target");
		return 0;
	}
	head->data = path;
	head->data_len = (uint32_t)len;
	if (untar_emit(untar, head) != 0)
		return -1;
	return untar_rest(untar,
			  head->flags & RECORD_MORE ? &untar->attributes : NULL,
			  head->meta.size, 0);
}

/*
 * Data that come with a link are those of its target, which is in the stream: they are
 * not needed, but when their size is another something is wrong (the worker tells).
 */
static int put_link(struct untar *untar)
{
	struct record head;

	untar_head(untar, &head, RECORD_PATHLINK);
	head.flags = untar->target_left_out ? RECORD_OTHER : 0;
	return put_path(untar, &head, untar->target.text);
}

static int put_special(struct untar *untar)
{
	struct record head;

	if (S_ISLNK(untar->meta.mode)) {
		untar_head(untar, &head, RECORD_SYMLINK);
		return put_path(untar, &head,
				untar->member.target ? untar->member.target : "");
	}
	if (!untar_keeps(untar, PRESERVE_SPECIAL))
		return 0;
	untar_head(untar, &head, RECORD_NODE);
	if (untar_emit(untar, &head) != 0)
		return -1;
	return untar_rest(untar,
			  head.flags & RECORD_MORE ? &untar->attributes : NULL,
			  0, 0);
}

static int put_kind(struct untar *untar)
{
	if (untar->member.hardlink)
		return put_link(untar);
	if (S_ISREG(untar->meta.mode))
		return untar_file(untar);
	if (!S_ISDIR(untar->meta.mode))
		return put_special(untar);
	untar_tell_directory(untar);
	return 0;
}

static int put_member(struct untar *untar)
{
	const struct tar_member *member = &untar->member;
	bool is_dir = S_ISDIR(member->meta.mode) && !member->hardlink;

	if (!path_take(untar) ||
	    !(member->hardlink ? target_take(untar) : type_is_known(untar)))
		return 0;
	member_meta(untar);
	untar_attributes(untar);
	if (!untar->broken &&
	    untar_go(untar, untar->path.count - (is_dir ? 0 : 1)) != 0)
		return -1;
	if (untar->broken)
		return 0;
	untar->entries++;
	if (untar->config.opts->verbose > 0)
		diag_list(member->path);
	return put_kind(untar);
}

/* ---- the whole ---- */

static int put_start(struct untar *untar)
{
	struct record record = {
		.type = RECORD_START,
		.flags = RECORD_ORDERED,
		.first = RECORD_MAGIC,
		.second = RECORD_VERSION,
	};

	return untar_emit(untar, &record);
}

static int put_finish(struct untar *untar)
{
	struct record record = {
		.type = RECORD_FINISH,
		.first = untar->entries,
		.second = untar->bytes,
	};

	if (untar_leave_all(untar) != 0)
		return -1;
	return untar_emit(untar, &record);
}

static int put_members(struct untar *untar)
{
	while (!untar->broken) {
		int got = instream_next(untar->config.in, &untar->member);

		if (got == 0)
			return 0;
		if (got < 0)
			untar->broken = true;
		else if (put_member(untar) != 0)
			return -1;
	}
	return 0;
}

int untar_run(struct untar *untar)
{
	int got = put_start(untar);

	if (got == 0)
		got = put_members(untar);
	if (got == 0)
		got = put_finish(untar);
	ring_close(untar->ring);
	return got == 0 && !untar->broken ? 0 : -1;
}
