/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faultfs: a file system for tests that fails on command, on FUSE.
 *
 *     faultfs [--direct] RULES BACKING MOUNTPOINT
 *
 * MOUNTPOINT shows the directory BACKING.  It goes into the background when it is
 * mounted, and ends when it is unmounted.  The file RULES is read anew whenever it
 * has changed (write it beside and rename it); a line is
 *
 *     OPERATION PATTERN [CONDITION]... ACTION
 *
 * and the first that applies to a call decides.  What a rule did is a line
 * `OPERATION PATH ACTION` in RULES.log.
 *
 *   OPERATION   one of the names in `operations` below, without `fault_`; `change`:
 *               each that changes something
 *   PATTERN     of the path below MOUNTPOINT, as fnmatch(3) takes it: `*` is all
 *   at=N        read, write, copy: a call whose range holds byte N (errors, flip), or
 *               goes beyond it (other actions)
 *   after=N     not the first N calls; of readdir: not the first N entries
 *   bytes=N     write, copy: room for N bytes, all calls together
 *   times=N     the first N times only
 *   ACTION      ENOSPC, EIO ...: it fails
 *               hang: it waits until the rules are others, whatever happens, and goes on
 *               stall: the same, but a signal ends it with EINTR
 *               slow=MS: it takes so many milliseconds; the line in RULES.log has the
 *               number of such calls at that time, too
 *               short: it takes half of the bytes (with --direct, for reads)
 *               flip: a read gives another byte N (at=N) than there is
 *               grow, shrink, vanish: that becomes of the file in BACKING first
 *
 * --direct: no page cache, each read and write of a program is one call here.
 */
#define FUSE_USE_VERSION 35

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { RULES_MAX = 32, WORD = 64, REQUEST_MOST = 1 << 20, PAUSE = 10000000 };

enum action { ACT_NONE, ACT_FAIL, ACT_HANG, ACT_STALL, ACT_SLOW, ACT_SHORT,
	      ACT_FLIP, ACT_GROW, ACT_SHRINK, ACT_VANISH };

struct rule {
	char op[WORD], pattern[PATH_MAX], shown[WORD];
	enum action action;
	int err;
	bool has_at, has_bytes;
	uint64_t at, after, bytes, times, delay;
	uint64_t seen, done, used;	/* calls, times it applied, bytes taken */
};

struct fault {
	const char *rules_name, *backing;
	bool direct;
	pthread_mutex_t lock;		/* what follows */
	struct rule rules[RULES_MAX];
	size_t count;
	struct stat read;		/* RULES when it was read */
	unsigned version;
	unsigned together;		/* slow calls that are under way */
};

/* An open file; its name may be gone. */
struct handle {
	int fd;
	DIR *dir;
	char path[];
};

static const struct { const char *name; int err; } errors[] = {
	{ "EACCES", EACCES },	{ "EDQUOT", EDQUOT },
	{ "EFBIG", EFBIG },	{ "EINVAL", EINVAL },
	{ "EIO", EIO },		{ "EMLINK", EMLINK },
	{ "ENAMETOOLONG", ENAMETOOLONG }, { "ENODATA", ENODATA },
	{ "ENOENT", ENOENT },	{ "ENOSPC", ENOSPC },
	{ "ENOSYS", ENOSYS },	{ "ENOTCONN", ENOTCONN },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM },
	{ "EROFS", EROFS },	{ "ESTALE", ESTALE },
};

static const struct { const char *name; enum action action; } actions[] = {
	{ "hang", ACT_HANG },	{ "stall", ACT_STALL },
	{ "short", ACT_SHORT }, { "flip", ACT_FLIP },
	{ "grow", ACT_GROW },
	{ "shrink", ACT_SHRINK }, { "vanish", ACT_VANISH },
};

static struct fault *fault_get(void)
{
	return fuse_get_context()->private_data;
}

/* ---- rules ---- */

