/* SPDX-License-Identifier: BSD-2-Clause */
#include "route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static bool route_reserve(struct route *route, const char *name)
{
	size_t need = strlen(name) + 1;
	char *bytes;

	if (need <= route->room)
		return true;
	bytes = realloc(route->bytes, 2 * need);
	if (!bytes) {
		diag_fail(STATUS_PARTIAL, name, errno, "taking it from the list");
		return false;
	}
	route->bytes = bytes;
	route->room = 2 * need;
	return true;
}

/* Takes a name apart.  Returns false when it is left out, told. */
static bool route_take(struct route *route, const char *name)
{
	char *to;

	if (name[0] == '/')
		return refuse(name, "is absolute");
	if (!route_reserve(route, name))
		return false;
	route->count = route->next = route->passed = 0;
	to = route->bytes;
	for (const char *p = name; *p;) {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.')
			return refuse(name, "has `..` in it");
		if (len > 0 && !(len == 1 && p[0] == '.')) {
			memcpy(to, p, len);
			to[len] = '\0';
			to += len + 1;
			route->count++;
		}
		p += len + (p[len] == '/');
	}
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
	return route->bytes + route->next;
}

bool route_is_last(const struct route *route)
{
	return route->passed + 1 == route->count;
}

void route_pass(struct route *route)
{
	route->next += strlen(route_component(route)) + 1;
	route->passed++;
}

void route_destroy(struct route *route)
{
	free(route->bytes);
	*route = (struct route){ 0 };
}
