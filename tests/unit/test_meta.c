/* SPDX-License-Identifier: BSD-2-Clause */
/* Metadata: which attributes are carried, and the calls that read and set them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "faults.h"
#include "meta.h"
#include "tree.h"

WRAPPED(ssize_t, flistxattr, int fd, char *to, size_t size)
{
	return fault_due(LISTXATTR, NULL, NULL) ? -1 :
						  __real_flistxattr(fd, to, size);
}

WRAPPED(int, fremovexattr, int fd, const char *name)
{
	return fault_due(REMOVEXATTR, name, NULL) ? -1 :
						    __real_fremovexattr(fd, name);
}

static int setup(void **state)
{
	faults_clear();
	return tree_setup(state);
}

static int teardown(void **state)
{
	faults_clear();
	xattr_read_config("/dev/null");
	return tree_teardown(state);
}

/* ---- which are carried ---- */

static void assert_class(const char *name, enum xattr_class class)
{
	if (xattr_classify(name) != class)
		fail_msg("%s is of class %d", name, (int)xattr_classify(name));
}

static void classes_follow_the_namespaces(void **state)
{
	(void)state;
	xattr_read_config("/dev/null");
	assert_class("user.comment", XATTR_PLAIN);
	assert_class("user.security.x", XATTR_PLAIN);
	assert_class("btrfs.compression", XATTR_PLAIN);
	assert_class("system.posix_acl_access", XATTR_ACL);
	assert_class("system.posix_acl_default", XATTR_ACL);
	assert_class("system.nfs4_acl", XATTR_ACL);
	assert_class("system.nfs4acl", XATTR_ACL);
	assert_class("system.richacl", XATTR_ACL);
	assert_class("security.capability", XATTR_PRIVILEGED);
	assert_class("security.selinux", XATTR_PRIVILEGED);
	assert_class("trusted.overlay.opaque", XATTR_PRIVILEGED);
	assert_true(XATTR_PLAIN < XATTR_ACL && XATTR_ACL < XATTR_PRIVILEGED);
}

static void layouts_of_clusters_are_left_behind(void **state)
{
	(void)state;
	xattr_read_config("/dev/null");
	assert_class("lustre.lov", XATTR_SKIP);
	assert_class("trusted.lov", XATTR_SKIP);
	assert_class("trusted.lma", XATTR_SKIP);
	assert_class("trusted.link", XATTR_SKIP);
	assert_class("trusted.gfid", XATTR_SKIP);
	assert_class("trusted.glusterfs.volume-id", XATTR_SKIP);
	assert_class("trusted.glusterfs", XATTR_PRIVILEGED);
	assert_class("trusted.love", XATTR_PRIVILEGED);
	assert_class("user.lustre.lov", XATTR_PLAIN);
}

static void the_config_tells_what_to_skip(void **state)
{
	(void)state;
	put_file("conf", "# a comment\n"
			 "user.skipped\t\tskip\n"
			 "  user.Beagle.*   skip   # with a reason\n"
			 "system.posix_acl_access permissions\n"
			 "user.nothing\n"
			 "\n"
			 "#user.commented skip\n"
			 "user.tight skip#no blank\n"
			 "security.evm skip");		/* no newline */
	xattr_read_config("conf");
	assert_class("user.skipped", XATTR_SKIP);
	assert_class("user.skipped.not", XATTR_PLAIN);
	assert_class("user.Beagle.fingerprint", XATTR_SKIP);
	assert_class("user.nothing", XATTR_PLAIN);
	assert_class("user.commented", XATTR_PLAIN);
	assert_class("user.tight", XATTR_SKIP);
	assert_class("system.posix_acl_access", XATTR_ACL);
	assert_class("security.evm", XATTR_SKIP);
	assert_class("trusted.lov", XATTR_SKIP);
}

static void without_a_config_all_are_carried(void **state)
{
	(void)state;
	put_file("conf", "user.* skip\n");
	xattr_read_config("conf");
	assert_class("user.a", XATTR_SKIP);
	xattr_read_config("no/such/file");
	assert_class("user.a", XATTR_PLAIN);
}

