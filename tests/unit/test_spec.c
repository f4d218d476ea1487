/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the operands mean.  Each test has a fresh directory as its working
 * directory, with a few things in it:
 *
 *   src/{a,sub/}  file  sock-like FIFO `pipe`  full/{other}  empty/  both/{a,x}
 *   link -> src  flink -> file  dang -> nowhere
 *
 * A refusal must leave all of it as it was.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "spec.h"

static char base[4096];		/* the test's directory, resolved */
static struct opts opts;
static struct spec spec;
static const char *said;

/* --- a tree to work on --- */

static void file_make(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static void dir_make(const char *path)
{
	assert_int_equal(mkdir(path, 0755), 0);
}

static void link_make(const char *target, const char *path)
{
	assert_int_equal(symlink(target, path), 0);
}

static int tree_make(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char template[2048];

	(void)state;
	snprintf(template, sizeof template, "%s/tarpipe-spec-XXXXXX",
		 tmp ? tmp : "/tmp");
	if (!mkdtemp(template) || !realpath(template, base) || chdir(base) != 0)
		return -1;
	umask(022);
	dir_make("src");
	dir_make("src/sub");
	file_make("src/a", "a");
	file_make("file", "file");
	assert_int_equal(mkfifo("pipe", 0644), 0);
	dir_make("full");
	file_make("full/other", "other");
	dir_make("empty");
	dir_make("both");
	file_make("both/a", "old");
	file_make("both/x", "x");
	link_make("src", "link");
	link_make("file", "flink");
	link_make("nowhere", "dang");
	opts = (struct opts){ .preserve = PRESERVE_ALL & ~PRESERVE_ROOT };
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int tree_remove(void **state)
{
	(void)state;
	spec_destroy(&spec);
	return chdir("/") == 0 ?
		nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS) : -1;
}

static uint64_t tree_sum;

static int sum_one(const char *path, const struct stat *st, int type,
		   struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	for (const char *p = path; *p; p++)
		tree_sum = tree_sum * 31 + (unsigned char)*p;
	tree_sum = tree_sum * 31 + st->st_ino;
	tree_sum = tree_sum * 31 + (uint64_t)st->st_ctim.tv_nsec;
	tree_sum = tree_sum * 31 + (uint64_t)st->st_ctim.tv_sec;
	return 0;
}

/* A number that changes with any name, inode or change time in the tree. */
static uint64_t tree_fingerprint(void)
{
	tree_sum = 0;
	assert_int_equal(nftw(base, sum_one, 16, FTW_PHYS), 0);
	return tree_sum;
}

/* --- asking --- */

enum { OPERANDS_MAX = 8 };

static int resolve(const char *first, va_list more)
{
	static char *operands[OPERANDS_MAX];

	spec_destroy(&spec);
	diag_reset();
	opts.operands = operands;
	opts.noperands = 0;
	for (const char *p = first; p; p = va_arg(more, const char *))
		operands[opts.noperands++] = (char *)(uintptr_t)p;
	capture_begin(STDERR_FILENO);
	int result = spec_resolve(&spec, &opts);
	said = capture_end();
	return result;
}

#define accept(...) accept_operands(__VA_ARGS__, NULL)
static void accept_operands(const char *first, ...)
{
	va_list more;

	va_start(more, first);
	if (resolve(first, more) != 0)
		fail_msg("refused: %s", said);
	va_end(more);
}

/* Accepted without a word. */
#define accept_silently(...) do { \
		accept(__VA_ARGS__); \
		assert_string_equal(said, ""); \
		assert_int_equal(diag_status(), STATUS_OK); \
	} while (0)

/* Refused with 64, nothing touched, nothing left in spec; `words` is said. */
#define refuse(words, ...) refuse_operands(words, __VA_ARGS__, NULL)
static void refuse_operands(const char *words, const char *first, ...)
{
	va_list more;
	uint64_t before = tree_fingerprint();

	va_start(more, first);
	if (resolve(first, more) == 0)
		fail_msg("accepted, where '%s' was expected", words);
	va_end(more);
	assert_int_equal(diag_status(), STATUS_USAGE);
	if (!strstr(said, words))
		fail_msg("'%s' is not in: %s", words, said);
	assert_null(spec.roots);
	assert_null(spec.dst);
	assert_true(tree_fingerprint() == before);
}

