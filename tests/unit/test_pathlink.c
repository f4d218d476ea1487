/* SPDX-License-Identifier: BSD-2-Clause */
/* Further names of what a path leads to. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "worker.h"

static void give_pathlink(const char *name, const char *target, uint64_t data)
{
	struct record link = head(RECORD_PATHLINK, name, 0);

	link.data = target;
	link.data_len = (uint32_t)strlen(target);
	link.meta.size = data;
	give(link);
}

/* In a run of its own; returns what was told. */
static const char *link_to(const char *name, const char *target)
{
	capture_begin(STDERR_FILENO);
	enter(root);
	give_pathlink(name, target, 0);
	leave();
	return capture_end();
}

static void a_path_below_is_linked(void **state)
{
	(void)state;
	put_dir("dst/d");
	put_dir("dst/d/e");
	put_file("dst/d/e/f", "text");
	put_file("dst/g", "other");
	assert_string_equal(link_to("a", "d/e/f"), "");
	assert_linked("dst/a", "dst/d/e/f", 2);
	assert_string_equal(link_to("b", "g"), "");
	assert_linked("dst/b", "dst/g", 2);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_symlink_itself_is_linked(void **state)
{
	(void)state;
	put_file("secret", "secret");
	assert_int_equal(symlink("../secret", "dst/l"), 0);
	assert_string_equal(link_to("a", "l"), "");
	assert_linked("dst/a", "dst/l", 2);
	assert_int_equal(stat_of("secret").st_nlink, 1);
}

/* The two names are one: the old and the new one of a second run. */
static void a_name_that_is_the_target_stays(void **state)
{
	(void)state;
	put_file("dst/f", "text");
	assert_int_equal(link("dst/f", "dst/a"), 0);
	assert_string_equal(link_to("a", "f"), "");
	assert_string_equal(link_to("f", "f"), "");
	assert_linked("dst/a", "dst/f", 2);
	assert_names("dst", "a f");
}

static void a_link_takes_the_place_of_another_file(void **state)
{
	(void)state;
	put_file("dst/a", "old");
	assert_int_equal(link("dst/a", "kept"), 0);
	put_file("dst/f", "text");
	assert_string_equal(link_to("a", "f"), "");
	assert_linked("dst/a", "dst/f", 2);
	assert_text("kept", "old");
	assert_names("dst", "a f");
}

static void what_leads_outside_is_refused(void **state)
{
	static const char *const targets[] = {
		"/etc/passwd", "../f", "d/../../f", "out/f", "s/f", "s/../f", "",
		".",	       "./f",  "d//f",	    "d/",    "f/x",
	};

	(void)state;
	put_file("f", "secret");
	put_dir("dst/d");
	put_file("dst/f", "text");
	assert_int_equal(symlink("..", "dst/out"), 0);
	assert_int_equal(symlink("d", "dst/s"), 0);
	put_file("dst/d/f", "text");
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		const char *told = link_to("a", targets[i]);

		if (!strstr(told, "tarpipe: dst/a: refused: "))
			fail_msg("%s: %s", targets[i], told);
		assert_false(is_there("dst/a"));
		assert_int_equal(diag_status(), STATUS_PARTIAL);
	}
	assert_int_equal(stat_of("f").st_nlink, 1);
	assert_int_equal(stat_of("dst/d/f").st_nlink, 1);
	assert_goes_on();
}

