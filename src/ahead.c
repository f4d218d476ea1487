/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window
 *
 * A queue of items that the walk has given and the packer has not taken:
 *
 *      taken          ready, ready_end                     given
 *        |                   |                               |
 *   -----+=================+-+-----------------------------+-+-----> items
 *        | known to be done  | fetched, or being fetched    | the walk is here
 *
 * The walk stays in the packing thread: it is gone on with in groups, as long as there
 * is room and it would not have to wait (a directory that is being looked at).  The
 * files of a group are put in the order of their inodes, so that helpers read a disk
 * forwards across directories, too, and in groups, so that the one that is needed
 * first is never far behind.
 *
 * A wait is for the oldest item or for the directory where the walk stands, whichever is
 * there first.  An item that no helper has begun is not waited for: the packer makes its
 * calls itself, as it does all the time while there is no window.  So nothing that runs
 * short (helpers, descriptors, the slab) can stop it.
 *
 * Directories' descriptors are named by items long after the walk has left them.  They
 * wait here, each with the count of items given by then, and are closed when all
 * those are taken.
 *
 * When it pays.  A file that took longer than SLOW_NS counts as slow; with MANY_SLOW of
 * the last eight, and as many sleeps of this thread since the first of them (a cached
 * call may be preempted, but never sleeps), the window is opened.  Helpers watch
 * some of their own calls for the way back.
 */
#include "ahead.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "crew.h"
#include "thread.h"

enum {
	WINDOW = 1024,			/* items */
	GROUP = 128,			/* ... that are given at one time */
	RUN = 32,			/* ... known to be done, at most */
	PATHS_MAX = 1 << 20,		/* bytes of their paths together */
	PATH_KEPT = 512,		/* what a slot keeps for the next one */
	SLAB_MIN = 256 << 10,
	SLAB_MAX = 32 << 20,
	DESCRIPTORS_MIN = 12,		/* below it isn't worth the trouble */
	SLOW_NS = 60000,
	VERY_SLOW_NS = 3000000,
	MANY_SLOW = 4,
	IDLE_EACH = 64,			/* items between two looks for the way back */
};

struct slot {
	struct fetch fetch;		/* first: fetches are slots */
	struct walk_item item;
	struct have_seen seen;
	char *path;
	size_t path_len, path_room;
	bool queued;			/* it is, or was, a task */
};

/* A directory's descriptor, to be closed when so many items are taken. */
struct closing {
	int fd;
	uint64_t after;
};

struct ahead {
	struct ahead_config config;
	struct walk *walk;
	const char *root, *root_as;	/* as it was begun with */
	struct names *names;		/* of the root's list, or NULL */

	bool open;			/* there is a window */
	bool ended;			/* the walk has said WALK_END */
	bool leaving;			/* nothing more is given: it will be closed */
	bool stalled;			/* ... until what was given last is taken */
	unsigned skip;			/* levels below a directory that is skipped */
	bool self;			/* the item at hand is the packer's */
	struct have_seen seen;		/* ... of an item straight from the walk */

	struct slot *slots;		/* WINDOW of them, made when first needed */
	uint64_t taken, ready, given;	/* counts of items; the oldest one is at hand */
	bool at_hand;
	size_t paths;			/* bytes in the window */
	struct bytes member;		/* ahead_member's */
	unsigned give_back;		/* descriptors that the crew has to be told of */

	struct closing *closings;	/* a queue in an array */
	size_t closings_first, closings_len, closings_room;
	size_t closings_max;

	struct crew *crew;
	struct slab *slab;

	unsigned char slow;		/* the last files, a bit each */
	bool very_slow;
	uint64_t sleeps;		/* before the first of them */
	unsigned until_look, until_give;	/* items to go */
};

/* ---- descriptors of directories ---- */

