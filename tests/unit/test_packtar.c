/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packtar and packout: "src" becomes a tar stream, "s.tar", through a ring; other programs
 * say what is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "flaw.h"
#include "hash.h"
#include "pack.h"
#include "pathfaults.h"
#include "peers.h"
#include "seal.h"
#include "thread.h"
#include "tree.h"

/* ---- the calls that may fail, by the path below the scratch directory ---- */

WRAPPED(ssize_t, readlinkat, int dirfd, const char *name, char *to, size_t size)
{
	return fault_due(READLINKAT, name, NULL) ?
		       -1 :
		       __real_readlinkat(dirfd, name, to, size);
}

WRAPPED(void *, realloc, void *block, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(block, size);
}

/* ---- packing ---- */

static struct {
	struct opts opts;
	struct pack_config config;
	size_t memory;
	struct ring *ring;
	int fd;			/* of s.tar */
	struct thread consumer;
	int packed;
	uint64_t marks;		/* where the end marks end */
	uint64_t entries, bytes;
	unsigned lost;		/* descriptors that were not closed */
} run;

static void tell_marks(void *arg, uint64_t bytes)
{
	assert_ptr_equal(arg, &run);
	run.marks = bytes;
}

static int setup(void **state)
{
	faults_clear();
	memset(&run, 0, sizeof(run));
	run.opts.preserve = PRESERVE_ALL;
	run.memory = 1 << 20;
	run.config.tar = true;
	run.config.walk.fds = 8;
	run.config.level = -1;
	run.config.threads = 1;
	run.config.marks = tell_marks;
	run.config.arg = &run;
	if (tree_setup(state) != 0)
		return -1;
	put_dir("src");
	return 0;
}

static int teardown(void **state)
{
	faults_clear();
	diag_reset();
	return tree_teardown(state);
}

static void collect(void *arg)
{
	const void *bytes;
	size_t size;

	(void)arg;
	while (ring_peek(run.ring, &bytes, &size) > 0) {
		unsigned span = ring_take(run.ring, size);

		if (write(run.fd, bytes, size) != (ssize_t)size)
			abort();
		ring_release(run.ring, span);
	}
}

