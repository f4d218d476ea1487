/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unpack: streams of records, honest ones and such as no packer writes.  Those end with
 * status 3, or leave out what can't be; they never hang, crash, reach outside "dst" or
 * pass for a whole copy.
 *
 * Each stream runs in a child of its own, so that a crash or a hang is one failed
 * test.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "record.h"
#include "sink.h"
#include "tree.h"

/* ---- a stream, as bytes ---- */

static unsigned char *stream;	/* malloc'ed, as large as it is */
static size_t stream_len;

static void put(struct record record)
{
	size_t size = record_size((enum record_type)record.type, record.name_len,
				  record.data_len);

	stream = realloc(stream, stream_len + size);
	assert_non_null(stream);
	record_encode(stream + stream_len, &record);
	stream_len += size;
}

static struct meta meta_of(mode_t mode)
{
	return (struct meta){ .mode = mode, .uid = geteuid(), .gid = getegid(),
			      .mtime = { 1234, 567 } };
}

static struct record entry(uint8_t type, uint32_t dir, const char *name, mode_t mode)
{
	return (struct record){ .type = type, .dir = dir, .name = name,
				.name_len = (uint16_t)strlen(name),
				.meta = meta_of(mode) };
}

static void put_start(void)
{
	put((struct record){ .type = RECORD_START, .first = RECORD_MAGIC,
			     .second = RECORD_VERSION });
}

static void put_finish(void)
{
	put((struct record){ .type = RECORD_FINISH });
}

static void put_enter(uint32_t id, uint32_t parent, const char *name)
{
	struct record record = entry(RECORD_DIR, parent, name, S_IFDIR | 0755);

	record.id = id;
	put(record);
}

static void put_leave(uint32_t id, uint8_t flags)
{
	put((struct record){ .type = RECORD_LEAVE, .flags = flags, .dir = id,
			     .meta = meta_of(S_IFDIR | 0755) });
}

static void put_head(uint32_t dir, const char *name, uint32_t id)
{
	struct record record = entry(RECORD_FILE, dir, name, S_IFREG | 0644);

	record.id = id;
	put(record);
}

static void put_piece(const char *text, uint64_t at)
{
	put((struct record){ .type = RECORD_PIECE, .first = at, .data = text,
			     .data_len = (uint32_t)strlen(text) });
}

static void put_end(uint64_t size)
{
	put((struct record){ .type = RECORD_END, .first = size });
}

static void put_whole(uint32_t dir, const char *name, uint32_t id)
{
	put_head(dir, name, id);
	put_piece(name, 0);
	put_end(strlen(name));
}

static void put_link(uint32_t dir, const char *name, uint32_t id, bool last)
{
	struct record record = entry(RECORD_LINK, dir, name, S_IFREG | 0644);

	record.id = id;
	record.flags = last ? RECORD_LAST : 0;
	put(record);
}

static void put_symlink(uint32_t dir, const char *name, const char *target)
{
	struct record record = entry(RECORD_SYMLINK, dir, name, S_IFLNK | 0777);

	record.data = target;
	record.data_len = (uint32_t)strlen(target);
	put(record);
}

static void put_attribute(void)
{
	put((struct record){ .type = RECORD_XATTR, .name = "user.k",
			     .name_len = 6, .data = "v", .data_len = 1,
			     .second = 1 });
}

static void put_user(void)
{
	put((struct record){ .type = RECORD_USER, .first = 1, .name = "root",
			     .name_len = 4 });
}

/* ---- running it ---- */

static struct sink sink;

/* What a child tells of its run; shared with it. */
static struct report {
	int joined;
	int status;
	unsigned descriptors;	/* that it lost */
	uint64_t released;	/* SPANs */
} *report;

static int setup(void **state)
{
	if (tree_setup(state) != 0)
		return -1;
	put_dir("dst");
	put_dir("out");
	put_file("out/kept", "as it was");
	sink_defaults(&sink);
	stream_len = 0;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return report == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	free(stream);
	stream = NULL;
	stream_len = 0;
	munmap(report, sizeof(*report));
	diag_reset();
	return tree_teardown(state);
}

/* Puts the stream into the ring in pieces that fit, as long as anybody takes it. */
static void feed(const unsigned char *bytes, size_t len)
{
	size_t most = ring_span_max(sink.ring), size;
	struct record record;
	void *to;

	while (len > 0) {
		/* A record goes in whole; what is none goes as it is. */
		size = record_decode(&record, bytes, len) == 0 ? record.size : len;
		if (size > most)
			size = most;
		to = ring_reserve(sink.ring, size);
		if (!to)
			return;
		memcpy(to, bytes, size);
		ring_commit(sink.ring, size);
		bytes += size;
		len -= size;
	}
}

static void unpack_once(void)
{
	unsigned before = open_descriptors();
	struct unpack *unpack;

	sink_open(&sink);
	unpack = sink_unpack(&sink);
	if (!unpack)
		_exit(99);
	feed(stream, stream_len);
	ring_close(sink.ring);
	report->joined = unpack_join(unpack);
	sink_close(&sink);
	report->status = (int)diag_status();
	report->descriptors = open_descriptors() - before;
	diag_summary();
}

