/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metadata: which calls are made, in which order, and what becomes of those that fail.
 * No call goes through, so that this is the same for root and for a user.
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

#include "apply.h"
#include "capture.h"
#include "diag.h"
#include "faults.h"
#include "tree.h"

/* ---- the calls, written down ---- */

static char calls[4096];

__attribute__((format(printf, 1, 2)))
static void note(const char *format, ...)
{
	size_t len = strlen(calls);
	va_list args;

	va_start(args, format);
	vsnprintf(calls + len, sizeof(calls) - len, format, args);
	va_end(args);
}

static void assert_calls(const char *want)
{
	assert_string_equal(calls, want);
	calls[0] = '\0';
}

WRAPPED(int, fchown, int fd, uid_t uid, gid_t gid)
{
	(void)fd;
	note("fchown %u:%u\n", uid, gid);
	return fault_due(FCHOWN, NULL, NULL) ? -1 : 0;
}

WRAPPED(int, fchownat, int fd, const char *name, uid_t uid, gid_t gid, int flags)
{
	(void)fd;
	note("fchownat %s %u:%u%s\n", name, uid, gid,
	     flags & AT_SYMLINK_NOFOLLOW ? "" : " follow");
	return fault_due(FCHOWN, NULL, NULL) ? -1 : 0;
}

WRAPPED(int, fchmod, int fd, mode_t mode)
{
	(void)fd;
	note("fchmod %o\n", mode);
	return fault_due(FCHMOD, NULL, NULL) ? -1 : 0;
}

WRAPPED(int, futimens, int fd, const struct timespec times[2])
{
	(void)fd;
	note("futimens %ld.%09ld %ld.%09ld\n", (long)times[0].tv_sec,
	     times[0].tv_nsec, (long)times[1].tv_sec, times[1].tv_nsec);
	return fault_due(FUTIMENS, NULL, NULL) ? -1 : 0;
}

WRAPPED(int, utimensat, int fd, const char *name, const struct timespec times[2],
	int flags)
{
	(void)fd;
	note("utimensat %s %ld%s\n", name, (long)times[1].tv_sec,
	     flags & AT_SYMLINK_NOFOLLOW ? "" : " follow");
	return fault_due(FUTIMENS, NULL, NULL) ? -1 : 0;
}

WRAPPED(int, fsetxattr, int fd, const char *name, const void *value, size_t size,
	int flags)
{
	(void)fd, (void)value, (void)flags;
	note("fsetxattr %s %zu\n", name, size);
	return fault_due(SETXATTR, name, NULL) ? -1 : 0;
}

static const char *listed = "";		/* what flistxattr gives */
static size_t listed_len;

WRAPPED(ssize_t, flistxattr, int fd, char *to, size_t size)
{
	(void)fd;
	assert_true(size >= listed_len);
	memcpy(to, listed, listed_len);
	return (ssize_t)listed_len;
}

WRAPPED(int, fremovexattr, int fd, const char *name)
{
	(void)fd;
	note("fremovexattr %s\n", name);
	return fault_due(REMOVEXATTR, name, NULL) ? -1 : 0;
}

static struct privileges who;

WRAPPED(const struct privileges *, privileges_get, void)
{
	return &who;
}

/* ---- one object ---- */

static struct opts opts;
static struct apply_config config;
static struct gate *gate;
static int root;
static struct apply apply;

static int setup(void **state)
{
	struct gate_config gates = { .shown = "dst", .fds = 4 };

	faults_clear();
	calls[0] = '\0';
	listed = "";
	listed_len = 0;
	who = (struct privileges){ .chown = true, .fowner = true, .fsetid = true,
				   .dac = true };
	opts = (struct opts){ .preserve = PRESERVE_ALL };
	xattr_read_config("/dev/null");
	if (tree_setup(state) != 0)
		return -1;
	root = gates.root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gate = gate_new(&gates);
	config = (struct apply_config){ .opts = &opts, .gate = gate,
					.owners = owners_new(), .umask = 027 };
	return gate ? 0 : -1;
}

static int teardown(void **state)
{
	faults_clear();
	owners_free(config.owners);
	gate_free(gate);
	close(root);
	diag_reset();
	return tree_teardown(state);
}

/* Begins the file "f" of that owner and mode; new files get `group`. */
static void begin(mode_t mode, uint32_t uid, uint32_t gid, int64_t group)
{
	struct meta meta = { .mode = mode, .uid = uid, .gid = gid,
			     .atime = { 1, 2 }, .mtime = { 3, 999999999 } };

	apply_begin(&apply, &config, &meta, group);
	apply.at.fd = 99;		/* no call reaches it */
	apply.dir = gate_root(gate);
	apply.shown = "f";
}