/* Out of the walk: its items may still be in the window. */
static void close_later(void *arg, int fd)
{
	struct ahead *ahead = arg;
	size_t end = ahead->closings_first + ahead->closings_len;
	struct closing *more;

	if (ahead->taken == ahead->given) {
		close(fd);
		return;
	}
	if (end == ahead->closings_room && ahead->closings_first > 0) {
		memmove(ahead->closings, ahead->closings + ahead->closings_first,
			ahead->closings_len * sizeof(*more));
		ahead->closings_first = 0;
		end = ahead->closings_len;
	}
	if (end == ahead->closings_room) {
		more = realloc(ahead->closings,
			       (2 * end + 64) * sizeof(*more));
		if (!more)
			return;		/* it stays open to the end of the run */
		ahead->closings = more;
		ahead->closings_room = 2 * end + 64;
	}
	ahead->closings[end] = (struct closing){ fd, ahead->given };
	ahead->closings_len++;
}

static void close_now(struct ahead *ahead)
{
	while (ahead->closings_len > 0) {
		const struct closing *closing =
			&ahead->closings[ahead->closings_first];

		if (closing->after > ahead->taken)
			return;
		close(closing->fd);
		ahead->closings_first++;
		ahead->closings_len--;
	}
	ahead->closings_first = 0;
}

/* ---- making ---- */

struct ahead *ahead_new(const struct ahead_config *config)
{
	struct ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->config = *config;
	ahead->config.walk.close = close_later;
	ahead->config.walk.close_arg = ahead;
	ahead->closings_max = config->descriptors / 4;
	if (config->descriptors < DESCRIPTORS_MIN)
		ahead->config.helpers = READ_AHEAD_OFF;
	ahead->walk = walk_new(&ahead->config.walk);
	if (ahead->walk)
		return ahead;
	free(ahead);
	return NULL;
}

bool ahead_stop(struct ahead *ahead, unsigned ms)
{
	return !ahead->crew || crew_stop(ahead->crew, ms);
}

static struct slot *slot_of(struct ahead *ahead, uint64_t number)
{
	return &ahead->slots[number % WINDOW];
}

void ahead_free(struct ahead *ahead)
{
	if (!ahead)
		return;
	while (ahead->crew && !crew_stop(ahead->crew, 1000))
		;
	for (; ahead->taken < ahead->given; ahead->taken++)
		fetch_drop(&slot_of(ahead, ahead->taken)->fetch);
	close_now(ahead);
	walk_free(ahead->walk);
	crew_free(ahead->crew);
	slab_free(ahead->slab);
	for (size_t i = 0; ahead->slots && i < WINDOW; i++)
		free(ahead->slots[i].path);
	free(ahead->slots);
	free(ahead->closings);
	bytes_free(&ahead->member);
	free(ahead);
}

static bool is_stopped(void *arg)
{
	struct ahead *ahead = arg;

	return ring_reason(ahead->config.ring) != 0;
}

static size_t slab_size(const struct ahead *ahead)
{
	size_t size = ring_span_max(ahead->config.ring);

	return size < SLAB_MIN ? SLAB_MIN : size > SLAB_MAX ? SLAB_MAX : size;
}

/* Returns false when it can't be had. */
static bool make_parts(struct ahead *ahead)
{
	struct crew_config config = {
		.helpers = ahead->config.helpers > 0 ?
				   (unsigned)ahead->config.helpers :
				   0,
		.descriptors = ahead->config.descriptors -
			       (unsigned)ahead->closings_max,
		.stopped = is_stopped,
		.arg = ahead,
	};

	if (ahead->crew)
		return true;
	if (!ahead->slots)
		ahead->slots = calloc(WINDOW, sizeof(*ahead->slots));
	if (!ahead->slab)
		ahead->slab = slab_new(slab_size(ahead));
	if (ahead->slots && ahead->slab)
		ahead->crew = crew_new(&config);
	if (ahead->crew)
		walk_scout(ahead->walk, ahead->crew, config.descriptors / 3);
	return ahead->crew != NULL;
}

static void window_open(struct ahead *ahead)
{
	if (!make_parts(ahead)) {
		ahead->config.helpers = READ_AHEAD_OFF;
		return;
	}
	crew_forget(ahead->crew);
	ahead->open = true;
	ahead->leaving = false;
	ahead->until_look = IDLE_EACH;
}