static bool word_take(struct rule *rule, const char *word)
{
	unsigned long long n;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strcmp(word, errors[i].name) == 0) {
			rule->action = ACT_FAIL;
			rule->err = errors[i].err;
			return true;
		}
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (strcmp(word, actions[i].name) == 0) {
			rule->action = actions[i].action;
			return true;
		}
	if (sscanf(word, "at=%llu", &n) == 1) {
		rule->has_at = true;
		rule->at = n;
	} else if (sscanf(word, "bytes=%llu", &n) == 1) {
		rule->has_bytes = true;
		rule->bytes = n;
	} else if (sscanf(word, "after=%llu", &n) == 1) {
		rule->after = n;
	} else if (sscanf(word, "times=%llu", &n) == 1) {
		rule->times = n;
	} else if (sscanf(word, "slow=%llu", &n) == 1) {
		rule->action = ACT_SLOW;
		rule->delay = n;
	} else {
		return false;
	}
	return true;
}

/* Returns whether the line is a rule. */
static bool rule_parse(struct rule *rule, char *line)
{
	char *rest, *word = strtok_r(line, " \t\n", &rest);

	*rule = (struct rule){ .times = UINT64_MAX };
	if (!word)
		return false;
	snprintf(rule->op, sizeof(rule->op), "%s", word);
	word = strtok_r(NULL, " \t\n", &rest);
	snprintf(rule->pattern, sizeof(rule->pattern), "%s", word ? word : "");
	while ((word = strtok_r(NULL, " \t\n", &rest))) {
		if (!word_take(rule, word))
			fprintf(stderr, "faultfs: what is '%s'?\n", word);
		snprintf(rule->shown, sizeof(rule->shown), "%s", word);
	}
	return rule->action != ACT_NONE;
}

/* Under the lock. */
static void rules_load(struct fault *fault)
{
	char line[PATH_MAX + 2 * WORD];
	struct stat st;
	FILE *file;

	if (stat(fault->rules_name, &st) != 0 ||
	    (st.st_ino == fault->read.st_ino &&
	     st.st_mtim.tv_sec == fault->read.st_mtim.tv_sec &&
	     st.st_mtim.tv_nsec == fault->read.st_mtim.tv_nsec &&
	     st.st_size == fault->read.st_size))
		return;
	file = fopen(fault->rules_name, "re");
	if (!file)
		return;
	fault->read = st;
	fault->count = 0;
	fault->version++;
	while (fault->count < RULES_MAX && fgets(line, sizeof(line), file))
		if (rule_parse(&fault->rules[fault->count], line))
			fault->count++;
	fclose(file);
}

static void rule_log(struct fault *fault, const char *op, const char *path,
		     const struct rule *rule)
{
	char name[PATH_MAX];
	FILE *file;

	snprintf(name, sizeof(name), "%s.log", fault->rules_name);
	file = fopen(name, "ae");
	if (!file)
		return;
	fprintf(file, "%s %s %s", op, path, rule->shown);
	if (rule->action == ACT_SLOW)
		fprintf(file, " %u", ++fault->together);
	fputc('\n', file);
	fclose(file);
}

/* What a call is about, as rules see it. */
struct call {
	const char *op, *path;
	bool changes;
	bool ranged;		/* it has a range: */
	uint64_t from;
	size_t size;		/* a rule may cut it */
	bool flipped;		/* byte `flip` is not what is read */
	uint64_t flip;
};

static bool rule_fits(const struct rule *rule, const struct call *call)
{
	if (strcmp(rule->op, call->op) != 0 &&
	    !(call->changes && strcmp(rule->op, "change") == 0))
		return false;
	if (fnmatch(rule->pattern, call->path, 0) != 0)
		return false;
	if (!rule->has_at)
		return true;
	if (call->from + call->size <= rule->at)
		return false;
	return (rule->action != ACT_FAIL && rule->action != ACT_FLIP) ||
	       call->from <= rule->at;
}

/* Under the lock.  Returns whether the rule applies now. */
static bool rule_applies(struct rule *rule, struct call *call)
{
	if (!rule_fits(rule, call) || rule->seen++ < rule->after ||
	    rule->done >= rule->times)
		return false;
	if (rule->has_bytes && rule->used < rule->bytes) {
		if (rule->bytes - rule->used < call->size)
			call->size = (size_t)(rule->bytes - rule->used);
		rule->used += call->size;
		return false;
	}
	rule->done++;
	return true;
}