static void begin_named(mode_t mode, const char *name)
{
	begin(mode, 0, 0, 0);
	/* Not so early that it is asked whether they were taken. */
	apply.meta.atime.tv_sec = apply.meta.mtime.tv_sec = 1000000000;
	apply.at.fd = openat(root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_true(apply.at.fd >= 0);
	apply.at.handle = true;
}

static void put(const char *name)
{
	apply_attribute(&apply, name, "v", 1);
}

static void a_user(uint32_t uid, uint32_t gid)
{
	who = (struct privileges){ .uid = uid, .gid = gid };
}

#define TIMES "futimens 1.000000002 3.999999999\n"

/* ---- order ---- */

static void each_comes_when_it_holds(void **state)
{
	(void)state;
	begin(S_IFREG | 04755, 1000, 100, 0);
	assert_int_equal(apply_creation_mode(&apply), 0600);
	put("user.a");
	put("system.posix_acl_access");
	put("security.capability");
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchown 1000:100\n"
		     "fsetxattr user.a 1\n"
		     "fchmod 4755\n"
		     "fsetxattr system.posix_acl_access 1\n"
		     "fsetxattr security.capability 1\n"
		     TIMES);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void the_same_without_some_of_them(void **state)
{
	(void)state;
	begin(S_IFREG | 0640, 1000, 100, 0);
	apply_creation_mode(&apply);
	put("trusted.t");
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchown 1000:100\nfchmod 640\nfsetxattr trusted.t 1\n"
		     TIMES);
}

static void nothing_is_done_twice(void **state)
{
	(void)state;
	begin(S_IFREG | 0640, 1000, 100, 0);
	apply_creation_mode(&apply);
	apply_until(&apply, APPLY_MODE);
	apply_until(&apply, APPLY_OWNER);
	apply_until(&apply, APPLY_MODE);
	assert_calls("fchown 1000:100\nfchmod 640\n");
	apply_until(&apply, APPLY_TIMES);
	apply_until(&apply, APPLY_TIMES);
	assert_calls(TIMES);
}

/* From another program, perhaps: it is set, though late. */
static void an_attribute_out_of_order_is_set_all_the_same(void **state)
{
	(void)state;
	begin(S_IFREG | 0640, 0, 0, 0);
	apply_creation_mode(&apply);
	put("security.s");
	put("user.u");
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fsetxattr security.s 1\nfsetxattr user.u 1\n" TIMES);
}

/* ---- what comes right by itself ---- */

static void a_plain_file_costs_one_call(void **state)
{
	(void)state;
	begin(S_IFREG | 0644, 0, 0, 0);
	assert_int_equal(apply_creation_mode(&apply), 0644);
	apply_until(&apply, APPLY_TIMES);
	assert_calls(TIMES);
}

/* Nobody else gets in before owner, setid bits and ACL are what they shall be. */
static void creation_modes_let_nobody_in_early(void **state)
{
	(void)state;
	begin(S_IFREG | 0444, 0, 0, 0);
	assert_int_equal(apply_creation_mode(&apply), 0444);
	begin(S_IFREG | 0666, 1, 0, 0);
	assert_int_equal(apply_creation_mode(&apply), 0600);
	begin(S_IFREG | 0666, 0, 1, 0);
	assert_int_equal(apply_creation_mode(&apply), 0600);
	begin(S_IFREG | 0666, 0, 0, -1);	/* which group it gets is not known */
	assert_int_equal(apply_creation_mode(&apply), 0600);
	begin(S_IFREG | 04755, 0, 0, 0);
	assert_int_equal(apply_creation_mode(&apply), 0600);
	begin(S_IFREG | 02755, 0, 0, 0);
	assert_int_equal(apply_creation_mode(&apply), 0600);
	begin(S_IFREG | 0664, 0, 0, 0);
	apply.has_acl = true;
	assert_int_equal(apply_creation_mode(&apply), 0600);
	begin(S_IFREG | 0664, 0, 0, 0);
	apply.inherits = true;
	assert_int_equal(apply_creation_mode(&apply), 0600);
}

/* user.* attributes of a file that its owner may not write. */
static void a_read_only_file_is_open_to_its_attributes(void **state)
{
	(void)state;
	a_user(1000, 100);
	begin(S_IFREG | 0444, 1000, 100, 100);
	apply.has_attributes = true;
	assert_int_equal(apply_creation_mode(&apply), 0600);
	put("user.a");
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fsetxattr user.a 1\nfchmod 444\n" TIMES);
}

