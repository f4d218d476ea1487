/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inodes: the names of one inode, on the side that restores; the mirror of links.
 *
 * The taker gives out a struct inode for every id in stream order (inodes_open,
 * inodes_find); the worker that makes its first name says where it is or that
 * it failed; those with further names wait for that.  Memory follows the ids that
 * the stream has open.
 */
#ifndef TARPIPE_INODES_H
#define TARPIPE_INODES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate.h"

struct inodes;
struct inode;

/* Waits on the gate's lock (see gate_lock). */
struct inodes *inodes_new(struct gate *gate);

/* Frees the table and what it holds; before gate_free. */
void inodes_free(struct inodes *inodes);

/* ---- the taker ---- */

/*
 * A first name of `id` comes: what was known by it is forgotten.  The result is held
 * until inode_drop.  NULL with errno ENOMEM, or EBADMSG for an id that is too far
 * from those in use.
 */
struct inode *inodes_open(struct inodes *inodes, uint32_t id);

/* A further name comes, the last one with `last`.  NULL with errno EBADMSG. */
struct inode *inodes_find(struct inodes *inodes, uint32_t id, bool last);

/* ---- the workers ---- */

/* Where a complete name of it is. */
struct inode_place {
	struct dir *dir;
	const char *name;
	dev_t dev;
	ino_t ino;
};

/* Its first name is complete (later also: this name now stands for it). */
void inode_complete(struct inodes *inodes, struct inode *inode,
		    const struct inode_place *place);

/* Its first name could not be made. */
void inode_failed(struct inodes *inodes, struct inode *inode);

/*
 * Waits for either.  Returns true and the place, whose directory and name stay until
 * inode_drop (inode_complete leaves old names alone).
 */
bool inode_wait(struct inodes *inodes, struct inode *inode,
		struct inode_place *place);

void inode_drop(struct inodes *inodes, struct inode *inode);

#endif
