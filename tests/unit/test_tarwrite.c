/* SPDX-License-Identifier: BSD-2-Clause */
/* The writing half of tar: what other programs read of it, and what goes to the sink. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "peers.h"
#include "tar.h"
#include "tree.h"

/* ---- writing "t.tar" ---- */

static struct {
	struct tar_writer *writer;
	int fd;
	unsigned losses;		/* of the last member */
	unsigned calls;			/* of the sink */
	const void *pointer;		/* that it got last */
	size_t size;
	unsigned fails_at;		/* the call that fails; 0: none */
} out;

static int sink(void *arg, const void *bytes, size_t size)
{
	(void)arg;
	out.calls++;
	out.pointer = bytes;
	out.size = size;
	if (out.calls == out.fails_at) {
		errno = ENOSPC;
		return -1;
	}
	return write(out.fd, bytes, size) == (ssize_t)size ? 0 : -1;
}

static void begin(enum tar_format format)
{
	memset(&out, 0, sizeof(out));
	out.fd = open("t.tar", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	out.writer = tar_writer_new(format, sink, NULL);
	assert_non_null(out.writer);
}

static void end(void)
{
	uint64_t before = tar_writer_bytes(out.writer);

	assert_int_equal(tar_writer_close(out.writer), 0);
	assert_int_equal(tar_writer_bytes(out.writer), before + 1024);
	assert_int_equal(tar_writer_bytes(out.writer), stat_of("t.tar").st_size);
	tar_writer_free(out.writer);
	close(out.fd);
}

static struct tar_member plain(const char *path, mode_t mode)
{
	return (struct tar_member){
		.path = path,
		.meta = { .mode = mode, .atime = { 1000000000, 0 },
			  .mtime = { 1000000000, 0 } },
	};
}

/* One member without data; returns what tar_write_member did. */
static int put(const struct tar_member *member)
{
	int got = tar_write_member(out.writer, member, &out.losses);

	if (got == 0)
		assert_int_equal(tar_write_end(out.writer), 0);
	return got;
}

static void put_whole(const struct tar_member *member)
{
	assert_int_equal(put(member), 0);
	assert_int_equal(out.losses, 0);
}

/* The only member of a stream of its own. */
static void write_one(enum tar_format format, const struct tar_member *member)
{
	begin(format);
	assert_int_equal(put(member), 0);
	end();
}

/* ---- bytes to the sink ---- */

static void data_go_by_pointer_and_nothing_is_added(void **state)
{
	static const char data[1000] = "data";
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	file.meta.size = sizeof(data);
	begin(TAR_PAX);
	assert_int_equal(tar_write_member(out.writer, &file, &out.losses), 0);
	assert_int_equal(out.calls, 1);
	assert_int_equal(out.size % TAR_BLOCK, 0);
	assert_int_equal(tar_write_data(out.writer, data, 600), 0);
	assert_int_equal(out.calls, 2);
	assert_ptr_equal(out.pointer, data);
	assert_int_equal(out.size, 600);
	assert_int_equal(tar_write_data(out.writer, data + 600, 400), 0);
	assert_ptr_equal(out.pointer, data + 600);
	assert_int_equal(tar_write_end(out.writer), 0);
	assert_int_equal(out.size, 24);
	end();
	assert_silent("t.tar");
	assert_int_equal(mkdir("x", 0755), 0);
	if (peer_runs("tar -C x -xf t.tar"))
		assert_bytes("x/f", data, sizeof(data));
}

static void what_is_missing_is_zero(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);
	char want[5000] = "abc";

	(void)state;
	need_gnu_tar();
	file.meta.size = sizeof(want);
	begin(TAR_PAX);
	assert_int_equal(tar_write_member(out.writer, &file, &out.losses), 0);
	assert_int_equal(tar_write_data(out.writer, "abc", 3), 0);
	assert_int_equal(tar_write_end(out.writer), 0);
	end();
	assert_string_equal(said("tar xf t.tar"), "");
	assert_bytes("f", want, sizeof(want));
}