/* ---- owners ---- */

static void setid_bits_that_chown_clears_are_set_after_it(void **state)
{
	(void)state;
	begin(S_IFREG | 06755, 1000, 100, 0);
	apply.now_mode = 06755;		/* as if it had been made with them */
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchown 1000:100\nfchmod 6755\n" TIMES);
}

static void a_user_does_not_ask_for_owners(void **state)
{
	(void)state;
	a_user(1000, 100);
	begin(S_IFREG | 0644, 0, 0, 100);
	assert_int_equal(apply_creation_mode(&apply), 0644);
	apply_until(&apply, APPLY_TIMES);
	assert_calls(TIMES);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_user_gives_files_to_groups_of_his(void **state)
{
	uint32_t groups[] = { 200 };

	(void)state;
	a_user(1000, 100);
	who.groups = groups;
	who.ngroups = 1;
	begin(S_IFREG | 02755, 1000, 200, 100);
	assert_int_equal(apply_creation_mode(&apply), 0600);
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchown 1000:200\nfchmod 2755\n" TIMES);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void setid_bits_are_not_given_to_another(void **state)
{
	(void)state;
	a_user(1000, 100);
	for (uint32_t uid = 999; uid <= 1001; uid++) {	/* one's own, too */
		begin(S_IFREG | 06755, uid, 0, 100);
		apply_creation_mode(&apply);
		apply_until(&apply, APPLY_TIMES);
		assert_calls("fchmod 755\n" TIMES);
	}
	begin(S_IFREG | 06755, 1000, 100, 100);
	apply_creation_mode(&apply);
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchmod 6755\n" TIMES);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	capture_begin(STDERR_FILENO);
	diag_summary();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: setuid and setgid are left out under "
			    "another owner or group (and 2 more)\n");
}

static void a_user_who_asks_for_owners_hears_of_it(void **state)
{
	(void)state;
	a_user(1000, 100);
	opts.preserve_asked = PRESERVE_OWNER;
	begin(S_IFREG | 0644, 0, 0, 100);
	apply_creation_mode(&apply);
	fault_set(FCHOWN, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	apply_until(&apply, APPLY_TIMES);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: chown: Operation not permitted\n");
	assert_calls("fchown 0:0\nfchmod 644\n" TIMES);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void names_map_owners(void **state)
{
	(void)state;
	opts.names = true;
	owners_learn(config.owners, OWNER_USER, 4000, "root");
	begin(S_IFREG | 0644, 4000, 4000, 0);
	apply_creation_mode(&apply);
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchown 0:4000\nfchmod 644\n" TIMES);
	opts.names = false;
	begin(S_IFREG | 0644, 4000, 4000, 0);
	apply_creation_mode(&apply);
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchown 4000:4000\nfchmod 644\n" TIMES);
}

/* ---- what is not wanted ---- */

static void what_is_not_preserved_is_not_touched(void **state)
{
	(void)state;
	opts.preserve = 0;
	begin(S_IFREG | 06666, 1000, 100, 0);
	assert_int_equal(apply_creation_mode(&apply), 0640);	/* the umask */
	apply_until(&apply, APPLY_TIMES);
	assert_calls("");
	opts.preserve = PRESERVE_ALL & ~(unsigned)PRESERVE_OWNER;
	begin(S_IFREG | 0640, 1000, 100, 0);
	assert_int_equal(apply_creation_mode(&apply), 0640);
	apply_until(&apply, APPLY_TIMES);
	assert_calls(TIMES);
	assert_int_equal(diag_status(), STATUS_OK);
}

static void attributes_to_skip_are_not_set(void **state)
{
	(void)state;
	begin(S_IFREG | 0644, 0, 0, 0);
	apply_creation_mode(&apply);
	put("lustre.lov");
	put("trusted.lov");
	apply_until(&apply, APPLY_TIMES);
	assert_calls(TIMES);
}

/* ---- what was there before ---- */

static void list(const char *names, size_t len)
{
	listed = names;
	listed_len = len;
}

static void old_attributes_go_before_new_ones_come(void **state)
{
	static const char names[] = "user.old\0security.selinux\0trusted.lov\0"
				    "system.posix_acl_default\0";

	(void)state;
	list(names, sizeof(names) - 1);
	begin(S_IFDIR | 0755, 0, 0, 0);
	apply.clean = true;
	apply.now_mode = 0755;
	put("user.new");
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fremovexattr user.old\n"
		     "fremovexattr system.posix_acl_default\n"
		     "fsetxattr user.new 1\n" TIMES);
}

static void old_attributes_stay_where_new_ones_are_not_wanted(void **state)
{
	static const char names[] = "user.old\0system.posix_acl_access\0";

	(void)state;
	list(names, sizeof(names) - 1);
	opts.preserve = PRESERVE_ALL & ~(unsigned)PRESERVE_ACL;
	begin(S_IFDIR | 0755, 0, 0, 0);
	apply.clean = true;
	apply.now_mode = 0755;
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fremovexattr user.old\n" TIMES);
	opts.preserve = PRESERVE_ALL & ~(unsigned)PRESERVE_XATTR;
	begin(S_IFDIR | 0755, 0, 0, 0);
	apply.clean = true;
	apply.now_mode = 0755;
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fremovexattr system.posix_acl_access\n" TIMES);
}

static void an_inherited_acl_goes_before_the_mode_comes(void **state)
{
	(void)state;
	begin(S_IFREG | 0640, 0, 0, 0);
	apply.inherits = true;
	apply_creation_mode(&apply);
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fremovexattr system.posix_acl_access\nfchmod 640\n" TIMES);
}

static void an_attribute_that_stays_is_told(void **state)
{
	(void)state;
	list("user.old", 9);
	begin(S_IFDIR | 0755, 0, 0, 0);
	apply.clean = true;
	apply.now_mode = 0755;
	fault_set(REMOVEXATTR, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	apply_until(&apply, APPLY_TIMES);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: removing attribute user.old: "
			    "Operation not permitted\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* ---- failures ---- */

/* Everything else is done, and the file does not get rights under a wrong owner. */
static void a_failing_chown(void **state)
{
	(void)state;
	begin(S_IFREG | 06755, 1000, 100, 0);
	apply_creation_mode(&apply);
	fault_set(FCHOWN, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	put("user.a");
	put("security.capability");
	apply_until(&apply, APPLY_TIMES);
	diag_summary();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: chown: Operation not permitted\n"
			    "tarpipe: dst/f: setuid and setgid are left out under "
			    "another owner or group\n");
	assert_calls("fchown 1000:100\nfsetxattr user.a 1\nfchmod 755\n"
		     "fsetxattr security.capability 1\n" TIMES);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void a_failing_chmod(void **state)
{
	(void)state;
	begin(S_IFREG | 0640, 1000, 100, 0);
	apply_creation_mode(&apply);
	fault_set(FCHMOD, (struct fault){ .err = EROFS });
	capture_begin(STDERR_FILENO);
	apply_until(&apply, APPLY_TIMES);
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: chmod: Read-only file system\n");
	assert_calls("fchown 1000:100\nfchmod 640\n" TIMES);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

static void failing_times(void **state)
{
	(void)state;
	begin(S_IFREG | 0644, 0, 0, 0);
	apply_creation_mode(&apply);
	fault_set(FUTIMENS, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	apply_until(&apply, APPLY_TIMES);
	assert_string_equal(capture_end(), "tarpipe: dst/f: setting its times: "
					   "Operation not permitted\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
}

/* What the file system has no place for is told once, with a count. */
static void what_can_not_be_is_told_once(void **state)
{
	(void)state;
	fault_set(FCHOWN, (struct fault){ .times = EVERY_TIME, .err = EOPNOTSUPP });
	fault_set(FCHMOD, (struct fault){ .times = EVERY_TIME, .err = ENOSYS });
	fault_set(FUTIMENS, (struct fault){ .times = EVERY_TIME,
					    .err = EOPNOTSUPP });
	fault_set(SETXATTR, (struct fault){ .times = EVERY_TIME,
					    .err = EOPNOTSUPP });
	capture_begin(STDERR_FILENO);
	for (int i = 0; i < 3; i++) {
		begin(S_IFREG | 0640, 1000, 100, 0);
		apply_creation_mode(&apply);
		put("user.a");
		put("system.posix_acl_access");
		apply_until(&apply, APPLY_TIMES);
	}
	assert_string_equal(capture_end(), "");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	capture_begin(STDERR_FILENO);
	diag_summary();
	const char *told = capture_end();
	assert_non_null(strstr(told, "tarpipe: dst/f: setting attribute user.a: "
				     "Operation not supported: the destination "
				     "holds no such attributes (and 2 more)\n"));
	assert_non_null(strstr(told, "posix_acl_access: Operation not supported: "
				     "the destination holds no ACLs (and 2 "
				     "more)\n"));
	assert_non_null(strstr(told, "chown: Operation not supported: the "
				     "destination holds no owners (and 2 more)\n"));
	assert_non_null(strstr(told, "the destination holds no modes (and 2 "
				     "more)\n"));
	assert_non_null(strstr(told, "the destination holds no such times (and 2 "
				     "more)\n"));
}

static void what_is_refused_is_told_each_time(void **state)
{
	static const int errors[] = { EPERM, ENOSPC, EDQUOT };
	static const char *const reasons[] = {
		"Operation not permitted", "No space left on device",
		"Disk quota exceeded",
	};
	char want[512];

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(S_IFREG | 0644, 0, 0, 0);
		apply_creation_mode(&apply);
		fault_set(SETXATTR, (struct fault){ .err = errors[i] });
		capture_begin(STDERR_FILENO);
		put("security.capability");
		apply_until(&apply, APPLY_TIMES);
		snprintf(want, sizeof(want), "tarpipe: dst/f: setting attribute "
					     "security.capability: %s\n",
			 reasons[i]);
		assert_string_equal(capture_end(), want);
		assert_calls("fsetxattr security.capability 1\n" TIMES);
		assert_int_equal(diag_status(), STATUS_PARTIAL);
	}
}

/* The policy's affair, and that of every file: once. */
static void a_label_that_is_refused_is_told_once(void **state)
{
	(void)state;
	fault_set(SETXATTR, (struct fault){ .times = EVERY_TIME, .err = EPERM });
	capture_begin(STDERR_FILENO);
	for (int i = 0; i < 2; i++) {
		begin(S_IFREG | 0644, 0, 0, 0);
		apply_creation_mode(&apply);
		put("security.selinux");
		put("security.SMACK64");
	}
	diag_summary();
	assert_string_equal(capture_end(),
			    "tarpipe: dst/f: setting attribute security.selinux: "
			    "Operation not permitted: the security policy refuses "
			    "the label (and 3 more)\n");
}

static void a_name_with_control_bytes_forges_no_line(void **state)
{
	(void)state;
	begin(S_IFREG | 0644, 0, 0, 0);
	apply.shown = "a\ntarpipe: b";
	apply_creation_mode(&apply);
	fault_set(SETXATTR, (struct fault){ .err = EPERM });
	capture_begin(STDERR_FILENO);
	put("user.\033[31m");
	assert_string_equal(capture_end(),
			    "tarpipe: dst/a\\ntarpipe: b: setting attribute "
			    "user.\\e[31m: Operation not permitted\n");
}

/* ---- by name ---- */

static void a_symlink_is_not_followed(void **state)
{
	(void)state;
	assert_int_equal(symlink("target", "l"), 0);
	begin_named(S_IFLNK | 0777, "l");
	apply.uid = apply.meta.uid = 1000;
	apply_until(&apply, APPLY_TIMES);
	assert_calls("fchownat  1000:0\nutimensat  1000000000\n");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_fifo_gets_its_mode_by_a_handle(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("p", 0600), 0);
	begin_named(S_IFIFO | 0666, "p");
	apply.now_mode = 0600;
	apply_until(&apply, APPLY_TIMES);
	assert_int_equal(mode_of("p"), 0666);
	assert_int_equal(diag_status(), STATUS_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_comes_when_it_holds),
		TEST(the_same_without_some_of_them),
		TEST(nothing_is_done_twice),
		TEST(an_attribute_out_of_order_is_set_all_the_same),
		TEST(a_plain_file_costs_one_call),
		TEST(creation_modes_let_nobody_in_early),
		TEST(a_read_only_file_is_open_to_its_attributes),
		TEST(setid_bits_that_chown_clears_are_set_after_it),
		TEST(a_user_does_not_ask_for_owners),
		TEST(a_user_gives_files_to_groups_of_his),
		TEST(setid_bits_are_not_given_to_another),
		TEST(a_user_who_asks_for_owners_hears_of_it),
		TEST(names_map_owners),
		TEST(what_is_not_preserved_is_not_touched),
		TEST(attributes_to_skip_are_not_set),
		TEST(old_attributes_go_before_new_ones_come),
		TEST(old_attributes_stay_where_new_ones_are_not_wanted),
		TEST(an_inherited_acl_goes_before_the_mode_comes),
		TEST(an_attribute_that_stays_is_told),
		TEST(a_failing_chown),
		TEST(a_failing_chmod),
		TEST(failing_times),
		TEST(what_can_not_be_is_told_once),
		TEST(what_is_refused_is_told_each_time),
		TEST(a_label_that_is_refused_is_told_once),
		TEST(a_name_with_control_bytes_forges_no_line),
		TEST(a_symlink_is_not_followed),
		TEST(a_fifo_gets_its_mode_by_a_handle),
	};

	return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