/* Packs a root; returns what was told. */
static const char *pack_as(const char *path, const char *as)
{
	struct ring_config ring = { .size = run.memory, .low = 100, .spans = 8 };
	unsigned before = open_descriptors();
	struct pack *pack;

	capture_begin(STDERR_FILENO);
	run.fd = open("s.tar", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	run.config.opts = &run.opts;
	run.config.ring = run.ring = ring_new(&ring);
	pack = pack_new(&run.config);
	assert_non_null(pack);
	assert_int_equal(thread_start(&run.consumer, "collect", collect, NULL), 0);
	run.packed = pack_root(pack, path, as, false, false);
	if (run.packed == 0)
		run.packed = pack_finish(pack);
	thread_join(&run.consumer);
	pack_count(pack, &run.entries, &run.bytes);
	pack_free(pack);
	ring_free(run.ring);
	close(run.fd);
	diag_summary();
	const char *told = capture_end();
	run.lost = open_descriptors() - before;
	return told;
}

static const char *pack(void)
{
	return pack_as("src", NULL);
}

static void assert_ended(enum status status)
{
	assert_int_equal(run.packed, 0);
	assert_int_equal(diag_status(), status);
	assert_int_equal(run.lost, 0);
}

static void assert_done(enum status status)
{
	assert_ended(status);
	assert_silent("s.tar");
}

/* Unpacks it into a new "x" by GNU tar. */
static void unpack_with(const char *options)
{
	char line[256];

	need_gnu_tar();
	snprintf(line, sizeof(line), "rm -rf x; mkdir x; tar %s -C x -xpf s.tar",
		 options);
	assert_string_equal(said(line), "");
}

static void unpack(void)
{
	unpack_with("");
}

enum { SMALL = 5000, LARGE = 2500000 };

static unsigned char noise[3 << 20];

static void put_source(size_t size)
{
	put_noise(noise, sizeof(noise), 9);
	put_bytes("src/f", noise, size);
	put_file("src/z", "the rest");
}

/* The stream says so often that a member is not its source; once: this. */
static void assert_flaws(unsigned count, bool shrank, uint64_t at)
{
	FILE *file = fopen("s.tar", "re");
	unsigned char block[2][512];
	unsigned found = 0;
	struct flaw flaw;

	assert_non_null(file);
	memset(block, 0, sizeof(block));
	while (memcpy(block[0], block[1], 512),
	       fread(block[1], 512, 1, file) == 1) {
		if (!flaw_decode(block, &flaw))
			continue;
		found++;
		assert_int_equal(flaw.shrank, shrank);
		assert_int_equal(flaw.at, at);
	}
	fclose(file);
	assert_int_equal(found, count);
}

static void assert_left_out(void)
{
	unpack();
	assert_names("x", "z");
	assert_text("x/z", "the rest");
	assert_flaws(0, false, 0);
}

/* `f` has its first bytes and then zeros up to `size`. */
static void assert_filled(size_t first, size_t size)
{
	unpack();
	assert_names("x", "f z");
	memset(noise + first, 0, sizeof(noise) - first);
	assert_bytes("x/f", noise, size);
	assert_text("x/z", "the rest");
}

/* ---- the stream ---- */

static void a_tree_arrives_whole(void **state)
{
	(void)state;
	put_source(SMALL);
	put_bytes("src/large", noise, LARGE);
	put_file("src/empty", "");
	put_dir("src/d");
	assert_int_equal(symlink("nowhere", "src/d/l"), 0);
	assert_int_equal(mkfifo("src/d/p", 0600), 0);
	assert_int_equal(chmod("src/d", 0710), 0);
	assert_string_equal(pack(), "");
	assert_done(STATUS_OK);
	assert_int_equal(run.entries, 8);
	assert_int_equal(run.bytes, SMALL + LARGE + 8);
	unpack();
	assert_names("x", "d empty f large z");
	assert_names("x/d", "l p");
	assert_bytes("x/f", noise, SMALL);
	assert_bytes("x/large", noise, LARGE);
	assert_text("x/empty", "");
	assert_int_equal(mode_of("x/d"), 0710);
	assert_int_equal(stat_of("x/f").st_mtim.tv_nsec,
			 stat_of("src/f").st_mtim.tv_nsec);
	assert_int_equal(stat_of("x").st_mtim.tv_nsec,
			 stat_of("src").st_mtim.tv_nsec);
}

static void names_begin_where_they_are_told_to(void **state)
{
	(void)state;
	put_dir("src/d");
	put_dir("src/d/e");
	put_file("src/d/e/f", "");
	put_dir("src/g");
	put_file("src/g/h", "");
	assert_string_equal(pack(), "");
	assert_string_equal(said("tar tf s.tar | sort"),
			    "./\n./d/\n./d/e/\n./d/e/f\n./g/\n./g/h");
	assert_string_equal(pack_as("src", "usr/lib"), "");
	assert_string_equal(said("tar tf s.tar | sort"),
			    "usr/lib/\nusr/lib/d/\nusr/lib/d/e/\n"
			    "usr/lib/d/e/f\nusr/lib/g/\nusr/lib/g/h");
	assert_string_equal(pack_as("src/d/e/f", "d/f"), "");
	assert_string_equal(said("tar tf s.tar"), "d/f");
}

static void the_stream_is_sealed(void **state)
{
	static unsigned char bytes[1 << 16];
	struct seal seal = { 0 };
	struct hash *hash = hash_new(HASH_XXH3);
	FILE *file;
	size_t size, marks;

	(void)state;
	put_file("src/a", "text");
	put_dir("src/d");
	assert_string_equal(pack(), "");
	file = fopen("s.tar", "re");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	marks = size - SEAL_SIZE;
	assert_int_equal(seal_decode(bytes, &seal), SEAL_HEAD);
	assert_int_equal(seal_decode(bytes + marks, &seal), SEAL_TRAILER);
	assert_int_equal(seal.entries, 3);
	assert_int_equal(seal.bytes, marks);
	hash_add(hash, bytes, marks);
	assert_int_equal(seal.sum, hash_sum(hash));
	hash_free(hash);
	assert_int_equal(run.marks, marks);
	for (size_t i = marks - 1024; i < marks; i++)
		assert_int_equal(bytes[i], 0);
	assert_int_not_equal(bytes[marks - 1025 - 508], 0);	/* text */
}

static void nothing_at_all_is_a_stream_too(void **state)
{
	(void)state;
	assert_non_null(strstr(pack_as("none", NULL), "none: fstatat: No such"));
	/* (Python wants a member behind a global header.) */
	assert_ended(STATUS_PARTIAL);
	assert_int_equal(stat_of("s.tar").st_size, 3072);
	assert_string_equal(said("tar tf s.tar"), "");
}

static void sizes_around_every_limit(void **state)
{
	static const size_t sizes[] = { 1, 511, 512, 513, 4095, 4096, 4097, 14000,
					14500, 14847, 14848, 14849, 15872, 16000,
					16383, 16384, 16385, 32768, 262143,
					262144, 262145 };
	char name[32], path[64];

	(void)state;
	put_source(1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(path, sizeof(path), "src/%zu", sizes[i]);
		put_bytes(path, noise, sizes[i]);
	}
	for (int round = 0; round < 2; round++) {
		run.memory = round ? RING_SIZE_MIN : 4 << 20;
		assert_string_equal(pack(), "");
		assert_done(STATUS_OK);
		unpack();
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			snprintf(name, sizeof(name), "x/%zu", sizes[i]);
			assert_bytes(name, noise, sizes[i]);
		}
	}
}