static void assert_root(size_t i, const char *path, const char *as, bool follow)
{
	assert_true(i < spec.nroots);
	assert_string_equal(spec.roots[i].path, path);
	if (as)
		assert_string_equal(spec.roots[i].as, as);
	else
		assert_null(spec.roots[i].as);
	assert_int_equal(spec.roots[i].follow, follow);
}

/* `below` is the destination directory's path below the test's. */
static void assert_dst(const char *shown, const char *below, bool new)
{
	char want[8192];

	snprintf(want, sizeof want, "%s%s%s", base, *below ? "/" : "", below);
	assert_string_equal(spec.dst_shown, shown);
	assert_string_equal(spec.dst, want);
	assert_int_equal(spec.dst_new, new);
	assert_int_equal(spec.dst_parent != NULL, new);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* Opens the destination and checks that it is the directory at `path`. */
static void assert_opens(const char *path)
{
	struct stat want, got;
	int fd = spec_open_dst(&spec);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &got), 0);
	assert_int_equal(stat(path, &want), 0);
	assert_int_equal(got.st_ino, want.st_ino);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

/* --- SRC DST --- */

static void bare_into_a_new_directory(void **state)
{
	(void)state;
	accept_silently("src", "new");
	assert_int_equal(spec.nroots, 1);
	assert_root(0, "src", NULL, false);
	assert_dst("new", "new", true);
	assert_true(spec.dst_is_copy && !spec.dst_keeps);
	assert_int_equal(access("new", F_OK), -1);
	assert_opens("new");
	assert_int_equal(mode_of("new"), 0700);
}

static void bare_again_and_into_an_empty_one(void **state)
{
	(void)state;
	accept_silently("src", "both");
	assert_root(0, "src", NULL, false);
	assert_dst("both", "both", false);
	assert_true(spec.dst_is_copy && !spec.dst_keeps);
	assert_opens("both");
	accept_silently("src", "empty");
	dir_make("empty/lost+found");
	accept_silently("src", "empty");
	assert_dst("empty", "empty", false);
	/* what a run that was killed has left */
	dir_make("empty/.tarpipe-tmp-0123456789abcdef-0");
	accept_silently("src", "empty");
	/* nothing into nothing */
	dir_make("nothing");
	accept_silently("nothing", "empty");
}

static void bare_into_other_things_is_refused(void **state)
{
	(void)state;
	refuse("to merge: tarpipe src/ full; "
	       "to make full/src: tarpipe src full/\n", "src", "full");
	refuse("to merge: tarpipe ./src/ ./full; to make ./full/src:", "./src", "./full");
	/* lost+found is no name in common */
	dir_make("src/lost+found");
	dir_make("full/lost+found");
	refuse("to merge", "src", "full");
	refuse("to merge", "empty", "full");
	assert_int_equal(chdir("src"), 0);
	refuse("to merge: tarpipe ./ ../full\n", ".", "../full");
	assert_int_equal(chdir(base), 0);
	/* a dangling symlink is a name, too */
	link_make("nowhere", "full/sub");
	accept_silently("src", "full");
}

static void bare_spellings_are_quoted(void **state)
{
	(void)state;
	assert_int_equal(rename("src", "my src"), 0);
	refuse("to merge: tarpipe 'my src'/ full; "
	       "to make full/'my src': tarpipe 'my src' full/\n", "my src", "full");
}

static void a_symlink_to_a_directory_is_entered(void **state)
{
	(void)state;
	accept_silently("link", "new");
	assert_root(0, "link", NULL, true);
	accept_silently("link/", "new");
	assert_root(0, "link", NULL, true);
	assert_true(spec.dst_is_copy);
}

