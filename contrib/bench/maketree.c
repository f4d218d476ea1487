/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maketree: makes the trees that the benchmark copies.
 *
 *     maketree KIND SEED DIR
 *
 * DIR must not exist.  The same KIND and SEED give the same names, bytes, modes
 * and times on every machine: nothing is taken from the machine, and all
 * arithmetic is in integers.  Kinds:
 *
 *     include    8,046 files and 30 symbolic links in 843 directories, 117 MB,
 *                shaped like a well-filled /usr/include
 *     big        4 files of 14 to 30 MB, 85 MB together, of random bytes
 *     small      998 files of 50 to 500 bytes in one directory
 *     empty:N    N empty files in one directory
 *
 * Prints one line: what was made, and a digest of names, modes, times and bytes
 * by which two trees can be told apart.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All contents are pieces of one block, so that a file is one write. */
enum { POOL_SIZE = 32 << 20, MAX_DEPTH = 9 };

/* A tree being made. */
struct maker {
	int root;		/* fd of DIR */
	uint64_t state;		/* of the random numbers */
	uint64_t digest;
	unsigned char *pool;
	unsigned long files, links, dirs;
	unsigned long long bytes;
};

/* ---- random numbers, and the digest ---- */

/* splitmix64 (Sebastiano Vigna, public domain). */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t next_random(struct maker *m)
{
	m->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(m->state);
}

/* 0 .. limit-1; the bias of the remainder does not matter here. */
static unsigned long pick(struct maker *m, unsigned long limit)
{
	return (unsigned long)(next_random(m) % limit);
}

