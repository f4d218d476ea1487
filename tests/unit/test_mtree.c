/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of files, of our own and of others' making, and names in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "mtree.h"
#include "tree.h"

/* read comes by the name of pread: there is no other in these lists. */
WRAPPED(ssize_t, read, int fd, void *to, size_t size)
{
	return fault_due(PREAD, NULL, &size) ? -1 : __real_read(fd, to, size);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

static struct mtree *list;
static struct mtree_entry entry;

static int setup(void **state)
{
	faults_clear();
	list = NULL;
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	mtree_close(list);
	diag_reset();
	return tree_teardown(state);
}

static void open_list(const char *text)
{
	put_file("list", text);
	list = mtree_open("list");
	assert_non_null(list);
}

static void assert_next(const char *path)
{
	assert_int_equal(mtree_next(list, &entry), 1);
	assert_string_equal(entry.path, path);
}

static void assert_end(void)
{
	assert_int_equal(mtree_next(list, &entry), 0);
}

/* ---- names ---- */

static void any_name_comes_back(void **state)
{
	struct bytes line = { 0 };
	char name[256];

	(void)state;
	for (int i = 1; i < 256; i++)
		name[i - 1] = (char)i;
	name[255] = '\0';
	assert_int_equal(mtree_put_name(&line, name), 0);
	assert_int_equal(bytes_add(&line, "", 1), 0);
	for (size_t i = 0; i + 1 < line.len; i++)
		assert_true(line.at[i] > ' ' && line.at[i] < 0x7f &&
			    line.at[i] != '#' && line.at[i] != '=');
	mtree_decode((char *)line.at);
	assert_string_equal((char *)line.at, name);
	bytes_free(&line);
}

static void others_encode_in_other_ways(void **state)
{
	static const char *const words[][2] = {
		{ "a\\040b", "a b" },	  { "a\\sb", "a b" },
		{ "\\n\\t\\a\\v", "\n\t\a\v" }, { "\\#\\*\\\\", "#*\\" },
		{ "\\M-a", "\xe1" },	  { "\\M^A", "\x81" },
		{ "\\^A\\^?", "\x01\x7f" }, { "\\377", "\xff" },
		{ "end\\", "end\\" },	  { "\\M", "M" },
		{ "\\M-", "M-" },	  { "\\^", "^" },
		{ "\\08", "" },
	};
	char word[32];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		strcpy(word, words[i][0]);
		mtree_decode(word);
		assert_string_equal(word, words[i][1]);
	}
}

/* ---- entries ---- */