static void compressed_it_is_the_same_stream(void **state)
{
	(void)state;
	peer_need("gzip", "gzip --version");
	put_source(LARGE);
	assert_string_equal(pack(), "");
	assert_int_equal(rename("s.tar", "plain.tar"), 0);
	run.config.filter = FILTER_GZIP;
	run.marks = 0;
	assert_string_equal(pack(), "");
	assert_int_equal(run.packed, 0);
	assert_int_equal(run.marks, 0);
	assert_string_equal(said("gzip -dc <s.tar | cmp - plain.tar"), "");
}

/* ---- names ---- */

static void further_names_are_links(void **state)
{
	(void)state;
	put_dir("src/d");
	put_file("src/d/b", "one");
	assert_int_equal(link("src/d/b", "src/d/c"), 0);
	assert_int_equal(link("src/d/b", "src/a"), 0);
	assert_int_equal(link("src/d/b", "outside"), 0);
	assert_int_equal(mkfifo("src/p", 0600), 0);
	assert_int_equal(link("src/p", "src/q"), 0);
	assert_string_equal(pack(), "");
	assert_done(STATUS_OK);
	unpack();
	assert_int_equal(stat_of("x/a").st_nlink, 3);
	assert_int_equal(stat_of("x/a").st_ino, stat_of("x/d/c").st_ino);
	assert_text("x/d/c", "one");
	assert_int_equal(stat_of("x/p").st_ino, stat_of("x/q").st_ino);
	run.opts.preserve &= ~(unsigned)PRESERVE_LINKS;
	assert_string_equal(pack(), "");
	unpack();
	assert_int_equal(stat_of("x/a").st_nlink, 1);
	assert_text("x/d/c", "one");
}

/* It does not fit, but another of its names does. */
static void a_first_name_that_does_not_fit(void **state)
{
	char name[256], path[300];

	(void)state;
	memset(name, 'n', 200);
	name[200] = '\0';
	snprintf(path, sizeof(path), "src/%s", name);
	put_file(path, "one");
	put_dir("src/d");
	assert_int_equal(link(path, "src/d/b"), 0);
	assert_int_equal(link(path, "src/d/c"), 0);
	run.config.format = TAR_USTAR;
	const char *told = pack();
	assert_non_null(strstr(told, "left out: its name, target, size or owner "
				     "does not fit the stream's format"));
	assert_done(STATUS_PARTIAL);
	unpack();
	assert_names("x", "d");
	assert_text("x/d/b", "one");
	assert_int_equal(stat_of("x/d/b").st_ino, stat_of("x/d/c").st_ino);
}

static void sockets_are_left_out_without_a_loss(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "src/s" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
	put_file("src/z", "the rest");
	assert_string_equal(pack(), "tarpipe: src/s: socket left out: a tar stream "
				    "can't hold it\n");
	assert_done(STATUS_OK);
	assert_left_out();
	run.opts.preserve &= ~(unsigned)PRESERVE_SPECIAL;
	assert_string_equal(pack(), "");
}

/* ---- reads that fail, and files that change ---- */

static void a_read_that_fails_at_once_leaves_it_out(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_source(sizes[i]);
		fault_set(PREAD, (struct fault){ .name = "src/f", .err = EIO });
		assert_string_equal(pack(), "tarpipe: src/f: reading at byte 0: "
					    "Input/output error\n");
		assert_done(STATUS_PARTIAL);
		assert_left_out();
		assert_int_equal(run.entries, 2);
	}
}

