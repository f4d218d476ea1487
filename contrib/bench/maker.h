/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maker: what trees are made of.
 *
 * A maker makes names below one directory and keeps count of them.  Everything
 * comes from its seed, and all arithmetic is in integers, so that the same seed
 * makes the same names, bytes, modes and times on every machine.  Whatever fails
 * ends the program with a message.
 */
#ifndef MAKER_H
#define MAKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All contents are pieces of one block, so that a file is one write. */
enum { POOL_SIZE = 32 << 20 };

struct maker {
	int root;		/* fd of the tree's top; names are relative to it */
	unsigned long part;	/* an N-th of the whole tree is made */
	uint64_t state;		/* of the random numbers */
	uint64_t digest;
	unsigned char *pool;
	unsigned long files, names, links, dirs;	/* names: further ones of files */
	unsigned long long bytes;			/* without holes */
};

void maker_init(struct maker *m, uint64_t seed, unsigned long part, const char *dir);
void maker_destroy(struct maker *m);

/* Prints what was made, and the digest, in a line. */
void maker_report(const struct maker *m);

/* ---- numbers ---- */

/* 0 .. limit-1 */
unsigned long pick(struct maker *m, unsigned long limit);

/* The share of `whole` that a part of the tree has: at least 1. */
unsigned long share(const struct maker *m, unsigned long whole);

/*
 * A distribution as its quantiles: at `at` ten-thousandths of the members lies
 * `value`, straight lines between; the last one is at 10000.
 */
struct quantile {
	unsigned at, value;
};

/*
 * `count` values in random order that follow the quantiles exactly, so that
 * their sum does not depend on the seed.  The caller frees them.
 */
unsigned *spread(struct maker *m, const struct quantile *q, unsigned long count);

/* ---- names and contents ---- */

/* snprintf that ends the program when the text does not fit. */
void format(char *out, size_t size, const char *text, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes a pronounceable word of 2 to 5 * `most` letters; returns its length. */
size_t make_word(struct maker *m, unsigned most, char *out);

/* What files will hold: about as compressible as source text, or not at all. */
void fill_text(struct maker *m);
void fill_random(struct maker *m);

/* ---- members ---- */

/* A time some years back: nothing here must look freshly written. */
void set_times(struct maker *m, const char *path);

/* A file of `size` bytes from random places of the pool. */
void make_file(struct maker *m, const char *path, unsigned long long size);

/* One with `data` bytes at each multiple of `step` below `size`, holes between. */
void make_sparse(struct maker *m, const char *path, unsigned long long size,
		 unsigned long long step, size_t data);

void make_symlink(struct maker *m, const char *path, const char *target);
void make_hardlink(struct maker *m, const char *path, const char *to);
void make_dir(struct maker *m, const char *path);

#endif