/* Runs `body` in a child; returns what it says on standard error. */
static const char *in_a_child(void (*body)(void), unsigned seconds)
{
	const char *told;
	int status;
	pid_t child;

	*report = (struct report){ .joined = -99 };
	capture_begin(STDERR_FILENO);
	child = fork();
	if (child == 0) {
		alarm(seconds);
		umask(0);
		body();
		fflush(NULL);
		exit(0);		/* not _exit: leaks are looked for */
	}
	waitpid(child, &status, 0);
	told = capture_end();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fail_msg("it hangs; it said: %s", told);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("it crashed (%x); it said: %s", (unsigned)status, told);
	return told;
}

static const char *run(void)
{
	const char *told = in_a_child(unpack_once, 5);

	assert_names("out", "kept");
	assert_text("out/kept", "as it was");
	assert_names(".", "dst out");
	assert_int_equal(report->descriptors, 0);
	return told;
}

/* The stream comes to its end, nothing is said. */
static void assert_whole(void)
{
	assert_string_equal(run(), "");
	assert_int_equal(report->joined, 0);
	assert_int_equal(report->status, STATUS_OK);
}

/* The stream is none: the run stops, and that is said. */
static void assert_malformed(void)
{
	const char *told = run();

	assert_string_equal(told, "tarpipe: reading the stream of records: Bad "
				  "message\n");
	assert_int_equal(report->joined, -1);
	assert_int_equal(report->status, STATUS_STOPPED);
}

/* The stream goes on, without what is refused; `message` is said. */
static void assert_refused(const char *message)
{
	assert_string_equal(run(), message);
	assert_int_equal(report->joined, 0);
	assert_int_equal(report->status, STATUS_PARTIAL);
}

/* However it is taken, it is not taken for a whole copy. */
static void assert_not_whole(void)
{
	(void)run();
	if (report->joined == 0 && report->status == STATUS_OK)
		fail_msg("taken for a whole copy");
}

/* ---- honest streams ---- */

static void put_tree(void)
{
	put_start();
	put_enter(1, 0, "src");
	put_whole(1, "a", 0);
	put_whole(1, "l1", 7);
	put_symlink(1, "s", "a");
	put(entry(RECORD_NODE, 1, "p", S_IFIFO | 0644));
	put_enter(2, 1, "sub");
	put_whole(2, "b", 0);
	put_link(2, "l2", 7, true);
	put_leave(2, RECORD_MORE);
	put_end(0);
	put_enter(2, 1, "sub2");
	put_leave(2, 0);
	put_leave(1, 0);
	put_finish();
}

static void a_stream_becomes_a_tree(void **state)
{
	(void)state;
	put_tree();
	assert_whole();
	assert_names("dst", "src");
	assert_names("dst/src", "a l1 p s sub sub2");
	assert_names("dst/src/sub", "b l2");
	assert_int_equal(stat_of("dst/src/sub").st_mtim.tv_sec, 1234);
	assert_int_equal(stat_of("dst/src").st_mtim.tv_sec, 1234);
	assert_int_equal(mode_of("dst/src/sub2"), 0755);
	assert_text("dst/src/a", "a");
	assert_int_equal(stat_of("dst/src/l1").st_ino,
			 stat_of("dst/src/sub/l2").st_ino);
}

static void nothing_but_start_and_finish(void **state)
{
	(void)state;
	put_start();
	put_finish();
	assert_whole();
	assert_names("dst", "");
}

/* Batches, runs and turns of all kinds: with 1, 2 and 8 workers, in a small ring. */
static void many_entries_through_a_small_ring(void **state)
{
	enum { DIRS = 30, FILES = 12 };
	static const unsigned workers[] = { 1, 2, 8 };
	char name[32], path[64];

	(void)state;
	put_start();
	for (uint32_t d = 0; d < DIRS; d++) {
		snprintf(name, sizeof(name), "d%u", d);
		put_enter(1, 0, name);
		for (uint32_t f = 0; f < FILES; f++) {
			snprintf(name, sizeof(name), "f%u", f);
			put_whole(1, name, f == 0 ? d + 1 : 0);
		}
		put_enter(2, 1, "below");
		put_link(2, "first", d + 1, true);
		put_leave(2, 0);
		put_leave(1, d % 2 ? RECORD_MORE : 0);
		if (d % 2) {
			put_attribute();
			put_end(0);
		}
	}
	put_finish();
	sink.memory = RING_SIZE_MIN;
	sink.opts.preserve &= ~(unsigned)PRESERVE_XATTR;
	for (size_t i = 0; i < 3; i++) {
		sink.workers = workers[i];
		(void)run();		/* attributes may not be held there */
		assert_int_equal(report->joined, 0);
		for (int d = 0; d < DIRS; d++) {
			snprintf(path, sizeof(path), "dst/d%d", d);
			assert_int_equal(stat_of(path).st_mtim.tv_sec, 1234);
			assert_int_equal(mode_of(path), 0755);
			snprintf(path, sizeof(path), "dst/d%d/f9", d);
			assert_text(path, "f9");
			snprintf(path, sizeof(path), "dst/d%d/f0", d);
			assert_int_equal(stat_of(path).st_nlink, 2);
		}
	}
}