static void a_member_that_is_taken_back_leaves_no_trace(void **state)
{
	struct tar_member file = plain("gone", S_IFREG | 0644);
	uint64_t at;

	(void)state;
	need_gnu_tar();
	begin(TAR_PAX);
	at = tar_writer_bytes(out.writer);
	file.meta.size = UINT64_C(1) << 40;
	assert_int_equal(tar_write_member(out.writer, &file, &out.losses), 0);
	tar_write_cancel(out.writer);
	assert_int_equal(ftruncate(out.fd, (off_t)at), 0);
	assert_int_equal(lseek(out.fd, (off_t)at, SEEK_SET), (off_t)at);
	file = plain("there", S_IFREG | 0644);
	put_whole(&file);
	assert_int_equal(tar_writer_close(out.writer), 0);
	tar_writer_free(out.writer);
	close(out.fd);
	assert_string_equal(said("tar tf t.tar"), "there");
}

static void a_sink_that_fails(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	for (unsigned call = 1; call <= 4; call++) {
		int got;

		begin(TAR_PAX);
		out.fails_at = call;
		file.meta.size = 100;
		errno = 0;
		got = tar_write_member(out.writer, &file, &out.losses);
		if (got == 0)
			got = tar_write_data(out.writer, "abc", 3);
		if (got == 0)
			got = tar_write_end(out.writer);
		if (got == 0)
			got = tar_writer_close(out.writer);
		assert_int_equal(got, -1);
		assert_int_equal(errno, ENOSPC);
		assert_int_equal(out.calls, call);
		tar_writer_free(out.writer);
		assert_int_equal(out.calls, call);
		close(out.fd);
	}
}

/* ---- names ---- */

static const char *const names[] = {
	"plain", "gr\303\274n", "n\314\203", "\377\376", "a\nb", "a=b %41",
	"back\\slash", " lead", "trail ", "-rf", "*",
};

enum { NNAMES = sizeof(names) / sizeof(*names) };

static void write_names(enum tar_format format)
{
	begin(format);
	for (size_t i = 0; i < NNAMES; i++) {
		struct tar_member member = plain(names[i], S_IFREG | 0644);

		put_whole(&member);
	}
	end();
}

static void assert_all_names(const char *dir)
{
	char path[64];

	for (size_t i = 0; i < NNAMES; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (!is_there(path))
			fail_msg("%s is missing", path);
	}
}

static void names_are_the_same_bytes_to_all(void **state)
{
	static const char *const readers[] = {
		"LC_ALL=C tar -C %s -xf t.tar",
		"LC_ALL=C.UTF-8 tar -C %s -xf t.tar",
		"LC_ALL=C bsdtar -C %s -xf t.tar",
		"LC_ALL=C.UTF-8 bsdtar -C %s -xf t.tar",
		"LC_ALL=C python3 -m tarfile -e t.tar %s",
		"LC_ALL=C.UTF-8 python3 -m tarfile -e t.tar %s",
	};
	static const char *const locales[] = { "C", "C.UTF-8" };
	char dir[16], line[128];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		setlocale(LC_ALL, locales[i]);
		write_names(TAR_PAX);
		setlocale(LC_ALL, "C");
		for (size_t j = 0; j < sizeof(readers) / sizeof(*readers); j++) {
			snprintf(dir, sizeof(dir), "x%zu.%zu", i, j);
			put_dir(dir);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(line, sizeof(line), readers[j], dir);
#pragma GCC diagnostic pop
			if (*said(line) && *names_in(dir))
				fail_msg("%s: %s", line, said(line));
			if (*names_in(dir) || (j < 2 && peer_runs("tar --version")))
				assert_all_names(dir);
		}
	}
}

static void names_in_the_other_formats(void **state)
{
	(void)state;
	need_gnu_tar();
	write_names(TAR_GNU);
	put_dir("g");
	assert_string_equal(said("tar -C g -xf t.tar"), "");
	assert_all_names("g");
	write_names(TAR_USTAR);
	put_dir("u");
	assert_string_equal(said("tar -C u -xf t.tar"), "");
	assert_all_names("u");
}