/* What becomes of the file that a program has open. */
static void befall(const struct fault *fault, enum action action,
		   const char *path)
{
	char full[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", fault->backing, path);
	if (action == ACT_VANISH) {
		unlink(full);
		return;
	}
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0) {
		off_t size = action == ACT_GROW ? st.st_size + 100000 :
						  st.st_size / 2;
		if (ftruncate(fd, size) != 0)
			perror(full);
	}
	close(fd);
}

/* Waits until the rules are others.  Returns 0, or -EINTR. */
static int linger(struct fault *fault, unsigned version, bool killable)
{
	const struct timespec pause = { 0, PAUSE };
	bool over = false;

	while (!over) {
		if (killable && fuse_interrupted())
			return -EINTR;
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&fault->lock);
		rules_load(fault);
		over = fault->version != version;
		pthread_mutex_unlock(&fault->lock);
	}
	return 0;
}

static int take_time(struct fault *fault, uint64_t ms)
{
	const struct timespec pause = { (time_t)(ms / 1000),
					(long)(ms % 1000) * 1000000 };

	nanosleep(&pause, NULL);
	pthread_mutex_lock(&fault->lock);
	fault->together--;
	pthread_mutex_unlock(&fault->lock);
	return 0;
}

/* Returns 0 when the call is to be done (call->size may be less), or -errno. */
static int judge(struct call *call)
{
	struct fault *fault = fault_get();
	struct rule rule = { .action = ACT_NONE };
	unsigned version;

	pthread_mutex_lock(&fault->lock);
	rules_load(fault);
	version = fault->version;
	for (size_t i = 0; i < fault->count; i++)
		if (rule_applies(&fault->rules[i], call)) {
			rule = fault->rules[i];
			rule_log(fault, call->op, call->path, &rule);
			break;
		}
	pthread_mutex_unlock(&fault->lock);
	switch (rule.action) {
	case ACT_FAIL:
		return -rule.err;
	case ACT_HANG:
	case ACT_STALL:
		return linger(fault, version, rule.action == ACT_STALL);
	case ACT_SLOW:
		return take_time(fault, rule.delay);
	case ACT_SHORT:
		call->size = (call->size + 1) / 2;
		return 0;
	case ACT_FLIP:
		call->flipped = true;
		call->flip = rule.at - call->from;
		return 0;
	case ACT_GROW:
	case ACT_SHRINK:
	case ACT_VANISH:
		befall(fault, rule.action, call->path);
		return 0;
	case ACT_NONE:
		break;
	}
	return 0;
}

static int judge_path(const char *op, const char *path, bool changes)
{
	struct call call = { .op = op, .path = path + 1, .changes = changes };

	return judge(&call);
}

static int judge_handle(const char *op, const struct fuse_file_info *info,
			bool changes)
{
	struct handle *handle = (struct handle *)(uintptr_t)info->fh;
	struct call call = { .op = op, .path = handle->path, .changes = changes };

	return judge(&call);
}

static int judge_either(const char *op, const char *path,
			const struct fuse_file_info *info, bool changes)
{
	return info ? judge_handle(op, info, changes) :
		      judge_path(op, path, changes);
}

/* ---- names ---- */

struct full { char name[PATH_MAX]; };

static const char *under(struct full *full, const char *path)
{
	snprintf(full->name, sizeof(full->name), "%s%s", fault_get()->backing,
		 path);
	return full->name;
}

static int result(int rc)
{
	return rc < 0 ? -errno : 0;
}

static struct handle *handle_of(const struct fuse_file_info *info)
{
	return (struct handle *)(uintptr_t)info->fh;
}

static int handle_new(const char *path, int fd, struct fuse_file_info *info)
{
	size_t len = strlen(path + 1) + 1;
	struct handle *handle;

	if (fd < 0)
		return -errno;
	handle = malloc(sizeof(*handle) + len);
	if (!handle) {
		close(fd);
		return -ENOMEM;
	}
	handle->fd = fd;
	handle->dir = NULL;
	memcpy(handle->path, path + 1, len);
	info->fh = (uintptr_t)handle;
	info->direct_io = fault_get()->direct;
	return 0;
}

static int fault_getattr(const char *path, struct stat *st,
			 struct fuse_file_info *info)
{
	struct full full;
	int rc;

	if (info)
		rc = judge_handle("getattr", info, false);
	else
		rc = judge_path("getattr", path, false);
	if (rc != 0)
		return rc;
	if (info)
		return result(fstat(handle_of(info)->fd, st));
	return result(lstat(under(&full, path), st));
}

