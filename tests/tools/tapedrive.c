/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tapedrive: a tape drive for tests, on FUSE.
 *
 *     tapedrive [OPTION]... CARTRIDGE MOUNTPOINT
 *
 * MOUNTPOINT/st0 (rewinds on close) and MOUNTPOINT/nst0 answer read, write, and the
 * ioctls MTIOCGET, MTIOCTOP, MTIOCPOS as st(4) says: each write is one record, each read
 * gives one, a filemark is written on the close after a write.  It goes into the
 * background when it is mounted, and ends when it is unmounted.
 *
 * CARTRIDGE is a directory.  `index` has a line for each thing on the tape, `rec SIZE` or
 * `mark`, true after each close; `data` has the records' bytes, one after the other.
 *
 *     --block=N       fixed blocks of N bytes (as MTSETBLK does)
 *     --capacity=N    early warning after N bytes: the write that meets it succeeds, then
 *                     every other one fails with ENOSPC; the end is a MiB further on
 *     --no-back       it can't go back by records
 */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mtio.h>
#include <time.h>
#include <unistd.h>

enum { RESERVE = 1 << 20, RECORDS_STEP = 1024, REQUEST_MOST = 1 << 20 };

struct entry {
	bool mark;
	size_t size;
	uint64_t at;		/* in the data */
};

struct drive {
	int dir, data;
	struct entry *tape;
	size_t count, room;
	size_t at;		/* where the head is */
	unsigned block;
	uint64_t capacity;
	bool no_back;
	bool wrote;		/* the last thing was a write: a mark is due */
	bool warned;		/* the last write was refused */
	bool told_end;		/* a read at the end of data has had its 0 */
	bool offline;
};

static struct drive *drive_get(void)
{
	return fuse_get_context()->private_data;
}

/* ---- the cartridge ---- */

static uint64_t data_end(const struct drive *drive)
{
	const struct entry *last;

	if (drive->at == 0)
		return 0;
	last = &drive->tape[drive->at - 1];
	return last->at + last->size;
}