static void a_directory_is_not_linked(void **state)
{
	(void)state;
	put_dir("dst/d");
	assert_string_equal(link_to("a", "d"), "tarpipe: dst/a: refused: its link's "
			    "target is a directory\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void what_is_not_there_is_told(void **state)
{
	(void)state;
	assert_string_equal(link_to("a", "x/y"),
			    "tarpipe: dst/a: not linked: looking up its target "
			    "(a link to x/y): No such file or directory\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_goes_on();
}

/* What another run left there may be the same file, or any other. */
static void what_was_left_out_is_known_by_its_time(void **state)
{
	struct record link = head(RECORD_PATHLINK, "a", 0);

	(void)state;
	put_file("dst/f", "text");
	meta_from_stat(&link.meta, &(struct stat){ 0 });
	link.data = "f";
	link.data_len = 1;
	link.flags = RECORD_OTHER;
	capture_begin(STDERR_FILENO);
	enter(root);
	give(link);
	leave();
	assert_string_equal(capture_end(), "tarpipe: dst/a: not linked: its target was "
			    "there before, and is another file (a link to f)\n");
	assert_false(is_there("dst/a"));
	assert_int_equal(diag_status(), STATUS_PARTIAL);

	link.meta.mtime = stat_of("dst/f").st_mtim;
	capture_begin(STDERR_FILENO);
	enter(root);
	give(link);
	leave();
	assert_string_equal(capture_end(), "");
	assert_linked("dst/a", "dst/f", 2);
}

static void data_of_another_size_are_told(void **state)
{
	(void)state;
	put_file("dst/f", "text");
	capture_begin(STDERR_FILENO);
	enter(root);
	give_pathlink("a", "f", 4);
	give_pathlink("b", "f", 5);
	leave();
	assert_non_null(strstr(capture_end(), "tarpipe: dst/b: a link that came "
			       "with data"));
	assert_linked("dst/a", "dst/b", 3);
	assert_text("dst/a", "text");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* Those that follow go to the second inode, not to one each. */
static void a_full_inode_gets_one_twin(void **state)
{
	struct stat st;

	(void)state;
	put_dir("dst/d");
	put_file("dst/d/f", "text");
	assert_int_equal(chmod("dst/d/f", 0640), 0);
	fault_set(LINKAT, (struct fault){ .name = "a", .err = EMLINK });
	assert_string_equal(link_to("a", "d/f"),
			    "tarpipe: dst/a: linkat: it begins another inode with "
			    "the same contents: Too many links\n");
	assert_string_equal(link_to("b", "d/f"), "");
	assert_string_equal(link_to("c", "d/f"), "");
	assert_int_equal(stat_of("dst/d/f").st_nlink, 1);
	assert_linked("dst/a", "dst/b", 3);
	assert_linked("dst/a", "dst/c", 3);
	assert_text("dst/a", "text");
	st = stat_of("dst/d/f");
	assert_int_equal(stat_of("dst/a").st_mtim.tv_sec, st.st_mtim.tv_sec);
	assert_int_equal(stat_of("dst/a").st_mtim.tv_nsec, st.st_mtim.tv_nsec);
	assert_int_equal(mode_of("dst/a"), 0640);
	/* Another target has nothing to do with it. */
	put_file("dst/g", "other");
	assert_string_equal(link_to("h", "g"), "");
	assert_linked("dst/h", "dst/g", 2);
}

/* And when that is full, too. */
static void a_full_twin_gets_a_twin(void **state)
{
	(void)state;
	put_file("dst/f", "text");
	capture_begin(STDERR_FILENO);
	fault_set(LINKAT, (struct fault){ .name = "a", .err = EMLINK });
	enter(root);
	give_pathlink("a", "f", 0);
	fault_set(LINKAT, (struct fault){ .name = "b", .err = EMLINK });
	give_pathlink("b", "f", 0);
	give_pathlink("c", "f", 0);
	leave();
	(void)capture_end();
	assert_int_equal(stat_of("dst/a").st_nlink, 1);
	assert_linked("dst/b", "dst/c", 2);
	assert_text("dst/c", "text");
	assert_names("dst", "a b c f");
}

static void a_twin_that_fails_stands_for_nobody(void **state)
{
	(void)state;
	put_file("dst/f", "text");
	put_file("dst/a", "old");
	capture_begin(STDERR_FILENO);
	fault_set(LINKAT, (struct fault){ .err = EMLINK });
	fault_set(PWRITE, (struct fault){ .err = EIO });
	enter(root);
	give_pathlink("a", "f", 0);
	faults_clear();
	give_pathlink("b", "f", 0);
	leave();
	(void)capture_end();
	assert_text("dst/a", "old");
	assert_linked("dst/b", "dst/f", 2);
	assert_names("dst", "a b f");
}

static void what_can_not_be_linked_is_copied(void **state)
{
	static const int errors[] = { EXDEV, EPERM, EOPNOTSUPP };

	(void)state;
	put_file("dst/f", "text");
	assert_int_equal(symlink("target", "dst/l"), 0);
	capture_begin(STDERR_FILENO);
	for (int i = 0; i < 3; i++) {
		char name[] = { 'a', (char)('0' + i), '\0' };

		fault_set(LINKAT, (struct fault){ .name = name,
						  .err = errors[i] });
		enter(root);
		give_pathlink(name, "f", 0);
		leave();
	}
	fault_set(LINKAT, (struct fault){ .name = "m", .err = EXDEV });
	enter(root);
	give_pathlink("m", "l", 0);
	leave();
	(void)capture_end();
	assert_text("dst/a0", "text");
	assert_text("dst/a1", "text");
	assert_text("dst/a2", "text");
	assert_int_equal(stat_of("dst/a2").st_nlink, 1);
	assert_target("dst/m", "target");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void set_no_links(struct opts *opts)
{
	opts->preserve &= ~(unsigned)PRESERVE_LINKS;
}

static void without_links_each_is_a_file(void **state)
{
	(void)state;
	with_options(set_no_links);
	put_file("dst/f", "text");
	assert_string_equal(link_to("a", "f"), "");
	assert_text("dst/a", "text");
	assert_int_equal(stat_of("dst/a").st_nlink, 1);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void with_k_an_old_name_stays(void **state)
{
	(void)state;
	with_options(set_keep);
	put_file("dst/f", "text");
	put_file("dst/a", "old");
	assert_string_equal(link_to("a", "f"), "");
	assert_text("dst/a", "old");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void no_descriptor_is_lost(void **state)
{
	unsigned before;

	(void)state;
	put_dir("dst/d");
	put_file("dst/d/f", "text");
	(void)link_to("a", "d/f");
	before = open_descriptors();
	(void)link_to("b", "d/f");
	(void)link_to("c", "d/x");
	(void)link_to("c", "d");
	fault_set(LINKAT, (struct fault){ .name = "e", .err = EMLINK });
	(void)link_to("e", "d/f");
	(void)link_to("g", "d/f");
	assert_int_equal(open_descriptors(), before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_path_below_is_linked),
		TEST(a_symlink_itself_is_linked),
		TEST(a_name_that_is_the_target_stays),
		TEST(a_link_takes_the_place_of_another_file),
		TEST(what_leads_outside_is_refused),
		TEST(a_directory_is_not_linked),
		TEST(what_is_not_there_is_told),
		TEST(what_was_left_out_is_known_by_its_time),
		TEST(data_of_another_size_are_told),
		TEST(a_full_inode_gets_one_twin),
		TEST(a_full_twin_gets_a_twin),
		TEST(a_twin_that_fails_stands_for_nobody),
		TEST(what_can_not_be_linked_is_copied),
		TEST(without_links_each_is_a_file),
		TEST(with_k_an_old_name_stays),
		TEST(no_descriptor_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