static void a_file_becomes_dst_or_goes_into_it(void **state)
{
	(void)state;
	accept_silently("file", "copy");
	assert_root(0, "file", "copy", false);
	assert_dst(".", "", false);
	assert_false(spec.dst_is_copy || spec.dst_keeps);
	assert_opens(".");
	accept_silently("file", "full/copy");
	assert_root(0, "file", "copy", false);
	assert_dst("full", "full", false);
	accept_silently("file", "full/other");
	assert_root(0, "file", "other", false);
	assert_dst("full", "full", false);
	accept_silently("file", "full");
	assert_root(0, "file", "file", false);
	assert_dst("full", "full", false);
	accept_silently("src/a", "empty");
	assert_root(0, "src/a", "a", false);
	assert_false(spec.dst_is_copy);
}

static void symlinks_to_files_and_fifos_are_files(void **state)
{
	(void)state;
	accept_silently("flink", "copy");
	assert_root(0, "flink", "copy", false);
	accept_silently("dang", "full");
	assert_root(0, "dang", "dang", false);
	accept_silently("pipe", "copy");
	assert_root(0, "pipe", "copy", false);
}

/* --- SRC/ DST --- */

static void merging(void **state)
{
	(void)state;
	accept_silently("src/", "full");
	assert_root(0, "src", NULL, false);
	assert_dst("full", "full", false);
	assert_true(spec.dst_is_copy && !spec.dst_keeps);
	accept_silently("src//", "full//");
	assert_root(0, "src", NULL, false);
	assert_dst("full", "full", false);
	accept_silently("src/", "new/");
	assert_root(0, "src", NULL, false);
	assert_dst("new", "new", true);
	assert_true(spec.dst_is_copy);
	accept_silently("src/.", "full");
	assert_root(0, "src", NULL, false);
	assert_int_equal(chdir("src"), 0);
	accept_silently("./", "../full");
	assert_root(0, ".", NULL, false);
}

static void a_slash_behind_what_is_no_directory(void **state)
{
	(void)state;
	refuse("Not a directory", "file/", "full");
	refuse("Not a directory", "flink/", "new");
	refuse("Not a directory", "pipe/", "new");
	refuse("Not a directory", "dang/", "new");
	refuse("Not a directory", "file/", "new/");
}

/* --- SRC... DIR/ --- */

static void into_a_directory(void **state)
{
	(void)state;
	accept_silently("src", "full/");
	assert_int_equal(spec.nroots, 1);
	assert_root(0, "src", "src", false);
	assert_dst("full", "full", false);
	assert_false(spec.dst_is_copy || spec.dst_keeps);
	accept_silently("src/", "file", "full/other", "empty/");
	assert_int_equal(spec.nroots, 3);
	assert_root(0, "src", "src", false);
	assert_root(1, "file", "file", false);
	assert_root(2, "full/other", "other", false);
	assert_false(spec.dst_is_copy);
}

static void into_a_new_directory_that_keeps_its_own(void **state)
{
	(void)state;
	accept_silently("file", "new/");
	assert_root(0, "file", "file", false);
	assert_dst("new", "new", true);
	assert_false(spec.dst_is_copy);
	umask(027);
	assert_opens("new");
	assert_int_equal(mode_of("new"), 0750);
	accept_silently("src", "new2//");
	assert_root(0, "src", "src", false);
	assert_dst("new2", "new2", true);
}

static void links_stay_links_there(void **state)
{
	(void)state;
	accept_silently("link", "full/");
	assert_root(0, "link", "link", false);
	accept_silently("link/", "flink", "full/");
	assert_root(0, "link", "link", false);
	assert_root(1, "flink", "flink", false);
	/* a link is not walked: it may stand above DST */
	accept_silently("link", "src/sub/");
}

static void several_sources_need_the_slash(void **state)
{
	(void)state;
	refuse("tarpipe SRC... full/", "src", "file", "full");
	refuse("tarpipe SRC... new/", "src", "file", "new");
	refuse("tarpipe SRC... file/", "src", "full", "file");
}