/* A large file keeps the turn; its pieces go to one worker. */
static void a_large_file_in_many_pieces(void **state)
{
	enum { SIZE = 2 << 20, PIECE = 10000 };
	unsigned char *bytes = malloc(SIZE);

	(void)state;
	put_noise(bytes, SIZE, 4);
	put_start();
	put_head(0, "large", 0);
	for (uint32_t at = 0; at < SIZE; at += PIECE)
		put((struct record){
			.type = RECORD_PIECE, .first = at, .data = bytes + at,
			.data_len = SIZE - at < PIECE ? SIZE - at : PIECE });
	put_end(SIZE);
	put_whole(0, "small", 0);
	put_finish();
	sink.memory = RING_SIZE_MIN;
	sink.workers = 4;
	assert_whole();
	assert_bytes("dst/large", bytes, SIZE);
	assert_names("dst", "large small");
	free(bytes);
}

/* ---- names that come again ---- */

static void put_ordered(void)
{
	put((struct record){ .type = RECORD_START, .flags = RECORD_ORDERED,
			     .first = RECORD_MAGIC, .second = RECORD_VERSION });
	sink.ordered = true;
}

static void put_text(uint32_t dir, const char *name, const char *text)
{
	put_head(dir, name, 0);
	put_piece(text, 0);
	put_end(strlen(text));
}

static void put_pathlink(uint32_t dir, const char *name, const char *target)
{
	struct record record = entry(RECORD_PATHLINK, dir, name, 0);

	record.data = target;
	record.data_len = (uint32_t)strlen(target);
	put(record);
}

enum { AGAIN = 400 };

static const char *again_name(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "n%d", i);
	return name;
}

/* As often as it takes for workers to meet; each name must hold `text`. */
static void assert_again(const char *text, int rounds)
{
	char path[32];

	sink.memory = RING_SIZE_MIN;
	for (int round = 0; round < rounds; round++) {
		sink.workers = 1 + (unsigned)round % 4;
		assert_whole();
		for (int i = 0; i < AGAIN; i++) {
			snprintf(path, sizeof(path), "dst/%s", again_name(i));
			assert_text(path, text);
		}
	}
}

static void of_two_neighbours_the_later_counts(void **state)
{
	(void)state;
	put_ordered();
	for (int i = 0; i < AGAIN; i++) {
		put_text(0, again_name(i), "old");
		put_text(0, again_name(i), "new");
	}
	put_leave(0, RECORD_KEEP);
	put_finish();
	assert_again("new", 8);
}

static void of_two_far_apart_too(void **state)
{
	(void)state;
	put_ordered();
	for (int i = 0; i < AGAIN; i++)
		put_text(0, again_name(i), "old");
	for (int i = 0; i < AGAIN; i++)
		put_symlink(0, again_name(i), "../out/kept");
	for (int i = AGAIN; i-- > 0;)
		put_text(0, again_name(i), "new");
	put_leave(0, RECORD_KEEP);
	put_finish();
	assert_again("new", 8);
}

/* A large file is under way for several batches, of which the first are done. */
static void a_link_waits_for_the_whole_file(void **state)
{
	static char bytes[3000];

	(void)state;
	memset(bytes, 'x', sizeof(bytes) - 1);
	put_ordered();
	put_head(0, "f", 0);
	for (uint64_t at = 0; at < 200; at++)
		put_piece(bytes, at * (sizeof(bytes) - 1));
	put_end(200 * (sizeof(bytes) - 1));
	put_pathlink(0, "h", "f");
	put_leave(0, RECORD_KEEP);
	put_finish();
	sink.memory = RING_SIZE_MIN;
	for (unsigned i = 0; i < 8; i++) {
		sink.workers = 4;
		assert_whole();
		assert_int_equal(stat_of("dst/h").st_ino, stat_of("dst/f").st_ino);
		assert_int_equal(stat_of("dst/h").st_size,
				 200 * (sizeof(bytes) - 1));
		assert_int_equal(unlink("dst/f"), 0);
		assert_int_equal(unlink("dst/h"), 0);
	}
}

static void links_see_the_file_before_them(void **state)
{
	char name[20], path[32];

	(void)state;
	put_ordered();
	for (int i = 0; i < AGAIN; i++)
		put_text(0, again_name(i), "old");
	for (int i = 0; i < AGAIN; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		put_pathlink(0, name, again_name(i));
	}
	for (int i = 0; i < AGAIN; i++)
		put_text(0, again_name(i), "new");
	put_leave(0, RECORD_KEEP);
	put_finish();
	assert_again("new", 4);
	for (int i = 0; i < AGAIN; i++) {
		snprintf(path, sizeof(path), "dst/h%d", i);
		assert_text(path, "old");
	}
}

