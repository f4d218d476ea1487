/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct wire_head {
	uint32_t size;
	uint8_t type;
	uint8_t flags;
	uint16_t name_len;
	uint32_t dir;
	uint32_t data_len;
};

struct wire_entry {
	uint32_t mode, uid, gid, rdev_major, rdev_minor, id;
	uint32_t atime_ns, mtime_ns;
	uint64_t atime, mtime, size;
};

struct wire_pair {
	uint64_t first, second;
};

_Static_assert(sizeof(struct wire_head) == 16, "head has no padding");
_Static_assert(sizeof(struct wire_entry) == 56, "entry has no padding");
_Static_assert(sizeof(struct wire_head) + sizeof(struct wire_pair) ==
	       RECORD_DATA_AT, "a piece's data lie where the header says");

static bool is_entry(uint8_t type)
{
	return type >= RECORD_DIR && type <= RECORD_PATHLINK;
}

/* Its data are a path, which ends in NUL. */
static bool has_path(uint8_t type)
{
	return type == RECORD_SYMLINK || type == RECORD_PATHLINK;
}

static bool has_name(uint8_t type)
{
	return (is_entry(type) && type != RECORD_LEAVE) ||
	       type == RECORD_XATTR || type == RECORD_USER ||
	       type == RECORD_GROUP;
}

static bool has_data(uint8_t type)
{
	return has_path(type) || type == RECORD_PIECE ||
	       type == RECORD_SPAN || type == RECORD_SUMS ||
	       type == RECORD_XATTR;
}

static size_t body_size(uint8_t type)
{
	return is_entry(type) ? sizeof(struct wire_entry) :
				sizeof(struct wire_pair);
}