static void sources_without_a_name(void **state)
{
	(void)state;
	refuse("tarpipe ./ full\n", ".", "full/");
	refuse("tarpipe ../ full\n", "..", "full/");
	refuse("tarpipe src/../ full\n", "src/..", "full/");
	refuse("tarpipe / full\n", "/", "src", "full/");
	refuse("tarpipe ./ full\n", "src", "./", "full/");
	refuse("tarpipe src/./ full\n", "file", "src/.", "full/");
}

static void equal_names_are_refused(void **state)
{
	(void)state;
	refuse("a: two sources have this name", "src/a", "both/a", "full/");
	refuse("src: two sources", "src", "file", "src/", "full/");
	/* also when one of them isn't there */
	refuse("a: two sources", "src/a", "nowhere/a", "full/");
}

/* --- missing sources --- */

static void a_missing_source(void **state)
{
	(void)state;
	refuse("tarpipe: gone: stat: ", "gone", "new");
	assert_string_equal(said, "tarpipe: gone: stat: No such file or directory\n");
	refuse("tarpipe: gone/: stat: No such file or directory\n", "gone/", "full");
	refuse("gone: stat: ", "gone", "full/");
	refuse("file/x: stat: Not a directory", "file/x", "full");
}

static void a_missing_one_of_several(void **state)
{
	(void)state;
	accept("gone", "file", "gone2", "src", "full/");
	assert_string_equal(said,
		"tarpipe: gone: stat: No such file or directory\n"
		"tarpipe: gone2: stat: No such file or directory\n");
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	assert_int_equal(spec.nroots, 2);
	assert_root(0, "file", "file", false);
	assert_root(1, "src", "src", false);
	refuse("no source is there", "gone", "gone2", "full/");
}

/* --- destinations --- */

static void a_destination_that_is_no_directory(void **state)
{
	(void)state;
	refuse("tarpipe: file: src is a directory: Not a directory\n",
	       "src", "file");
	refuse("src/ is a directory: Not a directory", "src/", "file");
	refuse("Not a directory", "link", "file");
	refuse("Not a directory", "src", "pipe");
	refuse("file/: a trailing slash means a directory: Not a directory",
	       "src", "file/");
	refuse("Not a directory", "src/a", "file/");
	refuse("Not a directory", "src/a", "full", "flink/");
	refuse("file/x: stat: Not a directory", "src", "file/x");
}

static void symlinks_to_the_destination_are_followed(void **state)
{
	(void)state;
	link_make("empty", "dlink");
	accept_silently("src", "dlink");
	assert_dst("dlink", "empty", false);
	assert_opens("empty");
	accept_silently("src", "dlink/");
	assert_root(0, "src", "src", false);
	assert_dst("dlink", "empty", false);
	accept_silently("src", "dlink/new");
	assert_dst("dlink/new", "empty/new", true);
	assert_opens("empty/new");
	/* the file that a link points to is replaced, not the link */
	link_make("../full/other", "empty/olink");
	accept_silently("file", "empty/olink");
	assert_root(0, "file", "other", false);
	assert_string_equal(spec.dst, spec.dst_shown);
	assert_opens("full");
}

static void a_destination_that_ends_in_a_dot(void **state)
{
	(void)state;
	accept_silently("src", "both/.");
	assert_dst("both/.", "both", false);
	assert_true(spec.dst_is_copy);
	refuse("new: stat: only", "src", "new/.");
	assert_int_equal(chdir("both"), 0);
	accept_silently("../src", ".");
	assert_dst(".", "both", false);
	refuse("lies within the source ..", "..", ".");
	assert_int_equal(chdir(base), 0);
}

static void dangling_destinations_are_refused(void **state)
{
	(void)state;
	refuse("dang: is a symlink to what is not there", "src", "dang");
	refuse("dang: is a symlink", "file", "dang");
	refuse("dang/: is a symlink", "src", "dang/");
	link_make("loop", "loop");
	refuse("loop: stat: Too many levels of symbolic links", "src", "loop");
}

static void only_the_last_component_is_made(void **state)
{
	(void)state;
	refuse("tarpipe: no: stat: only the last component of no/new is made: "
	       "No such file or directory\n", "src", "no/new");
	refuse("no: stat: only", "src", "no/new/");
	refuse("no: stat: only", "file", "no/new");
	refuse("only the last component", "src", "dang/new");
}