/* Its metadata were set when it was left; what comes late leaves them alone. */
static void a_directory_is_entered_again(void **state)
{
	char name[20];

	(void)state;
	put_ordered();
	for (int d = 0; d < 40; d++) {
		snprintf(name, sizeof(name), "d%d", d);
		put_enter(1, 0, name);
		for (int i = 0; i < 20; i++)
			put_text(1, again_name(i), "text");
		put_leave(1, 0);
		put_enter(1, 0, name);
		put_text(1, "late", "late");
		put_leave(1, RECORD_PUTBACK);
	}
	put_leave(0, RECORD_KEEP);
	put_finish();
	sink.memory = RING_SIZE_MIN;
	for (unsigned i = 0; i < 8; i++) {
		sink.workers = 1 + i % 4;
		assert_whole();
		for (int d = 0; d < 40; d++) {
			snprintf(name, sizeof(name), "dst/d%d", d);
			assert_int_equal(stat_of(name).st_mtim.tv_sec, 1234);
			assert_int_equal(mode_of(name), 0755);
		}
	}
}

/* Two names of one directory: the second entry waits for the first to be done. */
static void a_directory_by_two_names(void **state)
{
	(void)state;
	put_dir("dst/real");
	assert_int_equal(symlink("real", "dst/link"), 0);
	put_ordered();
	for (int i = 0; i < 100; i++) {
		put_enter(1, 0, "real");
		put_text(1, "f", "old");
		put_text(1, "g", "g");
		put_leave(1, 0);
		put_enter(1, 0, "link");
		put_text(1, "f", "new");
		put_leave(1, RECORD_PUTBACK);
	}
	put_leave(0, RECORD_KEEP);
	put_finish();
	sink.opts.keep_dirlink = true;
	sink.memory = RING_SIZE_MIN;
	for (unsigned i = 0; i < 8; i++) {
		sink.workers = 1 + i % 4;
		assert_whole();
		assert_text("dst/real/f", "new");
		assert_int_equal(stat_of("dst/real").st_mtim.tv_sec, 1234);
	}
}

/* One is in the other: nothing may wait for what ends only after it. */
static void a_directory_within_itself(void **state)
{
	(void)state;
	put_dir("dst/d");
	assert_int_equal(symlink(".", "dst/d/self"), 0);
	put_ordered();
	put_enter(1, 0, "d");
	for (int i = 0; i < 300; i++) {
		put_enter(2, 1, "self");
		put_text(2, "f", "text");
		put_leave(2, RECORD_PUTBACK);
	}
	put_leave(1, 0);
	put_leave(0, RECORD_KEEP);
	put_finish();
	sink.opts.keep_dirlink = true;
	sink.memory = RING_SIZE_MIN;
	sink.workers = 4;
	assert_whole();
	assert_text("dst/d/f", "text");
}

/* ---- data elsewhere ---- */

static void count_release(void *hold)
{
	assert_ptr_equal(hold, &report);
	__atomic_add_fetch(&report->released, 1, __ATOMIC_RELAXED);
}

static void put_span(const char *bytes, uint64_t at)
{
	struct record_span span = { bytes, &report };

	put((struct record){ .type = RECORD_SPAN, .first = at,
			     .second = strlen(bytes), .data = &span,
			     .data_len = sizeof(span) });
}

static void spans_are_written_and_let_go(void **state)
{
	(void)state;
	put_start();
	put_head(0, "f", 0);
	put_span("some ", 0);
	put_piece("text", 5);
	put_span(" more", 9);
	put_end(14);
	put_finish();
	sink.release = count_release;
	assert_whole();
	assert_text("dst/f", "some text more");
	assert_int_equal(report->released, 2);
}

/* Nobody else would let them go. */
static void spans_of_what_is_left_out_too(void **state)
{
	(void)state;
	put_dir("dst/taken");
	put_file("dst/taken/f", "");
	put_start();
	put_head(0, "taken", 0);
	put_span("text", 0);
	put_end(4);
	put_enter(1, 0, "a");
	put_head(1, "..", 0);
	put_span("text", 0);
	put_span("text", 4);
	put_end(8);
	put_leave(1, 0);
	put_finish();
	sink.release = count_release;
	(void)run();
	assert_int_equal(report->released, 3);
	assert_int_equal(report->status, STATUS_PARTIAL);
}

static void a_span_in_no_file(void **state)
{
	(void)state;
	put_start();
	put_span("text", 0);
	put_finish();
	sink.release = count_release;
	assert_malformed();
}

/* ---- streams that end where they should not ---- */

static void no_stream_at_all(void **state)
{
	(void)state;
	(void)run();
	assert_int_equal(report->joined, -1);
}

