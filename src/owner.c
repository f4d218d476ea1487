/* SPDX-License-Identifier: BSD-2-Clause */
#include "owner.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"

struct mapping {
	uint32_t id;
	uint32_t here;		/* its number on this side */
	char *name;		/* owned; NULL: none */
};

struct owners {
	struct lock lock;
	struct mapping *known[2];	/* by enum owner_kind, sorted by id */
	size_t count[2];
};

struct owners *owners_new(void)
{
	struct owners *owners = calloc(1, sizeof(*owners));

	if (owners)
		lock_init(&owners->lock);
	return owners;
}

void owners_free(struct owners *owners)
{
	if (!owners)
		return;
	for (int kind = 0; kind < 2; kind++) {
		for (size_t i = 0; i < owners->count[kind]; i++)
			free(owners->known[kind][i].name);
		free(owners->known[kind]);
	}
	lock_destroy(&owners->lock);
	free(owners);
}

/* Where `id` is, or would be inserted. */
static size_t position(const struct owners *owners, enum owner_kind kind,
		       uint32_t id)
{
	size_t low = 0, high = owners->count[kind];

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (owners->known[kind][mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct mapping *find(struct owners *owners, enum owner_kind kind,
			    uint32_t id)
{
	size_t at = position(owners, kind, id);

	if (at < owners->count[kind] && owners->known[kind][at].id == id)
		return &owners->known[kind][at];
	return NULL;
}

/* Without memory the number stays a number. */
static struct mapping *insert(struct owners *owners, enum owner_kind kind,
			      uint32_t id, const char *name)
{
	size_t at = position(owners, kind, id), count = owners->count[kind];
	struct mapping *known = realloc(owners->known[kind],
					(count + 1) * sizeof(*known));

	if (!known)
		return NULL;
	owners->known[kind] = known;
	memmove(known + at + 1, known + at, (count - at) * sizeof(*known));
	owners->count[kind]++;
	known[at] = (struct mapping){ id, id, name ? strdup(name) : NULL };
	return &known[at];
}

static const char *name_of(enum owner_kind kind, uint32_t id)
{
	const struct passwd *user;
	const struct group *group;

	if (kind == OWNER_USER) {
		user = getpwuid(id);
		return user ? user->pw_name : NULL;
	}
	group = getgrgid(id);
	return group ? group->gr_name : NULL;
}

static uint32_t number_of(enum owner_kind kind, const char *name, uint32_t id)
{
	const struct passwd *user;
	const struct group *group;

	if (kind == OWNER_USER) {
		user = getpwnam(name);
		return user ? user->pw_uid : id;
	}
	group = getgrnam(name);
	return group ? group->gr_gid : id;
}

/* The databases' calls share static storage: one at a time, whoever asks. */
static struct lock database = { PTHREAD_MUTEX_INITIALIZER,
				PTHREAD_COND_INITIALIZER };

bool owners_meet(struct owners *owners, enum owner_kind kind, uint32_t id,
		 const char **name)
{
	const struct mapping *mapping;
	bool first = false;

	lock_take(&owners->lock);
	mapping = find(owners, kind, id);
	if (!mapping) {
		first = true;
		lock_take(&database);
		mapping = insert(owners, kind, id, name_of(kind, id));
		lock_give(&database);
	}
	*name = mapping ? mapping->name : NULL;
	lock_give(&owners->lock);
	return first;
}

void owners_learn(struct owners *owners, enum owner_kind kind, uint32_t id,
		  const char *name)
{
	struct mapping *mapping;

	lock_take(&owners->lock);
	mapping = find(owners, kind, id);
	if (!mapping)
		mapping = insert(owners, kind, id, NULL);
	if (mapping) {
		lock_take(&database);
		mapping->here = number_of(kind, name, id);
		lock_give(&database);
	}
	lock_give(&owners->lock);
}

uint32_t owners_map(struct owners *owners, enum owner_kind kind, uint32_t id)
{
	lock_take(&owners->lock);
	const struct mapping *mapping = find(owners, kind, id);
	uint32_t here = mapping ? mapping->here : id;
	lock_give(&owners->lock);
	return here;
}