static int index_save(const struct drive *drive)
{
	int fd = openat(drive->dir, "index.new",
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return -EIO;
	for (size_t i = 0; i < drive->count; i++)
		if (drive->tape[i].mark)
			fprintf(file, "mark\n");
		else
			fprintf(file, "rec %zu\n", drive->tape[i].size);
	if (fclose(file) != 0 ||
	    renameat(drive->dir, "index.new", drive->dir, "index") != 0)
		return -EIO;
	return 0;
}

/* Puts something where the head is; what was there and behind is gone. */
static int entry_add(struct drive *drive, bool mark, const char *bytes,
		     size_t size)
{
	uint64_t at = data_end(drive);

	if (drive->at == drive->room) {
		size_t room = drive->room + RECORDS_STEP;
		struct entry *tape = reallocarray(drive->tape, room,
						  sizeof(*tape));

		if (!tape)
			return -EIO;
		drive->tape = tape;
		drive->room = room;
	}
	if (ftruncate(drive->data, (off_t)at) != 0 ||
	    pwrite(drive->data, bytes, size, (off_t)at) != (ssize_t)size)
		return -EIO;
	drive->tape[drive->at++] = (struct entry){ mark, size, at };
	drive->count = drive->at;
	drive->told_end = false;
	return 0;
}

static int marks_add(struct drive *drive, int count)
{
	int rc = 0;

	drive->wrote = false;
	for (int i = 0; i < count && rc == 0; i++)
		rc = entry_add(drive, true, "", 0);
	return rc != 0 ? rc : index_save(drive);
}

static int cartridge_load(struct drive *drive, const char *path)
{
	int fd;
	FILE *file;
	char line[64];
	size_t size;

	drive->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (drive->dir < 0)
		return -1;
	fd = openat(drive->dir, "index", O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
	drive->data = openat(drive->dir, "data", O_RDWR | O_CREAT | O_CLOEXEC,
			     0666);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file || drive->data < 0)
		return -1;
	/* The data is there already: only the list of it is made. */
	while (fgets(line, sizeof(line), file)) {
		bool mark = strcmp(line, "mark\n") == 0;
		struct entry entry = { mark, 0, data_end(drive) };

		if (!mark && sscanf(line, "rec %zu", &size) == 1)
			entry.size = size;
		if (drive->at == drive->room) {
			drive->room += RECORDS_STEP;
			drive->tape = reallocarray(drive->tape, drive->room,
						   sizeof(entry));
			if (!drive->tape)
				return -1;
		}
		drive->tape[drive->at++] = entry;
	}
	drive->count = drive->at;
	drive->at = 0;
	fclose(file);
	return 0;
}

/* ---- reading and writing ---- */

/* The record under the head, of which the reader has room for `size`. */
static int record_read(struct drive *drive, char *to, size_t size)
{
	const struct entry *entry = &drive->tape[drive->at];

	drive->at++;
	if (entry->size > size)
		return -ENOMEM;
	if (pread(drive->data, to, entry->size, (off_t)entry->at) !=
	    (ssize_t)entry->size)
		return -EIO;
	return (int)entry->size;
}

/* Fixed blocks: as many as there are up to a mark. */
static int blocks_read(struct drive *drive, char *to, size_t size)
{
	size_t done = 0;

	if (size % drive->block != 0)
		return -EINVAL;
	while (done < size && drive->at < drive->count &&
	       !drive->tape[drive->at].mark) {
		if (drive->tape[drive->at].size != drive->block)
			return -EIO;
		if (record_read(drive, to + done, drive->block) < 0)
			return -EIO;
		done += drive->block;
	}
	return (int)done;
}

static int tape_read(const char *path, char *to, size_t size, off_t offset,
		     struct fuse_file_info *info)
{
	struct drive *drive = drive_get();

	(void)path;
	(void)offset;
	(void)info;
	drive->wrote = false;
	if (drive->offline)
		return -EIO;
	if (drive->at == drive->count) {
		bool again = drive->told_end;

		drive->told_end = true;
		return again ? -EIO : 0;
	}
	if (drive->tape[drive->at].mark) {
		drive->at++;
		return 0;
	}
	return drive->block ? blocks_read(drive, to, size) :
			      record_read(drive, to, size);
}

/* Whether the medium takes so much more now. */
static bool has_room(struct drive *drive, size_t size)
{
	uint64_t now = data_end(drive);

	if (drive->capacity == 0 || now < drive->capacity) {
		drive->warned = false;
		return true;
	}
	if (now + size > drive->capacity + RESERVE)
		return false;
	drive->warned = !drive->warned;
	return !drive->warned;
}

static int tape_write(const char *path, const char *bytes, size_t size,
		      off_t offset, struct fuse_file_info *info)
{
	struct drive *drive = drive_get();
	size_t record = drive->block ? drive->block : size;
	int rc = 0;

	(void)path;
	(void)offset;
	(void)info;
	if (drive->offline)
		return -EIO;
	if (size % record != 0)
		return -EINVAL;
	if (!has_room(drive, size))
		return -ENOSPC;
	for (size_t done = 0; done < size && rc == 0; done += record)
		rc = entry_add(drive, false, bytes + done, record);
	drive->wrote = rc == 0;
	return rc != 0 ? rc : (int)size;
}

/* ---- moving ---- */

/* By marks, forwards: behind the last one. */
static int marks_forward(struct drive *drive, int count)
{
	while (count > 0 && drive->at < drive->count)
		if (drive->tape[drive->at++].mark)
			count--;
	return count > 0 ? -EIO : 0;
}

/* ... backwards: before the last one. */
static int marks_back(struct drive *drive, int count)
{
	while (count > 0 && drive->at > 0)
		if (drive->tape[--drive->at].mark)
			count--;
	return count > 0 ? -EIO : 0;
}

static int records_forward(struct drive *drive, int count)
{
	for (; count > 0; count--)
		if (drive->at == drive->count || drive->tape[drive->at++].mark)
			return -EIO;
	return 0;
}

static int records_back(struct drive *drive, int count)
{
	if (drive->no_back)
		return -EIO;
	for (; count > 0; count--)
		if (drive->at == 0 || drive->tape[--drive->at].mark)
			return -EIO;
	return 0;
}

static int tape_seek(struct drive *drive, size_t to)
{
	drive->at = to < drive->count ? to : drive->count;
	return drive->at == to ? 0 : -EIO;
}

static int tape_move(struct drive *drive, const struct mtop *op)
{
	int rc;

	switch (op->mt_op) {
	case MTFSF:
		return marks_forward(drive, op->mt_count);
	case MTFSFM:
		rc = marks_forward(drive, op->mt_count);
		return rc ? rc : marks_back(drive, 1);
	case MTBSF:
		return marks_back(drive, op->mt_count);
	case MTBSFM:
		rc = marks_back(drive, op->mt_count);
		return rc ? rc : marks_forward(drive, 1);
	case MTFSR:
		return records_forward(drive, op->mt_count);
	case MTBSR:
		return records_back(drive, op->mt_count);
	case MTEOM:
		return tape_seek(drive, drive->count);
	case MTSEEK:
		return tape_seek(drive, (size_t)op->mt_count);
	case MTREW:
	case MTRETEN:
	case MTOFFL:
		drive->offline = op->mt_op == MTOFFL;
		return tape_seek(drive, 0);
	case MTERASE:
		drive->count = drive->at;
		return index_save(drive);
	default:
		return -EINVAL;
	}
}

static int tape_do(struct drive *drive, const struct mtop *op)
{
	int rc = 0;

	switch (op->mt_op) {
	case MTNOP:
	case MTSETDRVBUFFER:
		return 0;
	case MTLOAD:
		drive->offline = false;
		drive->at = 0;
		return 0;
	case MTSETBLK:
		drive->block = (unsigned)op->mt_count;
		return 0;
	case MTWEOF:
		return drive->offline ? -EIO : marks_add(drive, op->mt_count);
	}
	if (drive->offline)
		return -EIO;
	if (drive->wrote)
		rc = marks_add(drive, 1);
	drive->told_end = false;
	return rc ? rc : tape_move(drive, op);
}

/* ---- telling ---- */

static void tape_tell(const struct drive *drive, struct mtget *get)
{
	const struct entry *tape = drive->tape;
	size_t at = drive->at;

	*get = (struct mtget){ .mt_type = MT_ISSCSI2, .mt_dsreg = drive->block };
	for (size_t i = 0; i < at; i++) {
		get->mt_blkno++;
		if (tape[i].mark) {
			get->mt_fileno++;
			get->mt_blkno = 0;
		}
	}
	get->mt_gstat = GMT_IM_REP_EN(-1L);
	if (drive->offline)
		get->mt_gstat |= GMT_DR_OPEN(-1L);
	else
		get->mt_gstat |= GMT_ONLINE(-1L);
	if (at == 0)
		get->mt_gstat |= GMT_BOT(-1L);
	else if (tape[at - 1].mark)
		get->mt_gstat |= GMT_EOF(-1L);
	if (at == drive->count)
		get->mt_gstat |= GMT_EOD(-1L);
}

static int tape_ioctl(const char *path, unsigned int cmd, void *arg,
		      struct fuse_file_info *info, unsigned int flags,
		      void *data)
{
	struct drive *drive = drive_get();

	(void)path;
	(void)arg;
	(void)info;
	(void)flags;
	switch (cmd) {
	case MTIOCGET:
		tape_tell(drive, data);
		return 0;
	case MTIOCPOS:
		((struct mtpos *)data)->mt_blkno = (long)drive->at;
		return 0;
	case MTIOCTOP:
		return tape_do(drive, data);
	}
	return -ENOTTY;
}

/* ---- the files ---- */

static bool is_drive(const char *path)
{
	return strcmp(path, "/st0") == 0 || strcmp(path, "/nst0") == 0;
}

static int tape_getattr(const char *path, struct stat *st,
			struct fuse_file_info *info)
{
	(void)info;
	*st = (struct stat){ .st_mode = S_IFREG | 0660, .st_nlink = 1,
			      .st_mtime = time(NULL) };
	if (strcmp(path, "/") == 0) {
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		return 0;
	}
	return is_drive(path) ? 0 : -ENOENT;
}

static int tape_readdir(const char *path, void *to, fuse_fill_dir_t fill,
			off_t offset, struct fuse_file_info *info,
			enum fuse_readdir_flags flags)
{
	static const char *const names[] = { ".", "..", "st0", "nst0" };

	(void)path;
	(void)offset;
	(void)info;
	(void)flags;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		fill(to, names[i], NULL, 0, 0);
	return 0;
}

static int tape_open(const char *path, struct fuse_file_info *info)
{
	if (!is_drive(path))
		return -ENOENT;
	info->direct_io = 1;
	info->nonseekable = 1;
	return 0;
}

/* O_TRUNC means nothing. */
static int tape_truncate(const char *path, off_t size,
			 struct fuse_file_info *info)
{
	(void)path;
	(void)size;
	(void)info;
	return 0;
}

/* A close: unlike release it is waited for, and its error is told. */
static int tape_flush(const char *path, struct fuse_file_info *info)
{
	struct drive *drive = drive_get();
	int rc = 0;

	(void)info;
	if (drive->wrote)
		rc = marks_add(drive, 1);
	if (strcmp(path, "/st0") == 0 && !drive->offline) {
		drive->at = 0;
		drive->told_end = false;
	}
	return rc;
}

static void *tape_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	conn->max_write = REQUEST_MOST;
	config->attr_timeout = config->entry_timeout = 0;
	config->direct_io = 1;
	return drive_get();
}