/* Cut between any two records: never whole, and no half file stays. */
static void a_stream_that_ends_early(void **state)
{
	struct record record;
	size_t whole, len = 0;

	(void)state;
	put_tree();
	whole = stream_len;
	while (len < whole) {
		stream_len = len;
		(void)run();
		assert_int_equal(report->joined, -1);
		if (is_there("dst/src/a"))
			assert_text("dst/src/a", "a");
		if (is_there("dst/src/sub/b"))
			assert_text("dst/src/sub/b", "b");
		assert_int_equal(record_decode(&record, stream + len,
					       whole - len), 0);
		len += record.size;
	}
}

static void a_stream_that_ends_inside_a_record(void **state)
{
	size_t whole;

	(void)state;
	put_start();
	put_whole(0, "f", 0);
	whole = stream_len;
	for (stream_len = 8; stream_len < whole; stream_len += 8) {
		(void)run();
		assert_int_equal(report->joined, -1);
		if (is_there("dst/f"))
			assert_text("dst/f", "f");
	}
}

static void a_finish_inside_a_file(void **state)
{
	(void)state;
	put_start();
	put_head(0, "f", 0);
	put_piece("half", 0);
	put_finish();
	assert_not_whole();
	assert_names("dst", "");
}

static void a_finish_inside_a_directory(void **state)
{
	(void)state;
	put_start();
	put_enter(1, 0, "d");
	put_whole(1, "f", 0);
	put_finish();
	assert_not_whole();	/* d has not got its metadata */
}

static void more_after_the_finish(void **state)
{
	(void)state;
	put_start();
	put_finish();
	put_whole(0, "f", 0);
	assert_malformed();
	assert_names("dst", "");
}

/* ---- streams that begin as they should not ---- */

static void entries_before_the_start(void **state)
{
	(void)state;
	put_whole(0, "f", 0);
	put_start();
	put_finish();
	assert_malformed();
	assert_names("dst", "");
}

static void two_starts(void **state)
{
	(void)state;
	put_start();
	put_start();
	put_finish();
	assert_malformed();
}

static void a_start_of_another_program_or_version(void **state)
{
	(void)state;
	put((struct record){ .type = RECORD_START, .first = RECORD_MAGIC,
			     .second = RECORD_VERSION + 1 });
	put_finish();
	assert_malformed();
	stream_len = 0;
	put((struct record){ .type = RECORD_START, .first = RECORD_MAGIC + 1,
			     .second = RECORD_VERSION });
	put_finish();
	assert_malformed();
}

/* ---- directories ---- */

static void directories_that_nobody_told_of(void **state)
{
	static const uint32_t ids[] = { 1, 2, 63, 64, 1000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		stream_len = 0;
		put_start();
		put_whole(ids[i], "f", 0);
		put_finish();
		assert_malformed();
		stream_len = 0;
		put_start();
		put_enter(1, 0, "d");
		put_leave(ids[i] == 1 ? 2 : ids[i], 0);
		put_finish();
		assert_malformed();
		stream_len = 0;
		put_start();
		put_enter(5, ids[i], "d");
		put_finish();
		assert_malformed();
	}
}

static void ids_of_directories_that_are_huge(void **state)
{
	static const uint32_t ids[] = { 200, 1 << 16, 1 << 24, 0x7fffffff,
					0x80000000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		stream_len = 0;
		put_start();
		put_enter(ids[i], 0, "d");
		put_finish();
		assert_malformed();
		assert_names("dst", "");
	}
}

static void an_id_that_is_in_use(void **state)
{
	(void)state;
	put_start();
	put_enter(1, 0, "d");
	put_enter(1, 1, "e");
	put_finish();
	assert_malformed();
	stream_len = 0;
	put_start();
	put_enter(0, 0, "d");
	put_finish();
	assert_malformed();
}

static void entries_of_a_directory_that_was_left(void **state)
{
	(void)state;
	put_start();
	put_enter(1, 0, "d");
	put_leave(1, 0);
	put_whole(1, "f", 0);
	put_finish();
	assert_malformed();
	stream_len = 0;
	put_start();
	put_leave(0, 0);
	put_whole(0, "f", 0);
	put_finish();
	assert_malformed();
}

static void a_directory_left_before_those_below(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		stream_len = 0;
		put_start();
		put_enter(1, 0, "d");
		put_enter(2, 1, "e");
		put_leave(1, more ? RECORD_MORE : 0);
		if (more)
			put_end(0);
		put_whole(2, "f", 0);
		put_leave(2, 0);
		put_finish();
		(void)run();		/* it has to end */
		if (report->joined == 0)
			assert_text("dst/d/e/f", "f");
		else
			assert_int_equal(report->status, STATUS_STOPPED);
	}
}

static void as_many_levels_as_one_likes(void **state)
{
	enum { LEVELS = 500 };
	int levels = 0;

	(void)state;
	put_start();
	for (uint32_t id = 1; id <= LEVELS; id++)
		put_enter(id, id - 1, "d");
	put_whole(LEVELS, "f", 0);
	for (uint32_t id = LEVELS; id > 0; id--)
		put_leave(id, 0);
	put_finish();
	sink.workers = 3;
	sink.fds = 8;
	assert_whole();
	while (chdir("d") == 0 || (levels == 0 && chdir("dst") == 0))
		levels++;
	assert_int_equal(levels, LEVELS + 1);
	assert_text("f", "f");
}

