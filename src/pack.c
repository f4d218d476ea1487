/* SPDX-License-Identifier: BSD-2-Clause */
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packing.h"
#include "packout.h"

enum { PIECE_MAX = 256 << 10 };

static int pack_new_tar(struct pack *pack)
{
	pack->tar = packtar_new();
	pack->out = pack->tar ? packout_new(&pack->config) : NULL;
	return pack->out ? 0 : -1;
}

static int pack_new_ahead(struct pack *pack)
{
	const struct pack_config *config = &pack->config;
	struct ahead_config ahead = {
		.walk = config->walk,
		.ring = config->ring,
		.filtered = config->filter != FILTER_NONE,
		.helpers = config->opts->read_ahead,
		.descriptors = config->ahead,
		.have = config->have,
		.reads_all = config->manifest != NULL || config->opts->verify,
		.rules = {
			.small = pack->tar ? packtar_small_max(pack) :
					     pack_small_max(pack),
			.attributes = pack_keeps(pack, PRESERVE_XATTR |
							       PRESERVE_ACL),
			.no_cache = config->opts->no_cache,
			.wants_open = pack->tar ? packtar_wants_open :
						  pack_may_reference,
			.arg = pack,
		},
	};

	pack->ahead = ahead_new(&ahead);
	return pack->ahead ? 0 : -1;
}

struct pack *pack_new(const struct pack_config *config)
{
	struct pack *pack = calloc(1, sizeof(*pack));
	size_t most = ring_span_max(config->ring) -
		      record_size(RECORD_PIECE, 0, RECORD_ALIGN);

	if (!pack)
		return NULL;
	pack->config = *config;
	pack->ring = config->ring;
	cache_init(&pack->cache, config->opts->no_cache);
	pack->piece_max = most < PIECE_MAX ? most : PIECE_MAX;
	pack->links = links_new();
	pack->owners = owners_new();
	if (!pack->links || !pack->owners ||
	    (config->tar && pack_new_tar(pack) != 0) ||
	    pack_new_ahead(pack) != 0 || pack_sum_init(pack) != 0) {
		int err = errno;

		pack_free(pack);
		errno = err;
		return NULL;
	}
	return pack;
}

void pack_free(struct pack *pack)
{
	if (!pack)
		return;
	ahead_free(pack->ahead);
	links_free(pack->links);
	owners_free(pack->owners);
	packtar_free(pack->tar);
	packout_free(pack->out);
	xattr_buffer_free(&pack->names);
	xattr_buffer_free(&pack->value);
	pack_sum_destroy(pack);
	free(pack);
}

bool pack_stop(struct pack *pack, unsigned ms)
{
	return ahead_stop(pack->ahead, ms);
}

unsigned pack_helpers(const struct pack *pack)
{
	return ahead_helpers(pack->ahead);
}

void pack_urge(struct pack *pack)
{
	if (pack->config.filter == FILTER_NONE)
		ring_urge(pack->ring);
}

bool pack_keeps(const struct pack *pack, unsigned part)
{
	return pack->config.opts->preserve & part;
}

const char *pack_shown(struct pack *pack)
{
	return ahead_path(pack->ahead);
}

/* What became of a name that was listed a moment ago. */
void pack_tell(struct pack *pack, int err, const char *call)
{
	bool changed = err == ENOENT || err == ELOOP || err == ENXIO ||
		       err == ESTALE;

	diag_fail(changed ? STATUS_CHANGED : STATUS_PARTIAL, pack_shown(pack), err,
		  "%s", call);
}

int pack_emit(struct pack *pack, const struct record *record)
{
	size_t size = record_size((enum record_type)record->type,
				  record->name_len, record->data_len);
	void *at = ring_reserve(pack->ring, size);

	if (!at)
		return -1;
	record_encode(at, record);
	ring_commit(pack->ring, size);
	return 0;
}

/* ---- owners by name ---- */

static int pack_owner(struct pack *pack, enum owner_kind kind, uint32_t id)
{
	struct record record = {
		.type = kind == OWNER_USER ? RECORD_USER : RECORD_GROUP,
		.first = id,
	};

	if (!owners_meet(pack->owners, kind, id, &record.name) || !record.name)
		return 0;
	record.name_len = (uint16_t)strnlen(record.name, RECORD_NAME_MAX);
	return pack_emit(pack, &record);
}

int pack_owners(struct pack *pack, const struct stat *st)
{
	if (!pack->config.opts->names)
		return 0;
	if (pack_owner(pack, OWNER_USER, st->st_uid) != 0)
		return -1;
	return pack_owner(pack, OWNER_GROUP, st->st_gid);
}