static uint64_t load_le64(const unsigned char *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static void store_le64(unsigned char *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static void digest_number(struct maker *m, uint64_t v)
{
	m->digest = (m->digest ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	m->digest ^= m->digest >> 29;
}

static void digest_bytes(struct maker *m, const unsigned char *p, size_t len)
{
	digest_number(m, len);
	for (; len >= 8; p += 8, len -= 8)
		digest_number(m, load_le64(p));
	while (len-- > 0)
		digest_number(m, *p++);
}

static void digest_string(struct maker *m, const char *s)
{
	digest_bytes(m, (const unsigned char *)s, strlen(s));
}

/* ---- names and contents ---- */

/* Writes a pronounceable word of 2 to 4 * `most` letters; returns its length. */
static size_t make_word(struct maker *m, unsigned most, char *out)
{
	static const char *const syllables[] = {
		"al", "bit", "con", "def", "err", "fun", "get", "hand", "in",
		"jo", "key", "list", "map", "net", "op", "page", "queue", "re",
		"set", "type", "un", "vec", "win", "ex", "_t", "size", "str",
		"io", "max", "ptr", "sub", "ver",
	};
	unsigned count = 1 + (unsigned)pick(m, most);
	size_t len = 0;

	while (count-- > 0) {
		const char *s = syllables[pick(m, sizeof(syllables) / sizeof(*syllables))];

		memcpy(out + len, s, strlen(s));
		len += strlen(s);
	}
	out[len] = '\0';
	return len;
}

/* Lines of words, about as compressible as source text. */
static void fill_text(struct maker *m)
{
	static const char ends[] = "  (,);  \n *_\n";
	size_t used = 0;

	while (used < POOL_SIZE - 32) {
		used += make_word(m, 4, (char *)m->pool + used);
		m->pool[used++] = (unsigned char)ends[pick(m, sizeof(ends) - 1)];
	}
	memset(m->pool + used, '\n', POOL_SIZE - used);
}

static void fill_random(struct maker *m)
{
	for (size_t i = 0; i < POOL_SIZE; i += 8)
		store_le64(m->pool + i, next_random(m));
}

/* ---- what a tree is made of ---- */

/* A time some years back: nothing here must look freshly written. */
static struct timespec pick_time(struct maker *m)
{
	return (struct timespec){
		.tv_sec = 1500000000 + (time_t)pick(m, 200000000),
		.tv_nsec = (long)pick(m, 1000000000),
	};
}

static void set_times(struct maker *m, const char *path)
{
	struct timespec t = pick_time(m), times[2] = { t, t };

	if (utimensat(m->root, path, times, AT_SYMLINK_NOFOLLOW) < 0)
		err(1, "utimensat %s", path);
	digest_number(m, (uint64_t)t.tv_sec);
	digest_number(m, (uint64_t)t.tv_nsec);
}

static void write_all(int fd, const char *path, const unsigned char *p, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, p, len);

		if (done < 0)
			err(1, "write %s", path);
		p += done;
		len -= (size_t)done;
	}
}

/* A file of `size` bytes (at most POOL_SIZE) from a random place of the pool. */
static void make_file(struct maker *m, const char *path, size_t size)
{
	int fd = openat(m->root, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	const unsigned char *data = NULL;

	if (fd < 0)
		err(1, "create %s", path);
	if (size > 0)
		data = m->pool + pick(m, POOL_SIZE - size + 1);
	write_all(fd, path, data, size);
	if (close(fd) < 0)
		err(1, "close %s", path);
	digest_string(m, path);
	digest_bytes(m, data, size);
	set_times(m, path);
	m->files++;
	m->bytes += size;
}

static void make_symlink(struct maker *m, const char *path, const char *target)
{
	if (symlinkat(target, m->root, path) < 0)
		err(1, "symlink %s", path);
	digest_string(m, path);
	digest_string(m, target);
	set_times(m, path);
	m->links++;
}

static void make_dir(struct maker *m, const char *path)
{
	if (mkdirat(m->root, path, 0755) < 0)
		err(1, "mkdir %s", path);
	digest_string(m, path);
	m->dirs++;
}

static void format(char *out, size_t size, const char *text, ...)
	__attribute__((format(printf, 3, 4)));
static void format(char *out, size_t size, const char *text, ...)
{
	va_list args;
	int len;

	va_start(args, text);
	len = vsnprintf(out, size, text, args);
	va_end(args);
	if (len < 0 || (size_t)len >= size)
		errx(1, "a name is too long");
}

/* ---- kind include ---- */

/*
 * A distribution as its quantiles: at `share` ten-thousandths of the members
 * lies `value`, straight lines between.
 */
struct quantile {
	unsigned share, value;
};

static const struct quantile include_sizes[] = {
	{ 0, 40 }, { 500, 670 }, { 1000, 1030 }, { 2000, 1600 }, { 3000, 2350 },
	{ 4000, 3440 }, { 5000, 4920 }, { 6000, 7660 }, { 7000, 12200 },
	{ 8000, 20400 }, { 8500, 26000 }, { 9000, 35500 }, { 9500, 54000 },
	{ 9800, 90000 }, { 9900, 109000 }, { 9970, 210000 }, { 9990, 262000 },
	{ 9996, 426000 }, { 9998, 800000 }, { 10000, 2550000 },
};

/* Files a directory: a third hold only directories, one holds hundreds. */
static const struct quantile include_fill[] = {
	{ 0, 0 }, { 3000, 0 }, { 4000, 100 }, { 5000, 120 }, { 6000, 200 },
	{ 7000, 550 }, { 7500, 700 }, { 8000, 850 }, { 8500, 1700 },
	{ 9000, 2500 }, { 9500, 3800 }, { 9900, 13700 }, { 9990, 19200 },
	{ 10000, 60000 },
};

/* Directories at each depth below the top. */
static const unsigned include_depths[MAX_DEPTH] = { 75, 77, 77, 64, 64, 197, 173, 58, 57 };

enum { INCLUDE_DIRS = 843, INCLUDE_FILES = 8046, INCLUDE_LINKS = 30 };

static unsigned quantile_value(const struct quantile *q, unsigned share)
{
	unsigned long long above, width;

	while (share > q[1].share)
		q++;
	above = share - q[0].share;
	width = q[1].share - q[0].share;
	return q[0].value + (unsigned)((q[1].value - q[0].value) * above / width);
}

/*
 * `count` values in random order that follow the quantiles exactly, so that
 * their sum does not depend on the seed.
 */
static unsigned *spread(struct maker *m, const struct quantile *q, unsigned count)
{
	unsigned *values = calloc(count, sizeof(*values));

	if (!values)
		err(1, "calloc");
	for (unsigned i = 0; i < count; i++)
		values[i] = quantile_value(q, (unsigned)((2ULL * i + 1) * 5000 / count));
	for (unsigned i = count - 1; i > 0; i--) {
		unsigned other = (unsigned)pick(m, i + 1), kept = values[i];

		values[i] = values[other];
		values[other] = kept;
	}
	return values;
}

/* A directory of the tree: its path and how many names it gets. */
struct place {
	char path[PATH_MAX];
	unsigned files, links;
};

/* Makes directory `at` below one of the places [first, end). */
static void include_dir(struct maker *m, struct place *places, unsigned at,
			unsigned first, unsigned end)
{
	/* The lesser of two draws: some have many subdirectories, most few. */
	unsigned long a = pick(m, end - first), b = pick(m, end - first);
	const char *parent = places[first + (a < b ? a : b)].path;
	char word[64];

	make_word(m, 2, word);
	format(places[at].path, sizeof(places[at].path), "%s/%s%u", parent, word, at);
	make_dir(m, places[at].path);
}

static void include_dirs(struct maker *m, struct place *places)
{
	unsigned first = 0, end = 1;

	strcpy(places[0].path, ".");
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		for (unsigned i = 0; i < include_depths[depth]; i++)
			include_dir(m, places, end + i, first, end);
		first = end;
		end += include_depths[depth];
	}
}

/* The place into whose share of `sum` the number `at` falls. */
static unsigned place_by_weight(const unsigned *weights, unsigned long at)
{
	unsigned place = 0;

	while (at >= weights[place])
		at -= weights[place++];
	return place;
}

/* Deals files and links out to the places by weight. */
static void include_deal(struct maker *m, struct place *places)
{
	unsigned *weights = spread(m, include_fill, INCLUDE_DIRS);
	unsigned long sum = 0;

	for (unsigned i = 0; i < INCLUDE_DIRS; i++)
		sum += weights[i];
	for (unsigned i = 0; i < INCLUDE_FILES; i++)
		places[place_by_weight(weights, pick(m, sum))].files++;
	for (unsigned i = 0; i < INCLUDE_LINKS;) {
		struct place *place = &places[place_by_weight(weights, pick(m, sum))];

		/* A link points at the first file beside it. */
		if (place->files > 0) {
			place->links++;
			i++;
		}
	}
	free(weights);
}

static void include_place(struct maker *m, const struct place *place,
			  const unsigned *sizes)
{
	char path[PATH_MAX + 80], first[80] = "", name[80], word[64];

	for (unsigned i = 0; i < place->files; i++) {
		make_word(m, 3, word);
		format(name, sizeof(name), "%s%u.h", word, i);
		if (i == 0)
			strcpy(first, name);
		format(path, sizeof(path), "%s/%s", place->path, name);
		make_file(m, path, sizes[i]);
	}
	for (unsigned i = 0; i < place->links; i++) {
		format(path, sizeof(path), "%s/link%u.h", place->path, i);
		make_symlink(m, path, first);
	}
}

static void make_include(struct maker *m, unsigned long unused)
{
	struct place *places = calloc(INCLUDE_DIRS, sizeof(*places));
	unsigned *sizes, done = 0;

	(void)unused;
	if (!places)
		err(1, "calloc");
	fill_text(m);
	sizes = spread(m, include_sizes, INCLUDE_FILES);
	include_dirs(m, places);
	include_deal(m, places);
	for (unsigned i = 0; i < INCLUDE_DIRS; done += places[i++].files)
		include_place(m, &places[i], sizes + done);
	/* Children first: each name made changes the times of its directory. */
	for (unsigned i = INCLUDE_DIRS - 1; i > 0; i--)
		set_times(m, places[i].path);
	free(sizes);
	free(places);
}

/* ---- the other kinds ---- */

static void make_big(struct maker *m, unsigned long unused)
{
	static const size_t sizes[] = { 14100123, 17300457, 23600891, 29998529 };

	(void)unused;
	fill_random(m);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char name[] = { 'b', 'i', 'g', (char)('1' + i), '\0' };

		make_file(m, name, sizes[i]);
	}
}

