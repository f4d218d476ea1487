/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of a tar stream, as they are read. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "faults.h"
#include "tar.h"
#include "tarbytes.h"

WRAPPED(void *, malloc, size_t size)
{
	return fault_due(MALLOC, NULL, NULL) ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t count, size_t size)
{
	return fault_due(CALLOC, NULL, NULL) ? NULL : __real_calloc(count, size);
}

WRAPPED(void *, realloc, void *block, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(block, size);
}

static bool no_locale;

WRAPPED(locale_t, newlocale, int mask, const char *name, locale_t base)
{
	return no_locale ? (locale_t)0 : __real_newlocale(mask, name, base);
}

/* ---- a stream ---- */

static struct {
	struct tarbytes s;
	size_t at, piece;
	bool fails;
	char copy[1 << 16];
	struct tar_reader *reader;
	struct tar_member m;
} t;

/* Each block lives until the next call, and no longer. */
static ssize_t source(void *arg, const void **bytes)
{
	size_t n = t.s.len - t.at;

	(void)arg;
	if (n > t.piece)
		n = t.piece;
	if (n == 0 && t.fails) {
		errno = EIO;
		return -1;
	}
	memset(t.copy, 0x5a, sizeof(t.copy));
	memcpy(t.copy, t.s.bytes + t.at, n);
	t.at += n;
	*bytes = t.copy;
	return (ssize_t)n;
}

static int setup(void **state)
{
	(void)state;
	alarm(120);
	faults_clear();
	no_locale = false;
	memset(&t, 0, sizeof(t));
	t.piece = sizeof(t.copy);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	faults_clear();
	tar_reader_free(t.reader);
	tb_free(&t.s);
	return 0;
}

static enum tar_verdict next(void)
{
	if (!t.reader)
		t.reader = tar_reader_new(source, NULL);
	assert_non_null(t.reader);
	return tar_read_member(t.reader, &t.m);
}

static void restart(size_t piece)
{
	tar_reader_free(t.reader);
	t.reader = NULL;
	t.at = 0;
	t.piece = piece;
}

static void expect(const char *path)
{
	assert_int_equal(next(), TAR_MEMBER);
	assert_string_equal(t.m.path, path);
}

static void expect_bad(const char *path, const char *why)
{
	assert_int_equal(next(), TAR_BAD_MEMBER);
	assert_string_equal(t.m.path, path);
	if (!strstr(tar_reader_error(t.reader), why))
		fail_msg("'%s' does not say '%s'", tar_reader_error(t.reader), why);
}

static void expect_end(void)
{
	assert_int_equal(next(), TAR_END);
	assert_int_equal(tar_reader_marks(t.reader), 2);
}

/* The data of the member, holes as dots. */
static const char *data(void)
{
	static char text[8192];
	const void *bytes;
	uint64_t offset;
	size_t size;
	int result;

	memset(text, 0, sizeof(text));
	while ((result = tar_read_data(t.reader, &bytes, &size, &offset)) == 1) {
		if (offset + size >= sizeof(text))
			fail_msg("too much");
		for (size_t i = 0; i < offset; i++)
			if (text[i] == '\0')
				text[i] = '.';
		memcpy(text + offset, bytes, size);
	}
	return result == 0 ? text : tar_reader_error(t.reader);
}

static void all_pieces(void (*check)(void))
{
	static const size_t pieces[] = { 1, 511, 512, 513, 701, 65536 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		restart(pieces[i]);
		check();
	}
}

/* ---- plain ones ---- */

static void check_plain(void)
{
	expect("a");
	assert_int_equal(t.m.meta.mode, S_IFREG | 0644);
	assert_int_equal(t.m.meta.size, 5);
	assert_int_equal(t.m.meta.mtime.tv_sec, 1);
	assert_int_equal(t.m.meta.atime.tv_sec, 1);
	assert_false(t.m.has_atime);
	assert_null(t.m.user);
	assert_int_equal(tar_reader_member_at(t.reader), 0);
	assert_string_equal(data(), "hello");
	assert_int_equal(tar_read_data(t.reader, &(const void *){ NULL },
				       &(size_t){ 0 }, &(uint64_t){ 0 }), 0);
	expect("b");
	expect("d/");
	assert_int_equal(t.m.meta.mode, S_IFDIR | 0644);
	assert_string_equal(data(), "");
	expect("s");
	assert_string_equal(t.m.target, "to/there");
	assert_int_equal(t.m.meta.size, 8);
	expect("h");
	assert_string_equal(t.m.hardlink, "a");
	assert_int_equal(t.m.meta.size, 0);
	expect("p");
	assert_int_equal(t.m.meta.mode, S_IFIFO | 0644);
	expect("c");
	assert_int_equal(t.m.meta.mode, S_IFCHR | 0644);
	assert_int_equal(t.m.meta.rdev_major, 1);
	assert_int_equal(t.m.meta.rdev_minor, 3);
	expect_end();
	assert_int_equal(tar_reader_used(t.reader), t.s.len);
}

