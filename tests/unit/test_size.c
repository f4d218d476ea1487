/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as people write and read them, and how much memory there is. */
#include <errno.h>
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

#include "size.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)
#define GI (MI * KI)
#define TI (GI * KI)

static void assert_size_is(const char *text, uint64_t want)
{
	uint64_t got = 77;

	if (size_parse(text, &got) != 0 || got != want)
		fail_msg("'%s' is %ju, not %ju", text, (uintmax_t)got,
			 (uintmax_t)want);
}

static void assert_no_size(const char *text, int err)
{
	uint64_t got = 77;

	errno = 0;
	if (size_parse(text, &got) != -1 || errno != err || got != 77)
		fail_msg("'%s' gives %ju, errno %d", text, (uintmax_t)got, errno);
}

static void reads_sizes(void **state)
{
	(void)state;
	assert_size_is("0", 0);
	assert_size_is("1", 1);
	assert_size_is("007", 7);
	assert_size_is("20b", 10240);
	assert_size_is("20B", 10240);
	assert_size_is("64k", 64 * KI);
	assert_size_is("64K", 64 * KI);
	assert_size_is("8m", 8 * MI);
	assert_size_is("8M", 8 * MI);
	assert_size_is("2g", 2 * GI);
	assert_size_is("3T", 3 * TI);
	assert_size_is("1KiB", KI);
	assert_size_is("1mib", MI);
	assert_size_is("1GIB", GI);
	assert_size_is("1tIb", TI);
	assert_size_is("9223372036854775807", INT64_MAX);
	assert_size_is("8388607t", 8388607 * TI);
}