/* ---- objects ---- */

static void parts_without_a_head(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		stream_len = 0;
		put_start();
		if (i == 0)
			put_piece("x", 0);
		else if (i == 1)
			put_attribute();
		else if (i == 2)
			put_end(0);
		else
			put((struct record){ .type = RECORD_REF,
					     .first = UINT64_MAX });
		put_finish();
		assert_malformed();
		assert_names("dst", "");
	}
}

static void parts_after_the_end(void **state)
{
	(void)state;
	put_start();
	put_whole(0, "f", 0);
	put_piece("more", 1);
	put_finish();
	assert_malformed();
	if (is_there("dst/f"))
		assert_text("dst/f", "f");
}

static void an_entry_inside_a_file(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		stream_len = 0;
		put_start();
		put_enter(1, 0, "d");
		put_head(1, "f", 3);
		put_piece("half", 0);
		if (i == 0)
			put_head(1, "g", 0);
		else if (i == 1)
			put_enter(2, 1, "e");
		else if (i == 2)
			put_leave(1, 0);
		else if (i == 3)
			put_symlink(1, "s", "t");
		else
			put_link(1, "l", 3, true);
		put_finish();
		assert_malformed();
		if (is_there("dst/d"))
			assert_names("dst/d", "");
	}
}

/* Names of owners belong between objects; inside one they do no harm. */
static void an_owner_inside_an_object(void **state)
{
	(void)state;
	put_start();
	put_head(0, "f", 0);
	put_user();
	put_piece("f", 0);
	put_user();
	put_end(1);
	put_finish();
	(void)run();
	if (report->joined == 0)
		assert_text("dst/f", "f");
	else
		assert_names("dst", "");
}

static void an_owner_inside_the_end_of_a_directory(void **state)
{
	(void)state;
	put_start();
	put_enter(1, 0, "d");
	put_leave(1, RECORD_MORE);
	put_user();
	put_attribute();
	put_end(0);
	put_finish();
	(void)run();		/* it has to end */
}

/* A value for a symlink, data for a symlink: ignored or refused, never followed. */
static void parts_of_another_type_of_object(void **state)
{
	struct record link = entry(RECORD_SYMLINK, 0, "s", S_IFLNK | 0777);

	(void)state;
	link.data = "../out/kept";
	link.data_len = 11;
	link.flags = RECORD_MORE;
	put_start();
	put(link);
	put_piece("overwritten", 0);
	put_end(3);
	put_finish();
	(void)run();
	assert_text("out/kept", "as it was");
}

static void pieces_out_of_all_bounds(void **state)
{
	static const uint64_t offsets[] = { UINT64_MAX, UINT64_MAX - 2,
					    UINT64_C(1) << 63,
					    (UINT64_C(1) << 63) - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		stream_len = 0;
		put_start();
		put_head(0, "f", 0);
		put_piece("text", offsets[i]);
		put_end(4);
		put_whole(0, "g", 0);
		put_finish();
		assert_not_whole();
		assert_names("dst", "g");
	}
}

static void sizes_out_of_all_bounds(void **state)
{
	static const uint64_t sizes[] = { UINT64_MAX, UINT64_C(1) << 63,
					  UINT64_C(1) << 62 };
	struct record file = entry(RECORD_FILE, 0, "f", S_IFREG | 0644);

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		stream_len = 0;
		put_start();
		file.flags = i % 2 ? RECORD_SPARSE : 0;
		file.meta.size = sizes[i];
		put(file);
		put_piece("f", 0);
		put_end(sizes[i]);
		put_whole(0, "g", 0);
		put_finish();
		(void)run();
		if (is_there("dst/f"))		/* a file system of that size */
			assert_true((uint64_t)stat_of("dst/f").st_size ==
				    sizes[i]);
		else
			assert_int_equal(report->status, STATUS_PARTIAL);
		assert_text("dst/g", "g");
	}
}

static void a_reference_to_no_descriptor(void **state)
{
	static const uint64_t fds[] = { UINT64_MAX, 100000, 0x7fffffff,
					0x80000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		stream_len = 0;
		put_start();
		put_head(0, "f", 0);
		put((struct record){ .type = RECORD_REF, .first = fds[i],
				     .second = 10 });
		put_end(10);
		put_finish();
		assert_not_whole();
		assert_names("dst", "");
	}
}

/* ---- names ---- */

