/* SPDX-License-Identifier: BSD-2-Clause */
/* maker: see maker.h. */
#define _GNU_SOURCE
#include "maker.h"

#include <err.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers, and the digest ---- */

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

/* The bias of the remainder does not matter here. */
unsigned long pick(struct maker *m, unsigned long limit)
{
	return (unsigned long)(next_random(m) % limit);
}

unsigned long share(const struct maker *m, unsigned long whole)
{
	return whole > m->part ? whole / m->part : 1;
}

static unsigned quantile_value(const struct quantile *q, unsigned at)
{
	unsigned long long above, width;

	while (at > q[1].at)
		q++;
	above = at - q[0].at;
	width = q[1].at - q[0].at;
	return q[0].value + (unsigned)((q[1].value - q[0].value) * above / width);
}

unsigned *spread(struct maker *m, const struct quantile *q, unsigned long count)
{
	unsigned *values = calloc(count, sizeof(*values));

	if (!values)
		err(1, "calloc");
	for (unsigned long i = 0; i < count; i++)
		values[i] = quantile_value(q, (unsigned)((2ULL * i + 1) * 5000 / count));
	for (unsigned long i = count - 1; i > 0; i--) {
		unsigned long other = pick(m, i + 1);
		unsigned kept = values[i];

		values[i] = values[other];
		values[other] = kept;
	}
	return values;
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

void format(char *out, size_t size, const char *text, ...)
{
	va_list args;
	int len;

	va_start(args, text);
	len = vsnprintf(out, size, text, args);
	va_end(args);
	if (len < 0 || (size_t)len >= size)
		errx(1, "a name is too long");
}

size_t make_word(struct maker *m, unsigned most, char *out)
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

/* Lines of words. */
void fill_text(struct maker *m)
{
	static const char ends[] = "  (,);  \n *_\n";
	size_t used = 0;

	while (used < POOL_SIZE - 32) {
		used += make_word(m, 4, (char *)m->pool + used);
		m->pool[used++] = (unsigned char)ends[pick(m, sizeof(ends) - 1)];
	}
	memset(m->pool + used, '\n', POOL_SIZE - used);
}

void fill_random(struct maker *m)
{
	for (size_t i = 0; i < POOL_SIZE; i += 8)
		store_le64(m->pool + i, next_random(m));
}

/* ---- members ---- */

static struct timespec pick_time(struct maker *m)
{
	return (struct timespec){
		.tv_sec = 1500000000 + (time_t)pick(m, 200000000),
		.tv_nsec = (long)pick(m, 1000000000),
	};
}

void set_times(struct maker *m, const char *path)
{
	struct timespec t = pick_time(m), times[2] = { t, t };

	if (utimensat(m->root, path, times, AT_SYMLINK_NOFOLLOW) < 0)
		err(1, "utimensat %s", path);
	digest_number(m, (uint64_t)t.tv_sec);
	digest_number(m, (uint64_t)t.tv_nsec);
}

static int create_file(struct maker *m, const char *path)
{
	int fd = openat(m->root, path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0)
		err(1, "create %s", path);
	digest_string(m, path);
	return fd;
}

static void close_file(struct maker *m, const char *path, int fd)
{
	if (close(fd) < 0)
		err(1, "close %s", path);
	set_times(m, path);
	m->files++;
}

/* `len` (at most POOL_SIZE) bytes from a random place of the pool. */
static void write_piece(struct maker *m, const char *path, int fd, size_t len)
{
	const unsigned char *p = m->pool + (len > 0 ? pick(m, POOL_SIZE - len + 1) : 0);

	digest_bytes(m, p, len);
	m->bytes += len;
	while (len > 0) {
		ssize_t done = write(fd, p, len);

		if (done < 0)
			err(1, "write %s", path);
		p += done;
		len -= (size_t)done;
	}
}

void make_file(struct maker *m, const char *path, unsigned long long size)
{
	int fd = create_file(m, path);

	while (size > POOL_SIZE) {
		write_piece(m, path, fd, POOL_SIZE / 2);
		size -= POOL_SIZE / 2;
	}
	write_piece(m, path, fd, (size_t)size);
	close_file(m, path, fd);
}

void make_sparse(struct maker *m, const char *path, unsigned long long size,
		 unsigned long long step, size_t data)
{
	int fd = create_file(m, path);

	for (unsigned long long at = 0; at < size && data > 0; at += step) {
		if (lseek(fd, (off_t)at, SEEK_SET) < 0)
			err(1, "lseek %s", path);
		write_piece(m, path, fd, data);
	}
	if (ftruncate(fd, (off_t)size) < 0)
		err(1, "ftruncate %s", path);
	digest_number(m, size);
	close_file(m, path, fd);
}

void make_symlink(struct maker *m, const char *path, const char *target)
{
	if (symlinkat(target, m->root, path) < 0)
		err(1, "symlink %s", path);
	digest_string(m, path);
	digest_string(m, target);
	set_times(m, path);
	m->links++;
}

void make_hardlink(struct maker *m, const char *path, const char *to)
{
	if (linkat(m->root, to, m->root, path, 0) < 0)
		err(1, "link %s", path);
	digest_string(m, path);
	digest_string(m, to);
	m->names++;
}

void make_dir(struct maker *m, const char *path)
{
	if (mkdirat(m->root, path, 0755) < 0)
		err(1, "mkdir %s", path);
	digest_string(m, path);
	m->dirs++;
}

/* ---- the maker ---- */

void maker_init(struct maker *m, uint64_t seed, unsigned long part, const char *dir)
{
	*m = (struct maker){ .state = mix(seed), .part = part, .dirs = 1 };
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

void maker_destroy(struct maker *m)
{
	free(m->pool);
	close(m->root);
}

void maker_report(const struct maker *m)
{
	printf("%lu files", m->files);
	if (m->names > 0)
		printf(" with %lu further names", m->names);
	if (m->links > 0)
		printf(", %lu symbolic links", m->links);
	if (m->dirs > 1)
		printf(", %lu directories", m->dirs);
	if (m->bytes > 0)
		printf(", %.1f MB", (double)m->bytes / 1e6);
	printf(", digest %016llx\n", (unsigned long long)m->digest);
}