static const struct fuse_operations operations = {
	.getattr = tape_getattr,
	.readdir = tape_readdir,
	.open = tape_open,
	.truncate = tape_truncate,
	.read = tape_read,
	.write = tape_write,
	.flush = tape_flush,
	.ioctl = tape_ioctl,
	.init = tape_init,
};

/* ---- the program ---- */

static bool option_take(struct drive *drive, const char *arg)
{
	if (sscanf(arg, "--block=%u", &drive->block) == 1 ||
	    sscanf(arg, "--capacity=%" SCNu64, &drive->capacity) == 1)
		return true;
	if (strcmp(arg, "--no-back") != 0)
		return false;
	drive->no_back = true;
	return true;
}

static int serve(struct drive *drive, char *program, const char *mountpoint)
{
	char *argv[] = { program, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse *fuse = fuse_new(&args, &operations, sizeof(operations),
				     drive);
	int rc = -1;

	if (!fuse || fuse_mount(fuse, mountpoint) != 0)
		goto destroy;
	/* One request at a time: a drive has one head. */
	if (fuse_daemonize(0) == 0 &&
	    fuse_set_signal_handlers(fuse_get_session(fuse)) == 0)
		rc = fuse_loop(fuse) < 0 ? -1 : 0;
	fuse_unmount(fuse);
destroy:
	if (fuse)
		fuse_destroy(fuse);
	fuse_opt_free_args(&args);
	return rc;
}

int main(int argc, char **argv)
{
	struct drive drive = { .dir = -1, .data = -1 };
	int at = 1, rc;

	while (at < argc && option_take(&drive, argv[at]))
		at++;
	if (argc - at != 2) {
		fprintf(stderr, "usage: tapedrive [--block=N] [--capacity=N] "
				"[--no-back] CARTRIDGE MOUNTPOINT\n");
		return 64;
	}
	if (cartridge_load(&drive, argv[at]) != 0) {
		perror(argv[at]);
		return 1;
	}
	rc = serve(&drive, argv[0], argv[at + 1]);
	free(drive.tape);
	return rc == 0 ? 0 : 1;
}
