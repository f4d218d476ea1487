/* SPDX-License-Identifier: BSD-2-Clause */
#include "route.h"

#include <errno.h>

#include "diag.h"

void route_init(struct route *route, struct names *names)
{
	route->names = names;
	route->here = false;
	route->ended = !names;
}

static bool refuse(const char *name, const char *why)
{
	diag_fail(STATUS_PARTIAL, name, 0,
		  "%s; names in a list lie below the source: left out", why);
	return false;
}

/* Takes a name apart.  Returns false when it is left out, told. */
static bool route_take(struct route *route, const char *name)
{
	struct parts *parts = &route->parts;

	route->passed = 0;
	switch (parts_parse(parts, name)) {
	case PARTS_ABSOLUTE:
		return refuse(name, "is absolute");
	case PARTS_UPWARD:
		return refuse(name, "has `..` in it");
	case PARTS_NO_MEMORY:
		diag_fail(STATUS_PARTIAL, name, ENOMEM, "taking it from the list");
		return false;
	case PARTS_EMPTY:	/* no list has such names */
	case PARTS_LONG:	/* its open will tell */
	case PARTS_FINE:
		break;
	}
	for (size_t i = 0; i < parts->count; i++)
		parts->text[parts->ends[i]] = '\0';
	return true;
}

void route_begin_next(struct route *route)
{
	const char *name;

	if (route->ended)
		return;
	do {
		name = names_next(route->names);
		route->here = name && route_take(route, name);
	} while (name && !route->here);
	route->ended = !name;
	if (route->ended && errno != 0)
		diag_fail(STATUS_PARTIAL, names_file(route->names),
			  errno == EILSEQ ? 0 : errno,
			  "%s; the rest of it is left out", names_failure(errno));
}

const char *route_component(const struct route *route)
{
	size_t len;

	return parts_get(&route->parts, route->passed, &len);
}

bool route_is_last(const struct route *route)
{
	return route->passed + 1 == route->parts.count;
}

void route_pass(struct route *route)
{
	route->passed++;
}

void route_destroy(struct route *route)
{
	parts_destroy(&route->parts);
	*route = (struct route){ 0 };
}
