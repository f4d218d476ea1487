/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maketree: makes the trees that the benchmark copies.
 *
 *     maketree [-d PART] KIND[:COUNT] SEED DIR
 *
 * DIR must not exist.  The same KIND, PART and SEED make the same tree on every
 * machine (maker.h).  -d makes the PART-th part of it: fewer files, or smaller
 * ones where they are few.  Kinds:
 *
 *     small      998 files of 50 to 500 bytes in one directory
 *     big        4 files of 14 to 30 MB, 85 MB together, of random bytes
 *     sizes:N    N files each of 496, 16,102 and 1,156,222 bytes
 *     include    8,046 files and 30 symbolic links in 843 directories, 117 MB,
 *                shaped like a well-filled /usr/include
 *     source     60,000 files in 4,801 directories, 619 MB, shaped like the
 *                checkout of a large program
 *     flat       100,000 files of up to 2,000 bytes in one directory
 *     million    1,000,000 empty files in 1,000 directories
 *     huge       one file of 3 GB, random bytes
 *     sparse     17 files, 1.3 GB with 67 MB of data in them
 *     links      2,000 files with five names each and 10,000 symbolic links
 *     music      36,066 small files by artist and album, 12 suffixes
 *     empty:N    N empty files in one directory
 *
 * Prints one line: what was made, and a digest of names, modes, times and bytes
 * by which two trees can be told apart.
 */
#define _GNU_SOURCE
#include "maker.h"

#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 9 };

/* ---- trees of text: include and source ---- */

/* What such a tree looks like. */
struct shape {
	const struct quantile *sizes;	/* of the files */
	const struct quantile *fill;	/* how files are dealt to directories */
	unsigned depths[MAX_DEPTH];	/* directories at each depth below the top */
	unsigned files, links;
	const char *suffixes[4];	/* taken in turn */
};

static const struct quantile include_sizes[] = {
	{ 0, 40 }, { 500, 670 }, { 1000, 1030 }, { 2000, 1600 }, { 3000, 2350 },
	{ 4000, 3440 }, { 5000, 4920 }, { 6000, 7660 }, { 7000, 12200 },
	{ 8000, 20400 }, { 8500, 26000 }, { 9000, 35500 }, { 9500, 54000 },
	{ 9800, 90000 }, { 9900, 109000 }, { 9970, 210000 }, { 9990, 262000 },
	{ 9996, 426000 }, { 9998, 800000 }, { 10000, 2550000 },
};

/* A third hold only directories, one holds hundreds. */
static const struct quantile include_fill[] = {
	{ 0, 0 }, { 3000, 0 }, { 4000, 100 }, { 5000, 120 }, { 6000, 200 },
	{ 7000, 550 }, { 7500, 700 }, { 8000, 850 }, { 8500, 1700 },
	{ 9000, 2500 }, { 9500, 3800 }, { 9900, 13700 }, { 9990, 19200 },
	{ 10000, 60000 },
};

static const struct shape include_shape = {
	.sizes = include_sizes, .fill = include_fill,
	.depths = { 75, 77, 77, 64, 64, 197, 173, 58, 57 },
	.files = 8046, .links = 30,
	.suffixes = { "h", "h", "h", "h" },
};

static const struct quantile source_sizes[] = {
	{ 0, 0 }, { 200, 60 }, { 1000, 400 }, { 2000, 900 }, { 3000, 1500 },
	{ 4000, 2300 }, { 5000, 3500 }, { 6000, 5200 }, { 7000, 7800 },
	{ 8000, 12000 }, { 9000, 22000 }, { 9500, 35000 }, { 9900, 85000 },
	{ 9990, 250000 }, { 10000, 900000 },
};

static const struct quantile source_fill[] = {
	{ 0, 0 }, { 800, 0 }, { 2000, 100 }, { 4000, 300 }, { 6000, 700 },
	{ 8000, 1500 }, { 9000, 2800 }, { 9800, 8000 }, { 10000, 30000 },
};

