/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner: users and groups by name (--names), each looked up once.
 *
 * The packing side tells the name of every number it meets before it is used; the
 * restoring side turns names into its own numbers.  Any thread.
 */
#ifndef TARPIPE_OWNER_H
#define TARPIPE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

enum owner_kind { OWNER_USER, OWNER_GROUP };

struct owners;

struct owners *owners_new(void);
void owners_free(struct owners *owners);

/*
 * Tells whether `id` is met for the first time; *name is then its name, or NULL when
 * it has none.  Valid until owners_free.
 */
bool owners_meet(struct owners *owners, enum owner_kind kind, uint32_t id,
		 const char **name);

/*
 * Learns that `id` of the other side is called `name`; it maps to the number
 * of that name here, or to itself when there is no such name.
 */
void owners_learn(struct owners *owners, enum owner_kind kind, uint32_t id,
		  const char *name);

/* The number here for `id` of the other side. */
uint32_t owners_map(struct owners *owners, enum owner_kind kind, uint32_t id);

#endif