/* Nobody writes such a file; it has to do no harm. */
static void a_config_out_of_all_measure(void **state)
{
	FILE *file = fopen("conf", "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fprintf(file, "user.%d skip\n", i);
	for (int i = 0; i < 5000; i++)
		fputc('x', file);
	fprintf(file, " skip\n");
	fclose(file);
	xattr_read_config("conf");
	assert_class("user.0", XATTR_SKIP);
	assert_class("user.name", XATTR_PLAIN);
}

/* ---- reading and setting ---- */

static struct xattr_source by_name(int dirfd, const char *name)
{
	return (struct xattr_source){ .fd = -1, .dirfd = dirfd, .name = name };
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Skips the test where the scratch directory's file system has no user.*. */
static void need_attributes(void)
{
	put_file("probe", "");
	if (setxattr("probe", "user.probe", "", 0, 0) != 0 && errno == EOPNOTSUPP)
		skip();
}

static void assert_value(const struct xattr_source *from, const char *name,
			 const void *value, size_t size)
{
	struct xattr_buffer buffer = { 0 };

	assert_int_equal(xattr_get(from, name, &buffer), size);
	assert_memory_equal(buffer.bytes, value, size);
	xattr_buffer_free(&buffer);
}

/* How many names the list has, and whether `name` is one. */
static int listed(const struct xattr_source *from, const char *name)
{
	struct xattr_buffer buffer = { 0 };
	ssize_t len = xattr_list(from, &buffer);
	int found = 0;

	assert_true(len >= 0);
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(buffer.bytes + at) + 1)
		found += strcmp(buffer.bytes + at, name) == 0;
	xattr_buffer_free(&buffer);
	return found;
}

static void use_attributes_of(const struct xattr_source *at)
{
	assert_int_equal(xattr_set(at, "user.a", "v\0w", 3), 0);
	assert_int_equal(xattr_set(at, "user.empty", "", 0), 0);
	assert_int_equal(listed(at, "user.a"), 1);
	assert_int_equal(listed(at, "user.empty"), 1);
	assert_value(at, "user.a", "v\0w", 3);
	assert_value(at, "user.empty", "", 0);
	assert_int_equal(xattr_set(at, "user.a", "other", 5), 0);
	assert_value(at, "user.a", "other", 5);
	assert_int_equal(xattr_remove(at, "user.a"), 0);
	assert_int_equal(listed(at, "user.a"), 0);
	assert_int_equal(listed(at, "user.empty"), 1);
}

static void attributes_of_an_open_file(void **state)
{
	struct xattr_source at = { 0 };

	(void)state;
	need_attributes();
	put_file("f", "");
	at.fd = open("f", O_RDONLY | O_CLOEXEC);
	use_attributes_of(&at);
	close(at.fd);
}

static void attributes_of_a_name(void **state)
{
	struct xattr_source at;

	(void)state;
	need_attributes();
	put_dir("d");
	put_file("d/f", "");
	at = by_name(open_dir("d"), "f");
	use_attributes_of(&at);
	close(at.dirfd);
	at = by_name(AT_FDCWD, "d/f");
	use_attributes_of(&at);
}

static void large_values_and_long_lists(void **state)
{
	unsigned char value[3000], small[1024];
	struct xattr_source at;
	char name[128];

	(void)state;
	need_attributes();
	put_noise(value, sizeof(value), 1);
	put_noise(small, sizeof(small), 2);
	put_file("f", "");
	at = by_name(AT_FDCWD, "f");
	if (xattr_set(&at, "user.large", value, sizeof(value)) != 0)
		skip();		/* more than this file system holds */
	assert_value(&at, "user.large", value, sizeof(value));
	assert_int_equal(xattr_set(&at, "user.large", small, 1024), 0);
	assert_value(&at, "user.large", small, 1024);
	assert_int_equal(xattr_remove(&at, "user.large"), 0);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "user.%0100d", i);
		assert_int_equal(xattr_set(&at, name, "", 0), 0);
	}
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "user.%0100d", i);
		assert_int_equal(listed(&at, name), 1);
	}
}

/* A buffer that grew once holds small answers, too. */
static void a_buffer_is_used_again(void **state)
{
	struct xattr_buffer buffer = { 0 };
	struct xattr_source at;
	char large[2000];

	(void)state;
	need_attributes();
	memset(large, 'l', sizeof(large));
	put_file("f", "");
	at = by_name(AT_FDCWD, "f");
	if (xattr_set(&at, "user.l", large, sizeof(large)) != 0)
		skip();
	assert_int_equal(xattr_set(&at, "user.s", "s", 1), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(xattr_get(&at, "user.l", &buffer), 2000);
		assert_memory_equal(buffer.bytes, large, 2000);
		assert_int_equal(xattr_get(&at, "user.s", &buffer), 1);
		assert_memory_equal(buffer.bytes, "s", 1);
	}
	xattr_buffer_free(&buffer);
	xattr_buffer_free(&buffer);	/* once more does nothing */
}