/* The header has gone. */
static void a_read_that_fails_later_is_filled(void **state)
{
	unsigned long long at = 0;

	(void)state;
	put_source(LARGE);
	fault_set(PREAD, (struct fault){ .name = "src/f", .after = 2,
					 .err = EIO });
	const char *told = pack();

	assert_int_equal(sscanf(told, "tarpipe: src/f: reading at byte %llu, the "
				      "rest is filled with zeros: Input", &at),
			 1);
	assert_true(at > 0 && at < LARGE);
	assert_done(STATUS_PARTIAL);
	assert_filled((size_t)at, LARGE);
	assert_flaws(1, false, at);
}

/* Its next name is tried as a file of its own: there is nothing that a link could lead to. */
static void a_damaged_file_gets_no_links(void **state)
{
	(void)state;
	put_source(LARGE);
	assert_int_equal(link("src/f", "src/g"), 0);
	fault_set(PREAD, (struct fault){ .after = 2, .err = EIO });
	assert_non_null(strstr(pack(), "filled with zeros"));
	assert_done(STATUS_PARTIAL);
	unpack();
	assert_names("x", "f g z");
	assert_int_equal(stat_of("x/f").st_nlink, 1);
	assert_int_equal(stat_of("x/g").st_nlink, 1);
}

static void the_mark_fits_into_other_formats(void **state)
{
	static const enum tar_format formats[] = { TAR_GNU, TAR_USTAR };
	unsigned long long at;

	(void)state;
	for (int i = 0; i < 2; i++) {
		run.config.format = formats[i];
		put_source(LARGE);
		fault_set(PREAD, (struct fault){ .name = "src/f", .after = 2,
						 .err = EIO });
		assert_int_equal(sscanf(pack(), "tarpipe: src/f: reading at byte "
						"%llu", &at), 1);
		assert_filled((size_t)at, LARGE);
		assert_flaws(1, false, at);
	}
}

static void short_reads_go_on(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_source(sizes[i]);
		fault_set(PREAD, (struct fault){ .name = "src/f",
						 .times = EVERY_TIME,
						 .most = i ? 99999 : 999 });
		assert_string_equal(pack(), "");
		assert_true(fault_hits(PREAD) > 4);
		assert_done(STATUS_OK);
		assert_filled(sizes[i], sizes[i]);
		assert_flaws(0, false, 0);
	}
}

static size_t cut_to;

static void cut(void)
{
	assert_int_equal(truncate("src/f", (off_t)cut_to), 0);
}

static void assert_shrinks(size_t size, size_t to, unsigned after)
{
	char want[128];

	put_source(size);
	cut_to = to;
	fault_set(PREAD, (struct fault){ .name = "src/f", .after = after,
					 .hook = cut });
	snprintf(want, sizeof(want),
		 "tarpipe: src/f: shrank by %zu bytes while it was read: filled "
		 "with zeros\n", size - to);
	assert_string_equal(pack(), want);
	assert_done(STATUS_CHANGED);
	assert_filled(to, size);
	assert_flaws(1, true, to);
	diag_reset();
}

static void a_file_that_shrinks_is_filled(void **state)
{
	(void)state;
	assert_shrinks(SMALL, 10, 0);
	assert_shrinks(SMALL, 0, 0);
	assert_shrinks(LARGE, 1000000, 1);
	assert_shrinks(LARGE, 0, 0);
}

static void append(void)
{
	int fd = open("src/f", O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
}

static void a_file_that_grows_keeps_its_length(void **state)
{
	static const size_t sizes[] = { SMALL, LARGE };
	char want[128];

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_source(sizes[i]);
		fault_set(PREAD, (struct fault){ .name = "src/f",
						 .hook = append });
		snprintf(want, sizeof(want),
			 "tarpipe: src/f: grew while it was read: its first %zu "
			 "bytes are copied\n", sizes[i]);
		assert_string_equal(pack(), want);
		assert_done(STATUS_CHANGED);
		assert_filled(sizes[i], sizes[i]);
		assert_flaws(0, false, 0);
	}
}