/* ---- when it pays ---- */

static unsigned bits(unsigned char byte)
{
	unsigned count = 0;

	for (; byte; byte &= (unsigned char)(byte - 1))
		count++;
	return count;
}

void ahead_note(struct ahead *ahead, uint64_t ns)
{
	unsigned count;

	if (ahead->open || ahead->config.helpers != READ_AHEAD_AUTO)
		return;
	if (ns < SLOW_NS) {
		ahead->slow = (unsigned char)(ahead->slow << 1);
		return;
	}
	if (ahead->slow == 0) {
		ahead->sleeps = thread_sleeps();
		ahead->very_slow = true;
	}
	ahead->very_slow = ahead->very_slow && ns >= VERY_SLOW_NS;
	ahead->slow = (unsigned char)(ahead->slow << 1 | 1);
	count = bits(ahead->slow);
	if (count < (ahead->very_slow ? 2 : MANY_SLOW))
		return;
	/* The first one's own sleeps are not counted. */
	if (thread_sleeps() - ahead->sleeps >= count - 1)
		window_open(ahead);
	ahead->slow = 0;
}

/* The helpers find all at once: back to where the packer does. */
static void window_judge(struct ahead *ahead)
{
	if (ahead->config.helpers != READ_AHEAD_AUTO ||
	    --ahead->until_look > 0)
		return;
	ahead->until_look = IDLE_EACH;
	crew_tune(ahead->crew);
	ahead->leaving = crew_is_idle(ahead->crew);
}

/* ---- giving ---- */

/* Keeps the item with its strings; its name is the end of its path. */
static void slot_fill(struct ahead *ahead, struct slot *slot,
		      const struct walk_item *item)
{
	const char *path = walk_path(ahead->walk);
	size_t len = strlen(path), name_len = strlen(item->name);
	char *bigger;

	slot->item = *item;
	slot->path_len = 0;
	/* Without memory for the path the walk says something shorter. */
	if (len < name_len || strcmp(path + len - name_len, item->name) != 0) {
		path = item->name;
		len = name_len;
	}
	if (len + 1 > slot->path_room) {
		bigger = realloc(slot->path, len + 1);
		if (!bigger) {
			/* Its strings are the walk's, which stays where it is. */
			ahead->stalled = true;
			return;
		}
		slot->path = bigger;
		slot->path_room = len + 1;
	}
	memcpy(slot->path, path, len + 1);
	slot->path_len = len;
	slot->item.name = slot->path + (len - name_len);
	if (item->as == item->name)
		slot->item.as = slot->item.name;
	ahead->paths += len;
}

/* The walk has come to an item: what does the destination have? */
static void meet(struct ahead *ahead, const struct walk_item *item,
		 struct have_seen *seen)
{
	if (ahead->config.have)
		have_meet(ahead->config.have, item, seen);
}

/* Takes one more from the walk. */
static struct slot *give(struct ahead *ahead)
{
	struct slot *slot = slot_of(ahead, ahead->given);
	struct walk_item item = { 0 };

	walk_next(ahead->walk, &item);
	ahead->stalled = slot->queued = false;
	if (item.event == WALK_END) {
		ahead->ended = true;
		slot->item = item;
		slot->path_len = 0;
	} else {
		slot_fill(ahead, slot, &item);
	}
	fetch_init(&slot->fetch, &ahead->config.rules, ahead->slab, &slot->item);
	meet(ahead, &item, &slot->seen);
	if (ahead->config.have && !ahead->config.reads_all)
		slot->fetch.seen = &slot->seen;
	ahead->given++;
	return slot;
}

static int by_inode(const void *a, const void *b)
{
	const struct slot *x = *(struct slot *const *)a;
	const struct slot *y = *(struct slot *const *)b;

	return x->item.ino < y->item.ino ? -1 : x->item.ino > y->item.ino;
}