/* ---- symlinks are never followed ---- */

static void a_link_is_not_its_target(void **state)
{
	struct xattr_source link, target;
	struct xattr_buffer buffer = { 0 };

	(void)state;
	need_attributes();
	put_dir("d");
	put_file("d/target", "");
	assert_int_equal(symlink("target", "d/link"), 0);
	link = by_name(open_dir("d"), "link");
	target = by_name(link.dirfd, "target");
	assert_int_equal(xattr_set(&target, "user.a", "1", 1), 0);
	assert_int_equal(listed(&link, "user.a"), 0);
	assert_int_equal(xattr_get(&link, "user.a", &buffer), -1);
	assert_int_equal(xattr_set(&link, "user.b", "2", 1), -1);
	(void)xattr_remove(&link, "user.a");
	assert_int_equal(listed(&target, "user.a"), 1);
	assert_int_equal(listed(&target, "user.b"), 0);
	xattr_buffer_free(&buffer);
	close(link.dirfd);
}

static void a_link_has_attributes_of_its_own(void **state)
{
	struct xattr_source link, target;

	(void)state;
	put_file("target", "");
	assert_int_equal(symlink("target", "link"), 0);
	link = by_name(open_dir("."), "link");
	target = by_name(link.dirfd, "target");
	if (xattr_set(&link, "trusted.tarpipe", "v", 1) != 0)
		skip();			/* root's alone */
	assert_value(&link, "trusted.tarpipe", "v", 1);
	assert_int_equal(listed(&link, "trusted.tarpipe"), 1);
	assert_int_equal(listed(&target, "trusted.tarpipe"), 0);
	assert_int_equal(xattr_remove(&link, "trusted.tarpipe"), 0);
	assert_int_equal(listed(&link, "trusted.tarpipe"), 0);
	close(link.dirfd);
}

/* ---- failures ---- */