static void files_of_names_that_are_none(void **state)
{
	(void)state;
	put_start();
	put_whole(0, "..", 0);
	put_whole(0, ".", 0);
	put_whole(0, "../out/kept", 0);
	put_whole(0, "/x", 0);
	put_symlink(0, "../out/l", "t");
	put(entry(RECORD_NODE, 0, "a/p", S_IFIFO | 0644));
	put_whole(0, "good", 0);
	put_finish();
	assert_refused("tarpipe: dst/..: refused: no name of an entry\n"
		       "tarpipe: dst/.: refused: no name of an entry\n"
		       "tarpipe: dst/../out/kept: refused: no name of an entry\n"
		       "tarpipe: dst//x: refused: no name of an entry\n"
		       "tarpipe: dst/../out/l: refused: no name of an entry\n"
		       "tarpipe: dst/a/p: refused: no name of an entry\n");
	assert_names("dst", "good");
}

static void directories_of_names_that_are_none(void **state)
{
	(void)state;
	put_start();
	put_enter(1, 0, "..");
	put_enter(2, 1, "out");
	put_whole(2, "kept", 0);
	put_leave(2, 0);
	put_whole(1, "f", 0);
	put_leave(1, RECORD_MORE);
	put_attribute();
	put_end(0);
	put_enter(1, 0, "../out");
	put_leave(1, 0);
	put_whole(0, "good", 0);
	put_finish();
	assert_refused("tarpipe: dst/..: refused: no name of an entry\n"
		       "tarpipe: dst/../out: refused: no name of an entry\n");
	assert_names("dst", "good");
}

static void links_of_names_that_are_none(void **state)
{
	(void)state;
	put_start();
	put_whole(0, "first", 1);
	put_link(0, "../out/second", 1, false);
	put_link(0, "third", 1, true);
	put_finish();
	assert_refused("tarpipe: dst/../out/second: refused: no name of an "
		       "entry\n");
	assert_names("dst", "first third");
}

/* A symlink that the stream made itself is not a way out. */
static void a_symlink_and_then_a_directory_of_its_name(void **state)
{
	(void)state;
	put_start();
	put_symlink(0, "d", "../out");
	put_enter(1, 0, "d");
	put_whole(1, "kept", 0);
	put_whole(1, "new", 0);
	put_leave(1, 0);
	put_whole(0, "good", 0);
	put_finish();
	assert_refused("tarpipe: dst/d: is a symbolic link to a directory: "
		       "neither followed nor replaced, what belongs in it is left "
		       "out\n");
	assert_names("dst", "d good");
	assert_true(S_ISLNK(stat_of("dst/d").st_mode));
}

static void a_symlink_and_then_a_file_of_its_name(void **state)
{
	(void)state;
	put_start();
	put_symlink(0, "f", "../out/kept");
	put_whole(0, "f", 0);
	put_finish();
	assert_whole();
	assert_text("dst/f", "f");
}

static void the_same_name_twice(void **state)
{
	(void)state;
	put_start();
	put_whole(0, "f", 0);
	put_head(0, "f", 0);
	put_piece("second", 0);
	put_end(6);
	put_enter(1, 0, "d");
	put_whole(1, "a", 0);
	put_leave(1, 0);
	put_enter(1, 0, "d");
	put_whole(1, "b", 0);
	put_leave(1, 0);
	put_finish();
	assert_whole();
	assert_text("dst/f", "second");
	assert_names("dst/d", "a b");
}

/* ---- inodes ---- */

static void links_to_nothing(void **state)
{
	static const uint32_t ids[] = { 0, 1, 64, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		stream_len = 0;
		put_start();
		put_link(0, "l", ids[i], i % 2);
		put_finish();
		assert_malformed();
		assert_names("dst", "");
	}
}

static void links_after_the_last(void **state)
{
	(void)state;
	put_start();
	put_whole(0, "a", 1);
	put_link(0, "b", 1, true);
	put_link(0, "c", 1, true);
	put_finish();
	assert_malformed();
	assert_false(is_there("dst/c"));
}

static void ids_of_inodes_that_are_huge(void **state)
{
	static const uint32_t ids[] = { 1 << 20, 0x7fffffff, 0x80000000,
					UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		stream_len = 0;
		put_start();
		put_whole(0, "a", ids[i]);
		put_finish();
		assert_malformed();
		assert_names("dst", "");
	}
}

/* An id for a directory's contents, a file's, a link's: which is which is known. */
static void an_inode_of_an_object_that_was_refused(void **state)
{
	(void)state;
	put_start();
	put_whole(0, "../out/first", 1);
	put_link(0, "second", 1, true);
	put_finish();
	assert_refused("tarpipe: dst/../out/first: refused: no name of an entry\n"
		       "tarpipe: dst/second: not linked: its first name could not "
		       "be made\n");
	assert_names("dst", "");
}

/* ---- noise ---- */

static unsigned seed;

/* Changes some bytes, but makes no reference: its descriptors would be ours. */
static void spoil(unsigned char *bytes, size_t len)
{
	struct record record;

	for (int n = rand_r(&seed) % 6; n >= 0; n--)
		bytes[(size_t)rand_r(&seed) % len] =
			rand_r(&seed) % 2 ? (unsigned char)rand_r(&seed) :
					    (unsigned char)(rand_r(&seed) % 3);
	for (size_t at = 0; at < len; at += record.size) {
		if (record_decode(&record, bytes + at, len - at) != 0)
			break;
		if (record.type == RECORD_REF)
			bytes[at + 4] = 0;
	}
}

