/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members become records.  The stream is a list of members that a test gives; what comes
 * of it is told in a line for each record:
 *
 *     dir 1 in 0: d
 *     file in 1: f 644 (4)
 *     piece 0: text
 *     end 4
 *     leave 1: 755 at 1000
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
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "record.h"
#include "select.h"
#include "untar.h"

/* ---- a stream that is a list ---- */

struct given {
	struct tar_member member;
	struct instream_data data[4];
	unsigned ndata;
	bool cut;		/* the stream breaks off after its data */
	bool bad;		/* no more of them can be read */
	int verdict;		/* instream_check's, when they are all read */
	uint64_t shrunk;	/* ... and what it says the size was, or 0 */
	char *spoilt;		/* ... after which these bytes are others */
};

static struct given givens[64];
static unsigned ngiven, next_member, next_data, holds;
static char lines[1 << 18];

/* Stands for a block of the ring. */
static char blocks[4];
#define BLOCK(n) ((struct instream_span *)&blocks[n])

int instream_next(struct instream *in, struct tar_member *member)
{
	(void)in;
	if (next_member > 0 && givens[next_member - 1].cut)
		return -1;
	next_data = 0;
	if (next_member == ngiven)
		return 0;
	*member = givens[next_member++].member;
	return 1;
}

int instream_read(struct instream *in, struct instream_data *data)
{
	const struct given *given = &givens[next_member - 1];

	(void)in;
	if (next_data == given->ndata && given->bad)
		return TAR_DATA_BAD;
	if (next_data == given->ndata)
		return given->cut ? -1 : 0;
	*data = given->data[next_data++];
	return 1;
}

/* The bytes of no block are gone then. */
int instream_check(struct instream *in, uint64_t *size, bool keeps)
{
	struct given *given = &givens[next_member - 1];

	(void)in;
	assert_true(keeps);
	assert_int_equal(*size, given->member.meta.size);
	if (given->ndata > 0 && given->spoilt)
		memset(given->spoilt, '#', given->data[0].size);
	if (given->shrunk > 0)
		*size = given->shrunk;
	given->cut = given->verdict == -1;
	return given->verdict;
}

void instream_hold(struct instream_span *span)
{
	(void)span;
	holds++;
}

void instream_release(struct instream_span *span)
{
	(void)span;
	holds--;
}

/* Wants what does not begin with "un". */
bool select_wants(struct select *select, const char *path, bool directory)
{
	(void)select;
	assert_true(strcmp(path, "undir") != 0 || directory);
	return strncmp(path, "un", 2) != 0;
}

static struct given *give(const char *path, mode_t mode)
{
	struct given *given = &givens[ngiven++];

	given->member = (struct tar_member){
		.path = path,
		.meta = { .mode = mode, .uid = 1, .gid = 2,
			  .atime = { 1000, 0 }, .mtime = { 1000, 0 } },
	};
	return given;
}

static struct given *give_dir(const char *path)
{
	return give(path, S_IFDIR | 0755);
}

/* Its data in one piece, out of no block. */
static struct given *give_file(const char *path, const char *text)
{
	struct given *given = give(path, S_IFREG | 0644);

	given->member.meta.size = strlen(text);
	given->data[0] = (struct instream_data){ text, strlen(text), 0, NULL };
	given->ndata = *text ? 1 : 0;
	return given;
}

static struct given *give_link(const char *path, const char *target)
{
	struct given *given = give(path, 0);

	given->member.hardlink = target;
	return given;
}