static void a_symlink_that_can_not_be_read(void **state)
{
	(void)state;
	put_file("src/z", "the rest");
	assert_int_equal(symlink("t", "src/l"), 0);
	fault_set(READLINKAT, (struct fault){ .name = "l", .err = EIO });
	assert_string_equal(pack(),
			    "tarpipe: src/l: readlinkat: Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_left_out();
}

static void give_up(void)
{
	ring_abort(run.ring, EIO);
}

static void an_abort_ends_it(void **state)
{
	static const unsigned after[] = { 0, 1, 5 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		put_source(LARGE);
		fault_set(PREAD, (struct fault){ .name = "src/f",
						 .after = after[i],
						 .hook = give_up });
		assert_string_equal(pack(), "");
		assert_int_equal(run.packed, -1);
		assert_int_equal(run.lost, 0);
	}
}

/* Whatever can't be had: the run says so, or leaves one thing out, and ends. */
static void without_memory(void **state)
{
	(void)state;
	for (unsigned after = 0; after < 12; after++) {
		put_source(SMALL);
		fault_set(REALLOC, (struct fault){ .after = after,
						   .err = ENOMEM });
		const char *told = pack();

		if (fault_hits(REALLOC) > 0 && diag_status() == STATUS_OK)
			assert_string_equal(told, "");
		else if (fault_hits(REALLOC) > 0)
			assert_non_null(strstr(told, "Cannot allocate memory"));
		assert_int_equal(run.lost, 0);
		faults_clear();
		diag_reset();
	}
}

/* ---- attributes ---- */

static void attributes_are_carried_if_they_are_kept(void **state)
{
	char value[16];

	(void)state;
	put_source(SMALL);
	put_dir("src/d");
	if (setxattr("src/f", "user.k", "v\0w", 3, 0) != 0)
		skip();
	assert_int_equal(setxattr("src/f", "user.empty", "", 0, 0), 0);
	assert_int_equal(setxattr("src/d", "user.d", "x", 1, 0), 0);
	assert_string_equal(pack(), "");
	assert_done(STATUS_OK);
	unpack_with("--xattrs --xattrs-include='*'");
	assert_int_equal(getxattr("x/f", "user.k", value, sizeof(value)), 3);
	assert_memory_equal(value, "v\0w", 3);
	assert_int_equal(getxattr("x/f", "user.empty", value, sizeof(value)), 0);
	assert_int_equal(getxattr("x/d", "user.d", value, sizeof(value)), 1);
	run.opts.preserve &= ~(unsigned)PRESERVE_XATTR;
	assert_string_equal(pack(), "");
	unpack_with("--xattrs --xattrs-include='*'");
	assert_int_equal(getxattr("x/f", "user.k", NULL, 0), -1);
}

static void attributes_that_can_not_be_listed(void **state)
{
	(void)state;
	put_source(SMALL);
	fault_set(LISTXATTR, (struct fault){ .name = "src/f", .err = EIO });
	assert_string_equal(pack(), "tarpipe: src/f: listing its attributes: "
				    "Input/output error\n");
	assert_done(STATUS_PARTIAL);
	assert_filled(SMALL, SMALL);
}

static void owners_have_names(void **state)
{
	char want[256];

	(void)state;
	need_python();
	snprintf(want, sizeof(want), "%s", said("id -un"));
	put_file("src/f", "");
	assert_string_equal(pack_as("src/f", "f"), "");
	assert_string_equal(python_says("s.tar", "m.uname"), want);
}

/* ---- holes ---- */

static void put_sparse(void)
{
	int fd;

	put_source(0);
	fd = open("src/f", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, noise, 65536, 1 << 20), 65536);
	assert_int_equal(pwrite(fd, noise, 1, (2 << 20) - 1), 1);
	assert_int_equal(ftruncate(fd, 3 << 20), 0);
	close(fd);
	if (stat_of("src/f").st_blocks * 512 >= stat_of("src/f").st_size)
		skip();
	memmove(noise + (1 << 20), noise, 65536);
	noise[(2 << 20) - 1] = noise[0];
	memset(noise, 0, 1 << 20);
	memset(noise + (1 << 20) + 65536, 0, (1 << 20) - 65537);
	memset(noise + (2 << 20), 0, 1 << 20);
}

static void holes_stay_holes(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		run.memory = round ? RING_SIZE_MIN : 1 << 20;
		put_sparse();
		assert_string_equal(pack(), "");
		assert_done(STATUS_OK);
		assert_true(stat_of("s.tar").st_size < 200000);
		unpack();
		assert_bytes("x/f", noise, 3 << 20);
		assert_true(stat_of("x/f").st_blocks * 512 < 1 << 20);
	}
}