static void long_names_and_targets(void **state)
{
	static const size_t lengths[] = { 99, 100, 101, 155, 156, 255, 256, 257,
					  511, 512, 513, 4000 };
	char path[4096], target[4096];

	(void)state;
	need_python();
	begin(TAR_PAX);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t len = lengths[i];
		struct tar_member member = plain(path, S_IFLNK | 0777);

		memset(path, 'd', len);
		memset(target, 't', len);
		for (size_t at = 50; at < len - 1; at += 50)
			path[at] = '/';
		path[len] = target[len] = '\0';
		member.target = target;
		member.meta.size = len;
		put_whole(&member);
	}
	end();
	assert_silent("t.tar");
	assert_string_equal(python_says("t.tar", "len(m.name), len(m.linkname), "
						 "m.issym()"),
			    "99 99 True\n100 100 True\n101 101 True\n"
			    "155 155 True\n156 156 True\n255 255 True\n"
			    "256 256 True\n257 257 True\n511 511 True\n"
			    "512 512 True\n513 513 True\n4000 4000 True");
}

/* In the header where a slash divides them so, else in a record. */
static void long_names_that_are_not_ascii(void **state)
{
	static const size_t lengths[] = { 98, 100, 101, 150, 254, 256, 257, 600 };
	char path[1024], want[2048];
	size_t at = 0;

	(void)state;
	need_python();
	begin(TAR_PAX);
	for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(*lengths); i++) {
		size_t len = lengths[i / 2];
		struct tar_member member = plain(path, S_IFREG | 0644);

		for (size_t j = 0; j < len; j++) {
			size_t k = i % 2 == 0 ? j % 41 : j;

			path[j] = k == 40 && i % 2 == 0 ? '/' :
				  k % 2			? '\274' :
							  '\303';
		}
		if (path[len - 1] != '\274')
			path[len - 1] = 'e';
		path[len] = '\0';
		member.hardlink = i % 4 == 0 ? path : NULL;
		put_whole(&member);
		at += (size_t)snprintf(want + at, sizeof(want) - at,
				       "%s%zu %s", i ? "\n" : "", len,
				       i % 4 == 0 ? "True" : "False");
	}
	end();
	assert_silent("t.tar");
	assert_string_equal(
		python_says("t.tar", "len(m.name.encode(\"utf-8\", "
				     "\"surrogateescape\")), "
				     "m.name == m.linkname"),
		want);
}

static void a_slash_makes_no_directory_of_a_file(void **state)
{
	struct tar_member file = plain("f//", S_IFREG | 0644);
	struct tar_member dir = plain("d/", S_IFDIR | 0755);

	(void)state;
	need_python();
	begin(TAR_PAX);
	put_whole(&file);
	put_whole(&dir);
	end();
	assert_string_equal(python_says("t.tar", "m.name, m.isreg(), m.isdir()"),
			    "f True False\nd False True");
}

static void types_and_links(void **state)
{
	struct tar_member dir = plain("./", S_IFDIR | S_ISVTX | 0755);
	struct tar_member file = plain("./f", S_IFREG | S_ISUID | 0755);
	struct tar_member link = plain("./g", S_IFREG | S_ISUID | 0755);
	struct tar_member fifo = plain("./p", S_IFIFO | 0600);

	(void)state;
	need_python();
	link.hardlink = "./f";
	link.meta.size = 77;
	begin(TAR_PAX);
	put_whole(&dir);
	put_whole(&file);
	put_whole(&link);
	put_whole(&fifo);
	end();
	assert_silent("t.tar");
	assert_string_equal(python_says("t.tar", "m.name, m.type, oct(m.mode), "
						 "m.size, m.linkname"),
			    ". b'5' 0o1755 0 \n./f b'0' 0o4755 0 \n"
			    "./g b'1' 0o4755 0 ./f\n./p b'6' 0o600 0 ");
}

/* ---- times ---- */

static void assert_time(struct timespec time, const char *seconds)
{
	struct tar_member file = plain("f", S_IFREG | 0644);
	char want[128];
	struct stat st;

	file.meta.mtime = file.meta.atime = time;
	write_one(TAR_PAX, &file);
	assert_silent("t.tar");
	assert_string_equal(said("tar xf t.tar 2>&1 | "
				 "grep -v -e implausibly -e 'in the future'"), "");
	st = stat_of("f");
	assert_int_equal(st.st_mtim.tv_sec, time.tv_sec);
	assert_int_equal(st.st_mtim.tv_nsec, time.tv_nsec);
	snprintf(want, sizeof(want), "%s %s", seconds, seconds);
	assert_string_equal(
		python_says("t.tar", "float(m.pax_headers.get(\"mtime\", m.mtime)),"
				     "float(m.pax_headers[\"atime\"])"),
		want);
}