int pack_end(struct pack *pack, uint64_t size, int failure)
{
	struct record record = {
		.type = RECORD_END,
		.first = size,
		.second = (uint64_t)failure,
	};

	return pack_emit(pack, &record);
}

/* ---- several names ---- */

/* FNV-1a over what tells one file from another under the same number. */
static uint32_t inode_mark(const struct stat *st)
{
	const uint64_t parts[] = { st->st_mode & S_IFMT, (uint64_t)st->st_size,
				   (uint64_t)st->st_mtim.tv_sec,
				   (uint64_t)st->st_mtim.tv_nsec };
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		hash = (hash ^ parts[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(hash ^ hash >> 32);
}

bool pack_meet(struct pack *pack, const struct stat *st, struct link *link)
{
	pack->met.id = 0;
	if (st->st_nlink < 2 || !pack_keeps(pack, PRESERVE_LINKS))
		return false;
	if (links_meet(pack->links, st->st_dev, st->st_ino, st->st_nlink,
		       inode_mark(st), link) != 0) {
		pack_tell(pack, errno, "remembering its other names");
		return false;
	}
	if (link->changed)
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "is not what its other names were: not linked to "
			  "them");
	pack->met = *link;
	return true;
}

int pack_link(struct pack *pack, struct record *head, const struct stat *st)
{
	struct link link;

	if (!pack_meet(pack, st, &link))
		return 0;
	head->id = link.id;
	if (link.first)
		return 0;
	head->type = RECORD_LINK;
	head->flags = link.last ? RECORD_LAST : 0;
	return pack_emit(pack, head) == 0 ? 1 : -1;
}

void pack_head(struct pack *pack, struct record *head,
	       enum record_type type, const struct stat *st)
{
	const struct walk_item *item = &pack->item;

	memset(head, 0, sizeof(*head));
	head->type = (uint8_t)type;
	head->dir = item->dir;
	head->name = item->as;
	head->name_len = (uint16_t)strlen(item->as);
	meta_from_stat(&head->meta, st);
}

/* ---- everything else ---- */

/* Head with its attributes, for what has no bytes of its own. */
static int pack_object(struct pack *pack, struct record *head,
		       const struct xattr_source *from)
{
	head->flags |= (uint8_t)pack_list_attributes(pack, from, NULL);
	if (pack_emit(pack, head) != 0)
		return -1;
	if (!(head->flags & RECORD_MORE))
		return 0;
	if (pack_attributes(pack, from) != 0)
		return -1;
	return pack_end(pack, head->meta.size, 0);
}

bool pack_is_mount(const struct walk_item *item)
{
	struct statx stx;

	return statx(item->parent, item->name, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* What a helper has found of an item that is no file, or NULL. */
static const struct fetch *special_fetched(struct pack *pack)
{
	const struct fetch *fetch = ahead_fetched(pack->ahead);

	return fetch && fetch->type != DT_REG ? fetch : NULL;
}

static int special_stat(struct pack *pack, struct stat *st)
{
	const struct walk_item *item = &pack->item;
	const struct fetch *fetch = special_fetched(pack);

	if (!fetch)
		return fstatat(item->parent, item->name, st, AT_SYMLINK_NOFOLLOW);
	*st = fetch->st;
	errno = fetch->err;
	return fetch->found == FETCH_SPECIAL ? 0 : -1;
}

enum special_found special_look(struct pack *pack, struct stat *st)
{
	const struct walk_item *item = &pack->item;

	if (special_stat(pack, st) != 0) {
		pack_tell(pack, errno, "fstatat");
		return SPECIAL_GONE;
	}
	if (S_ISREG(st->st_mode) && pack_is_mount(item))
		return SPECIAL_REGULAR;
	if (IFTODT(st->st_mode) != item->type) {
		diag_fail(STATUS_CHANGED, pack_shown(pack), 0,
			  "has become another type of file: left out");
		return SPECIAL_GONE;
	}
	if (!S_ISLNK(st->st_mode) && !pack_keeps(pack, PRESERVE_SPECIAL))
		return SPECIAL_GONE;
	return SPECIAL_WANTED;
}

ssize_t special_target(struct pack *pack, const struct stat *st, char *target)
{
	const struct walk_item *item = &pack->item;
	const struct fetch *fetch = special_fetched(pack);
	ssize_t len;

	if (fetch && fetch->text_len >= 0) {
		memcpy(target, fetch->text, (size_t)fetch->text_len);
		target[fetch->text_len] = '\0';
		return fetch->text_len;
	}
	len = readlinkat(item->parent, item->name, target, PATH_MAX);
	if (len < 0) {
		/* EINVAL: it is none any more */
		pack_tell(pack, errno == EINVAL ? ELOOP : errno, "readlinkat");
		links_forget(pack->links, st->st_dev, st->st_ino);
		return -1;
	}
	target[len] = '\0';
	return len;
}

/* A symlink, FIFO, socket or device. */
int pack_special(struct pack *pack)
{
	const struct walk_item *item = &pack->item;
	const struct xattr_source from = {
		.fd = -1,
		.dirfd = item->parent,
		.name = item->name,
	};
	char target[PATH_MAX + 1];
	struct record head;
	struct stat st;
	ssize_t len;
	int got;

	switch (special_look(pack, &st)) {
	case SPECIAL_WANTED:
		break;
	case SPECIAL_REGULAR:
		return pack_file(pack);
	case SPECIAL_GONE:
		return 0;
	}
	pack_head(pack, &head, S_ISLNK(st.st_mode) ? RECORD_SYMLINK : RECORD_NODE,
		  &st);
	got = pack_owners(pack, &st);
	if (got == 0)
		got = pack_link(pack, &head, &st);
	if (got > 0)
		pack_note(pack, &st, NULL, true);
	if (got != 0)
		return got < 0 ? -1 : 0;
	if (S_ISLNK(st.st_mode)) {
		len = special_target(pack, &st, target);
		if (len < 0)
			return 0;
		head.data = target;
		head.data_len = (uint32_t)len;
	}
	pack_note(pack, &st, head.data ? target : NULL, false);
	return pack_object(pack, &head, &from);
}

static int pack_enter(struct pack *pack)
{
	struct record head;

	if (pack->item.id == 0)
		return 0;	/* the destination directory: it is there */
	pack_head(pack, &head, RECORD_DIR, &pack->item.st);
	head.id = pack->item.id;
	return pack_emit(pack, &head);
}

static int pack_leave(struct pack *pack, bool kept)
{
	const struct walk_item *item = &pack->item;
	const struct xattr_source from = {
		.fd = item->fd,
		.dirfd = item->parent,
		.name = item->name,
	};
	struct record head = { .type = RECORD_LEAVE, .dir = item->id };

	if (item->id == 0 && kept) {
		head.flags = RECORD_KEEP;
		return pack_emit(pack, &head);
	}
	meta_from_stat(&head.meta, &item->st);
	if (pack_owners(pack, &item->st) != 0)
		return -1;
	return pack_object(pack, &head, &from);
}

static int pack_item(struct pack *pack, bool kept)
{
	if (pack->item.event == WALK_LEAVE)
		return pack_leave(pack, kept);
	pack->entries++;
	if (pack->config.opts->verbose > 0 && !pack->item.way)
		diag_list(pack_shown(pack));
	if (pack->item.event == WALK_ENTER && !(pack->item.id == 0 && kept))
		pack_note(pack, &pack->item.st, NULL, false);
	if (pack->item.event == WALK_ENTER)
		return pack_enter(pack);
	if (pack->item.type == DT_REG)
		return pack_file(pack);
	return pack_special(pack);
}

static int pack_start(struct pack *pack)
{
	struct record record = {
		.type = RECORD_START,
		.first = RECORD_MAGIC,
		.second = RECORD_VERSION,
	};

	if (pack->tar)
		return packout_begin(pack->out);
	return pack_emit(pack, &record);
}

void pack_again(struct pack *pack)
{
	links_again(pack->links);
}

void pack_list(struct pack *pack, struct names *names)
{
	pack->listed = names;
}

int pack_root(struct pack *pack, const char *path, const char *as, bool follow,
	      bool kept)
{
	if (!pack->started && pack_start(pack) != 0)
		return -1;
	pack->started = true;
	if (pack->tar)
		packtar_root(pack);
	ahead_begin(pack->ahead, path, as, follow, pack->listed);
	for (;;) {
		if (ahead_next(pack->ahead, &pack->item) != 0)
			return -1;
		if (pack->item.event == WALK_END)
			return 0;
		if (pack->tar ? packtar_item(pack) : pack_item(pack, kept))
			return -1;
	}
}

void pack_count(const struct pack *pack, uint64_t *entries, uint64_t *bytes)
{
	*entries = pack->entries;
	*bytes = pack->bytes;
}

int pack_finish(struct pack *pack)
{
	struct record record = {
		.type = RECORD_FINISH,
		.first = pack->entries,
		.second = pack->bytes,
	};

	if (pack->tar) {
		if (!pack->started && packout_begin(pack->out) != 0)
			return -1;
		return packout_finish(pack->out, pack->entries);
	}
	if (pack_emit(pack, &record) != 0)
		return -1;
	ring_close(pack->ring);
	return 0;
}