static void special_files_are_not_replaced(void **state)
{
	(void)state;
	refuse("would be replaced by file, not written to", "file", "pipe");
	assert_int_equal(mkfifo("pipe2", 0644), 0);
	accept_silently("pipe2", "pipe");
	refuse("not written to", "file", "/dev/null");
}

static void empty_operands_are_refused(void **state)
{
	(void)state;
	refuse("operand SRC is empty", "", "full");
	refuse("operand DST is empty", "src", "");
	refuse("operand SRC is empty", "src", "", "full/");
}

static void hosts_are_refused_with_the_pipe(void **state)
{
	(void)state;
	refuse("tarpipe: host:dst: hosts are not reached yet; use: "
	       "tar -C src -cf - . | ssh host tar -C dst -xpf - (",
	       "src", "host:dst");
	refuse("host:src: hosts are not reached yet; use: "
	       "ssh host tar -C src -cf - . | tar -C full -xpf - (",
	       "host:src", "full");
	refuse("tar -C . -cf - file | ssh h tar -C d -xpf -", "file", "h:d");
	refuse("tar -C . -cf - src | ssh h tar -C d -xpf -", "src", "h:d/");
	assert_null(strstr(said, "each source"));
	refuse("and so for each source", "src", "file", "h:d/");
	/* even where a file of that name is */
	file_make("a:b", "local");
	refuse("a local name is written ./a:b", "a:b", "new");
	refuse("hosts are not reached", "src", "a:b");
	accept_silently("./a:b", "new");
	assert_root(0, "./a:b", "new", false);
}

/* --- into itself --- */

static void a_destination_in_its_source(void **state)
{
	(void)state;
	refuse("src: is the source src itself", "src", "src");
	refuse("is the source", "src/", "src");
	refuse("is the source", "src/", "src/");
	refuse("is the source", "src", "src/");
	refuse("is the source", "link", "src");
	refuse("is the source", "src", "./src/sub/../../src");
	refuse("src/new: lies within the source src", "src", "src/new");
	refuse("src/sub/new: lies within the source src/", "src/", "src/sub/new");
	refuse("lies within the source src", "file", "src", "src/sub/");
	refuse("lies within the source .", ".", "copy");
	refuse("lies within the source ./", "./", "empty");
	refuse("lies within the source /", "/", "empty/x");
	link_make("src/sub", "slink");
	refuse("lies within", "src", "slink/new");
	refuse("lies within", "link", "slink");
	/* a neighbour whose name begins alike is none */
	accept_silently("src", "src2");
	/* the other way round is well */
	accept_silently("src/sub/", "src");
	accept_silently("src/sub", "full/");
}

static void a_destination_deep_in_its_source(void **state)
{
	(void)state;
	assert_int_equal(chdir("src"), 0);
	for (int i = 0; i < 200; i++) {
		dir_make("d");
		assert_int_equal(chdir("d"), 0);
	}
	char above[sizeof base + 8];
	snprintf(above, sizeof above, "%s/src", base);
	refuse("lies within", above, "new");
}

static void a_source_that_would_replace_itself(void **state)
{
	(void)state;
	refuse("file: would replace itself in .", "file", "file");
	refuse("would replace itself", "file", "./file");
	refuse("would replace itself", "file", "flink");
	refuse("would replace itself", "flink", "file");
	refuse("would replace itself", "file", ".");
	refuse("would replace itself", "file", "./");
	refuse("src: would replace itself in .", "src", "./");
	refuse("would replace itself", "full/other", "src", "full/");
	assert_int_equal(link("file", "hard"), 0);
	refuse("would replace itself", "file", "hard");
	link_make("../file", "full/file");
	refuse("would replace itself", "full/file", "./");
	/* a link over there is replaced by a copy of what it points to */
	accept_silently("file", "full");
	assert_root(0, "file", "file", false);
}