static void times_are_kept_to_the_nanosecond(void **state)
{
	(void)state;
	need_gnu_tar();
	need_python();
	assert_time((struct timespec){ 1000000000, 0 }, "1000000000.0");
	assert_time((struct timespec){ 5, 123456789 }, "5.123456789");
	assert_time((struct timespec){ 5, 1 }, "5.000000001");
	assert_time((struct timespec){ 0, 0 }, "0.0");
	assert_time((struct timespec){ 0, 500000000 }, "0.5");
	assert_time((struct timespec){ -1, 0 }, "-1.0");
	assert_time((struct timespec){ -1, 250000000 }, "-0.75");
	assert_time((struct timespec){ -5, 500000000 }, "-4.5");
	assert_time((struct timespec){ -1000, 999999999 }, "-999.000000001");
	assert_time((struct timespec){ INT64_C(10000000000), 7 },
		    "10000000000.0");	/* no more digits in a float */
}

static void nothing_else_is_written(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	need_python();
	write_one(TAR_PAX, &file);
	assert_string_equal(python_says("t.tar", "sorted(m.pax_headers)"),
			    "['atime']");
}

/* ---- numbers ---- */

static void assert_ids(enum tar_format format)
{
	struct tar_member file = plain("f", S_IFREG | 0644);

	file.meta.uid = 2097152;
	file.meta.gid = 4294967294;
	begin(format);
	assert_int_equal(put(&file), 0);
	file.meta.uid = file.meta.gid = 2097151;
	assert_int_equal(put(&file), 0);
	end();
	assert_silent("t.tar");
	assert_string_equal(python_says("t.tar", "m.uid, m.gid"),
			    "2097152 4294967294\n2097151 2097151");
}

static void large_ids(void **state)
{
	(void)state;
	need_python();
	assert_ids(TAR_PAX);
	assert_ids(TAR_GNU);
}

static void names_of_owners(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	need_python();
	file.user = "j\303\266rg";
	file.group = "a-group-with-a-very-long-name-of-48-characters.48";
	begin(TAR_PAX);
	put_whole(&file);
	end();
	assert_silent("t.tar");
	assert_string_equal(python_says("t.tar", "m.uname, m.gname"),
			    "j\303\266rg a-group-with-a-very-long-name-of-48-"
			    "characters.48");
	/* Cut it would be another one's name. */
	file.user = "u";
	write_one(TAR_USTAR, &file);
	assert_string_equal(python_says("t.tar", "m.uname, m.gname"), "u ");
}

static void assert_devices(enum tar_format format)
{
	struct tar_member node = plain("n", S_IFCHR | 0600);

	begin(format);
	node.meta.rdev_major = 4095;
	node.meta.rdev_minor = 1048575;
	assert_int_equal(put(&node), 0);
	node.meta.mode = S_IFBLK | 0600;
	node.meta.rdev_major = 7;
	node.meta.rdev_minor = 0;
	assert_int_equal(put(&node), 0);
	end();
	assert_silent("t.tar");
	assert_string_equal(python_says("t.tar", "m.type, m.devmajor, m.devminor"),
			    "b'3' 4095 1048575\nb'4' 7 0");
}

static void device_numbers(void **state)
{
	struct tar_member node = plain("n", S_IFCHR | 0600);

	(void)state;
	need_python();
	assert_devices(TAR_PAX);
	assert_devices(TAR_GNU);
	assert_devices(TAR_USTAR);
	begin(TAR_PAX);
	node.meta.rdev_minor = 1 << 21;
	assert_int_equal(put(&node), 1);
	assert_int_equal(out.losses, TAR_LOST_NAME);
	end();
}

/* Only the header: the sink throws the rest away. */
static void large_sizes(void **state)
{
	static const enum tar_format formats[] = { TAR_PAX, TAR_GNU };
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	need_python();
	for (size_t i = 0; i < 2; i++) {
		begin(formats[i]);
		file.meta.size = UINT64_C(8) << 30;
		assert_int_equal(tar_write_member(out.writer, &file,
						  &out.losses), 0);
		tar_writer_free(out.writer);
		close(out.fd);
		assert_string_equal(said("python3 -c 'import tarfile\nprint("
					 "tarfile.open(\"t.tar\").next().size)'"),
				    "8589934592");
	}
	begin(TAR_USTAR);
	assert_int_equal(put(&file), 1);
	assert_int_equal(out.losses, TAR_LOST_NAME);
	assert_int_equal(out.calls, 0);
	end();
}

