/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of what is packed: its lines, its sums, and when it gets no name. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "manifest.h"
#include "opts.h"
#include "tree.h"

WRAPPED(ssize_t, pread, int fd, void *to, size_t size, off_t at)
{
	return fault_due(PREAD, NULL, &size) ? -1 : __real_pread(fd, to, size, at);
}

WRAPPED(ssize_t, write, int fd, const void *from, size_t size)
{
	if (fd == STDERR_FILENO)
		return __real_write(fd, from, size);
	return fault_due(WRITE, NULL, &size) ? -1 : __real_write(fd, from, size);
}

WRAPPED(int, linkat, int from, const char *old, int to, const char *new, int flags)
{
	return fault_due(LINKAT, NULL, NULL) ? -1 :
					       __real_linkat(from, old, to, new, flags);
}

WRAPPED(int, renameat, int from, const char *old, int to, const char *new)
{
	return fault_due(RENAMEAT, NULL, NULL) ? -1 :
						 __real_renameat(from, old, to, new);
}

WRAPPED(void *, realloc, void *old, size_t size)
{
	return fault_due(REALLOC, NULL, NULL) ? NULL : __real_realloc(old, size);
}

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static struct manifest *list;
static unsigned before;

static int setup(void **state)
{
	faults_clear();
	if (tree_setup(state) != 0)
		return -1;
	before = open_descriptors();
	list = manifest_open("list", PRESERVE_ALL);
	return list ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	manifest_close(list, false);
	assert_int_equal(open_descriptors(), before);
	diag_reset();
	return tree_teardown(state);
}

static void end(bool whole)
{
	manifest_close(list, whole);
	list = NULL;
}

static struct manifest_entry entry_of(const char *path, mode_t mode)
{
	return (struct manifest_entry){
		.path = path,
		.meta = { .mode = mode, .uid = 1, .gid = 2,
			  .mtime = { 3, 4 } },
		.nlink = 1,
	};
}

static void put_entry(const char *path, mode_t mode)
{
	struct manifest_entry entry = entry_of(path, mode);

	manifest_entry(list, &entry);
}

#define META "uid=1 gid=2 nlink=1 time=3.000000004"

static void each_type_has_its_line(void **state)
{
	struct manifest_entry link = entry_of("dir/link", S_IFLNK | 0777);
	struct manifest_entry node = entry_of("node", S_IFCHR | 0600);

	(void)state;
	put_entry("", S_IFDIR | 0755);
	put_entry("dir", S_IFDIR | 01777);
	link.target = "to there";
	manifest_entry(list, &link);
	put_entry("fifo", S_IFIFO | 0644);
	put_entry("socket", S_IFSOCK | 0644);
	node.meta.rdev_major = 1;
	node.meta.rdev_minor = 3;
	manifest_entry(list, &node);
	put_entry("a b\n", S_IFREG | 04711);
	manifest_end(list, 0, 0);
	end(true);
	assert_text("list", "#mtree\n"
		". type=dir mode=0755 uid=1 gid=2 time=3.000000004\n"
		"./dir type=dir mode=1777 uid=1 gid=2 time=3.000000004\n"
		"./dir/link type=link mode=0777 " META " link=to\\040there\n"
		"./fifo type=fifo mode=0644 " META "\n"
		"./socket type=socket mode=0644 " META "\n"
		"./node type=char mode=0600 " META " device=native,1,3\n"
		"./a\\040b\\012 type=file mode=4711 " META
		" size=0 sha256digest=" EMPTY "\n");
}

static void a_sum_is_that_of_all_bytes(void **state)
{
	(void)state;
	put_entry("f", S_IFREG | 0644);
	manifest_data(list, "a", 1, 0);
	manifest_data(list, "bc", 2, 1);
	manifest_end(list, 3, 0);
	end(true);
	assert_text("list", "#mtree\n./f type=file mode=0644 " META
			    " size=3 sha256digest=" ABC "\n");
}

/* One with holes has the sum of one without. */
static void holes_are_zeros(void **state)
{
	static char zeros[200000];
	char line[2][512];
	FILE *file;

	(void)state;
	put_entry("f", S_IFREG | 0644);
	manifest_data(list, "b", 1, 100000);
	manifest_end(list, sizeof(zeros), 0);
	zeros[100000] = 'b';
	put_entry("f", S_IFREG | 0644);
	manifest_data(list, zeros, sizeof(zeros), 0);
	manifest_end(list, sizeof(zeros), 0);
	end(true);
	file = fopen("list", "re");
	assert_non_null(file);
	assert_non_null(fgets(line[0], 512, file));
	assert_non_null(fgets(line[0], 512, file));
	assert_non_null(fgets(line[1], 512, file));
	fclose(file);
	assert_string_equal(line[0], line[1]);
	assert_non_null(strstr(line[0], "size=200000"));
}

static void read_from(const char *path, uint64_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	put_entry(path, S_IFREG | 0644);
	manifest_read(list, fd, size);
	manifest_end(list, size, 0);
	close(fd);
}

static void files_may_be_read_behind(void **state)
{
	(void)state;
	put_file("abc", "abcdef");
	for (int i = 0; i < 50; i++)
		read_from("abc", 3);
	end(true);
	assert_int_equal(stat_of("list").st_size,
			 7 + 50 * strlen("./abc type=file mode=0644 " META
					 " size=3 sha256digest=" ABC "\n"));
}