static void kinds_are_told_apart(void **state)
{
	char *block;

	(void)state;
	tb_file(&t.s, "a", "hello");
	tb_file(&t.s, "b", "skipped");
	tb_header(&t.s, "d/", '5', 0, NULL);
	tb_header(&t.s, "s", '2', 0, "to/there");
	tb_header(&t.s, "h", '1', 0, "a");
	tb_header(&t.s, "p", '6', 0, NULL);
	block = tb_header(&t.s, "c", '3', 0, NULL);
	memcpy(block + 329, "0000001", 8);
	memcpy(block + 337, "0000003", 8);
	tb_sign(block);
	tb_end(&t.s);
	all_pieces(check_plain);
}

static void large_blocks_are_not_copied(void **state)
{
	const void *bytes;
	uint64_t offset;
	size_t size;

	(void)state;
	tb_header(&t.s, "a", '0', 30000, NULL);
	tb_add(&t.s, NULL, 30208);
	tb_end(&t.s);
	expect("a");
	assert_int_equal(tar_read_data(t.reader, &bytes, &size, &offset), 1);
	assert_int_equal(size, 30000);
	assert_ptr_equal(bytes, t.copy + 512);
}

/* ---- names ---- */

static void check_names(void)
{
	expect("\xff\xfe");
	expect("e\xcc\x81");
	expect("\xff\xc3");
	expect("e\xcc\x81/\xff");
	expect("s");
	assert_string_equal(t.m.target, "e\xcc\x81");
	assert_string_equal(t.m.user, "u\xcc\x88");
	expect("bin\xff");
	expect("last\xfe");
	expect_end();
}

static void put_names(void)
{
	struct tarbytes r = { 0 };

	tb_file(&t.s, "\xff\xfe", "");
	tb_file(&t.s, "e\xcc\x81", "");
	tb_pax(&t.s, "path", "\xff\xc3");
	tb_file(&t.s, "x", "");
	tb_pax(&t.s, "path", "e\xcc\x81/\xff");
	tb_file(&t.s, "x", "");
	tb_add(&r, "16 linkpath=e\xcc\x81\n13 uname=u\xcc\x88\n", 29);
	tb_header(&t.s, "x", 'x', r.len, NULL);
	tb_body(&t.s, r.bytes, r.len);
	tb_header(&t.s, "s", '2', 0, "x");
	r.len = 0;
	tb_add(&r, "21 hdrcharset=BINARY\n13 path=bin\xff\n", 34);
	tb_header(&t.s, "x", 'x', r.len, NULL);
	tb_body(&t.s, r.bytes, r.len);
	tb_file(&t.s, "x", "");
	tb_free(&r);
	tb_header(&t.s, "././@LongLink", 'L', 7, NULL);
	tb_body(&t.s, "last\xfe\0x", 7);
	tb_file(&t.s, "x", "");
	tb_end(&t.s);
}

/* UTF-8 is not composed, other bytes are not replaced. */
static void names_are_bytes_in_any_locale(void **state)
{
	locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;

	(void)state;
	put_names();
	all_pieces(check_names);
	before = uselocale(mine);
	all_pieces(check_names);
	assert_ptr_equal(uselocale((locale_t)0), mine);	/* left as it was */
	no_locale = true;
	all_pieces(check_names);
	uselocale(before);
	freelocale(mine);
}