static void refuses_what_is_no_size(void **state)
{
	static const char *const junk[] = {
		"", " 1", "1 ", "+1", "-1", "1.5m", "0x10", "m", "1kb", "1ki",
		"1mb", "1kk", "1biB", "1p", "1e3", "f", "1m,", "1%", "1\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof junk / sizeof *junk; i++)
		assert_no_size(junk[i], EINVAL);
}

static void refuses_what_is_too_much(void **state)
{
	(void)state;
	assert_no_size("9223372036854775808", ERANGE);
	assert_no_size("18446744073709551617", ERANGE);
	assert_no_size("99999999999999999999999999", ERANGE);
	assert_no_size("8388608t", ERANGE);
	assert_no_size("18014398509481984b", ERANGE);
}

static void reads_numbers_in_range(void **state)
{
	unsigned value = 77;

	(void)state;
	assert_int_equal(size_parse_number("0", 0, 100, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(size_parse_number("100", 0, 100, &value), 0);
	assert_int_equal(value, 100);
	assert_int_equal(size_parse_number("101", 0, 100, &value), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(size_parse_number("0", 1, 64, &value), -1);
	assert_int_equal(errno, ERANGE);
	/* 2^32 + 5: not cut to 5 */
	assert_int_equal(size_parse_number("4294967301", 1, 64, &value), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(size_parse_number("5%", 0, 100, &value), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(size_parse_number("", 0, 100, &value), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(value, 100);
}

static void assert_shown(uint64_t bytes, const char *want)
{
	char text[32];

	assert_string_equal(size_format(bytes, text, sizeof text), want);
}

static void shows_sizes(void **state)
{
	(void)state;
	assert_shown(0, "0 B");
	assert_shown(998, "998 B");
	assert_shown(1023, "1023 B");
	assert_shown(1024, "1.0 KiB");
	assert_shown(122893271, "117.2 MiB");
	assert_shown(MI - 1, "1.0 MiB");
	assert_shown(64 * MI, "64.0 MiB");
	assert_shown(5 * TI / 2, "2.5 TiB");
	assert_shown(UINT64_MAX, "16.0 EiB");
}

/* --- memory: a machine made of files --- */

static char root[] = "/tmp/tarpipe-size-XXXXXX";

static void file_write(const char *name, const char *content)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", root, name);
	for (char *p = path + strlen(root) + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(path, 0777);
			*p = '/';
		}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static int machine_make(void **state)
{
	(void)state;
	strcpy(root + sizeof root - 7, "XXXXXX");
	assert_non_null(mkdtemp(root));
	file_write("proc/meminfo", "MemFree:           12345 kB\n"
				   "MemTotal:        2048000 kB\n"
				   "SwapTotal:          4711 kB\n");
	return 0;
}

static int machine_remove(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

#define ROOT_LINE "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n"

static void memory_is_the_machines(void **state)
{
	(void)state;
	assert_int_equal(size_memory(root), 2048000 * KI);
	file_write("proc/self/mountinfo", ROOT_LINE);
	file_write("proc/self/cgroup", "0::/\n");
	assert_int_equal(size_memory(root), 2048000 * KI);
}

static void memory_may_be_unknown(void **state)
{
	(void)state;
	file_write("proc/meminfo", "nothing of the kind\n");
	assert_int_equal(size_memory(root), 0);
	assert_int_equal(size_memory("/nowhere"), 0);
}

static void memory_is_the_cgroups_when_less(void **state)
{
	(void)state;
	file_write("proc/self/mountinfo", ROOT_LINE
		   "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
	file_write("proc/self/cgroup", "0::/a.slice/b.service\n");
	file_write("sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
	file_write("sys/fs/cgroup/a.slice/memory.max", "max\n");
	assert_int_equal(size_memory(root), 2048000 * KI);
	file_write("sys/fs/cgroup/a.slice/memory.max", "1048576\n");
	assert_int_equal(size_memory(root), MI);
	file_write("sys/fs/cgroup/a.slice/b.service/memory.max", "524288\n");
	assert_int_equal(size_memory(root), MI / 2);
	file_write("sys/fs/cgroup/a.slice/b.service/memory.max", "9999999999\n");
	assert_int_equal(size_memory(root), MI);
}

static void memory_of_a_container(void **state)
{
	(void)state;
	/* what is mounted is our own group; its path is the host's */
	file_write("proc/self/mountinfo", ROOT_LINE
		   "30 24 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	file_write("proc/self/cgroup", "0::/docker/x\n");
	file_write("sys/fs/cgroup/memory.max", "1048576\n");
	file_write("sys/fs/cgroup/docker/x/memory.max", "4096\n");
	assert_int_equal(size_memory(root), MI);
	/* a group that begins alike is not below it */
	file_write("proc/self/cgroup", "0::/docker/xy\n");
	file_write("sys/fs/cgroup/y/memory.max", "4096\n");
	assert_int_equal(size_memory(root), MI);
	file_write("proc/self/cgroup", "0::/docker/x/y\n");
	assert_int_equal(size_memory(root), 4096);
}

static void memory_of_cgroup_version_1(void **state)
{
	(void)state;
	file_write("proc/self/mountinfo", ROOT_LINE
		   "34 24 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		   "35 24 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	file_write("proc/self/cgroup", "5:cpu:/\n4:memory:/job\n0::/\n");
	file_write("sys/fs/cgroup/memory/memory.limit_in_bytes",
		   "9223372036854771712\n");
	assert_int_equal(size_memory(root), 2048000 * KI);
	file_write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576\n");
	file_write("sys/fs/cgroup/cpu/memory.limit_in_bytes", "4096\n");
	assert_int_equal(size_memory(root), MI);
	/* what is above limits, too */
	file_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "524288\n");
	assert_int_equal(size_memory(root), MI / 2);
}

static void reads_percentages_of_memory(void **state)
{
	uint64_t all = size_memory(""), got = 77;

	(void)state;
	assert_true(all > MI);
	assert_int_equal(size_parse_memory("25%", &got), 0);
	assert_in_range(got, all / 4 - 100, all / 4);
	assert_int_equal(size_parse_memory("100%", &got), 0);
	assert_in_range(got, all - 100, all);
	assert_int_equal(size_parse_memory("1%", &got), 0);
	assert_in_range(got, all / 100, all / 100);
	assert_int_equal(size_parse_memory("8m", &got), 0);
	assert_int_equal(got, 8 * MI);
	assert_int_equal(size_parse_memory("0%", &got), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(size_parse_memory("101%", &got), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(size_parse_memory("25%%", &got), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(size_parse_memory("%", &got), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(got, 8 * MI);
}

#define machine_test(name) \
	cmocka_unit_test_setup_teardown(name, machine_make, machine_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_sizes),
		cmocka_unit_test(refuses_what_is_no_size),
		cmocka_unit_test(refuses_what_is_too_much),
		cmocka_unit_test(reads_numbers_in_range),
		cmocka_unit_test(shows_sizes),
		machine_test(memory_is_the_machines),
		machine_test(memory_may_be_unknown),
		machine_test(memory_is_the_cgroups_when_less),
		machine_test(memory_of_a_container),
		machine_test(memory_of_cgroup_version_1),
		cmocka_unit_test(reads_percentages_of_memory),
	};

	return cmocka_run_group_tests_name("size", tests, NULL, NULL);
}