/* Could the walk go on without a wait? */
static bool can_give(struct ahead *ahead)
{
	uint64_t count = ahead->given - ahead->taken;

	if (ahead->ended || ahead->leaving)
		return false;
	if (count == 0)
		return true;
	return count < WINDOW && !ahead->stalled && ahead->paths < PATHS_MAX &&
	       ahead->closings_len < ahead->closings_max &&
	       (!ahead->names || names_ready(ahead->names)) &&
	       !walk_awaits(ahead->walk);
}

static size_t give_group(struct ahead *ahead)
{
	struct slot *group[GROUP];
	struct task *tasks[GROUP];
	size_t count = 0, given = 0;

	for (; given < GROUP && can_give(ahead); given++) {
		struct slot *slot = give(ahead);

		if (slot->item.event == WALK_ENTER)
			walk_look_ahead(ahead->walk);
		if (slot->item.event != WALK_ENTRY)
			continue;
		slot->queued = true;
		group[count++] = slot;
	}
	qsort(group, count, sizeof(*group), by_inode);
	for (size_t i = 0; i < count; i++)
		tasks[i] = &group[i]->fetch.task;
	walk_look_ahead(ahead->walk);
	if (count > 0)
		crew_put(ahead->crew, tasks, count);
	return given;
}

/* As much as there is room for, and can be seen from here. */
static void give_all(struct ahead *ahead)
{
	size_t given;

	ahead->until_give = GROUP / 2;
	do
		given = give_group(ahead);
	while (given == GROUP &&
	       ahead->given - ahead->taken <= WINDOW - GROUP);
}

/* ---- taking ---- */

/* The oldest item was used. */
static void slot_leave(struct ahead *ahead)
{
	struct slot *slot = slot_of(ahead, ahead->taken);

	if (!ahead->at_hand)
		return;
	ahead->at_hand = false;
	ahead->give_back += slot->queued && !ahead->self && slot->fetch.task.holds;
	fetch_drop(&slot->fetch);
	ahead->paths -= slot->path_len;
	if (slot->path_room > PATH_KEPT) {
		free(slot->path);
		slot->path = NULL;
		slot->path_room = 0;
	}
	ahead->taken++;
	close_now(ahead);
}

/* How many items from the oldest on are done, as far as that is of interest. */
static void count_ready(struct ahead *ahead)
{
	struct task *tasks[RUN];
	size_t count = 0;

	for (uint64_t i = ahead->taken; i < ahead->given && count < RUN; i++) {
		struct slot *slot = slot_of(ahead, i);

		tasks[count++] = slot->queued ? &slot->fetch.task : NULL;
	}
	crew_give_back(ahead->crew, ahead->give_back);
	ahead->give_back = 0;
	ahead->ready = ahead->taken +
		       crew_count_done(ahead->crew, tasks, count);
}

/* Before a wait: what was made so far is worth more than nothing. */
static void flush(struct ahead *ahead)
{
	if (!ahead->config.filtered)
		ring_flush(ahead->config.ring);
}

static void urge(struct ahead *ahead)
{
	if (!ahead->config.filtered)
		ring_urge(ahead->config.ring);
}

/*
 * Waits until the oldest item can be taken: it is done, or nobody has begun it and it
 * is ours now.  Returns -1 when the ring was aborted.
 */
static int wait_ready(struct ahead *ahead)
{
	struct slot *slot = slot_of(ahead, ahead->taken);

	flush(ahead);
	while (ahead->ready == ahead->taken) {
		if (crew_claim(ahead->crew, &slot->fetch.task)) {
			ahead->self = true;
			return 0;
		}
		if (!crew_wait(ahead->crew, &slot->fetch.task,
			       walk_awaits(ahead->walk)))
			return -1;
		give_all(ahead);
		count_ready(ahead);
	}
	return 0;
}

/* The window is empty: the walk may have to wait, and so may the list. */
static void give_first(struct ahead *ahead)
{
	if (ahead->names && !names_ready(ahead->names))
		urge(ahead);
	else
		flush(ahead);
	give_all(ahead);
}