/* ---- records, as lines ---- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	size_t len = strlen(lines);
	va_list args;

	va_start(args, format);
	vsnprintf(lines + len, sizeof(lines) - len, format, args);
	va_end(args);
}

static void say_flags(const struct record *record)
{
	say("%s%s%s%s%s", record->flags & RECORD_MORE ? " more" : "",
	    record->flags & RECORD_ACL ? " acl" : "",
	    record->flags & RECORD_SPARSE ? " sparse" : "",
	    record->flags & RECORD_KEEP ? " keep" : "",
	    record->flags & RECORD_PUTBACK ? " putback" : "");
	say("\n");
}

static void say_record(const struct record *record)
{
	const struct meta *meta = &record->meta;
	struct record_span span;

	switch (record->type) {
	case RECORD_START:
		assert_true(record->flags & RECORD_ORDERED);
		return;
	case RECORD_DIR:
		say("dir %u in %u: %s", record->id, record->dir, record->name);
		break;
	case RECORD_LEAVE:
		say("leave %u", record->dir);
		if (!(record->flags & (RECORD_KEEP | RECORD_PUTBACK)))
			say(": %o at %lld", meta->mode & 07777,
			    (long long)meta->mtime.tv_sec);
		break;
	case RECORD_FILE:
		say("file in %u: %s %o (%llu)", record->dir, record->name,
		    meta->mode & 07777, (unsigned long long)meta->size);
		break;
	case RECORD_SYMLINK:
		say("symlink in %u: %s -> %s", record->dir, record->name,
		    (const char *)record->data);
		break;
	case RECORD_NODE:
		say("node in %u: %s", record->dir, record->name);
		break;
	case RECORD_PATHLINK:
		say("link in %u: %s -> %s", record->dir, record->name,
		    (const char *)record->data);
		break;
	case RECORD_PIECE:
		say("piece %llu: %.*s", (unsigned long long)record->first,
		    (int)(record->data_len < 20 ? record->data_len : 20),
		    (const char *)record->data);
		break;
	case RECORD_SPAN:
		memcpy(&span, record->data, sizeof(span));
		say("span %llu: %llu bytes %.4s",
		    (unsigned long long)record->first,
		    (unsigned long long)record->second,
		    (const char *)span.bytes);
		assert_ptr_equal(span.hold, BLOCK(0));
		break;
	case RECORD_XATTR:
		say("xattr %s %llu/%llu", record->name,
		    (unsigned long long)record->first + record->data_len,
		    (unsigned long long)record->second);
		break;
	case RECORD_END:
		say("end %llu", (unsigned long long)record->first);
		if (record->second)
			say(" failed");
		break;
	case RECORD_FINISH:
		say("finish %llu", (unsigned long long)record->first);
		break;
	default:
		fail_msg("a record of type %d", record->type);
	}
	say_flags(record);
}

static struct opts opts;
static struct untar_config config;
static struct ring *ring;

static int setup(void **state)
{
	(void)state;
	opts = (struct opts){ .preserve = PRESERVE_ALL };
	memset(givens, 0, sizeof(givens));
	ngiven = next_member = next_data = holds = 0;
	lines[0] = '\0';
	struct ring_config ring_config = { .size = 1 << 20, .low = 100, .spans = 8 };
	ring = ring_new(&ring_config);
	config = (struct untar_config){ .opts = &opts, .ring = ring };
	return ring ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	ring_free(ring);
	diag_reset();
	return 0;
}

/* Runs all of it; what was told is the result, `got` what untar_run said. */
static const char *run(int want)
{
	struct untar *untar = untar_new(&config);
	const void *bytes;
	struct record record;
	const char *told;
	size_t size;

	assert_non_null(untar);
	capture_begin(STDERR_FILENO);
	assert_int_equal(untar_run(untar), want);
	untar_free(untar);
	told = capture_end();
	while (ring_peek(ring, &bytes, &size) == 1)
		for (size_t at = 0; at < size; at += record.size) {
			assert_int_equal(record_decode(&record,
						       (const char *)bytes + at,
						       size - at), 0);
			say_record(&record);
			ring_release(ring, ring_take(ring, record.size));
		}
	return told;
}

static void assert_records(const char *want)
{
	assert_string_equal(run(0), "");
	assert_string_equal(lines, want);
	assert_int_equal(diag_status(), STATUS_OK);
}