static const struct shape source_shape = {
	.sizes = source_sizes, .fill = source_fill,
	.depths = { 24, 480, 1700, 1500, 700, 300, 80, 12, 4 },
	.files = 60000, .links = 60,
	.suffixes = { "c", "h", "c", "txt" },
};

/* A directory of the tree: its path and how many names it gets. */
struct place {
	char path[PATH_MAX];
	unsigned files, links;
};

/* Makes directory `at` below one of the places [first, end). */
static void place_dir(struct maker *m, struct place *places, unsigned at,
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

/* The number of places, the top among them. */
static unsigned count_places(const struct maker *m, const struct shape *shape)
{
	unsigned count = 1;

	for (int depth = 0; depth < MAX_DEPTH; depth++)
		count += (unsigned)share(m, shape->depths[depth]);
	return count;
}

static void place_dirs(struct maker *m, const struct shape *shape, struct place *places)
{
	unsigned first = 0, end = 1;

	strcpy(places[0].path, ".");
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		unsigned count = (unsigned)share(m, shape->depths[depth]);

		for (unsigned i = 0; i < count; i++)
			place_dir(m, places, end + i, first, end);
		first = end;
		end += count;
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
static void deal_out(struct maker *m, const struct shape *shape,
		     struct place *places, unsigned count)
{
	unsigned *weights = spread(m, shape->fill, count);
	unsigned long sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += weights[i];
	for (unsigned long i = 0; i < share(m, shape->files); i++)
		places[place_by_weight(weights, pick(m, sum))].files++;
	for (unsigned long i = 0; i < share(m, shape->links);) {
		struct place *place = &places[place_by_weight(weights, pick(m, sum))];

		/* A link points at the first file beside it. */
		if (place->files > 0) {
			place->links++;
			i++;
		}
	}
	free(weights);
}

static void fill_place(struct maker *m, const struct shape *shape,
		       const struct place *place, const unsigned *sizes)
{
	char path[PATH_MAX + 80], first[80] = "", name[80], word[64];

	for (unsigned i = 0; i < place->files; i++) {
		make_word(m, 3, word);
		format(name, sizeof(name), "%s%u.%s", word, i, shape->suffixes[i % 4]);
		if (i == 0)
			strcpy(first, name);
		format(path, sizeof(path), "%s/%s", place->path, name);
		make_file(m, path, sizes[i]);
	}
	for (unsigned i = 0; i < place->links; i++) {
		format(path, sizeof(path), "%s/link%u.%s", place->path, i, shape->suffixes[0]);
		make_symlink(m, path, first);
	}
}

static void make_shaped(struct maker *m, const struct shape *shape)
{
	unsigned count = count_places(m, shape), *sizes, done = 0;
	struct place *places = calloc(count, sizeof(*places));

	if (!places)
		err(1, "calloc");
	fill_text(m);
	sizes = spread(m, shape->sizes, share(m, shape->files));
	place_dirs(m, shape, places);
	deal_out(m, shape, places, count);
	for (unsigned i = 0; i < count; done += places[i++].files)
		fill_place(m, shape, &places[i], sizes + done);
	/* Children first: each name made changes the times of its directory. */
	for (unsigned i = count - 1; i > 0; i--)
		set_times(m, places[i].path);
	free(sizes);
	free(places);
}

static void make_include(struct maker *m, unsigned long unused)
{
	(void)unused;
	make_shaped(m, &include_shape);
}

static void make_source(struct maker *m, unsigned long unused)
{
	(void)unused;
	make_shaped(m, &source_shape);
}

/* ---- few and large ---- */

static void make_big(struct maker *m, unsigned long unused)
{
	static const size_t sizes[] = { 14100123, 17300457, 23600891, 29998529 };

	(void)unused;
	fill_random(m);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char name[] = { 'b', 'i', 'g', (char)('1' + i), '\0' };

		make_file(m, name, share(m, sizes[i]));
	}
}

static void make_huge(struct maker *m, unsigned long unused)
{
	(void)unused;
	fill_random(m);
	make_file(m, "huge", share(m, 3000000000UL));
}

/* Sixteen files with more hole than data, and one that is all hole. */
static void make_sparse_files(struct maker *m, unsigned long unused)
{
	(void)unused;
	fill_random(m);
	for (unsigned i = 0; i < 16; i++) {
		char name[] = { 'f', (char)('a' + i), '\0' };

		make_sparse(m, name, share(m, 64) << 20, 1 << 20, 64 << 10);
	}
	make_sparse(m, "hole", share(m, 256) << 20, 1 << 20, 0);
}

/* ---- many and small ---- */

static void make_small(struct maker *m, unsigned long unused)
{
	char name[80], word[64];

	(void)unused;
	fill_text(m);
	for (unsigned long i = 0; i < share(m, 998); i++) {
		make_word(m, 3, word);
		format(name, sizeof(name), "%s%lu", word, i);
		make_file(m, name, 50 + pick(m, 451));
	}
}

static void make_sizes(struct maker *m, unsigned long count)
{
	static const unsigned sizes[] = { 496, 16102, 1156222 };
	char name[32];

	fill_random(m);
	for (unsigned kind = 0; kind < 3; kind++) {
		for (unsigned long i = 0; i < share(m, count); i++) {
			format(name, sizeof(name), "f%u-%04lu", sizes[kind], i);
			make_file(m, name, sizes[kind]);
		}
	}
}

static void make_flat(struct maker *m, unsigned long unused)
{
	char name[80], word[64];

	(void)unused;
	fill_text(m);
	for (unsigned long i = 0; i < share(m, 100000); i++) {
		make_word(m, 2, word);
		format(name, sizeof(name), "%s%lu", word, i);
		make_file(m, name, pick(m, 2001));
	}
}

static void make_empty(struct maker *m, unsigned long count)
{
	char name[32];

	for (unsigned long i = 0; i < share(m, count); i++) {
		format(name, sizeof(name), "file%07lu", i);
		make_file(m, name, 0);
	}
}

static void make_million(struct maker *m, unsigned long unused)
{
	char name[64];

	(void)unused;
	for (unsigned long i = 0; i < share(m, 1000); i++) {
		format(name, sizeof(name), "d%03lu", i);
		make_dir(m, name);
		for (unsigned j = 0; j < 1000; j++) {
			format(name, sizeof(name), "d%03lu/file%03u", i, j);
			make_file(m, name, 0);
		}
		format(name, sizeof(name), "d%03lu", i);
		set_times(m, name);
	}
}

/* The further names and the symbolic links of file number i. */
static void make_links_to(struct maker *m, unsigned long dirs, unsigned long i, const char *file)
{
	char name[64], target[80];

	for (unsigned long j = 1; j < 5; j++) {
		format(name, sizeof(name), "d%02lu/name%lu-%lu", (i + j) % dirs, i, j);
		make_hardlink(m, name, file);
	}
	format(target, sizeof(target), "../%s", file);
	for (unsigned long j = 0; j < 5; j++) {
		format(name, sizeof(name), "d%02lu/link%lu-%lu", (i + j) % dirs, i, j);
		make_symlink(m, name, target);
	}
}

static void make_links(struct maker *m, unsigned long unused)
{
	unsigned long dirs = share(m, 100), files = share(m, 2000);
	char name[64];

	(void)unused;
	fill_text(m);
	for (unsigned long i = 0; i < dirs; i++) {
		format(name, sizeof(name), "d%02lu", i);
		make_dir(m, name);
	}
	for (unsigned long i = 0; i < files; i++) {
		format(name, sizeof(name), "d%02lu/file%lu", i % dirs, i);
		make_file(m, name, pick(m, 8193));
		make_links_to(m, dirs, i, name);
	}
	for (unsigned long i = 0; i < dirs; i++) {
		format(name, sizeof(name), "d%02lu", i);
		set_times(m, name);
	}
}

/* The suffix of track or other file number `at` of an album. */
static const char *pick_suffix(struct maker *m)
{
	/* Each with its hundredths of all names, the rest with `none`. */
	static const struct { unsigned share; const char *suffix; } suffixes[] = {
		{ 52, ".mp3" }, { 14, ".ogg" }, { 11, ".flac" }, { 6, ".m4a" }, { 5, ".jpg" },
		{ 3, ".wma" }, { 3, ".m3u" }, { 2, ".MP3" }, { 1, ".cue" }, { 1, ".wav" },
		{ 1, ".txt" },
	};
	unsigned long at = pick(m, 100);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (at < suffixes[i].share)
			return suffixes[i].suffix;
		at -= suffixes[i].share;
	}
	return "";
}