size_t record_size(enum record_type type, size_t name_len, size_t data_len)
{
	size_t size = sizeof(struct wire_head) + body_size((uint8_t)type);

	if (has_name((uint8_t)type))
		size += name_len + 1;
	if (has_path((uint8_t)type))
		data_len++;
	size += data_len;
	return (size + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
}

static unsigned char *put_entry(unsigned char *at, const struct record *record)
{
	const struct meta *meta = &record->meta;
	struct wire_entry entry = {
		.mode = htole32(meta->mode),
		.uid = htole32(meta->uid),
		.gid = htole32(meta->gid),
		.rdev_major = htole32(meta->rdev_major),
		.rdev_minor = htole32(meta->rdev_minor),
		.id = htole32(record->id),
		.atime_ns = htole32((uint32_t)meta->atime.tv_nsec),
		.mtime_ns = htole32((uint32_t)meta->mtime.tv_nsec),
		.atime = htole64((uint64_t)meta->atime.tv_sec),
		.mtime = htole64((uint64_t)meta->mtime.tv_sec),
		.size = htole64(meta->size),
	};

	memcpy(at, &entry, sizeof(entry));
	return at + sizeof(entry);
}

static unsigned char *put_pair(unsigned char *at, const struct record *record)
{
	struct wire_pair pair = {
		.first = htole64(record->first),
		.second = htole64(record->second),
	};

	memcpy(at, &pair, sizeof(pair));
	return at + sizeof(pair);
}

void *record_encode(void *at, const struct record *record)
{
	size_t size = record_size((enum record_type)record->type,
				  record->name_len, record->data_len);
	struct wire_head head = {
		.size = htole32((uint32_t)size),
		.type = record->type,
		.flags = record->flags,
		.name_len = htole16(record->name_len),
		.dir = htole32(record->dir),
		.data_len = htole32(record->data_len),
	};
	unsigned char *to = at;
	void *data;

	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	to = is_entry(record->type) ? put_entry(to, record) :
				      put_pair(to, record);
	if (has_name(record->type)) {
		memcpy(to, record->name, record->name_len);
		to += record->name_len;
		*to++ = '\0';
	}
	data = to;
	if (record->data)
		memcpy(to, record->data, record->data_len);
	to += record->data_len;
	/* Padding, and the NUL behind a target: no bytes of what was here. */
	memset(to, 0, (size_t)((unsigned char *)at + size - to));
	return data;
}

static void get_entry(struct record *record, const unsigned char *at)
{
	struct meta *meta = &record->meta;
	struct wire_entry entry;

	memcpy(&entry, at, sizeof(entry));
	meta->mode = le32toh(entry.mode);
	meta->uid = le32toh(entry.uid);
	meta->gid = le32toh(entry.gid);
	meta->rdev_major = le32toh(entry.rdev_major);
	meta->rdev_minor = le32toh(entry.rdev_minor);
	meta->size = le64toh(entry.size);
	meta->atime.tv_sec = (time_t)le64toh(entry.atime);
	meta->atime.tv_nsec = (long)le32toh(entry.atime_ns);
	meta->mtime.tv_sec = (time_t)le64toh(entry.mtime);
	meta->mtime.tv_nsec = (long)le32toh(entry.mtime_ns);
	record->id = le32toh(entry.id);
}

static void get_pair(struct record *record, const unsigned char *at)
{
	struct wire_pair pair;

	memcpy(&pair, at, sizeof(pair));
	record->first = le64toh(pair.first);
	record->second = le64toh(pair.second);
}

/* Checks the name at `at`, with its NUL, against what is left. */
static bool get_name(struct record *record, const unsigned char *at, size_t left)
{
	if (record->name_len == 0 || record->name_len > RECORD_NAME_MAX ||
	    (size_t)record->name_len + 1 > left)
		return false;
	record->name = (const char *)at;
	return strnlen(record->name, (size_t)record->name_len + 1) ==
	       record->name_len;
}

static bool get_data(struct record *record, const unsigned char *at, size_t left)
{
	size_t need = record->data_len;

	if (has_path(record->type))
		need++;
	if (need > left)
		return false;
	if (record->type == RECORD_SPAN && need != sizeof(struct record_span))
		return false;
	record->data = at;
	return !has_path(record->type) ||
	       strnlen((const char *)at, need) == record->data_len;
}

/* As many sums as blocks up to its end, all within what a file can have. */
static bool sums_fit(const struct record *record)
{
	const uint64_t block = 1 << 20;
	uint64_t count = record->data_len / sizeof(uint64_t);

	return record->data_len % sizeof(uint64_t) == 0 && count > 0 &&
	       count <= RECORD_SUMS_MAX && record->second <= INT64_MAX &&
	       record->first <= INT64_MAX / block &&
	       (record->second + block - 1) / block == record->first + count;
}

static int malformed(void)
{
	errno = EBADMSG;
	return -1;
}

int record_decode(struct record *record, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	struct wire_head head;
	size_t left;

	if (len < sizeof(head))
		return malformed();
	memcpy(&head, at, sizeof(head));
	memset(record, 0, sizeof(*record));
	record->size = le32toh(head.size);
	record->type = head.type;
	record->flags = head.flags;
	record->name_len = le16toh(head.name_len);
	record->dir = le32toh(head.dir);
	record->data_len = le32toh(head.data_len);
	if (record->type < RECORD_START || record->type >= RECORD_TYPES ||
	    record->size > len ||
	    record->size < record_size((enum record_type)record->type, 0, 0) ||
	    record->size != record_size((enum record_type)record->type,
					record->name_len, record->data_len))
		return malformed();

	left = record->size - sizeof(head) - body_size(record->type);
	at += sizeof(head);
	if (is_entry(record->type))
		get_entry(record, at);
	else
		get_pair(record, at);
	at += body_size(record->type);
	if (has_name(record->type)) {
		if (!get_name(record, at, left))
			return malformed();
		at += record->name_len + 1;
		left -= (size_t)record->name_len + 1;
	} else if (record->name_len != 0) {
		return malformed();
	}
	if (has_data(record->type) ? !get_data(record, at, left) :
				     record->data_len != 0)
		return malformed();
	if (record->type == RECORD_SUMS && !sums_fit(record))
		return malformed();
	if (record->meta.atime.tv_nsec > 999999999 ||
	    record->meta.mtime.tv_nsec > 999999999)
		return malformed();
	return 0;
}