static void a_followed_link_back_to_the_source(void **state)
{
	(void)state;
	link_make("../src", "full/src");
	accept_silently("src", "full/");
	opts.keep_dirlink = true;
	refuse("src: would replace itself in full", "src", "full/");
}

/* Runs `test` as root of a mount namespace of its own; skips without one. */
static void in_own_mounts(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
			_exit(77);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* In the child an assertion would longjmp: say it by the status. */
static bool is_refused(const char *src, const char *dst, const char *words)
{
	char *operands[] = { (char *)(uintptr_t)src, (char *)(uintptr_t)dst };

	opts.operands = operands;
	opts.noperands = 2;
	capture_begin(STDERR_FILENO);
	int result = spec_resolve(&spec, &opts);
	return result != 0 && strstr(capture_end(), words);
}

static void bind_mounts(void)
{
	if (mount("src", "empty", NULL, MS_BIND, NULL) != 0)
		_exit(77);
	if (!is_refused("src", "empty", "is the source src itself"))
		_exit(1);
	if (!is_refused("src", "empty/sub/new", "lies within the source src"))
		_exit(2);
}

static void bind_mounts_hide_nothing(void **state)
{
	(void)state;
	in_own_mounts(bind_mounts);
}

/* --- DST's own metadata --- */

static void a_sticky_destination_keeps_its_own(void **state)
{
	(void)state;
	assert_int_equal(chmod("both", 01777), 0);
	accept("src", "both");
	assert_string_equal(said,
		"tarpipe: both: keeps its own mode, owner and times, because it "
		"is sticky (--preserve=root gives it those of src)\n");
	assert_int_equal(diag_status(), STATUS_OK);
	assert_true(spec.dst_is_copy && spec.dst_keeps);
	accept("src/", "both/");
	assert_true(spec.dst_is_copy && spec.dst_keeps);
	opts.preserve_asked = PRESERVE_ROOT;
	accept_silently("src", "both");
	assert_true(spec.dst_is_copy && !spec.dst_keeps);
	opts.preserve_asked = 0;
	accept_silently("src", "both/");
	assert_false(spec.dst_is_copy || spec.dst_keeps);
}

static void no_preserve_root_keeps_silently(void **state)
{
	(void)state;
	opts.preserve_denied = PRESERVE_ROOT;
	accept_silently("src", "both");
	assert_true(spec.dst_is_copy && spec.dst_keeps);
	accept_silently("src", "new");
	assert_true(spec.dst_is_copy && spec.dst_keeps);
	umask(022);
	assert_opens("new");
	assert_int_equal(mode_of("new"), 0755);
}

static void the_root_directory_keeps_its_own(void **state)
{
	(void)state;
	accept("src/", "/");
	assert_non_null(strstr(said, "/: keeps its own mode, owner and times, "
			       "because it is the root directory"));
	assert_true(spec.dst_is_copy && spec.dst_keeps);
	link_make("/", "top");
	accept("src/", "top");
	assert_non_null(strstr(said, "it is the root directory"));
	assert_true(spec.dst_keeps);
	/* tarpipe SRC / is the DIR/ form */
	accept_silently("src", "/");
	assert_root(0, "src", "src", false);
	assert_false(spec.dst_is_copy);
}

/* --- opening --- */

static int open_dst_saying(void)
{
	capture_begin(STDERR_FILENO);
	int fd = spec_open_dst(&spec);
	said = capture_end();
	return fd;
}

static void the_destination_may_not_be_swapped(void **state)
{
	(void)state;
	accept_silently("src", "both");
	assert_int_equal(rename("both", "away"), 0);
	link_make("full", "both");
	assert_int_equal(open_dst_saying(), -1);
	assert_string_equal(said, "tarpipe: both: was replaced by another "
			    "directory meanwhile\n");
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

static void what_came_meanwhile_is_not_entered(void **state)
{
	(void)state;
	accept_silently("src", "new");
	link_make("full", "new");
	assert_int_equal(open_dst_saying(), -1);
	assert_string_equal(said, "tarpipe: new: mkdir: File exists\n");
	assert_int_equal(diag_status(), STATUS_STOPPED);
	accept_silently("src", "both");
	assert_int_equal(rename("both", "away"), 0);
	assert_int_equal(open_dst_saying(), -1);
	assert_string_equal(said, "tarpipe: both: open: No such file or "
			    "directory\n");
}

/* --- what an ordinary user may not see --- */

static void as_user(void)
{
	if (chmod("full", 0) != 0 || chmod("both", 0311) != 0 ||
	    chown(".", 61234, 61234) != 0 || setgid(61234) != 0 ||
	    setuid(61234) != 0)
		_exit(77);
	if (!is_refused("src", "full/x", "full/x: stat: Permission denied"))
		_exit(1);
	if (!is_refused("src", "both", "both: opendir: Permission denied"))
		_exit(2);
	if (!is_refused("full/other", "new",
			"full/other: stat: Permission denied"))
		_exit(3);
	/* a source that can't be read is somebody else's business */
	if (is_refused("full", "empty", ""))
		_exit(4);
}

static void errors_name_the_file_and_the_call(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	in_own_mounts(as_user);
	assert_int_equal(chmod("full", 0755), 0);
	assert_int_equal(chmod("both", 0755), 0);
}

static void in_a_closed_house(void)
{
	char *operands[] = { (char *)(uintptr_t)"src", (char *)(uintptr_t)"new" };

	/* above us is what we may not search */
	if (mkdir("house", 0755) != 0 || rename("src", "house/src") != 0 ||
	    chown("house", 61234, 61234) != 0 || chdir("house") != 0 ||
	    chmod(base, 0700) != 0 || setgid(61234) != 0 || setuid(61234) != 0)
		_exit(77);
	opts.operands = operands;
	opts.noperands = 2;
	if (spec_resolve(&spec, &opts) != 0)
		_exit(1);
	if (spec_open_dst(&spec) < 0)
		_exit(2);
	spec_destroy(&spec);
	if (!is_refused("src", "src/x", "lies within"))
		_exit(3);
}

static void parents_that_may_not_be_searched(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	in_own_mounts(in_a_closed_house);
}

#define tree_test(name) \
	cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(bare_into_a_new_directory),
		tree_test(bare_again_and_into_an_empty_one),
		tree_test(bare_into_other_things_is_refused),
		tree_test(bare_spellings_are_quoted),
		tree_test(a_symlink_to_a_directory_is_entered),
		tree_test(a_file_becomes_dst_or_goes_into_it),
		tree_test(symlinks_to_files_and_fifos_are_files),
		tree_test(merging),
		tree_test(a_slash_behind_what_is_no_directory),
		tree_test(into_a_directory),
		tree_test(into_a_new_directory_that_keeps_its_own),
		tree_test(links_stay_links_there),
		tree_test(several_sources_need_the_slash),
		tree_test(sources_without_a_name),
		tree_test(equal_names_are_refused),
		tree_test(a_missing_source),
		tree_test(a_missing_one_of_several),
		tree_test(a_destination_that_is_no_directory),
		tree_test(symlinks_to_the_destination_are_followed),
		tree_test(a_destination_that_ends_in_a_dot),
		tree_test(dangling_destinations_are_refused),
		tree_test(only_the_last_component_is_made),
		tree_test(special_files_are_not_replaced),
		tree_test(empty_operands_are_refused),
		tree_test(hosts_are_refused_with_the_pipe),
		tree_test(a_destination_in_its_source),
		tree_test(a_destination_deep_in_its_source),
		tree_test(a_source_that_would_replace_itself),
		tree_test(a_followed_link_back_to_the_source),
		tree_test(bind_mounts_hide_nothing),
		tree_test(a_sticky_destination_keeps_its_own),
		tree_test(no_preserve_root_keeps_silently),
		tree_test(the_root_directory_keeps_its_own),
		tree_test(the_destination_may_not_be_swapped),
		tree_test(what_came_meanwhile_is_not_entered),
		tree_test(errors_name_the_file_and_the_call),
		tree_test(parents_that_may_not_be_searched),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
