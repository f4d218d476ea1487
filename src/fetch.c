/* SPDX-License-Identifier: BSD-2-Clause */
#include "fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { ADVISED = 1 << 20 };	/* bytes of a large file that are asked for ahead */

/* ---- the single calls ---- */

int fetch_open(int parent, const char *name, bool mine)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			  O_CLOEXEC;
	int fd = openat(parent, name, flags | (mine ? O_NOATIME : 0));

	if (fd < 0 && errno == EPERM && mine)
		fd = openat(parent, name, flags);
	return fd;
}

ssize_t fetch_read_at(struct cache_file *file, void *to, size_t len,
		      uint64_t offset)
{
	ssize_t n;

	do
		n = cache_read(file, to, len, offset);
	while (n < 0 && errno == EINTR);
	return n;
}

/* One call, but where it comes back with less, which need not be the end on a network. */
ssize_t fetch_read(struct cache_file *file, unsigned char *to, size_t size)
{
	size_t have = 0;

	do {
		ssize_t n = fetch_read_at(file, to + have, size + 1 - have,
					  have);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	} while (have < size);
	return (ssize_t)have;
}

/* ---- a helper's task ---- */

static void fetch_close(struct fetch *fetch)
{
	if (fetch->fd >= 0)
		close(fetch->fd);
	fetch->fd = -1;
}

/* What may go better at the packer's turn: leases, and want of whatever it is. */
static bool is_passing(int err)
{
	return err == EWOULDBLOCK || err == EMFILE || err == ENFILE ||
	       err == ENOMEM || err == EINTR;
}

static void fetch_fail(struct fetch *fetch, enum fetch_found what)
{
	fetch->err = errno;
	fetch->found = is_passing(errno) ? FETCH_NOTHING : what;
	fetch_close(fetch);
}

static void fetch_list(struct fetch *fetch)
{
	fetch->text_len = flistxattr(fetch->fd, fetch->text, FETCH_TEXT);
	if (fetch->text_len < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
		fetch->text_len = 0;
	fetch->listed = fetch->text_len >= 0;
}

/* Says that it will be read, from the beginning. */
static void fetch_advise(struct fetch *fetch, size_t size)
{
	if (size > ADVISED)
		size = ADVISED;
	/* What is in the cache before it is read stays there. */
	if (fetch->rules->no_cache || !slab_promise(fetch->slab, size))
		return;
	fetch->advised = size;
	(void)posix_fadvise(fetch->fd, 0, (off_t)size, POSIX_FADV_WILLNEED);
}

/* The destination has it, as far as can be seen. */
static bool is_there(const struct fetch *fetch)
{
	return fetch->seen && have_fits(fetch->seen, &fetch->st);
}

/* Reads it if it is small. */
static void fetch_contents(struct fetch *fetch)
{
	const struct fetch_rules *rules = fetch->rules;
	size_t size = (size_t)fetch->st.st_size;
	struct cache cache;
	struct cache_file file;

	fetch->read = size == 0;
	if (size == 0 || is_there(fetch) ||
	    rules->wants_open(rules->arg, &fetch->st))
		return;
	/* One of several names: the bytes may have come already. */
	if (fetch->st.st_nlink == 1 && size <= rules->small)
		fetch->data = slab_take(fetch->slab, size + 1);
	if (!fetch->data) {
		fetch_advise(fetch, size);
		return;
	}
	fetch->read = true;
	cache_init(&cache, rules->no_cache);
	cache_begin_in(&file, &cache, fetch->fd, &fetch->st);
	fetch->got = fetch_read(&file, fetch->data, size);
	if (fetch->got < 0)
		fetch->err = errno;
	else
		fetch->task.bytes = (size_t)fetch->got;
}

/* Nothing of it will be asked for by its descriptor. */
static bool is_complete(const struct fetch *fetch)
{
	/* One with further names may yet have to be read. */
	bool left = is_there(fetch) && fetch->seen->st.st_nlink <= 1;

	if ((!fetch->read && !left) || fetch->kind == FSKIND_MADE_UP)
		return false;
	return !fetch->rules->attributes ||
	       (fetch->listed && fetch->text_len == 0);
}

static void fetch_file(struct fetch *fetch, struct helper *helper)
{
	int known;

	fetch->fd = fetch_open(fetch->parent, fetch->name, fetch->mine);
	if (fetch->fd < 0) {
		fetch_fail(fetch, FETCH_NO_OPEN);
		return;
	}
	if (fstat(fetch->fd, &fetch->st) != 0) {
		fetch_fail(fetch, FETCH_NO_STAT);
		return;
	}
	fetch->found = FETCH_OPEN;
	if (!S_ISREG(fetch->st.st_mode))
		return;
	known = helper_known(helper, fetch->st.st_dev);
	if (known < 0) {
		known = (int)fskind_of(fetch->fd);
		helper_know(helper, fetch->st.st_dev, known);
	}
	fetch->kind = (enum fskind)known;
	if (fetch->kind == FSKIND_MADE_UP)
		return;
	if (fetch->rules->attributes)
		fetch_list(fetch);
	fetch_contents(fetch);
	if (is_complete(fetch))
		fetch_close(fetch);
}

static void fetch_special(struct fetch *fetch)
{
	if (fstatat(fetch->parent, fetch->name, &fetch->st,
		    AT_SYMLINK_NOFOLLOW) != 0) {
		fetch_fail(fetch, FETCH_NO_STAT);
		return;
	}
	fetch->found = FETCH_SPECIAL;
	if (!S_ISLNK(fetch->st.st_mode))
		return;
	fetch->text_len = readlinkat(fetch->parent, fetch->name, fetch->text,
				     FETCH_TEXT);
	if (fetch->text_len == FETCH_TEXT)
		fetch->text_len = -1;
}

static void fetch_run(struct task *task, struct helper *helper)
{
	struct fetch *fetch = (struct fetch *)task;

	if (fetch->type == DT_REG)
		fetch_file(fetch, helper);
	else
		fetch_special(fetch);
	task->holds = fetch->fd >= 0;
}

void fetch_init(struct fetch *fetch, const struct fetch_rules *rules,
		struct slab *slab, const struct walk_item *item)
{
	fetch->task = (struct task){ .run = fetch_run };
	fetch->rules = rules;
	fetch->slab = slab;
	fetch->parent = item->parent;
	fetch->name = item->name;
	fetch->type = item->type;
	fetch->mine = item->mine;
	fetch->seen = NULL;
	fetch->found = FETCH_NOTHING;
	fetch->err = 0;
	fetch->fd = -1;
	fetch->kind = FSKIND_USUAL;
	fetch->listed = fetch->read = false;
	fetch->data = NULL;
	fetch->got = 0;
	fetch->advised = 0;
	fetch->text_len = -1;
}

void fetch_drop(struct fetch *fetch)
{
	fetch_close(fetch);
	slab_give(fetch->slab, fetch->data);
	fetch->data = NULL;
	slab_release(fetch->slab, fetch->advised);
	fetch->advised = 0;
}
