/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Directories that the walk will come to are opened and read ahead.
 *
 * What comes next is known: the rest of the directories in the top frame, then those of
 * the frame below it, and so on; and each that a scout has read says what comes in it.
 * They are put in that order, the nearest first, so many at one time.
 */
#include "walking.h"

#include <errno.h>
#include <fcntl.h>

enum {
	SCOUTS_MAX = 128,
	SCOUTS_SPARE = 16,
	LEVELS_MAX = 8,		/* of scouts, one below the other */
};

/* New ones, to be put at once. */
struct offer {
	struct walk *walk;
	struct task *tasks[SCOUTS_MAX];
	size_t count;
	unsigned most;		/* that there may be */
};

void walk_scout(struct walk *walk, struct crew *crew, unsigned most)
{
	walk->crew = crew;
	walk->scouts_most = most < SCOUTS_MAX ? most : SCOUTS_MAX;
}

/* ---- their end ---- */

/* Returns false when it goes on although the run was stopped. */
static bool task_end(struct walk *walk, struct task *task)
{
	return crew_claim(walk->crew, task) ||
	       crew_wait(walk->crew, task, NULL);
}

void scouts_drop(struct walk *walk, struct scout *scout)
{
	if (scout->task.holds)
		crew_give_back(walk->crew, 1);
	scout_free(scout);
	walk->scouts--;
}

bool scouts_end(struct walk *walk, struct scout **list)
{
	while (*list) {
		struct scout *scout = *list;

		if (!task_end(walk, &scout->task) ||
		    !scouts_end(walk, &scout->below))
			return false;
		*list = scout->next;
		scouts_drop(walk, scout);
	}
	return true;
}

/* Failures that are the helpers' own: who comes later may fare better. */
static bool is_ours(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == EINTR;
}

struct scout *scouts_take(struct walk *walk, struct frame *frame, size_t place)
{
	struct scout *scout = frame->scouts;
	bool usable;

	while (scout && scout->place < place) {		/* its name was skipped */
		struct scout *next = scout->next;

		scout->next = NULL;
		if (!scouts_end(walk, &scout))
			return NULL;
		frame->scouts = scout = next;
	}
	if (!scout || scout->place != place)
		return NULL;
	usable = !crew_claim(walk->crew, &scout->task);
	if (usable && !crew_wait(walk->crew, &scout->task, NULL))
		return NULL;
	frame->scouts = scout->next;
	if (usable && !is_ours(scout->found.err))
		return scout;
	scouts_drop(walk, scout);
	return NULL;
}

/* ---- their beginning ---- */

static bool offer_one(struct offer *offer, struct scout **link, int parent,
		      const struct stat *st, const char *name, size_t place)
{
	struct scout *scout = scout_new(parent, name,
					O_NOFOLLOW | scout_noatime(st), place);

	if (!scout)
		return false;
	scout->top = walk_top(offer->walk);
	*link = scout;
	offer->tasks[offer->count++] = &scout->task;
	offer->walk->scouts++;
	return true;
}

static bool offer_is_full(const struct offer *offer)
{
	return offer->walk->scouts >= offer->most || offer->count == SCOUTS_MAX;
}

/*
 * Is there room for one more in a list?  It may have half of what the others leave: what
 * is in the next directory comes before what is beside it, and is not known yet.
 */
static bool offer_has_room(const struct offer *offer, const struct scout *first)
{
	unsigned beside = 0, others;

	if (offer_is_full(offer))
		return false;
	for (; first; first = first->next)
		beside++;
	others = offer->walk->scouts - beside;
	return beside < (offer->most - others + 1) / 2;
}

/* Those below one that is done, and so on. */
static void offer_below(struct offer *offer, struct scout *scout, unsigned level)
{
	const struct dirlist *list = &scout->list;
	struct scout **link = &scout->below;
	size_t place;

	if (!crew_is_done(offer->walk->crew, &scout->task) || scout->found.fd < 0 ||
	    scout->more || scout->list_err != 0)
		return;
	place = scout->directories;
	for (; *link; link = &(*link)->next) {
		if (level < LEVELS_MAX)
			offer_below(offer, *link, level + 1);
		place = (*link)->place + 1;
	}
	for (; place < list->places_len &&
	       offer_has_room(offer, scout->below); place++) {
		const char *name = list->names + list->places[place].name + 1;

		if (!offer_one(offer, link, scout->found.fd,
			       &scout->found.st, name, place))
			return;
		link = &(*link)->next;
	}
}

/* Asks about a name in the frame at `index`, if it was not asked before. */
static bool is_wanted_at(struct walk *walk, size_t index, char *name)
{
	const char *current = walk->current;
	size_t depth = walk->depth;
	bool inside = walk->inside;

	if (!walk->config.wanted)
		return true;
	if (!(*name & PLACE_ASKED)) {
		walk->current = name + 1;
		walk->depth = index + 1;
		walk->inside = false;
		*name = (char)(*name | (walk_is_wanted(walk, true) ?
						PLACE_WANTED :
						PLACE_UNWANTED));
		walk->current = current;
		walk->depth = depth;
		walk->inside = inside;
	}
	return *name & PLACE_WANTED;
}

/* Those in the frame at `index` that have not been entered. */
static void offer_frame(struct offer *offer, size_t index)
{
	struct walk *walk = offer->walk;
	struct frame *frame = &walk->frames[index];
	struct scout **link = &frame->scouts;
	size_t place = dirlist_directories(&walk->list, frame->next, frame->end);

	for (; *link; link = &(*link)->next) {
		/* What is below would have to be asked about by paths of its own. */
		if (!walk->config.wanted)
			offer_below(offer, *link, 1);
		place = (*link)->place + 1;
	}
	for (; place < frame->end &&
	       offer_has_room(offer, frame->scouts); place++) {
		char *name = walk->list.names + walk->list.places[place].name;

		if (!is_wanted_at(walk, index, name))
			continue;
		if (!offer_one(offer, link, frame->fd, &frame->st, name + 1, place))
			return;
		link = &(*link)->next;
	}
}

void walk_look_ahead(struct walk *walk)
{
	struct offer offer = { .walk = walk };
	size_t i = walk->depth;

	/* Files want to be fetched, too: a few more than can be at work. */
	offer.most = 2 * crew_level(walk->crew) + SCOUTS_SPARE;
	if (offer.most > walk->scouts_most)
		offer.most = walk->scouts_most;

	/* Frames that have nothing left, and files, are passed over. */
	while (i-- > 0 && !offer_is_full(&offer))
		if (walk->frames[i].fd >= 0 &&
		    walk->frames[i].next != walk->frames[i].end)
			offer_frame(&offer, i);
	if (offer.count > 0)
		crew_put(walk->crew, offer.tasks, offer.count);
}

const struct task *walk_awaits(const struct walk *walk)
{
	size_t depth = walk->depth - (walk->leaving ? 1 : 0);
	const struct frame *frame;

	if (!walk->crew || !walk->root_given || depth == 0)
		return NULL;
	frame = &walk->frames[depth - 1];
	if (!frame->scouts || frame->scouts->place != frame->next ||
	    crew_is_done(walk->crew, &frame->scouts->task))
		return NULL;
	return &frame->scouts->task;
}