static void nothing_but_a_hole(void **state)
{
	(void)state;
	put_source(0);
	memset(noise, 0, sizeof(noise));
	assert_int_equal(truncate("src/f", 3 << 20), 0);
	assert_string_equal(pack(), "");
	assert_done(STATUS_OK);
	assert_true(stat_of("s.tar").st_size < 20000);
	assert_filled(0, 3 << 20);
}

static void holes_are_filled_where_they_are_not_kept(void **state)
{
	(void)state;
	put_sparse();
	run.opts.preserve &= ~(unsigned)PRESERVE_HOLES;
	assert_string_equal(pack(), "");
	assert_done(STATUS_OK);
	assert_true(stat_of("s.tar").st_size > 3 << 20);
	unpack();
	assert_bytes("x/f", noise, 3 << 20);
}

/* ---- what a format can't hold ---- */

static void losses_are_told_once_a_kind(void **state)
{
	static const enum tar_format formats[] = { TAR_GNU, TAR_USTAR };
	struct timespec times[2] = { { 5, 0 }, { 6, 7 } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		put_sparse();
		utimensat(AT_FDCWD, "src/f", times, 0);
		utimensat(AT_FDCWD, "src/z", times, 0);
		run.config.format = formats[i];
		run.opts.preserve &= ~(unsigned)(PRESERVE_XATTR | PRESERVE_ACL);
		const char *told = pack();

		assert_non_null(strstr(told, "the stream's format holds no "
					     "fractions of seconds (and "));
		assert_non_null(strstr(told, "src/f: the stream's format holds no "
					     "holes: filled with zeros\n"));
		assert_non_null(strstr(told, "no access times (and "));
		assert_done(STATUS_PARTIAL);
		unpack();
		assert_bytes("x/f", noise, 3 << 20);
		diag_reset();
	}
}

/* ---- sizes that mean nothing ---- */

static void files_of_procfs_have_their_size(void **state)
{
	static char want[4096];
	FILE *file = fopen("/proc/version", "re");
	size_t len;

	(void)state;
	if (!file)
		skip();
	len = fread(want, 1, sizeof(want), file);
	fclose(file);
	assert_string_equal(pack_as("/proc/version", "version"), "");
	assert_done(STATUS_OK);
	unpack();
	assert_bytes("x/version", want, len);
}

static void files_of_procfs_that_are_too_long(void **state)
{
	(void)state;
	if (access("/proc/kallsyms", R_OK) != 0 ||
	    !peer_runs("test $(wc -c </proc/kallsyms) -gt 2000000"))
		skip();
	assert_string_equal(pack_as("/proc/kallsyms", "k"),
			    "tarpipe: /proc/kallsyms: left out: it tells no size, "
			    "and has more than 1048576 bytes\n");
	assert_ended(STATUS_PARTIAL);
	assert_string_equal(said("tar tf s.tar"), "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tree_arrives_whole),
		TEST(names_begin_where_they_are_told_to),
		TEST(the_stream_is_sealed),
		TEST(nothing_at_all_is_a_stream_too),
		TEST(sizes_around_every_limit),
		TEST(compressed_it_is_the_same_stream),
		TEST(further_names_are_links),
		TEST(a_first_name_that_does_not_fit),
		TEST(sockets_are_left_out_without_a_loss),
		TEST(a_read_that_fails_at_once_leaves_it_out),
		TEST(a_read_that_fails_later_is_filled),
		TEST(a_damaged_file_gets_no_links),
		TEST(the_mark_fits_into_other_formats),
		TEST(short_reads_go_on),
		TEST(a_file_that_shrinks_is_filled),
		TEST(a_file_that_grows_keeps_its_length),
		TEST(a_symlink_that_can_not_be_read),
		TEST(an_abort_ends_it),
		TEST(without_memory),
		TEST(attributes_are_carried_if_they_are_kept),
		TEST(attributes_that_can_not_be_listed),
		TEST(owners_have_names),
		TEST(holes_stay_holes),
		TEST(nothing_but_a_hole),
		TEST(holes_are_filled_where_they_are_not_kept),
		TEST(losses_are_told_once_a_kind),
		TEST(files_of_procfs_have_their_size),
		TEST(files_of_procfs_that_are_too_long),
	};

	return cmocka_run_group_tests_name("packtar", tests, NULL, NULL);
}