static void a_name_of_all_its_field_has_no_nul(void **state)
{
	char name[101], prefix[156], both[300];
	char *block;

	(void)state;
	memset(name, 'n', 100);
	memset(prefix, 'p', 155);
	name[100] = prefix[155] = '\0';
	block = tb_header(&t.s, name, '1', 0, name);
	memcpy(block + 345, prefix, 155);
	tb_sign(block);
	tb_end(&t.s);
	snprintf(both, sizeof(both), "%s/%s", prefix, name);
	expect(both);
	assert_string_equal(t.m.hardlink, name);
	expect_end();
}

/* As Python writes them: the field holds the begin of the path. */
static void a_field_cut_at_a_slash_makes_no_directory(void **state)
{
	static const char path[] = "dir/file";

	(void)state;
	tb_pax(&t.s, "path", path);
	tb_header(&t.s, "dir/", '0', 5, NULL);
	tb_body(&t.s, "hello", 5);
	tb_pax(&t.s, "path", "dir/sub/");
	tb_header(&t.s, "dir/", '0', 0, NULL);
	tb_end(&t.s);
	expect(path);
	assert_true(S_ISREG(t.m.meta.mode));
	assert_int_equal(t.m.meta.size, 5);
	expect("dir/sub/");
	assert_true(S_ISDIR(t.m.meta.mode));
	expect_end();
}

static void a_name_with_a_nul_is_none(void **state)
{
	(void)state;
	tb_record(&t.s, "path", "a\0b", 3);
	tb_file(&t.s, "x", "data");
	tb_record(&t.s, "linkpath", "a\0b", 3);
	tb_header(&t.s, "y", '2', 0, "t");
	tb_file(&t.s, "", "data");
	tb_header(&t.s, "z", '2', 0, "");
	tb_header(&t.s, "h", '1', 0, "");
	tb_file(&t.s, "next", "data");
	tb_end(&t.s);
	expect_bad("x", "NUL");
	expect_bad("y", "NUL");
	assert_int_equal(next(), TAR_BAD_MEMBER);
	assert_null(t.m.path);
	expect_bad("z", "link to nothing");
	expect_bad("h", "link to nothing");
	expect("next");
	assert_string_equal(data(), "data");
	expect_end();
}

/* ---- times ---- */

static void expect_time(const char *text, time_t sec, long nsec)
{
	tb_pax(&t.s, "mtime", text);
	tb_file(&t.s, "m", "");
	tb_pax(&t.s, "atime", text);
	tb_file(&t.s, "a", "");
	expect("m");
	assert_int_equal(t.m.meta.mtime.tv_sec, sec);
	assert_int_equal(t.m.meta.mtime.tv_nsec, nsec);
	assert_false(t.m.has_atime);
	expect("a");
	assert_int_equal(t.m.meta.mtime.tv_sec, 1);
	assert_true(t.m.has_atime);
	assert_int_equal(t.m.meta.atime.tv_sec, sec);
	assert_int_equal(t.m.meta.atime.tv_nsec, nsec);
}

static void times_before_1970_are_right(void **state)
{
	(void)state;
	t.piece = 512;
	expect_time("0", 0, 0);
	expect_time("0.5", 0, 500000000);
	expect_time("-0.25", -1, 750000000);
	expect_time("-1", -1, 0);
	expect_time("-1.5", -2, 500000000);
	expect_time("-1.000000001", -2, 999999999);
	expect_time("-315619199.75", -315619200, 250000000);
	expect_time("-315619200", -315619200, 0);
	expect_time("1700000000.123456789", 1700000000, 123456789);
	expect_time("1.9999999999", 1, 999999999);
	expect_time("9223372036854775807", INT64_MAX, 0);
}