static void many_spoilt_streams(void)
{
	unsigned char *whole = malloc(stream_len);
	size_t len = stream_len;

	memcpy(whole, stream, len);
	for (int round = 0; round < 60; round++) {
		memcpy(stream, whole, len);
		spoil(stream, len);
		unpack_once();
		if (report->descriptors != 0)
			_exit(98);
		diag_reset();
	}
	free(whole);
}

static void spoilt_streams_do_no_harm(void **state)
{
	(void)state;
	put_tree();
	for (unsigned n = 0; n < 4; n++) {
		seed = 100 + n;
		sink.workers = 1 + n % 3;
		(void)in_a_child(many_spoilt_streams, 20);
		assert_names(".", "dst out");
		assert_names("out", "kept");
		assert_text("out/kept", "as it was");
	}
}

/* Records of a stream in another order: each is a record, together they are none. */
static void shuffle(unsigned char *to, const unsigned char *from, size_t len)
{
	size_t starts[64], sizes[64], n = 0, at = 0, out = 0;
	struct record record;

	for (; at < len && record_decode(&record, from + at, len - at) == 0;
	     at += record.size) {
		starts[n] = at;
		sizes[n++] = record.size;
	}
	for (size_t i = n - 1; i > 1; i--) {
		size_t j = 1 + (size_t)rand_r(&seed) % i, keep;

		if (rand_r(&seed) % 2)
			continue;
		keep = starts[i], starts[i] = starts[j], starts[j] = keep;
		keep = sizes[i], sizes[i] = sizes[j], sizes[j] = keep;
	}
	for (size_t i = 0; i < n; i++) {
		memcpy(to + out, from + starts[i], sizes[i]);
		out += sizes[i];
	}
}

static void many_shuffled_streams(void)
{
	unsigned char *whole = malloc(stream_len);

	memcpy(whole, stream, stream_len);
	for (int round = 0; round < 60; round++) {
		shuffle(stream, whole, stream_len);
		unpack_once();
		if (report->descriptors != 0)
			_exit(98);
		diag_reset();
	}
	free(whole);
}

static void shuffled_streams_do_no_harm(void **state)
{
	(void)state;
	put_tree();
	for (unsigned n = 0; n < 4; n++) {
		seed = 200 + n;
		sink.workers = 1 + n % 3;
		(void)in_a_child(many_shuffled_streams, 20);
		assert_names(".", "dst out");
		assert_text("out/kept", "as it was");
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stream_becomes_a_tree),
		TEST(nothing_but_start_and_finish),
		TEST(many_entries_through_a_small_ring),
		TEST(a_large_file_in_many_pieces),
		TEST(of_two_neighbours_the_later_counts),
		TEST(of_two_far_apart_too),
		TEST(a_link_waits_for_the_whole_file),
		TEST(links_see_the_file_before_them),
		TEST(a_directory_is_entered_again),
		TEST(a_directory_by_two_names),
		TEST(a_directory_within_itself),
		TEST(spans_are_written_and_let_go),
		TEST(spans_of_what_is_left_out_too),
		TEST(a_span_in_no_file),
		TEST(no_stream_at_all),
		TEST(a_stream_that_ends_early),
		TEST(a_stream_that_ends_inside_a_record),
		TEST(a_finish_inside_a_file),
		TEST(a_finish_inside_a_directory),
		TEST(more_after_the_finish),
		TEST(entries_before_the_start),
		TEST(two_starts),
		TEST(a_start_of_another_program_or_version),
		TEST(directories_that_nobody_told_of),
		TEST(ids_of_directories_that_are_huge),
		TEST(an_id_that_is_in_use),
		TEST(entries_of_a_directory_that_was_left),
		TEST(a_directory_left_before_those_below),
		TEST(as_many_levels_as_one_likes),
		TEST(parts_without_a_head),
		TEST(parts_after_the_end),
		TEST(an_entry_inside_a_file),
		TEST(an_owner_inside_an_object),
		TEST(an_owner_inside_the_end_of_a_directory),
		TEST(parts_of_another_type_of_object),
		TEST(pieces_out_of_all_bounds),
		TEST(sizes_out_of_all_bounds),
		TEST(a_reference_to_no_descriptor),
		TEST(files_of_names_that_are_none),
		TEST(directories_of_names_that_are_none),
		TEST(links_of_names_that_are_none),
		TEST(a_symlink_and_then_a_directory_of_its_name),
		TEST(a_symlink_and_then_a_file_of_its_name),
		TEST(the_same_name_twice),
		TEST(links_to_nothing),
		TEST(links_after_the_last),
		TEST(ids_of_inodes_that_are_huge),
		TEST(an_inode_of_an_object_that_was_refused),
		TEST(spoilt_streams_do_no_harm),
		TEST(shuffled_streams_do_no_harm),
	};

	return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