static void what_can_not_be_read_is_not_listed(void **state)
{
	(void)state;
	put_file("abc", "abc");
	fault_set(PREAD, (struct fault){ .err = EIO });
	capture_begin(STDERR_FILENO);
	read_from("abc", 3);
	put_entry("failed", S_IFREG | 0644);
	manifest_data(list, "x", 1, 0);
	manifest_end(list, 1, EIO);
	end(true);
	assert_string_equal(capture_end(), "tarpipe: abc: left out of the list: "
			    "reading at byte 0: Input/output error\n");
	assert_text("list", "#mtree\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void further_names_have_the_sum_of_the_first(void **state)
{
	struct manifest_entry entry = entry_of("a", S_IFREG | 0644);

	(void)state;
	entry.id = 100;
	entry.nlink = 3;
	manifest_entry(list, &entry);
	manifest_data(list, "abc", 3, 0);
	manifest_end(list, 3, 0);
	entry.path = "b";
	entry.further = true;
	manifest_entry(list, &entry);
	entry.path = "c";
	entry.last = true;
	manifest_entry(list, &entry);
	entry.path = "unknown";
	entry.id = 7;
	manifest_entry(list, &entry);
	end(true);
#define LINE " type=file mode=0644 uid=1 gid=2 time=3.000000004 size=3 " \
	     "sha256digest=" ABC "\n"
	assert_text("list", "#mtree\n./a" LINE "#hardlink ./a\n./b" LINE
			    "#hardlink ./a\n./c" LINE);
}

static void what_is_not_kept_is_not_listed(void **state)
{
	(void)state;
	end(false);
	list = manifest_open("list", PRESERVE_LINKS);
	put_entry("d", S_IFDIR | 0755);
	end(true);
	assert_text("list", "#mtree\n./d type=dir\n");
}

static void a_list_that_is_not_whole_gets_no_name(void **state)
{
	(void)state;
	put_file("list", "old");
	put_entry("d", S_IFDIR | 0755);
	end(false);
	assert_text("list", "old");
	assert_names(".", "list");
}

static void assert_failed(const char *message)
{
	capture_begin(STDERR_FILENO);
	for (int i = 0; i < 3000; i++)
		put_entry("d", S_IFDIR | 0755);
	end(true);
	assert_string_equal(capture_end(), message);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_names(".", "");
}

static void a_full_disk_is_told_once(void **state)
{
	(void)state;
	fault_set(WRITE, (struct fault){ .err = ENOSPC, .times = EVERY_TIME });
	assert_failed("tarpipe: list: writing the list: No space left on device\n");
}

static void short_writes_are_gone_on_with(void **state)
{
	(void)state;
	fault_set(WRITE, (struct fault){ .most = 7, .times = EVERY_TIME });
	put_entry("d", S_IFDIR | 0755);
	end(true);
	assert_text("list", "#mtree\n./d type=dir mode=0755 uid=1 gid=2 "
			    "time=3.000000004\n");
}

static void a_name_that_can_not_be_had_is_told(void **state)
{
	(void)state;
	fault_set(LINKAT, (struct fault){ .err = EDQUOT, .times = EVERY_TIME });
	fault_set(RENAMEAT, (struct fault){ .err = EDQUOT, .times = EVERY_TIME });
	assert_failed("tarpipe: list: naming the list: Disk quota exceeded\n");
}

static void no_memory_is_told_once(void **state)
{
	(void)state;
	fault_set(REALLOC, (struct fault){ .err = ENOMEM, .times = EVERY_TIME });
	capture_begin(STDERR_FILENO);
	for (int i = 0; i < 3000; i++)
		put_entry("some/name/that/takes/room", S_IFDIR | 0755);
	end(true);
	assert_string_equal(capture_end(), "tarpipe: list: making the list: "
			    "Cannot allocate memory\n");
	assert_names(".", "");
}

static void a_path_that_is_too_long_spoils_it(void **state)
{
	static char path[300 << 10];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	capture_begin(STDERR_FILENO);
	put_entry(path, S_IFDIR | 0755);
	put_entry("d", S_IFDIR | 0755);
	end(true);
	assert_int_equal(strncmp(capture_end(), "tarpipe: aaa", 12), 0);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_names(".", "");
}

static void what_can_not_be_begun_is_refused(void **state)
{
	(void)state;
	put_dir("dir");
	capture_begin(STDERR_FILENO);
	assert_null(manifest_open("nowhere/list", PRESERVE_ALL));
	assert_null(manifest_open("dir", PRESERVE_ALL));
	capture_end();
	assert_int_equal(diag_status(), STATUS_USAGE);
	manifest_close(NULL, true);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_type_has_its_line),
		T(a_sum_is_that_of_all_bytes),
		T(holes_are_zeros),
		T(files_may_be_read_behind),
		T(what_can_not_be_read_is_not_listed),
		T(further_names_have_the_sum_of_the_first),
		T(what_is_not_kept_is_not_listed),
		T(a_list_that_is_not_whole_gets_no_name),
		T(a_full_disk_is_told_once),
		T(short_writes_are_gone_on_with),
		T(a_name_that_can_not_be_had_is_told),
		T(no_memory_is_told_once),
		T(a_path_that_is_too_long_spoils_it),
		T(what_can_not_be_begun_is_refused),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
