/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route: the names of a list as ways down a tree, component by component.
 *
 * Only the walk has one.  A name that can't lead down is told, STATUS_PARTIAL, and not
 * given; `.` and empty components are dropped.
 */
#ifndef TARPIPE_ROUTE_H
#define TARPIPE_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "names.h"

struct route {
	struct names *names;	/* borrowed; NULL: there is no list */
	bool here;		/* a name is here, and not yet done with */
	bool ended;		/* no further one will be */
	size_t count;		/* its components; 0: the top itself */
	size_t next;		/* where the one to come lies in `bytes` ... */
	size_t passed;		/* ... behind so many */
	char *bytes;		/* all of them, each with its NUL */
	size_t room;
};

/* Forgets what it has; `names` may be NULL. */
void route_init(struct route *route, struct names *names);

/* Takes the next name from the list; `here` says whether there was one. */
void route_begin_next(struct route *route);

/* The component to come (passed < count); the last one. */
const char *route_component(const struct route *route);
bool route_is_last(const struct route *route);
void route_pass(struct route *route);

void route_destroy(struct route *route);

#endif