static void what_is_not_there(void **state)
{
	struct xattr_buffer buffer = { 0 };
	struct xattr_source none = by_name(AT_FDCWD, "none"), file;

	(void)state;
	need_attributes();
	assert_int_equal(xattr_list(&none, &buffer), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(xattr_set(&none, "user.a", "", 0), -1);
	assert_int_equal(errno, ENOENT);
	put_file("f", "");
	file = by_name(AT_FDCWD, "f");
	assert_int_equal(xattr_get(&file, "user.a", &buffer), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(xattr_remove(&file, "user.a"), 0);
	xattr_buffer_free(&buffer);
}

static void a_file_system_without_attributes_has_none(void **state)
{
	struct xattr_buffer buffer = { 0 };
	struct xattr_source file = { .fd = open(".", O_RDONLY | O_CLOEXEC) };

	(void)state;
	fault_set(LISTXATTR, (struct fault){ .err = EOPNOTSUPP });
	assert_int_equal(xattr_list(&file, &buffer), 0);
	fault_set(LISTXATTR, (struct fault){ .err = ENOSYS });
	assert_int_equal(xattr_list(&file, &buffer), 0);
	fault_set(LISTXATTR, (struct fault){ .err = EIO });
	assert_int_equal(xattr_list(&file, &buffer), -1);
	assert_int_equal(errno, EIO);
	fault_set(REMOVEXATTR, (struct fault){ .err = EOPNOTSUPP });
	assert_int_equal(xattr_remove(&file, "user.a"), 0);
	fault_set(REMOVEXATTR, (struct fault){ .err = EPERM });
	assert_int_equal(xattr_remove(&file, "user.a"), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(fault_hits(REMOVEXATTR), 1);
	xattr_buffer_free(&buffer);
	close(file.fd);
}

/* It grew between the two questions: the second, large one is enough. */
static void a_list_that_does_not_fit_is_asked_for_again(void **state)
{
	struct xattr_buffer buffer = { 0 };
	struct xattr_source file = { .fd = open(".", O_RDONLY | O_CLOEXEC) };

	(void)state;
	fault_set(LISTXATTR, (struct fault){ .err = ERANGE });
	assert_true(xattr_list(&file, &buffer) >= 0);
	fault_set(LISTXATTR, (struct fault){ .times = EVERY_TIME, .err = ERANGE });
	assert_int_equal(xattr_list(&file, &buffer), -1);	/* and it ends */
	assert_int_equal(errno, ERANGE);
	xattr_buffer_free(&buffer);
	close(file.fd);
}

static void a_name_that_is_too_long(void **state)
{
	struct xattr_buffer buffer = { 0 };
	char name[400];
	struct xattr_source at = by_name(open_dir("."), name);

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(xattr_list(&at, &buffer), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(xattr_get(&at, "user.a", &buffer), -1);
	assert_int_equal(xattr_set(&at, "user.a", "", 0), -1);
	assert_int_equal(xattr_remove(&at, "user.a"), -1);
	close(at.dirfd);
	/* The longest that there can be fits. */
	name[255] = '\0';
	put_file(name, "");
	at = by_name(open_dir("."), name);
	assert_true(xattr_list(&at, &buffer) >= 0);
	xattr_buffer_free(&buffer);
	close(at.dirfd);
}

/* ---- the rest ---- */

static void a_stat_becomes_a_meta(void **state)
{
	struct stat st = {
		.st_mode = S_IFBLK | 04755,
		.st_uid = 4000000000u,
		.st_gid = 5,
		.st_rdev = makedev(4095, 1048575),
		.st_size = (off_t)1 << 40,
		.st_atim = { -5, 1 },
		.st_mtim = { 5, 999999999 },
	};
	struct meta meta;

	(void)state;
	memset(&meta, 0xee, sizeof(meta));
	meta_from_stat(&meta, &st);
	assert_int_equal(meta.mode, S_IFBLK | 04755);
	assert_int_equal(meta.uid, 4000000000u);
	assert_int_equal(meta.gid, 5);
	assert_int_equal(meta.rdev_major, 4095);
	assert_int_equal(meta.rdev_minor, 1048575);
	assert_true(meta.size == UINT64_C(1) << 40);
	assert_true(meta.atime.tv_sec == -5 && meta.atime.tv_nsec == 1);
	assert_true(meta.mtime.tv_sec == 5 && meta.mtime.tv_nsec == 999999999);
}

static void members_are_those_of_one_group_or_more(void **state)
{
	uint32_t groups[] = { 7, 4000000000u };
	struct privileges who = { .gid = 5, .groups = groups, .ngroups = 2 };

	(void)state;
	assert_true(privileges_member(&who, 5));
	assert_true(privileges_member(&who, 7));
	assert_true(privileges_member(&who, 4000000000u));
	assert_false(privileges_member(&who, 6));
	who.ngroups = 0;
	assert_false(privileges_member(&who, 7));
}

static void privileges_are_those_of_the_process(void **state)
{
	const struct privileges *who = privileges_get();
	unsigned long long caps = 0;
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		(void)sscanf(line, "CapEff: %llx", &caps);
	fclose(file);
	assert_int_equal(who->uid, geteuid());
	assert_int_equal(who->gid, getegid());
	assert_int_equal(who->chown, caps & 1);
	assert_int_equal(who->dac, caps >> 1 & 1);
	assert_int_equal(who->fowner, caps >> 3 & 1);
	assert_int_equal(who->fsetid, caps >> 4 & 1);
	assert_int_equal(who->ngroups, getgroups(0, NULL));
	assert_ptr_equal(privileges_get(), who);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(classes_follow_the_namespaces),
		TEST(layouts_of_clusters_are_left_behind),
		TEST(the_config_tells_what_to_skip),
		TEST(without_a_config_all_are_carried),
		TEST(a_config_out_of_all_measure),
		TEST(attributes_of_an_open_file),
		TEST(attributes_of_a_name),
		TEST(large_values_and_long_lists),
		TEST(a_buffer_is_used_again),
		TEST(a_link_is_not_its_target),
		TEST(a_link_has_attributes_of_its_own),
		TEST(what_is_not_there),
		TEST(a_file_system_without_attributes_has_none),
		TEST(a_list_that_does_not_fit_is_asked_for_again),
		TEST(a_name_that_is_too_long),
		TEST(a_stat_becomes_a_meta),
		TEST(members_are_those_of_one_group_or_more),
		TEST(privileges_are_those_of_the_process),
	};

	return cmocka_run_group_tests_name("meta", tests, NULL, NULL);
}