/* ---- attributes ---- */

static void attributes_of_any_bytes(void **state)
{
	static const struct tar_xattr xattrs[] = {
		{ "user.bin", "a\0\n=b\377", 6 }, { "user.empty", "", 0 },
		{ "user.a=b", "1", 1 },		  { "user.%3D", "2", 1 },
		{ "user.a b", "3", 1 },		  { "user.\303\274", "4", 1 },
		{ "user.\377", "5", 1 },
	};
	struct tar_member file = plain("f", S_IFREG | 0644);
	char value[16];

	(void)state;
	need_gnu_tar();
	put_file("probe", "");
	if (setxattr("probe", "user.k", "v", 1, 0) != 0)
		skip();
	file.xattrs = xattrs;
	file.nxattrs = sizeof(xattrs) / sizeof(*xattrs);
	begin(TAR_PAX);
	put_whole(&file);
	end();
	assert_silent("t.tar");
	assert_string_equal(said("tar --xattrs --xattrs-include='*' -xf t.tar"),
			    "");
	for (size_t i = 0; i < file.nxattrs; i++) {
		ssize_t n = getxattr("f", xattrs[i].name, value, sizeof(value));

		if (n != (ssize_t)xattrs[i].size ||
		    memcmp(value, xattrs[i].value, (size_t)n) != 0)
			fail_msg("%s has %zd bytes", xattrs[i].name, n);
	}
}

/* More would end the stream for bsdtar. */
static void attributes_above_a_limit_are_left_out(void **state)
{
	static char large[600 << 10];
	const struct tar_xattr xattrs[] = {
		{ "user.a", large, sizeof(large) },
		{ "user.b", large, sizeof(large) },
	};
	struct tar_member file = plain("f", S_IFREG | 0644);
	struct tar_member next = plain("next", S_IFREG | 0644);

	(void)state;
	need_python();
	file.xattrs = xattrs;
	begin(TAR_PAX);
	file.nxattrs = 1;
	put_whole(&file);
	file.nxattrs = 2;
	assert_int_equal(put(&file), 0);
	assert_int_equal(out.losses, TAR_LOST_BIG_XATTR);
	put_whole(&next);
	end();
	assert_silent("t.tar");
	assert_string_equal(python_says("t.tar", "m.name, len(m.pax_headers)"),
			    "f 2\nf 1\nnext 1");
}

static const unsigned char acl[] = {
	2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255,		/* user::rw- */
	2, 0, 7, 0, 0, 40, 107, 238,		/* user:4000000000:rwx */
	2, 0, 5, 0, 1, 0, 0, 0,			/* (out of order, as the kernel's are not) */
	4, 0, 4, 0, 255, 255, 255, 255,		/* group::r-- */
	16, 0, 7, 0, 255, 255, 255, 255,	/* mask::rwx */
	32, 0, 0, 0, 255, 255, 255, 255,	/* other::--- */
};

static void access_control_lists(void **state)
{
	const struct tar_xattr xattrs[] = {
		{ "system.posix_acl_access", acl, sizeof(acl) },
		{ "system.posix_acl_default", acl, sizeof(acl) },
	};
	struct tar_member file = plain("d/", S_IFDIR | 0670);

	(void)state;
	need_python();
	file.xattrs = xattrs;
	file.nxattrs = 2;
	begin(TAR_PAX);
	put_whole(&file);
	end();
	assert_silent("t.tar");
	/* The mode is st_mode, whatever the ACL says. */
	assert_string_equal(python_says("t.tar", "oct(m.mode)"), "0o670");
	if (!peer_runs("tar --acls -xf t.tar && getfacl -n d"))
		skip();
	assert_string_equal(said("LC_ALL=C getfacl -cnp d"),
			    "user::rw-\nuser:1:r-x\nuser:4000000000:rwx\n"
			    "group::r--\nmask::rwx\nother::---\n"
			    "default:user::rw-\ndefault:user:1:r-x\n"
			    "default:user:4000000000:rwx\ndefault:group::r--\n"
			    "default:mask::rwx\ndefault:other::---\n");
}