/* An album has up to 18 names, an artist 8 albums. */
static void make_music(struct maker *m, unsigned long unused)
{
	unsigned long left = share(m, 36066);
	char artist[80], album[160], name[256], word[64];

	(void)unused;
	fill_text(m);
	for (unsigned long at = 0; left > 0; at++) {
		if (at % 8 == 0) {
			make_word(m, 4, word);
			format(artist, sizeof(artist), "%s %lu", word, at / 8);
			make_dir(m, artist);
		}
		make_word(m, 4, word);
		format(album, sizeof(album), "%s/%s (%lu)", artist, word, 1970 + pick(m, 50));
		make_dir(m, album);
		for (unsigned long i = 1; i <= 18 && left > 0; i++, left--) {
			make_word(m, 4, word);
			format(name, sizeof(name), "%s/%02lu - %s%s", album, i, word, pick_suffix(m));
			make_file(m, name, pick(m, 2001));
		}
		set_times(m, album);
	}
}

/* ---- the command ---- */

struct kind {
	const char *name;
	void (*make)(struct maker *m, unsigned long count);
	int counts;		/* wants a COUNT */
};

static const struct kind kinds[] = {
	{ "small", make_small, 0 }, { "big", make_big, 0 }, { "sizes", make_sizes, 1 },
	{ "include", make_include, 0 }, { "source", make_source, 0 },
	{ "flat", make_flat, 0 }, { "million", make_million, 0 }, { "huge", make_huge, 0 },
	{ "sparse", make_sparse_files, 0 }, { "links", make_links, 0 },
	{ "music", make_music, 0 }, { "empty", make_empty, 1 },
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void usage(void)
{
	fputs("usage: maketree [-d PART] KIND[:COUNT] SEED DIR\nkinds:", stderr);
	for (size_t i = 0; i < KINDS; i++)
		fprintf(stderr, " %s%s", kinds[i].name, kinds[i].counts ? ":COUNT" : "");
	fputc('\n', stderr);
	exit(64);
}

static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (text == end || *end != '\0' || *text == '-')
		usage();
	return number;
}

/* Finds NAME or NAME:COUNT. */
static const struct kind *parse_kind(const char *text, unsigned long *count)
{
	const char *colon = strchrnul(text, ':');
	size_t len = (size_t)(colon - text);

	for (size_t i = 0; i < KINDS; i++) {
		const struct kind *kind = &kinds[i];

		if (strlen(kind->name) != len || strncmp(kind->name, text, len) != 0)
			continue;
		if ((*colon == ':') != kind->counts)
			usage();
		*count = *colon ? parse_number(colon + 1) : 0;
		return kind;
	}
	usage();
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long count, part = 1;
	const struct kind *kind;
	struct maker m;
	int option;

	while ((option = getopt(argc, argv, "d:")) != -1) {
		if (option != 'd')
			usage();
		part = parse_number(optarg);
	}
	if (argc - optind != 3 || part == 0)
		usage();
	kind = parse_kind(argv[optind], &count);
	maker_init(&m, parse_number(argv[optind + 1]), part, argv[optind + 2]);
	kind->make(&m, count);
	set_times(&m, ".");
	maker_report(&m);
	maker_destroy(&m);
	return 0;
}