/* The member is named, and nothing comes of it. */
static void assert_refused(const char *told)
{
	assert_string_equal(run(0), told);
	assert_string_equal(lines, "leave 0 putback\nfinish 0\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- directories ---- */

static void a_tree_is_entered_and_left(void **state)
{
	(void)state;
	give_dir("./")->member.meta.mtime.tv_sec = 5;
	give_dir("./d/");
	give_file("./d/f", "text");
	give_dir("./d/e/");
	give_file("./g", "");
	assert_records("dir 1 in 0: d\n"
		       "file in 1: f 644 (4)\npiece 0: text\nend 4\n"
		       "dir 2 in 1: e\n"
		       "leave 2: 755 at 1000\nleave 1: 755 at 1000\n"
		       "file in 0: g 644 (0)\nend 0\n"
		       "leave 0: 755 at 5\nfinish 5\n");
}

static void what_is_only_passed_is_put_back(void **state)
{
	(void)state;
	give_file("a/b/f", "");
	give_file("a/c", "");
	assert_records("dir 1 in 0: a\ndir 2 in 1: b\n"
		       "file in 2: f 644 (0)\nend 0\n"
		       "leave 2 putback\n"
		       "file in 1: c 644 (0)\nend 0\n"
		       "leave 1 putback\nleave 0 putback\nfinish 2\n");
}

static void a_directory_may_be_told_after_its_entries(void **state)
{
	(void)state;
	give_file("d/f", "");
	give_dir("d");
	assert_records("dir 1 in 0: d\nfile in 1: f 644 (0)\nend 0\n"
		       "leave 1: 755 at 1000\nleave 0 putback\nfinish 2\n");
}

static void of_two_members_the_later_counts(void **state)
{
	(void)state;
	give_dir("d");
	give_dir("./d//")->member.meta.mtime.tv_sec = 7;
	assert_records("dir 1 in 0: d\nleave 1: 755 at 7\n"
		       "leave 0 putback\nfinish 2\n");
}

static void a_late_entry_enters_it_again(void **state)
{
	(void)state;
	give_dir("d");
	give_file("x", "");
	give_file("d/late", "");
	assert_records("dir 1 in 0: d\nleave 1: 755 at 1000\n"
		       "file in 0: x 644 (0)\nend 0\n"
		       "dir 1 in 0: d\nfile in 1: late 644 (0)\nend 0\n"
		       "leave 1 putback\nleave 0 putback\nfinish 3\n");
}

/* What comes below the name enters it anew, through the gate. */
static void another_type_leaves_the_directory(void **state)
{
	(void)state;
	give_dir("d");
	give_file("d/e/f", "");
	give("d/e", S_IFLNK | 0777)->member.target = "/tmp";
	give_file("d/e/o", "");
	assert_records("dir 1 in 0: d\ndir 2 in 1: e\n"
		       "file in 2: f 644 (0)\nend 0\nleave 2 putback\n"
		       "symlink in 1: e -> /tmp\n"
		       "dir 2 in 1: e\nfile in 2: o 644 (0)\nend 0\n"
		       "leave 2 putback\nleave 1: 755 at 1000\n"
		       "leave 0 putback\nfinish 4\n");
}

/* `ab` does not begin with the directory `a`. */
static void names_are_compared_whole(void **state)
{
	(void)state;
	give_file("a/f", "");
	give_file("ab/f", "");
	assert_records("dir 1 in 0: a\nfile in 1: f 644 (0)\nend 0\n"
		       "leave 1 putback\n"
		       "dir 1 in 0: ab\nfile in 1: f 644 (0)\nend 0\n"
		       "leave 1 putback\nleave 0 putback\nfinish 2\n");
}

static void the_destination_may_keep_its_own(void **state)
{
	(void)state;
	config.keeps_root = true;
	give_dir(".");
	assert_records("leave 0 keep\nfinish 1\n");
}

static void many_levels(void **state)
{
	static char path[2 * 3000 + 2];

	(void)state;
	for (int i = 0; i < 3000; i++)
		memcpy(path + 2 * i, "d/", 2);
	give_dir(path);
	give_file("f", "");
	assert_string_equal(run(0), "");
	assert_non_null(strstr(lines, "dir 3000 in 2999: d\nleave 3000: 755"));
	assert_non_null(strstr(lines, "leave 1 putback\nfile in 0: f"));
}

/* ---- data ---- */

static void small_data_travel_with_their_file(void **state)
{
	(void)state;
	give_file("f", "text")->data[0].span = BLOCK(0);
	assert_records("file in 0: f 644 (4)\npiece 0: text\nend 4\n"
		       "leave 0 putback\nfinish 1\n");
	assert_int_equal(holds, 0);
}

static void large_data_stay_where_they_are(void **state)
{
	static char text[8001];

	(void)state;
	memset(text, 'x', 8000);
	give_file("f", text)->data[0].span = BLOCK(0);
	assert_records("file in 0: f 644 (8000)\nspan 0: 8000 bytes xxxx\n"
		       "end 8000\nleave 0 putback\nfinish 1\n");
	assert_int_equal(holds, 1);
}

static void data_in_parts(void **state)
{
	static char text[8001];
	struct given *given;

	(void)state;
	memset(text, 'x', 8000);
	given = give("f", S_IFREG | 0600);
	given->member.meta.size = 16004;
	given->data[0] = (struct instream_data){ text, 8000, 0, BLOCK(0) };
	given->data[1] = (struct instream_data){ "text", 4, 8000, BLOCK(0) };
	given->data[2] = (struct instream_data){ text, 8000, 8004, NULL };
	given->ndata = 3;
	assert_records("file in 0: f 600 (16004)\nspan 0: 8000 bytes xxxx\n"
		       "piece 8000: text\n"
		       "piece 8004: xxxxxxxxxxxxxxxxxxxx\n"
		       "end 16004\nleave 0 putback\nfinish 1\n");
	assert_int_equal(holds, 1);
}

/* Larger than a record can be, and in no block. */
static void much_data_in_no_block(void **state)
{
	size_t size = 600000;
	char *text = malloc(size + 1);

	(void)state;
	memset(text, 'x', size);
	text[size] = '\0';
	give_file("f", text);
	assert_string_equal(run(0), "");
	assert_non_null(strstr(lines, "piece 0: x"));
	assert_non_null(strstr(lines, "end 600000\n"));
	free(text);
}

static void holes_are_left_out(void **state)
{
	struct given *given = give("f", S_IFREG | 0600);

	(void)state;
	given->member.sparse = true;
	given->member.meta.size = 100000;
	given->data[0] = (struct instream_data){ "text", 4, 50000, NULL };
	given->ndata = 1;
	give("g", S_IFREG | 0600)->member.sparse = true;
	givens[1].member.meta.size = 100;
	assert_records("file in 0: f 600 (100000) sparse\npiece 50000: text\n"
		       "end 100000\nfile in 0: g 600 (100) sparse\nend 100\n"
		       "leave 0 putback\nfinish 2\n");
}

static void data_beyond_the_size_are_refused(void **state)
{
	struct given *given = give("f", S_IFREG | 0600);

	(void)state;
	given->member.sparse = true;
	given->member.meta.size = 100;
	given->data[0] = (struct instream_data){ "text", 4, 97, NULL };
	given->ndata = 1;
	give_file("g", "");
	assert_string_equal(run(0), "tarpipe: f: has data beyond its size: left "
				    "out\n");
	assert_string_equal(lines, "file in 0: f 600 (100) sparse\n"
				   "end 100 failed\nfile in 0: g 644 (0)\nend 0\n"
				   "leave 0 putback\nfinish 2\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* Told by who has read them: nothing is kept of the member, and the next one follows. */
static void data_that_cannot_be_read_end_the_member(void **state)
{
	struct given *given = give("f", S_IFREG | 0600);

	(void)state;
	given->member.sparse = true;
	given->member.meta.size = 100;
	given->bad = true;
	give_file("g", "");
	assert_string_equal(run(0), "");
	assert_string_equal(lines, "file in 0: f 600 (100) sparse\n"
				   "end 100 failed\nfile in 0: g 644 (0)\nend 0\n"
				   "leave 0 putback\nfinish 2\n");
}

static void data_before_the_first_byte_are_refused(void **state)
{
	struct given *given = give("f", S_IFREG | 0600);

	(void)state;
	given->member.sparse = true;
	given->member.meta.size = 100;
	given->data[0] = (struct instream_data){ "text", 4, UINT64_MAX - 1, NULL };
	given->ndata = 1;
	(void)run(0);
	assert_non_null(strstr(lines, "end 100 failed"));
}

/* The records come to their end: what was there before the cut is restored. */
static void a_stream_that_breaks_off(void **state)
{
	struct given *given;

	(void)state;
	give_dir("d");
	given = give_file("d/f", "text");
	given->member.meta.size = 10;
	given->cut = true;
	give_file("never", "");
	assert_string_equal(run(-1), "");
	assert_string_equal(lines, "dir 1 in 0: d\nfile in 1: f 644 (10)\n"
				   "piece 0: text\nend 10 failed\n"
				   "leave 1: 755 at 1000\nleave 0 putback\n"
				   "finish 2\n");
}

/* ---- what the stream says of data after them ---- */

static void what_is_damaged_never_begins(void **state)
{
	static char text[8001];

	(void)state;
	memset(text, 'x', 8000);
	give_file("f", "text")->verdict = TAR_DATA_BAD;
	give_file("g", text)->verdict = TAR_DATA_BAD;
	givens[1].data[0].span = BLOCK(0);
	give_file("h", "more");
	assert_string_equal(run(0), "");
	assert_string_equal(lines, "file in 0: h 644 (4)\npiece 0: more\nend 4\n"
				   "leave 0 putback\nfinish 3\n");
	assert_int_equal(holds, 0);
}

static void what_has_begun_is_thrown_away(void **state)
{
	struct given *given = give("f", S_IFREG | 0600);

	(void)state;
	given->member.meta.size = 8;
	given->data[0] = (struct instream_data){ "text", 4, 0, NULL };
	given->data[1] = (struct instream_data){ "more", 4, 4, NULL };
	given->ndata = 2;
	given->verdict = TAR_DATA_BAD;
	give_file("g", "");
	assert_string_equal(run(0), "");
	assert_string_equal(lines, "file in 0: f 600 (8)\npiece 0: text\n"
				   "piece 4: more\nend 8 failed\n"
				   "file in 0: g 644 (0)\nend 0\n"
				   "leave 0 putback\nfinish 2\n");
}

static void what_shrank_ends_earlier(void **state)
{
	struct given *given;

	(void)state;
	give_file("f", "text")->shrunk = 3;
	given = give("g", S_IFREG | 0600);
	given->member.meta.size = 8;
	given->data[0] = (struct instream_data){ "text", 4, 0, NULL };
	given->data[1] = (struct instream_data){ "more", 4, 4, NULL };
	given->ndata = 2;
	given->shrunk = 5;
	assert_records("file in 0: f 644 (4)\npiece 0: text\nend 3\n"
		       "file in 0: g 600 (8)\npiece 0: text\npiece 4: more\n"
		       "end 5\nleave 0 putback\nfinish 2\n");
}

static void nothing_comes_after_the_data(void **state)
{
	static char text[8001];

	(void)state;
	memset(text, 'x', 8000);
	give_file("f", text)->data[0].span = BLOCK(0);
	givens[0].verdict = -1;
	assert_string_equal(run(-1), "");
	assert_string_equal(lines, "leave 0 putback\nfinish 1\n");
	assert_int_equal(holds, 0);
}

static void data_in_no_block_are_copied_before(void **state)
{
	char text[] = "text";

	(void)state;
	give_file("f", text)->spoilt = text;
	assert_records("file in 0: f 644 (4)\npiece 0: text\nend 4\n"
		       "leave 0 putback\nfinish 1\n");
}

static void a_ring_that_is_aborted(void **state)
{
	static char text[8001];

	(void)state;
	memset(text, 'x', 8000);
	give_file("f", text)->data[0].span = BLOCK(0);
	ring_abort(ring, EIO);
	assert_string_equal(run(-1), "");
	assert_int_equal(holds, 0);
}

/* ---- other members ---- */

static void specials(void **state)
{
	(void)state;
	give("p", S_IFIFO | 0600);
	give("c", S_IFCHR | 0600);
	give("l", S_IFLNK | 0777)->member.target = "../x";
	assert_records("node in 0: p\nnode in 0: c\nsymlink in 0: l -> ../x\n"
		       "leave 0 putback\nfinish 3\n");
}

static void links_give_a_path(void **state)
{
	(void)state;
	give_link("a/h", "./b//f");
	assert_records("dir 1 in 0: a\nlink in 1: h -> b/f\n"
		       "leave 1 putback\nleave 0 putback\nfinish 1\n");
}

static void attributes_go_by_class(void **state)
{
	static const struct tar_xattr xattrs[] = {
		{ "security.capability", "cap", 3 },
		{ "system.posix_acl_access", "acl", 3 },
		{ "user.k", "value", 5 },
	};
	struct given *given = give_file("f", "text");

	(void)state;
	given->member.xattrs = xattrs;
	given->member.nxattrs = 3;
	given = give_dir("d");
	given->member.xattrs = xattrs + 2;
	given->member.nxattrs = 1;
	give_file("d/g", "");
	assert_records("file in 0: f 644 (4) more acl\npiece 0: text\n"
		       "xattr user.k 5/5\nxattr system.posix_acl_access 3/3\n"
		       "xattr security.capability 3/3\nend 4\n"
		       "dir 1 in 0: d\nfile in 1: g 644 (0)\nend 0\n"
		       "leave 1: 755 at 1000 more\nxattr user.k 5/5\nend 0\n"
		       "leave 0 putback\nfinish 3\n");
}

static void attributes_that_can_not_be(void **state)
{
	static char large[70000], name[300] = "user.";
	const struct tar_xattr xattrs[] = {
		{ "user.large", large, sizeof(large) },
		{ name, "v", 1 },
		{ "user.k", "value", 5 },
	};
	struct given *given = give_file("f", "");

	(void)state;
	memset(name + 5, 'n', 290);
	given->member.xattrs = xattrs;
	given->member.nxattrs = 3;
	assert_non_null(strstr(run(0), "f: attribute user.large: Argument list "
				       "too long\n"));
	assert_string_equal(lines, "file in 0: f 644 (0) more\n"
				   "xattr user.k 5/5\nend 0\n"
				   "leave 0 putback\nfinish 1\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void what_is_not_to_be_preserved(void **state)
{
	static const struct tar_xattr xattrs[] = {
		{ "system.posix_acl_access", "acl", 3 },
		{ "user.k", "value", 5 },
	};
	struct given *given = give_file("f", "");

	(void)state;
	opts.preserve &= ~(unsigned)(PRESERVE_XATTR | PRESERVE_ACL |
				     PRESERVE_SPECIAL);
	given->member.xattrs = xattrs;
	given->member.nxattrs = 2;
	give("p", S_IFIFO | 0600);
	assert_records("file in 0: f 644 (0)\nend 0\n"
		       "leave 0 putback\nfinish 2\n");
}

/* Nanoseconds that no clock has would be a malformed record. */
static void times_of_no_clock(void **state)
{
	(void)state;
	give_file("f", "")->member.meta.mtime.tv_nsec = 1000000000;
	give_file("g", "")->member.meta.atime.tv_nsec = -1;
	assert_records("file in 0: f 644 (0)\nend 0\nfile in 0: g 644 (0)\n"
		       "end 0\nleave 0 putback\nfinish 2\n");
}

/* ---- names ---- */

static void paths_that_lead_out(void **state)
{
	(void)state;
	give_file("/abs", "");
	give_file("../up", "");
	give_file("a/../../up", "");
	give_dir("..");
	give_file("", "");
	give_file(".", "");
	give_link("h", "/etc/passwd");
	give_link("h", "a/../b");
	give_link("h", "");
	give_link("h", "./");
	assert_string_equal(run(0),
		"tarpipe: /abs: refused: an absolute path\n"
		"tarpipe: ../up: refused: a path with `..`\n"
		"tarpipe: a/../../up: refused: a path with `..`\n"
		"tarpipe: ..: refused: a path with `..`\n"
		"tarpipe: refused: a member without a name\n"
		"tarpipe: .: refused: the destination itself is a directory\n"
		"tarpipe: h: refused: its link's target is an absolute path\n"
		"tarpipe: h: refused: its link's target is a path with `..`\n"
		"tarpipe: h: refused: a link without a target\n"
		"tarpipe: h: refused: a link without a target\n");
	assert_string_equal(lines, "leave 0 putback\nfinish 0\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void components_that_are_too_long(void **state)
{
	static char path[300];

	(void)state;
	memset(path, 'x', 299);
	give_file(path, "");
	(void)run(0);
	assert_string_equal(lines, "leave 0 putback\nfinish 0\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_target_that_no_record_holds(void **state)
{
	size_t size = 400000;
	char *target = malloc(size + 1);

	(void)state;
	memset(target, 'x', size);
	target[size] = '\0';
	give("l", S_IFLNK | 0777)->member.target = target;
	assert_string_equal(run(0), "tarpipe: l: its target: File name too long\n");
	assert_string_equal(lines, "leave 0 putback\nfinish 1\n");
	free(target);
}

static void types_that_are_none(void **state)
{
	(void)state;
	give("s", S_IFSOCK | 0600);
	assert_refused("tarpipe: s: refused: a member of no known type\n");
}

static void components_are_cut_off(void **state)
{
	(void)state;
	opts.strip = 1;
	give_dir("./");
	give_dir("top/");
	give_file("top/f", "");
	give_file("top/d/g", "");
	give_link("top/h", "top/f");
	give_file("short", "");
	assert_records("file in 0: f 644 (0)\nend 0\n"
		       "dir 1 in 0: d\nfile in 1: g 644 (0)\nend 0\n"
		       "leave 1 putback\nlink in 0: h -> f\n"
		       "leave 0 putback\nfinish 3\n");
}

static void a_link_of_which_nothing_is_left(void **state)
{
	(void)state;
	opts.strip = 1;
	give_link("top/h", "f");
	assert_string_equal(run(0), "tarpipe: top/h: left out: nothing is left of its "
				    "link's target\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void what_is_not_wanted_is_not_said(void **state)
{
	(void)state;
	config.select = (struct select *)&opts;
	opts.strip = 1;
	give_file("un/wanted", "");
	give_dir("undir");
	give_file("un/../../up", "");
	give_file("a/wanted", "");
	assert_records("file in 0: wanted 644 (0)\nend 0\n"
		       "leave 0 putback\nfinish 1\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_tree_is_entered_and_left),
		TEST(what_is_only_passed_is_put_back),
		TEST(a_directory_may_be_told_after_its_entries),
		TEST(of_two_members_the_later_counts),
		TEST(a_late_entry_enters_it_again),
		TEST(another_type_leaves_the_directory),
		TEST(names_are_compared_whole),
		TEST(the_destination_may_keep_its_own),
		TEST(many_levels),
		TEST(small_data_travel_with_their_file),
		TEST(large_data_stay_where_they_are),
		TEST(data_in_parts),
		TEST(much_data_in_no_block),
		TEST(holes_are_left_out),
		TEST(data_beyond_the_size_are_refused),
		TEST(data_that_cannot_be_read_end_the_member),
		TEST(data_before_the_first_byte_are_refused),
		TEST(a_stream_that_breaks_off),
		TEST(what_is_damaged_never_begins),
		TEST(what_has_begun_is_thrown_away),
		TEST(what_shrank_ends_earlier),
		TEST(nothing_comes_after_the_data),
		TEST(data_in_no_block_are_copied_before),
		TEST(a_ring_that_is_aborted),
		TEST(specials),
		TEST(links_give_a_path),
		TEST(attributes_go_by_class),
		TEST(attributes_that_can_not_be),
		TEST(what_is_not_to_be_preserved),
		TEST(times_of_no_clock),
		TEST(paths_that_lead_out),
		TEST(components_that_are_too_long),
		TEST(a_target_that_no_record_holds),
		TEST(types_that_are_none),
		TEST(components_are_cut_off),
		TEST(a_link_of_which_nothing_is_left),
		TEST(what_is_not_wanted_is_not_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