static void an_acl_that_is_none_is_told(void **state)
{
	const struct tar_xattr xattrs[] = {
		{ "system.posix_acl_access", acl, sizeof(acl) - 1 },
	};
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	file.xattrs = xattrs;
	file.nxattrs = 1;
	begin(TAR_PAX);
	assert_int_equal(put(&file), 0);
	assert_int_equal(out.losses, TAR_LOST_ACL);
	end();
	assert_silent("t.tar");
}

/* ---- sparse files ---- */

enum { SPARSE_SIZE = 5 << 20 };

static unsigned char contents[SPARSE_SIZE];	/* with its holes */

static void put_sparse(enum tar_format format, const char *path, uint64_t size,
		       const struct tar_extent *extents, size_t nextents)
{
	struct tar_member file = plain(path, S_IFREG | 0644);

	memset(contents, 0, sizeof(contents));
	file.meta.size = size;
	file.sparse = true;
	file.extents = extents;
	file.nextents = nextents;
	begin(format);
	assert_int_equal(tar_write_member(out.writer, &file, &out.losses), 0);
	for (size_t i = 0; i < nextents; i++) {
		unsigned char *at = contents + extents[i].offset;
		size_t length = (size_t)extents[i].length;

		put_noise(at, length, (uint32_t)i);
		assert_int_equal(tar_write_data(out.writer, at, length / 2), 0);
		assert_int_equal(tar_write_data(out.writer, at + length / 2,
						length - length / 2), 0);
		if (format == TAR_PAX && length > 1)
			assert_ptr_equal(out.pointer, at + length / 2);
	}
	assert_int_equal(tar_write_end(out.writer), 0);
	end();
	assert_silent("t.tar");
}

static void assert_extracted(const char *command, const char *path, size_t size)
{
	(void)unlink(path);
	const char *text = said(command);

	if (*text)
		fail_msg("%s of %s: %s", command, path, text);
	assert_bytes(path, contents, size);
}

static void assert_sparse(const char *path, uint64_t size,
			  const struct tar_extent *extents, size_t nextents)
{
	put_sparse(TAR_PAX, path, size, extents, nextents);
	assert_int_equal(out.losses, 0);
	assert_string_equal(said("tar tf t.tar"), path);
	assert_extracted("tar xf t.tar", path, (size_t)size);
	assert_extracted("python3 -W ignore -m tarfile -e t.tar", path,
			 (size_t)size);
	if (peer_runs("bsdtar --version"))
		assert_extracted("bsdtar xf t.tar", path, (size_t)size);
	put_sparse(TAR_GNU, path, size, extents, nextents);
	assert_int_equal(out.losses, TAR_LOST_HOLES);
	assert_extracted("tar xf t.tar", path, (size_t)size);
}

static void sparse_files(void **state)
{
	static const struct tar_extent head[] = { { 0, 4096 } };
	static const struct tar_extent tail[] = { { 1 << 20, 4096 } };
	static const struct tar_extent last[] = { { SPARSE_SIZE - 1, 1 } };
	static const struct tar_extent odd[] = { { 1, 1 }, { 1000, 777 },
						 { 5000, 4999 } };
	static struct tar_extent many[2000];

	(void)state;
	need_gnu_tar();
	need_python();
	for (size_t i = 0; i < 2000; i++)
		many[i] = (struct tar_extent){ i * 2048 + 512, 700 };
	put_dir("d");
	assert_sparse("hole", SPARSE_SIZE, NULL, 0);
	assert_sparse("d/head", SPARSE_SIZE, head, 1);
	assert_sparse("tail", (1 << 20) + 4096, tail, 1);
	assert_sparse("last", SPARSE_SIZE, last, 1);
	assert_sparse("gr\303\274n", 12345, odd, 3);
	assert_sparse("many", SPARSE_SIZE, many, 2000);
}

static void a_sparse_file_without_an_end(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	need_gnu_tar();
	file.meta.size = UINT64_C(7) << 60;
	file.sparse = true;
	begin(TAR_PAX);
	put_whole(&file);
	end();
	assert_true(stat_of("t.tar").st_size <= 8192);
	assert_silent("t.tar");
	assert_string_equal(said("tar tvf t.tar | tr -s ' ' | cut -d' ' -f3"),
			    "8070450532247928832");
}