static void make_small(struct maker *m, unsigned long unused)
{
	char name[80], word[64];

	(void)unused;
	fill_text(m);
	for (unsigned i = 0; i < 998; i++) {
		make_word(m, 3, word);
		format(name, sizeof(name), "%s%u", word, i);
		make_file(m, name, 50 + pick(m, 451));
	}
}

static void make_empty(struct maker *m, unsigned long count)
{
	char name[32];

	for (unsigned long i = 0; i < count; i++) {
		format(name, sizeof(name), "file%07lu", i);
		make_file(m, name, 0);
	}
}

/* ---- the command ---- */

struct kind {
	const char *name;
	void (*make)(struct maker *m, unsigned long count);
};

static const struct kind kinds[] = {
	{ "include", make_include },
	{ "big", make_big },
	{ "small", make_small },
	{ "empty", make_empty },
};

static void usage(void)
{
	errx(64, "usage: maketree include|big|small|empty:N SEED DIR");
}

static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (text == end || *end != '\0' || *text == '-')
		usage();
	return number;
}

/* Finds NAME or NAME:COUNT; a kind other than empty takes no count. */
static const struct kind *parse_kind(const char *text, unsigned long *count)
{
	const char *colon = strchrnul(text, ':');
	size_t len = (size_t)(colon - text);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct kind *kind = &kinds[i];

		if (strlen(kind->name) != len || strncmp(kind->name, text, len) != 0)
			continue;
		if ((*colon == ':') != (kind->make == make_empty))
			usage();
		*count = *colon ? parse_number(colon + 1) : 0;
		return kind;
	}
	usage();
	return NULL;
}

static void maker_init(struct maker *m, uint64_t seed, const char *dir)
{
	*m = (struct maker){ .state = mix(seed), .dirs = 1 };
	m->pool = malloc(POOL_SIZE);
	if (!m->pool)
		err(1, "malloc");
	umask(022);
	if (mkdir(dir, 0755) < 0)
		err(1, "mkdir %s", dir);
	m->root = open(dir, O_RDONLY | O_DIRECTORY);
	if (m->root < 0)
		err(1, "%s", dir);
}

static void report(const struct maker *m)
{
	printf("%lu files", m->files);
	if (m->links > 0)
		printf(", %lu symbolic links", m->links);
	if (m->dirs > 1)
		printf(", %lu directories", m->dirs);
	if (m->bytes > 0)
		printf(", %.1f MB", (double)m->bytes / 1e6);
	printf(", digest %016llx\n", (unsigned long long)m->digest);
}

int main(int argc, char **argv)
{
	const struct kind *kind;
	unsigned long count;
	struct maker m;

	if (argc != 4)
		usage();
	kind = parse_kind(argv[1], &count);
	maker_init(&m, parse_number(argv[2]), argv[3]);
	kind->make(&m, count);
	set_times(&m, ".");
	report(&m);
	free(m.pool);
	close(m.root);
	return 0;
}