static int fault_readlink(const char *path, char *to, size_t size)
{
	int rc = judge_path("readlink", path, false);
	struct full full;
	ssize_t n;

	if (rc != 0)
		return rc;
	n = readlink(under(&full, path), to, size - 1);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	return 0;
}

static int fault_mknod(const char *path, mode_t mode, dev_t rdev)
{
	int rc = judge_path("mknod", path, true);
	struct full full;

	return rc ? rc : result(mknod(under(&full, path), mode, rdev));
}

static int fault_mkdir(const char *path, mode_t mode)
{
	int rc = judge_path("mkdir", path, true);
	struct full full;

	return rc ? rc : result(mkdir(under(&full, path), mode));
}

static int fault_unlink(const char *path)
{
	int rc = judge_path("unlink", path, true);
	struct full full;

	return rc ? rc : result(unlink(under(&full, path)));
}

static int fault_rmdir(const char *path)
{
	int rc = judge_path("rmdir", path, true);
	struct full full;

	return rc ? rc : result(rmdir(under(&full, path)));
}

static int fault_symlink(const char *target, const char *path)
{
	int rc = judge_path("symlink", path, true);
	struct full full;

	return rc ? rc : result(symlink(target, under(&full, path)));
}

static int fault_rename(const char *from, const char *to, unsigned flags)
{
	int rc = judge_path("rename", to, true);
	struct full a, b;

	return rc ? rc :
		    result(renameat2(AT_FDCWD, under(&a, from), AT_FDCWD,
				     under(&b, to), flags));
}

static int fault_link(const char *from, const char *to)
{
	int rc = judge_path("link", to, true);
	struct full a, b;

	return rc ? rc : result(link(under(&a, from), under(&b, to)));
}

/* ---- metadata ---- */

static int fault_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
	int rc = judge_either("chmod", path, info, true);
	struct full full;

	if (rc != 0)
		return rc;
	return result(info ? fchmod(handle_of(info)->fd, mode) :
			     chmod(under(&full, path), mode));
}

static int fault_chown(const char *path, uid_t uid, gid_t gid,
		       struct fuse_file_info *info)
{
	int rc = judge_either("chown", path, info, true);
	struct full full;

	if (rc != 0)
		return rc;
	return result(info ? fchown(handle_of(info)->fd, uid, gid) :
			     lchown(under(&full, path), uid, gid));
}

static int fault_truncate(const char *path, off_t size,
			  struct fuse_file_info *info)
{
	int rc = judge_either("truncate", path, info, true);
	struct full full;

	if (rc != 0)
		return rc;
	return result(info ? ftruncate(handle_of(info)->fd, size) :
			     truncate(under(&full, path), size));
}

static int fault_utimens(const char *path, const struct timespec times[2],
			 struct fuse_file_info *info)
{
	int rc = judge_either("utimens", path, info, true);
	struct full full;

	if (rc != 0)
		return rc;
	return result(info ? futimens(handle_of(info)->fd, times) :
			     utimensat(AT_FDCWD, under(&full, path), times,
				       AT_SYMLINK_NOFOLLOW));
}

static int fault_setxattr(const char *path, const char *name,
			  const char *value, size_t size, int flags)
{
	int rc = judge_path("setxattr", path, true);
	struct full full;

	return rc ? rc :
		    result(lsetxattr(under(&full, path), name, value, size, flags));
}

static int fault_getxattr(const char *path, const char *name, char *value,
			  size_t size)
{
	int rc = judge_path("getxattr", path, false);
	struct full full;
	ssize_t n;

	if (rc != 0)
		return rc;
	n = lgetxattr(under(&full, path), name, value, size);
	return n < 0 ? -errno : (int)n;
}

static int fault_listxattr(const char *path, char *list, size_t size)
{
	int rc = judge_path("listxattr", path, false);
	struct full full;
	ssize_t n;

	if (rc != 0)
		return rc;
	n = llistxattr(under(&full, path), list, size);
	return n < 0 ? -errno : (int)n;
}

static int fault_removexattr(const char *path, const char *name)
{
	int rc = judge_path("removexattr", path, true);
	struct full full;

	return rc ? rc : result(lremovexattr(under(&full, path), name));
}

