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
#include "parts.h"

struct route {
	struct names *names;	/* borrowed; NULL: there is no list */
	bool here;		/* a name is here, and not yet done with */
	bool ended;		/* no further one will be */
	struct parts parts;	/* its components, each with its NUL; none: the top itself */
	size_t passed;		/* ... of which so many are behind */
};

/* Forgets what it has; `names` may be NULL. */
void route_init(struct route *route, struct names *names);

/* Takes the next name from the list; `here` says whether there was one. */
void route_begin_next(struct route *route);

/* The component to come (passed < parts.count); the last one. */
const char *route_component(const struct route *route);
bool route_is_last(const struct route *route);
void route_pass(struct route *route);

void route_destroy(struct route *route);

#endif
