/* SPDX-License-Identifier: BSD-2-Clause */
#include "inodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"

enum inode_state { INODE_PENDING, INODE_COMPLETE, INODE_FAILED };

/* A name that stands for the inode; the newest is first. */
struct name {
	struct name *older;
	struct dir *dir;	/* pinned */
	dev_t dev;
	ino_t ino;
	char text[];
};

struct inode {
	enum inode_state state;
	unsigned refs;		/* the table, and records on their way */
	struct name *names;
};

struct inodes {
	struct gate *gate;
	struct lock *lock;	/* the gate's */
	struct inode **table;	/* by id */
	uint32_t size;
};

struct inodes *inodes_new(struct gate *gate)
{
	struct inodes *inodes = calloc(1, sizeof(*inodes));

	if (!inodes)
		return NULL;
	inodes->gate = gate;
	inodes->lock = gate_lock(gate);
	return inodes;
}

/* Frees names outside the lock, which unpinning takes. */
static void names_free(struct inodes *inodes, struct name *name)
{
	while (name) {
		struct name *older = name->older;

		gate_unpin(inodes->gate, name->dir);
		free(name);
		name = older;
	}
}

void inode_drop(struct inodes *inodes, struct inode *inode)
{
	lock_take(inodes->lock);
	bool last = --inode->refs == 0;
	lock_give(inodes->lock);
	if (!last)
		return;
	names_free(inodes, inode->names);
	free(inode);
}

void inodes_free(struct inodes *inodes)
{
	if (!inodes)
		return;
	for (uint32_t id = 0; id < inodes->size; id++)
		if (inodes->table[id])
			inode_drop(inodes, inodes->table[id]);
	free(inodes->table);
	free(inodes);
}

/* ---- the taker ---- */

/* Ids are dense: one far above the others is no honest one. */
static int table_reach(struct inodes *inodes, uint32_t id)
{
	uint32_t size = inodes->size ? inodes->size : 64;
	struct inode **table;

	if (id < inodes->size)
		return 0;
	if (id >= 2 * size) {
		errno = EBADMSG;
		return -1;
	}
	while (size <= id)
		size *= 2;
	table = realloc(inodes->table, size * sizeof(*table));
	if (!table)
		return -1;
	memset(table + inodes->size, 0,
	       (size - inodes->size) * sizeof(*table));
	inodes->table = table;
	inodes->size = size;
	return 0;
}

struct inode *inodes_open(struct inodes *inodes, uint32_t id)
{
	struct inode *inode;

	if (table_reach(inodes, id) != 0)
		return NULL;
	inode = calloc(1, sizeof(*inode));
	if (!inode)
		return NULL;
	inode->refs = 2;
	if (inodes->table[id])
		inode_drop(inodes, inodes->table[id]);
	inodes->table[id] = inode;
	return inode;
}

struct inode *inodes_find(struct inodes *inodes, uint32_t id, bool last)
{
	struct inode *inode = id < inodes->size ? inodes->table[id] : NULL;

	if (!inode) {
		errno = EBADMSG;
		return NULL;
	}
	if (last) {
		inodes->table[id] = NULL;	/* its hold goes to the caller */
		return inode;
	}
	lock_take(inodes->lock);
	inode->refs++;
	lock_give(inodes->lock);
	return inode;
}

/* ---- the workers ---- */

void inode_complete(struct inodes *inodes, struct inode *inode,
		    const struct inode_place *place)
{
	size_t len = strlen(place->name) + 1;
	struct name *name = malloc(sizeof(*name) + len);

	if (!name) {
		inode_failed(inodes, inode);
		return;
	}
	name->dir = place->dir;
	name->dev = place->dev;
	name->ino = place->ino;
	memcpy(name->text, place->name, len);
	gate_pin(inodes->gate, place->dir);

	lock_take(inodes->lock);
	name->older = inode->names;
	inode->names = name;
	inode->state = INODE_COMPLETE;
	lock_notify(inodes->lock);
	lock_give(inodes->lock);
}

void inode_failed(struct inodes *inodes, struct inode *inode)
{
	lock_take(inodes->lock);
	if (inode->state == INODE_PENDING)
		inode->state = INODE_FAILED;
	lock_notify(inodes->lock);
	lock_give(inodes->lock);
}

bool inode_wait(struct inodes *inodes, struct inode *inode,
		struct inode_place *place)
{
	lock_take(inodes->lock);
	while (inode->state == INODE_PENDING)
		lock_wait(inodes->lock);
	bool complete = inode->state == INODE_COMPLETE;
	if (complete)
		*place = (struct inode_place){ inode->names->dir,
					       inode->names->text,
					       inode->names->dev,
					       inode->names->ino };
	lock_give(inodes->lock);
	return complete;
}