static void an_entry_has_what_is_said_of_it(void **state)
{
	(void)state;
	open_list("#mtree\n./a\\040b type=file mode=04755 uid=7 gid=8 size=9 "
		  "time=10.000000011 nlink=2 strange=1 optional sha256digest="
		  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1E1F\n");
	assert_next("./a b");
	assert_true(entry.has_type && S_ISREG(entry.want.meta.mode));
	assert_int_equal(entry.want.meta.mode & 07777, 04755);
	assert_int_equal(entry.want.meta.uid, 7);
	assert_int_equal(entry.want.meta.gid, 8);
	assert_int_equal(entry.want.meta.size, 9);
	assert_int_equal(entry.want.meta.mtime.tv_sec, 10);
	assert_int_equal(entry.want.meta.mtime.tv_nsec, 11);
	assert_int_equal(entry.nlink, 2);
	assert_true(entry.has_digest && entry.optional);
	assert_int_equal(entry.digest[31], 31);
	assert_int_equal(entry.want.known, WANT_ALL & ~WANT_DEVICE);
	assert_null(entry.hardlink);
	assert_end();
}

static void what_is_not_said_is_not_known(void **state)
{
	(void)state;
	open_list("./a\n./b type=link link=to\\040there\n");
	assert_next("./a");
	assert_false(entry.has_type || entry.has_digest || entry.optional);
	assert_int_equal(entry.want.known, 0);
	assert_next("./b");
	assert_string_equal(entry.target, "to there");
	assert_end();
}

static void settings_hold_until_they_are_taken_back(void **state)
{
	(void)state;
	open_list("/set type=file uid=1 mode=0644 nlink=1\n./a\n./b uid=2\n./c\n"
		  "/unset uid nlink\n./d\n/unset all\n./e");
	assert_next("./a");
	assert_int_equal(entry.want.meta.uid, 1);
	assert_next("./b");
	assert_int_equal(entry.want.meta.uid, 2);
	assert_next("./c");
	assert_int_equal(entry.want.meta.uid, 1);
	assert_int_equal(entry.nlink, 1);
	assert_next("./d");
	assert_int_equal(entry.want.known, WANT_MODE);
	assert_int_equal(entry.nlink, 0);
	assert_next("./e");
	assert_int_equal(entry.want.known, 0);
	assert_false(entry.has_type);
	assert_end();
}

static void relative_names_lie_in_directories(void **state)
{
	(void)state;
	open_list("#\t user: me\n\n# .\n/set type=file\n.   type=dir\n"
		  "    f  size=1 \\\n       mode=0600\n"
		  "d   type=dir\n    g\n    e type=dir\n        h\n    ..\n    i\n..\n"
		  "    x/y  type=dir\nj\n..\n");
	assert_next(".");
	assert_next("./f");
	assert_int_equal(entry.want.meta.mode & 07777, 0600);
	assert_next("./d");
	assert_next("./d/g");
	assert_next("./d/e");
	assert_next("./d/e/h");
	assert_next("./d/i");
	assert_next("x/y");	/* a full path is entered by nobody */
	assert_next("./j");
	assert_end();
}

static void a_comment_tells_a_link(void **state)
{
	(void)state;
	open_list("#hardlink ./a\\040b\n./c type=file\n./d type=file\n#hardlink\n./e\n");
	assert_next("./c");
	assert_string_equal(entry.hardlink, "./a b");
	assert_next("./d");
	assert_null(entry.hardlink);
	assert_next("./e");
	assert_null(entry.hardlink);
}

static void devices_are_told_in_several_ways(void **state)
{
	(void)state;
	open_list("./a type=char device=native,1,3\n./b type=block device=linux,0x8,17\n"
		  "./c type=char device=0x103\n");
	assert_next("./a");
	assert_int_equal(entry.want.meta.rdev_major, 1);
	assert_int_equal(entry.want.meta.rdev_minor, 3);
	assert_next("./b");
	assert_int_equal(entry.want.meta.rdev_major, 8);
	assert_int_equal(entry.want.meta.rdev_minor, 17);
	assert_next("./c");
	assert_int_equal(entry.want.meta.rdev_major, 1);
	assert_int_equal(entry.want.meta.rdev_minor, 3);
}

static void times_before_1970(void **state)
{
	(void)state;
	open_list("./a time=-5.000000003\n./b time=7\n");
	assert_next("./a");
	assert_int_equal(entry.want.meta.mtime.tv_sec, -5);
	assert_int_equal(entry.want.meta.mtime.tv_nsec, 3);
	assert_next("./b");
	assert_int_equal(entry.want.meta.mtime.tv_sec, 7);
}

/* ---- what makes no sense ---- */

static void nonsense_is_told_and_left_out(void **state)
{
	static const char *const bad[] = {
		"type=thing", "mode=9", "mode=77777", "uid=x", "uid=4294967296",
		"gid=-1", "size=", "size=1k", "time=x", "time=1.x", "time=1.1000000000",
		"time=1.5x", "nlink=z", "device=x", "device=native,1", "device=native,x,1",
		"device=native,1,2x", "sha256=12", "time=99999999999999999999",
		"sha256=zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
	};
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(line, sizeof(line), "./a %s\n./b\n", bad[i]);
		open_list(line);
		capture_begin(STDERR_FILENO);
		assert_next("./b");
		assert_non_null(strstr(capture_end(), "tarpipe: ./a: not compared"));
		assert_int_equal(diag_status(), STATUS_PARTIAL);
		mtree_close(list);
		list = NULL;
		diag_reset();
	}
}

static void a_bad_setting_is_told(void **state)
{
	(void)state;
	open_list("/set uid=x\n./a\n");
	capture_begin(STDERR_FILENO);
	assert_next("./a");
	assert_string_equal(capture_end(),
			    "tarpipe: list: /set: its uid makes no sense\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_list_that_breaks_off(void **state)
{
	(void)state;
	open_list("./a\n");
	fault_set(PREAD, (struct fault){ .err = EIO });
	assert_int_equal(mtree_next(list, &entry), -1);
	assert_int_equal(errno, EIO);
}

static void a_nul_is_no_list(void **state)
{
	(void)state;
	put_bytes("list", "a\0b\n", 4);
	list = mtree_open("list");
	assert_int_equal(mtree_next(list, &entry), -1);
	assert_int_equal(errno, EILSEQ);
}

static void no_memory_for_a_line(void **state)
{
	static char line[NAME_MAX * 200];

	(void)state;
	memset(line, 'a', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	for (unsigned after = 0; after < 4; after++) {
		open_list(line);
		fault_set(REALLOC, (struct fault){ .after = after, .err = ENOMEM,
						   .times = EVERY_TIME });
		if (mtree_next(list, &entry) != 1)
			assert_int_equal(errno, ENOMEM);
		faults_clear();
		mtree_close(list);
		list = NULL;
	}
}

static void what_can_not_be_opened(void **state)
{
	(void)state;
	assert_null(mtree_open("nowhere"));
	assert_int_equal(errno, ENOENT);
	mtree_close(NULL);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(any_name_comes_back),
		T(others_encode_in_other_ways),
		T(an_entry_has_what_is_said_of_it),
		T(what_is_not_said_is_not_known),
		T(settings_hold_until_they_are_taken_back),
		T(relative_names_lie_in_directories),
		T(a_comment_tells_a_link),
		T(devices_are_told_in_several_ways),
		T(times_before_1970),
		T(nonsense_is_told_and_left_out),
		T(a_bad_setting_is_told),
		T(a_list_that_breaks_off),
		T(a_nul_is_no_list),
		T(no_memory_for_a_line),
		T(what_can_not_be_opened),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