static int window_next(struct ahead *ahead)
{
	ahead->self = false;
	if (ahead->taken == ahead->given)
		give_first(ahead);
	else if (--ahead->until_give == 0)
		give_all(ahead);
	if (ahead->ready <= ahead->taken)
		count_ready(ahead);
	if (ahead->ready == ahead->taken) {
		give_all(ahead);
		if (wait_ready(ahead) != 0)
			return -1;
	}
	ahead->at_hand = true;
	return 0;
}

/* ---- both ways ---- */

void ahead_begin(struct ahead *ahead, const char *path, const char *as,
		 bool follow, struct names *names)
{
	slot_leave(ahead);		/* the end of the last one */
	ahead->root = path;
	ahead->root_as = as;
	ahead->names = names;
	ahead->ended = false;
	ahead->skip = 0;
	walk_begin(ahead->walk, path, as, follow);
	if (names)
		walk_list(ahead->walk, names);
	if (!ahead->open && ahead->config.helpers > 0)
		window_open(ahead);
}

static int next_direct(struct ahead *ahead, struct walk_item *item)
{
	/* Whoever writes the list may take his time. */
	if (ahead->names && !names_ready(ahead->names))
		urge(ahead);
	walk_next(ahead->walk, item);
	meet(ahead, item, &ahead->seen);
	return 0;
}

static int next_any(struct ahead *ahead, struct walk_item *item)
{
	slot_leave(ahead);
	/* Before it is looked for an item: who leaves gives none. */
	if (ahead->open)
		window_judge(ahead);
	if (ahead->open && ahead->leaving && ahead->taken == ahead->given)
		ahead->open = false;
	if (!ahead->open)
		return next_direct(ahead, item);
	if (ahead->ended && ahead->taken == ahead->given) {
		item->event = WALK_END;
		return 0;
	}
	if (window_next(ahead) != 0)
		return -1;
	*item = slot_of(ahead, ahead->taken)->item;
	return 0;
}

int ahead_next(struct ahead *ahead, struct walk_item *item)
{
	do {
		if (next_any(ahead, item) != 0)
			return -1;
		if (ahead->skip == 0 || item->event == WALK_END)
			break;
		ahead->skip += item->event == WALK_ENTER;
		ahead->skip -= item->event == WALK_LEAVE;
	} while (ahead->skip > 0);
	return 0;
}

void ahead_skip(struct ahead *ahead)
{
	if (ahead->at_hand)
		ahead->skip = 1;
	else
		walk_skip(ahead->walk);
}

const char *ahead_path(struct ahead *ahead)
{
	const struct slot *slot;

	if (!ahead->at_hand)
		return walk_path(ahead->walk);
	slot = slot_of(ahead, ahead->taken);
	return slot->path_len > 0 ? slot->path : walk_path(ahead->walk);
}

/* The item's path, with another name for the root. */
const char *ahead_member(struct ahead *ahead)
{
	struct bytes *member = &ahead->member;
	const char *rest;

	if (!ahead->at_hand || slot_of(ahead, ahead->taken)->path_len == 0)
		return walk_member(ahead->walk);
	rest = slot_of(ahead, ahead->taken)->path + strlen(ahead->root);
	while (*rest == '/')
		rest++;
	member->len = 0;
	if (ahead->root_as && (bytes_put(member, ahead->root_as) != 0 ||
			       (*rest && bytes_put(member, "/") != 0)))
		return NULL;
	return bytes_add(member, rest, strlen(rest) + 1) == 0 ?
		       (const char *)member->at :
		       NULL;
}

struct fetch *ahead_fetched(struct ahead *ahead)
{
	struct slot *slot;

	if (!ahead->at_hand || ahead->self)
		return NULL;
	slot = slot_of(ahead, ahead->taken);
	return slot->queued && slot->fetch.found != FETCH_NOTHING ? &slot->fetch :
								     NULL;
}

const struct have_seen *ahead_seen(const struct ahead *ahead)
{
	return ahead->at_hand ? &ahead->slots[ahead->taken % WINDOW].seen :
				&ahead->seen;
}

unsigned ahead_helpers(const struct ahead *ahead)
{
	return ahead->crew ? crew_most(ahead->crew) : 0;
}