static int fault_statfs(const char *path, struct statvfs *fs)
{
	struct full full;

	return result(statvfs(under(&full, path), fs));
}

/* ---- files ---- */

static int fault_open(const char *path, struct fuse_file_info *info)
{
	bool writes = (info->flags & O_ACCMODE) != O_RDONLY;
	int rc = judge_path("open", path, writes);
	struct full full;

	if (rc != 0)
		return rc;
	return handle_new(path, open(under(&full, path),
				     (info->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) |
					     O_CLOEXEC), info);
}

static int fault_create(const char *path, mode_t mode,
			struct fuse_file_info *info)
{
	int rc = judge_path("create", path, true);
	struct full full;

	if (rc != 0)
		return rc;
	return handle_new(path, open(under(&full, path),
				     info->flags | O_CREAT | O_CLOEXEC, mode),
			  info);
}

static int fault_read(const char *path, char *to, size_t size, off_t from,
		      struct fuse_file_info *info)
{
	struct handle *handle = handle_of(info);
	struct call call = { .op = "read", .path = handle->path, .ranged = true,
			     .from = (uint64_t)from, .size = size };
	int rc = judge(&call);
	ssize_t n;

	(void)path;
	if (rc != 0)
		return rc;
	n = pread(handle->fd, to, call.size, from);
	if (call.flipped && n > 0 && call.flip < (size_t)n)
		to[call.flip] ^= 1;
	return n < 0 ? -errno : (int)n;
}

static int fault_write(const char *path, const char *bytes, size_t size,
		       off_t from, struct fuse_file_info *info)
{
	struct handle *handle = handle_of(info);
	struct call call = { .op = "write", .path = handle->path,
			     .changes = true, .ranged = true,
			     .from = (uint64_t)from, .size = size };
	int rc = judge(&call);
	ssize_t n;

	(void)path;
	if (rc != 0)
		return rc;
	n = pwrite(handle->fd, bytes, call.size, from);
	return n < 0 ? -errno : (int)n;
}

static ssize_t fault_copy_file_range(const char *in_path,
				     struct fuse_file_info *in, off_t from,
				     const char *out_path,
				     struct fuse_file_info *out, off_t to,
				     size_t size, int flags)
{
	struct handle *handle = handle_of(out);
	struct call call = { .op = "copy", .path = handle->path, .changes = true,
			     .ranged = true, .from = (uint64_t)to, .size = size };
	int rc = judge(&call);
	ssize_t n;

	(void)in_path;
	(void)out_path;
	(void)flags;
	if (rc != 0)
		return rc;
	n = copy_file_range(handle_of(in)->fd, &from, handle->fd, &to, call.size,
			    0);
	return n < 0 ? -errno : n;
}

static off_t fault_lseek(const char *path, off_t offset, int whence,
			 struct fuse_file_info *info)
{
	int rc = judge_handle("lseek", info, false);
	off_t at;

	(void)path;
	if (rc != 0)
		return rc;
	at = lseek(handle_of(info)->fd, offset, whence);
	return at < 0 ? -errno : at;
}

static int fault_flush(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return judge_handle("flush", info, false);
}

static int fault_fsync(const char *path, int data, struct fuse_file_info *info)
{
	int rc = judge_handle("fsync", info, false);

	(void)path;
	(void)data;
	return rc ? rc : result(fsync(handle_of(info)->fd));
}

static int fault_release(const char *path, struct fuse_file_info *info)
{
	struct handle *handle = handle_of(info);

	(void)path;
	close(handle->fd);
	free(handle);
	return 0;
}

/* ---- directories ---- */