/* ---- what a format can't hold ---- */

static unsigned lost(enum tar_format format, const struct tar_member *member,
		     int want)
{
	unsigned losses;

	begin(format);
	assert_int_equal(put(member), want);
	losses = out.losses;
	end();
	assert_silent("t.tar");
	return losses;
}

static void what_gnu_and_ustar_lose(void **state)
{
	const struct tar_xattr xattrs[] = {
		{ "user.k", "v", 1 },
		{ "system.posix_acl_access", acl, sizeof(acl) },
	};
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	for (int i = 0; i < 2; i++) {
		enum tar_format format = i ? TAR_USTAR : TAR_GNU;

		file = plain("f", S_IFREG | 0644);
		assert_int_equal(lost(format, &file, 0), 0);
		file.meta.mtime.tv_nsec = 1;
		file.meta.atime.tv_nsec = 1;
		assert_int_equal(lost(format, &file, 0), TAR_LOST_NSEC);
		file.meta.mtime.tv_nsec = 0;
		assert_int_equal(lost(format, &file, 0), TAR_LOST_ATIME);
		file.meta.atime.tv_nsec = 0;
		file.xattrs = xattrs;
		file.nxattrs = 2;
		assert_int_equal(lost(format, &file, 0),
				 TAR_LOST_XATTR | TAR_LOST_ACL);
	}
}

static void times_of_the_other_formats_have_a_range(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);

	(void)state;
	need_python();
	for (int i = 0; i < 2; i++) {
		enum tar_format format = i ? TAR_USTAR : TAR_GNU;

		file.meta.mtime.tv_sec = file.meta.atime.tv_sec = -5;
		assert_int_equal(lost(format, &file, 0), TAR_LOST_MTIME);
		assert_string_equal(python_says("t.tar", "m.mtime"), "0");
		file.meta.mtime.tv_sec = file.meta.atime.tv_sec = INT64_C(1) << 33;
		assert_int_equal(lost(format, &file, 0), TAR_LOST_MTIME);
		assert_string_equal(python_says("t.tar", "m.mtime"),
				    "8589934591");
	}
}

static void what_does_not_fit_is_not_written(void **state)
{
	struct tar_member file = plain("f", S_IFREG | 0644);
	char long_name[300];

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	file.path = long_name;
	assert_int_equal(lost(TAR_USTAR, &file, 1), TAR_LOST_NAME);
	assert_int_equal(lost(TAR_GNU, &file, 0), 0);
	file = plain("l", S_IFLNK | 0777);
	file.target = long_name;
	assert_int_equal(lost(TAR_USTAR, &file, 1), TAR_LOST_NAME);
	assert_int_equal(lost(TAR_GNU, &file, 0), 0);
	file = plain("f", S_IFREG | 0644);
	file.meta.uid = 2097152;
	assert_int_equal(lost(TAR_USTAR, &file, 1), TAR_LOST_NAME);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_go_by_pointer_and_nothing_is_added),
		TEST(what_is_missing_is_zero),
		TEST(a_member_that_is_taken_back_leaves_no_trace),
		TEST(a_sink_that_fails),
		TEST(names_are_the_same_bytes_to_all),
		TEST(names_in_the_other_formats),
		TEST(long_names_and_targets),
		TEST(long_names_that_are_not_ascii),
		TEST(a_slash_makes_no_directory_of_a_file),
		TEST(types_and_links),
		TEST(times_are_kept_to_the_nanosecond),
		TEST(nothing_else_is_written),
		TEST(large_ids),
		TEST(names_of_owners),
		TEST(device_numbers),
		TEST(large_sizes),
		TEST(attributes_of_any_bytes),
		TEST(attributes_above_a_limit_are_left_out),
		TEST(access_control_lists),
		TEST(an_acl_that_is_none_is_told),
		TEST(sparse_files),
		TEST(a_sparse_file_without_an_end),
		TEST(what_gnu_and_ustar_lose),
		TEST(times_of_the_other_formats_have_a_range),
		TEST(what_does_not_fit_is_not_written),
	};

	return cmocka_run_group_tests_name("tarwrite", tests, NULL, NULL);
}