static void times_that_make_no_sense_are_told(void **state)
{
	static const char *const bad[] = { "abc", "1e5", "+5", "1.2.3", "1.-5",
		"--1", "9223372036854775808", "-", ".", "1.5x", " 1" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tb_pax(&t.s, "mtime", bad[i]);
		tb_file(&t.s, "m", "");
	}
	tb_end(&t.s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_bad("m", "time");
	expect_end();
}

/* ---- attributes ---- */

static void an_attribute_comes_once(void **state)
{
	static const char *const records[] = {
		"SCHILY.xattr.user.b=first", "SCHILY.xattr.user.b=b",
		"LIBARCHIVE.xattr.user.a=AAEC", "LIBARCHIVE.xattr.user.c=AAEC",
		"SCHILY.xattr.user.a=own", "SCHILY.xattr.user.e=",
	};
	struct tarbytes r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		char line[99];

		/* all of them have two digits */
		snprintf(line, sizeof(line), "%zu %s\n", strlen(records[i]) + 4,
			 records[i]);
		tb_add(&r, line, strlen(line));
	}
	tb_header(&t.s, "x", 'x', r.len, NULL);
	tb_body(&t.s, r.bytes, r.len);
	tb_free(&r);
	tb_file(&t.s, "f", "x");
	tb_file(&t.s, "g", "x");
	tb_end(&t.s);
	expect("f");
	assert_int_equal(t.m.nxattrs, 4);
	assert_string_equal(t.m.xattrs[0].name, "user.a");
	assert_int_equal(t.m.xattrs[0].size, 3);
	assert_memory_equal(t.m.xattrs[0].value, "own", 3);
	assert_string_equal(t.m.xattrs[1].name, "user.b");
	assert_memory_equal(t.m.xattrs[1].value, "b", 1);
	assert_string_equal(t.m.xattrs[2].name, "user.c");
	assert_memory_equal(t.m.xattrs[2].value, "\0\1\2", 3);
	assert_string_equal(t.m.xattrs[3].name, "user.e");
	assert_int_equal(t.m.xattrs[3].size, 0);
	expect("g");
	assert_int_equal(t.m.nxattrs, 0);
	expect_end();
}