static int fault_opendir(const char *path, struct fuse_file_info *info)
{
	int rc = judge_path("opendir", path, false);
	struct full full;
	int fd;

	if (rc != 0)
		return rc;
	fd = open(under(&full, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = handle_new(path, fd, info);
	if (rc != 0)
		return rc;
	handle_of(info)->dir = fdopendir(fd);
	info->direct_io = 0;
	return 0;
}

/* Few entries a call: an error shows after those that came before it. */
static int fault_readdir(const char *path, void *to, fuse_fill_dir_t fill,
			 off_t offset, struct fuse_file_info *info,
			 enum fuse_readdir_flags flags)
{
	struct handle *handle = handle_of(info);
	struct call call = { .op = "readdir", .path = handle->path };
	bool any = false;

	(void)path;
	(void)flags;
	if (offset == 0)
		rewinddir(handle->dir);
	else
		seekdir(handle->dir, offset);
	for (;;) {
		long before = telldir(handle->dir);
		struct dirent *entry;
		struct stat st = { 0 };
		int rc;

		errno = 0;
		entry = readdir(handle->dir);
		if (!entry)
			return -errno;
		rc = judge(&call);
		if (rc != 0 && any) {
			/* What came is given; the rule strikes at the next call. */
			seekdir(handle->dir, before);
			return 0;
		}
		if (rc != 0)
			return rc;
		st.st_ino = entry->d_ino;
		st.st_mode = (mode_t)DTTOIF(entry->d_type);
		if (fill(to, entry->d_name, &st, entry->d_off, 0) != 0)
			return 0;
		any = true;
	}
}

static int fault_releasedir(const char *path, struct fuse_file_info *info)
{
	struct handle *handle = handle_of(info);

	(void)path;
	closedir(handle->dir);
	free(handle);
	return 0;
}

static void *fault_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	conn->max_write = REQUEST_MOST;
	config->attr_timeout = config->entry_timeout = 0;
	config->use_ino = 1;
	config->hard_remove = 1;
	config->nullpath_ok = 1;
	return fault_get();
}

static const struct fuse_operations operations = {
	.getattr = fault_getattr,
	.readlink = fault_readlink,
	.mknod = fault_mknod,
	.mkdir = fault_mkdir,
	.unlink = fault_unlink,
	.rmdir = fault_rmdir,
	.symlink = fault_symlink,
	.rename = fault_rename,
	.link = fault_link,
	.chmod = fault_chmod,
	.chown = fault_chown,
	.truncate = fault_truncate,
	.utimens = fault_utimens,
	.setxattr = fault_setxattr,
	.getxattr = fault_getxattr,
	.listxattr = fault_listxattr,
	.removexattr = fault_removexattr,
	.statfs = fault_statfs,
	.open = fault_open,
	.create = fault_create,
	.read = fault_read,
	.write = fault_write,
	.copy_file_range = fault_copy_file_range,
	.lseek = fault_lseek,
	.flush = fault_flush,
	.fsync = fault_fsync,
	.release = fault_release,
	.opendir = fault_opendir,
	.readdir = fault_readdir,
	.releasedir = fault_releasedir,
	.init = fault_init,
};

/* ---- the program ---- */

static int serve(struct fault *fault, char *program, const char *mountpoint)
{
	char *argv[] = { program, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_loop_config loop = { .clone_fd = 0, .max_idle_threads = 10 };
	struct fuse *fuse = fuse_new(&args, &operations, sizeof(operations),
				     fault);
	int rc = -1;

	if (!fuse || fuse_mount(fuse, mountpoint) != 0)
		goto destroy;
	umask(0);
	if (fuse_daemonize(0) == 0 &&
	    fuse_set_signal_handlers(fuse_get_session(fuse)) == 0)
		rc = fuse_loop_mt(fuse, &loop) < 0 ? -1 : 0;
	fuse_unmount(fuse);
destroy:
	if (fuse)
		fuse_destroy(fuse);
	fuse_opt_free_args(&args);
	return rc;
}

int main(int argc, char **argv)
{
	struct fault fault = { .lock = PTHREAD_MUTEX_INITIALIZER };
	char rules[PATH_MAX], backing[PATH_MAX];
	int at = 1;

	if (at < argc && strcmp(argv[at], "--direct") == 0) {
		fault.direct = true;
		at++;
	}
	if (argc - at != 3) {
		fprintf(stderr, "usage: faultfs [--direct] RULES BACKING MOUNTPOINT\n");
		return 64;
	}
	/* It goes to the background, and from there to the root directory. */
	if (!realpath(argv[at], rules) || !realpath(argv[at + 1], backing)) {
		perror("faultfs");
		return 1;
	}
	fault.rules_name = rules;
	fault.backing = backing;
	return serve(&fault, argv[0], argv[at + 2]) == 0 ? 0 : 1;
}