/* As GNU tar and libarchive write what can't stand before a `=`. */
static void an_attribute_may_have_any_name(void **state)
{
	static const char *const names[][2] = {
		{ "user.a%3Db", "user.a=b" }, { "user.c%253D", "user.c%3D" },
		{ "user.%c3%A9", "user.\xc3\xa9" }, { "user.%", "user.%" },
		{ "user.%3", "user.%3" }, { "user.%3x", "user.%3x" },
		{ "user.%00", "user.%00" }, { "user. \"", "user. \"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char key[99];

		snprintf(key, sizeof(key), "SCHILY.xattr.%s", names[i][0]);
		t.s.len = 0;
		restart(65536);
		tb_pax(&t.s, key, "v");
		tb_file(&t.s, "f", "");
		expect("f");
		assert_int_equal(t.m.nxattrs, 1);
		assert_string_equal(t.m.xattrs[0].name, names[i][1]);
		assert_int_equal(t.m.xattrs[0].size, 1);
	}
}

static void a_header_above_a_mebibyte_loses_nothing(void **state)
{
	size_t size = 3 << 20;
	char *value = malloc(size);

	(void)state;
	memset(value, 'v', size);
	tb_record(&t.s, "SCHILY.xattr.user.big", value, size);
	tb_file(&t.s, "f", "data");
	tb_record(&t.s, "unknown", value, size);
	tb_file(&t.s, "g", "data");
	tb_file(&t.s, "h", "data");
	tb_end(&t.s);
	expect("f");
	assert_int_equal(t.m.nxattrs, 1);
	assert_int_equal(t.m.xattrs[0].size, size);
	assert_memory_equal(t.m.xattrs[0].value, value, size);
	assert_string_equal(data(), "data");
	expect_bad("g", "too large");
	expect("h");
	assert_string_equal(data(), "data");
	expect_end();
	free(value);
}

static void an_acl_leaves_the_mode_alone(void **state)
{
	char *block;

	(void)state;
	tb_pax(&t.s, "SCHILY.acl.access",
	       "user::rw-,user:7:r--:7,group::---,mask::rw-,other::r--");
	block = tb_header(&t.s, "f", '0', 0, NULL);
	memcpy(block + 100, "0000664", 8);
	tb_sign(block);
	tb_end(&t.s);
	expect("f");
	assert_int_equal(t.m.meta.mode, S_IFREG | 0664);
	expect_end();
}

/* ---- data where there should be none, and none where there should be ---- */

static void check_sizes(void)
{
	expect("one");
	assert_string_equal(t.m.hardlink, "x");
	assert_int_equal(t.m.meta.size, 0);
	assert_string_equal(data(), "");
	expect("two");
	assert_string_equal(t.m.hardlink, "x");
	assert_int_equal(t.m.meta.size, 5);
	assert_string_equal(data(), "hello");
	expect("pax");
	assert_string_equal(t.m.hardlink, "x");
	assert_int_equal(t.m.meta.size, 5);
	assert_string_equal(data(), "world");
	expect("dir");
	assert_int_equal(t.m.meta.size, 0);
	expect("sym");
	assert_string_equal(t.m.target, "x");
	expect("sym2");
	assert_string_equal(t.m.target, "x");
	expect("last");
	assert_string_equal(t.m.hardlink, "x");
	expect_end();
}

static void a_link_with_a_size_has_data_or_not(void **state)
{
	(void)state;
	tb_header(&t.s, "one", '1', 5, "x");
	tb_header(&t.s, "two", '1', 5, "x");
	tb_body(&t.s, "hello", 5);
	tb_pax(&t.s, "mtime", "7");
	tb_header(&t.s, "pax", '1', 5, "x");
	tb_body(&t.s, "world", 5);
	tb_header(&t.s, "dir", '5', 4096, NULL);
	tb_header(&t.s, "sym", '2', 1, "x");
	tb_header(&t.s, "sym2", '2', 1, "x");
	tb_body(&t.s, "x", 1);
	tb_header(&t.s, "last", '1', 77, "x");
	tb_end(&t.s);
	all_pieces(check_sizes);
}

static void what_gnu_tar_has_of_its_own(void **state)
{
	(void)state;
	tb_header(&t.s, "label", 'V', 0, NULL);
	tb_header(&t.s, "rest", 'M', 5, NULL);
	tb_body(&t.s, "hello", 5);
	tb_header(&t.s, "dump/", 'D', 6, NULL);
	tb_body(&t.s, "Yfile\0", 6);
	tb_header(&t.s, "names", 'N', 5, NULL);
	tb_body(&t.s, "hello", 5);
	tb_file(&t.s, "f", "data");
	tb_end(&t.s);
	expect_bad("rest", "another volume");
	expect("dump/");
	assert_int_equal(t.m.meta.mode, S_IFDIR | 0644);
	assert_string_equal(data(), "");
	expect_bad("names", "old GNU tar");
	expect("f");
	assert_string_equal(data(), "data");
	expect_end();
}

/* ---- what makes no sense ---- */

static void check_damaged(void)
{
	expect("a");
	assert_int_equal(next(), TAR_BROKEN);
	assert_string_equal(tar_reader_error(t.reader), "damaged header");
	assert_false(tar_reader_cut(t.reader));
	assert_int_equal(tar_reader_used(t.reader), 1024);
}

static void a_damaged_header_is_the_end(void **state)
{
	char *block;

	(void)state;
	tb_file(&t.s, "a", "hello");
	block = tb_header(&t.s, "b", '0', 0, NULL);
	block[0] ^= 1;
	tb_file(&t.s, "c", "");
	tb_end(&t.s);
	all_pieces(check_damaged);
}

static void records_that_make_no_sense_cost_one_member(void **state)
{
	static const char *const bad[] = { "0 path=a\n", "-5 path=a\n",
		"999999999999 path=a\n", "99999999999999999999999 path=a\n",
		"path=a\n", "9 path=ab", "8 patha\n", "9 path=ab\n", "3\n\n",
		"4 =\n", "6 =ab\n", "\n", "20 path=a\n", "25 SCHILY.xattr.=abcdefg\n",
		"12 size=1x2\n", "11 size=-5\n", "29 size=9223372036854775808\n" };
	size_t n = sizeof(bad) / sizeof(bad[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		tb_header(&t.s, "x", 'x', strlen(bad[i]), NULL);
		tb_body(&t.s, bad[i], strlen(bad[i]));
		tb_file(&t.s, "bad", "data");
		tb_file(&t.s, "good", "data");
	}
	tb_end(&t.s);
	for (size_t i = 0; i < n; i++) {
		expect_bad("bad", "");
		expect("good");
		assert_string_equal(data(), "data");
	}
	expect_end();
}

static void sizes_that_make_no_sense_are_the_end(void **state)
{
	static const char negative[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
	static const char huge[] = "\x80\1\0\0\0\0\0\0\0\0\0\0";
	static const char big[] = "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff";
	static const char *const sizes[] = { negative, huge, big, "-0000000001",
		"0000x000000" };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		char *block;

		t.s.len = 0;
		restart(65536);
		block = tb_header(&t.s, "n", '0', 0, NULL);
		memcpy(block + 124, sizes[i], 12);
		tb_sign(block);
		tb_end(&t.s);
		assert_int_equal(next(), TAR_BROKEN);
		assert_string_equal(tar_reader_error(t.reader),
				    "a size that makes no sense");
	}
}

static void an_owner_that_makes_no_sense_costs_one_member(void **state)
{
	(void)state;
	tb_pax(&t.s, "uid", "4294967296");
	tb_file(&t.s, "a", "");
	tb_pax(&t.s, "gid", "-1");
	tb_file(&t.s, "b", "");
	tb_pax(&t.s, "uid", "4294967294");
	tb_file(&t.s, "c", "");
	tb_end(&t.s);
	expect_bad("a", "owner");
	expect_bad("b", "owner");
	expect("c");
	assert_int_equal(t.m.meta.uid, 4294967294u);
	expect_end();
}

/* Headers that announce what they haven't got, without the memory for it. */
static void put_map(const char *map)
{
	static const char records[] = "22 GNU.sparse.major=1\n"
		"22 GNU.sparse.minor=0\n22 GNU.sparse.name=sp\n"
		"28 GNU.sparse.realsize=2000\n";

	tb_header(&t.s, "x", 'x', strlen(records), NULL);
	tb_body(&t.s, records, strlen(records));
	tb_header(&t.s, "GNUSparseFile.0/sp", '0', 512 + 10, NULL);
	tb_body(&t.s, map, strlen(map));
	tb_body(&t.s, "helloworld", 10);
}

static void maps_that_make_no_sense_are_told(void **state)
{
	static const char *const bad[] = { "2\n0\n5\n3\n5\n",
		"2\n1000\n5\n0\n5\n", "2\n0\n5\n1998\n5\n" };

	(void)state;
	put_map("2\n0\n5\n1000\n5\n");
	put_map("1048577\n0\n5\n");
	put_map("99999999999999999999999999999\n0\n5\n");
	put_map("x\n");
	for (size_t i = 0; i < 3; i++)
		put_map(bad[i]);
	put_map("2\n0\n5\n1000\n9\n");
	tb_file(&t.s, "f", "data");
	tb_end(&t.s);
	expect("sp");
	assert_int_equal(t.m.meta.size, 2000);
	assert_true(t.m.sparse);
	assert_int_equal(strlen(data()), 1005);
	expect_bad("sp", "sparse map is too large");
	expect_bad("sp", "sparse map is too large");
	expect_bad("sp", "");
	for (size_t i = 0; i < 3; i++) {
		expect("sp");
		assert_string_equal(data(), "a sparse map that makes no sense");
	}
	expect("sp");
	assert_string_equal(data(), "its data are shorter than its sparse map says");
	expect("f");
	assert_string_equal(data(), "data");
	expect_end();
}

static void announced_sizes_take_no_memory(void **state)
{
	struct rlimit limit, before;
	char type;

	(void)state;
	getrlimit(RLIMIT_AS, &before);
	limit = before;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	limit.rlim_cur = 1000000 << 10;
#endif
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	for (const char *types = "xLKgV0"; (type = *types) != '\0'; types++) {
		char *block;

		t.s.len = 0;
		restart(65536);
		block = tb_header(&t.s, "n", type, 0, NULL);
		memcpy(block + 124, "\x80\0\0\0\0\0\1\0\0\0\0\0", 12);
		tb_sign(block);
		tb_add(&t.s, NULL, 100000);
		if (type == '0')
			expect("n");
		assert_int_equal(next(), TAR_BROKEN);
		assert_true(tar_reader_cut(t.reader));
		assert_int_equal(tar_reader_used(t.reader), t.s.len);
	}
	setrlimit(RLIMIT_AS, &before);
}

static void many_headers_of_one_member_take_no_memory(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++)
		tb_pax(&t.s, "path", i == 99999 ? "last" : "other");
	tb_file(&t.s, "f", "data");
	tb_end(&t.s);
	expect("last");
	assert_string_equal(data(), "data");
	expect_end();
}

static void a_header_needs_its_member(void **state)
{
	(void)state;
	tb_pax(&t.s, "path", "p");
	tb_end(&t.s);
	assert_int_equal(next(), TAR_BROKEN);
	assert_string_equal(tar_reader_error(t.reader),
			    "a header without its member");
	restart(512);
	t.s.len -= 1024;
	assert_int_equal(next(), TAR_BROKEN);
	assert_true(tar_reader_cut(t.reader));
}

static void marks_are_counted(void **state)
{
	(void)state;
	tb_file(&t.s, "f", "data");
	for (unsigned marks = 0; marks <= 2; marks++) {
		restart(marks == 1 ? 512 : 65536);
		expect("f");
		assert_int_equal(next(), TAR_END);
		assert_int_equal(tar_reader_marks(t.reader), marks);
		assert_int_equal(tar_reader_used(t.reader), 1024 + 512 * marks);
		tb_add(&t.s, NULL, 512);
	}
	t.s.len = 1024 + 512;
	tb_add(&t.s, "x", 1);
	restart(65536);
	expect("f");
	assert_int_equal(next(), TAR_END);
	assert_int_equal(tar_reader_marks(t.reader), 1);
}

/* ---- failures ---- */

static void a_source_that_fails_is_a_cut(void **state)
{
	(void)state;
	t.fails = true;
	tb_file(&t.s, "f", "data");
	for (size_t len = 0; len <= 1024; len += 512) {
		t.s.len = len;
		restart(512);
		if (len > 0)
			expect("f");
		assert_int_equal(next(), TAR_BROKEN);
		assert_true(tar_reader_cut(t.reader));
	}
}

static void a_cut_within_data_is_told(void **state)
{
	(void)state;
	tb_header(&t.s, "f", '0', 10000, NULL);
	tb_add(&t.s, NULL, 5000);
	expect("f");
	assert_string_equal(data(), "cut off");
	assert_true(tar_reader_cut(t.reader));
	assert_int_equal(tar_reader_used(t.reader), 5512);
}

/* Each allocation of ours in turn: a member is lost, or all, and nothing is made up. */
static void without_memory_nothing_is_made_up(void **state)
{
	unsigned told = 0;

	(void)state;
	put_names();
	for (int kind = MALLOC; kind <= REALLOC; kind++) {
		for (unsigned after = 0; after < 40; after++) {
			enum tar_verdict verdict = TAR_MEMBER;

			restart(65536);
			faults_clear();
			fault_set((enum fault_call)kind,
				  (struct fault){ .after = after, .err = ENOMEM });
			t.reader = tar_reader_new(source, NULL);
			while (t.reader && verdict != TAR_END &&
			       verdict != TAR_BROKEN) {
				verdict = tar_read_member(t.reader, &t.m);
				told += verdict != TAR_MEMBER &&
					verdict != TAR_END;
			}
			told += t.reader == NULL;
			if (fault_hits((enum fault_call)kind) == 0)
				break;
		}
	}
	assert_true(told >= 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kinds_are_told_apart),
		TEST(large_blocks_are_not_copied),
		TEST(names_are_bytes_in_any_locale),
		TEST(a_name_of_all_its_field_has_no_nul),
		TEST(a_field_cut_at_a_slash_makes_no_directory),
		TEST(a_name_with_a_nul_is_none),
		TEST(times_before_1970_are_right),
		TEST(times_that_make_no_sense_are_told),
		TEST(an_attribute_comes_once),
		TEST(an_attribute_may_have_any_name),
		TEST(a_header_above_a_mebibyte_loses_nothing),
		TEST(an_acl_leaves_the_mode_alone),
		TEST(a_link_with_a_size_has_data_or_not),
		TEST(what_gnu_tar_has_of_its_own),
		TEST(a_damaged_header_is_the_end),
		TEST(records_that_make_no_sense_cost_one_member),
		TEST(sizes_that_make_no_sense_are_the_end),
		TEST(an_owner_that_makes_no_sense_costs_one_member),
		TEST(maps_that_make_no_sense_are_told),
		TEST(announced_sizes_take_no_memory),
		TEST(many_headers_of_one_member_take_no_memory),
		TEST(a_header_needs_its_member),
		TEST(marks_are_counted),
		TEST(a_source_that_fails_is_a_cut),
		TEST(a_cut_within_data_is_told),
		TEST(without_memory_nothing_is_made_up),
	};

	return cmocka_run_group_tests_name("tarread", tests, NULL, NULL);
}
