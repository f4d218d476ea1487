/* SPDX-License-Identifier: BSD-2-Clause */
/* A tar stream out of the ring, and the truth about its end. */
#include <errno.h>
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
#include "hash.h"
#include "instream.h"
#include "tarbytes.h"
#include "thread.h"

static unsigned hashes_that_fail, calls_that_fail;

WRAPPED(struct hash *, hash_new, enum hash_kind kind)
{
	if (hashes_that_fail > 0 && --hashes_that_fail == 0) {
		errno = ENOMEM;
		return NULL;
	}
	return __real_hash_new(kind);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	if (calls_that_fail > 0 && --calls_that_fail == 0) {
		errno = ENOMEM;
		return NULL;
	}
	return __real_calloc(n, size);
}

/* ---- a run ---- */

static struct run {
	/* asked */
	const char *bytes;
	size_t len;
	size_t piece;		/* bytes of one commit, 0: as many as fit */
	size_t memory;
	bool ignore_zeros, read, drain;
	bool check;		/* members of regular files, by instream_check */
	int abort;		/* the ring's, instead of its end */
	struct ring *ring;
	/* got */
	int result;
	enum status status;
	char names[4096];
	char data[4096];
	const char *messages;
	uint64_t at[16];	/* where members began */
} run;

static void produce(void *arg)
{
	size_t done = 0;

	(void)arg;
	while (done < run.len) {
		size_t n = run.piece ? run.piece : ring_span_max(run.ring);
		void *to;

		if (n > run.len - done)
			n = run.len - done;
		to = ring_reserve(run.ring, n);
		if (!to)
			return;
		memcpy(to, run.bytes + done, n);
		ring_commit(run.ring, n);
		if (run.piece)
			ring_flush(run.ring);
		done += n;
	}
	if (run.abort)
		ring_abort(run.ring, run.abort);
	else
		ring_close(run.ring);
}

static void note_data(struct instream *in)
{
	struct instream_data data;
	int result;

	while ((result = instream_read(in, &data)) == 1) {
		size_t len = strlen(run.data);

		if (data.size < sizeof(run.data) - len)
			memcpy(run.data + len, data.bytes, data.size);
	}
	if (result < 0)
		strcat(run.data, "!");
}

/* What instream_check says: a size, `bad` or `cut`. */
static void note_check(struct instream *in, const struct tar_member *member)
{
	uint64_t size = member->meta.size;
	char *to = run.data + strlen(run.data);

	switch (instream_check(in, &size, !run.read)) {
	case 0:
		sprintf(to, "%llu ", (unsigned long long)size);
		break;
	case TAR_DATA_BAD:
		strcpy(to, "bad ");
		break;
	default:
		strcpy(to, "cut ");
		break;
	}
}

static void consume(void)
{
	struct instream_config config = {
		.ring = run.ring, .shown = "s.tar", .drain = run.drain,
		.ignore_zeros = run.ignore_zeros,
	};
	struct instream *in = instream_new(&config);
	struct tar_member member;
	uint64_t n = 0;

	while ((run.result = instream_next(in, &member)) == 1) {
		if (strlen(run.names) + strlen(member.path) + 2 < sizeof(run.names)) {
			strcat(run.names, member.path);
			strcat(run.names, " ");
		}
		if (n < 16)
			run.at[n] = instream_member_at(in);
		n++;
		if (run.read)
			note_data(in);
		if (run.check)
			note_check(in, &member);
	}
	assert_true(instream_members(in) >= n);
	assert_int_equal(instream_next(in, &member), run.result);
	instream_free(in);
}

static void go(const void *bytes, size_t len)
{
	struct ring_config config = { .size = run.memory, .low = 100,
				      .spans = INSTREAM_SPANS };
	struct thread thread;

	run.bytes = bytes;
	run.len = len;
	run.names[0] = run.data[0] = '\0';
	memset(run.data, 0, sizeof(run.data));
	diag_reset();
	capture_begin(STDERR_FILENO);
	run.ring = ring_new(&config);
	assert_int_equal(thread_start(&thread, "produce", produce, NULL), 0);
	consume();
	ring_abort(run.ring, ECANCELED);
	thread_join(&thread);
	ring_free(run.ring);
	run.messages = capture_end();
	run.status = diag_status();
}

static void go_all(const struct tarbytes *bytes)
{
	go(bytes->bytes, bytes->len);
}

static int setup(void **state)
{
	(void)state;
	alarm(300);
	memset(&run, 0, sizeof(run));
	run.memory = 1 << 20;
	run.drain = true;
	return 0;
}

#define assert_says(words) \
	do { \
		if (!strstr(run.messages, words)) \
			fail_msg("'%s' is not in '%s'", words, run.messages); \
	} while (0)

/* A sealed stream of two files; padded. */
static struct tarbytes sealed(void)
{
	struct tarbytes to = { 0 };

	tb_head(&to);
	tb_pax(&to, "mtime", "1.5");
	tb_file(&to, "a", "hello");
	tb_file(&to, "b", "world!");
	tb_end(&to);
	tb_trailer(&to);
	return to;
}

static struct tarbytes plain(const char *name)
{
	struct tarbytes to = { 0 };

	tb_file(&to, name, "hello");
	tb_end(&to);
	return to;
}

/* ---- good ones ---- */

static void a_sealed_stream_is_whole(void **state)
{
	static const size_t pieces[] = { 1, 7, 511, 512, 513, 701, 1024, 65537, 0 };
	struct tarbytes s = sealed();

	(void)state;
	run.read = true;
	tb_add(&s, NULL, 2048);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		run.piece = pieces[i];
		go_all(&s);
		assert_int_equal(run.result, 0);
		assert_string_equal(run.messages, "");
		assert_int_equal(run.status, STATUS_OK);
		assert_string_equal(run.names, "a b ");
		assert_string_equal(run.data, "helloworld!");
		assert_int_equal(run.at[0], 1024);
		assert_int_equal(run.at[1], 1024 + 2048);
	}
	tb_free(&s);
}

static void a_stream_of_others_needs_no_seal(void **state)
{
	struct tarbytes s = plain("a");

	(void)state;
	go_all(&s);
	assert_int_equal(run.result, 0);
	assert_string_equal(run.messages, "");
	assert_string_equal(run.names, "a ");
	tb_free(&s);
}

static void an_archive_without_members_is_one(void **state)
{
	struct tarbytes s = { 0 };

	(void)state;
	tb_end(&s);
	go_all(&s);
	assert_int_equal(run.result, 0);
	assert_string_equal(run.messages, "");
	tb_free(&s);
}

/* More than the ring holds, data held beyond the next call. */
static void large_data_lie_in_the_ring(void **state)
{
	struct ring_config config = { .size = 65536, .low = 100,
				      .spans = INSTREAM_SPANS };
	struct instream_config settings = { .shown = "s", .drain = true };
	struct tarbytes s = { 0 };
	size_t size = 1000000, seen = 0, in_place = 0;
	unsigned char *noise = malloc(size);
	struct instream_data data, held = { 0 };
	struct tar_member member;
	struct thread thread;

	(void)state;
	for (size_t i = 0; i < size; i++)
		noise[i] = (unsigned char)(i * 2654435761u >> 13);
	tb_head(&s);
	tb_header(&s, "big", '0', size, NULL);
	tb_body(&s, noise, size);
	tb_end(&s);
	tb_trailer(&s);
	diag_reset();
	run.bytes = s.bytes;
	run.len = s.len;
	run.piece = 5000;
	settings.ring = run.ring = ring_new(&config);
	struct instream *in = instream_new(&settings);
	assert_int_equal(thread_start(&thread, "produce", produce, NULL), 0);
	assert_int_equal(instream_next(in, &member), 1);
	while (instream_read(in, &data) == 1) {
		assert_int_equal(data.offset, seen);
		assert_memory_equal(data.bytes, noise + seen, data.size);
		if (held.span) {
			assert_memory_equal(held.bytes, noise + held.offset,
					    held.size);
			instream_release(held.span);
		}
		held = data;
		if (data.span) {
			instream_hold(data.span);
			in_place += data.size;
		}
		seen += data.size;
	}
	if (held.span)
		instream_release(held.span);
	assert_int_equal(seen, size);
	assert_true(in_place > size / 2);
	assert_int_equal(instream_next(in, &member), 0);
	assert_int_equal(diag_status(), STATUS_OK);
	instream_free(in);
	thread_join(&thread);
	ring_free(run.ring);
	free(noise);
	tb_free(&s);
}

/* Blocks that others are done with, late and in another order. */
enum { HELD = 7 };

struct holders {
	struct lock lock;
	struct instream_data held[HELD];
	unsigned n;
	const unsigned char *noise;
	bool over;
	size_t seen;
};

static void holder_main(void *arg)
{
	struct holders *h = arg;

	lock_take(&h->lock);
	while (h->n > 0 || !h->over) {
		struct instream_data data;

		if (h->n == 0) {
			lock_wait(&h->lock);
			continue;
		}
		data = h->held[--h->n];
		h->seen += data.size;
		lock_notify(&h->lock);
		lock_give(&h->lock);
		assert_memory_equal(data.bytes, h->noise + data.offset, data.size);
		instream_release(data.span);
		lock_take(&h->lock);
	}
	lock_give(&h->lock);
}

static void hold(struct holders *h, const struct instream_data *data)
{
	instream_hold(data->span);
	lock_take(&h->lock);
	while (h->n == HELD)
		lock_wait(&h->lock);
	h->held[h->n++] = *data;
	lock_notify(&h->lock);
	lock_give(&h->lock);
}

static void any_thread_gives_blocks_back(void **state)
{
	struct ring_config config = { .size = 1 << 20, .low = 100,
				      .spans = INSTREAM_SPANS };
	struct instream_config settings = { .shown = "s", .drain = true };
	struct thread producer, holders[2];
	size_t size = 8000000, copied = 0;
	unsigned char *noise = malloc(size);
	struct holders h = { .noise = noise };
	struct tarbytes s = { 0 };
	struct instream_data data;
	struct tar_member member;

	(void)state;
	for (size_t i = 0; i < size; i++)
		noise[i] = (unsigned char)(i * 2654435761u >> 13);
	tb_header(&s, "big", '0', size, NULL);
	tb_body(&s, noise, size);
	tb_end(&s);
	run.bytes = s.bytes;
	run.len = s.len;
	run.piece = 30000;
	diag_reset();
	lock_init(&h.lock);
	settings.ring = run.ring = ring_new(&config);
	struct instream *in = instream_new(&settings);
	assert_int_equal(thread_start(&producer, "produce", produce, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(thread_start(&holders[i], "hold", holder_main, &h), 0);
	assert_int_equal(instream_next(in, &member), 1);
	while (instream_read(in, &data) == 1)
		if (data.span)
			hold(&h, &data);
		else
			copied += data.size;
	assert_int_equal(instream_next(in, &member), 0);
	lock_take(&h.lock);
	h.over = true;
	lock_notify(&h.lock);
	lock_give(&h.lock);
	for (int i = 0; i < 2; i++)
		thread_join(&holders[i]);
	thread_join(&producer);
	assert_int_equal(h.seen + copied, size);
	assert_int_equal(diag_status(), STATUS_OK);
	instream_free(in);
	ring_free(run.ring);
	lock_destroy(&h.lock);
	free(noise);
	tb_free(&s);
}

/* ---- cut ---- */

static void a_cut_at_every_byte_is_noticed(void **state)
{
	struct tarbytes s = sealed();
	char words[64];

	(void)state;
	for (size_t cut = 0; cut < s.len; cut++) {
		run.read = cut % 2;
		go(s.bytes, cut);
		assert_int_equal(run.status, STATUS_STOPPED);
		assert_int_equal(run.result, -1);
		snprintf(words, sizeof(words), "at byte %zu", cut);
		/* What is missing may begin before. */
		if (cut > 0 && cut < s.len - SEAL_SIZE)
			assert_says(words);
	}
	go_all(&s);
	assert_int_equal(run.status, STATUS_OK);
	tb_free(&s);
}

static void a_cut_tells_within_what(void **state)
{
	struct tarbytes s = sealed();

	(void)state;
	for (int read = 0; read < 2; read++) {
		run.read = read;
		go(s.bytes, 1024 + 1536 + 5);
		assert_string_equal(run.messages, "tarpipe: s.tar: cut off at "
				    "byte 2565, within a\n");
		go(s.bytes, 1024 + 2048 + 100);
		assert_string_equal(run.messages, "tarpipe: s.tar: cut off at "
				    "byte 3172, within a header\n");
		go(s.bytes, 1024 + 700);
		assert_string_equal(run.messages, "tarpipe: s.tar: cut off at "
				    "byte 1724, within a header\n");
	}
	tb_free(&s);
}

static void end_marks_have_to_come(void **state)
{
	struct tarbytes s = plain("a");

	(void)state;
	go(s.bytes, s.len - 1024);
	assert_string_equal(run.messages, "tarpipe: s.tar: cut off at byte 1024: "
			    "end marks are missing\n");
	assert_int_equal(run.status, STATUS_STOPPED);
	go(s.bytes, s.len - 512);
	assert_string_equal(run.messages, "tarpipe: s.tar: cut off at byte 1536: "
			    "the second end mark is missing\n");
	assert_int_equal(run.status, STATUS_STOPPED);
	go(s.bytes, s.len - 100);
	assert_says("cut off at byte 1948");
	assert_int_equal(run.status, STATUS_STOPPED);
	tb_free(&s);
}

static void nothing_is_no_archive(void **state)
{
	(void)state;
	go("", 0);
	assert_string_equal(run.messages,
			    "tarpipe: s.tar: empty: no archive\n");
	assert_int_equal(run.status, STATUS_STOPPED);
}

static void other_bytes_are_no_archive(void **state)
{
	char noise[4096];

	(void)state;
	memset(noise, 'x', sizeof(noise));
	go(noise, sizeof(noise));
	assert_string_equal(run.messages,
			    "tarpipe: s.tar: not a tar archive\n");
	assert_int_equal(run.status, STATUS_STOPPED);
	go(noise, 100);
	assert_int_equal(run.status, STATUS_STOPPED);
}

/* ---- damaged ---- */

static void every_flipped_byte_is_noticed(void **state)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	struct tarbytes s = sealed();

	(void)state;
	tb_add(&s, NULL, 512);
	for (size_t i = 0; i < s.len; i++)
		for (size_t k = 0; k < sizeof(flips); k++) {
			run.read = i % 2;
			s.bytes[i] = (char)(s.bytes[i] ^ flips[k]);
			go_all(&s);
			if (run.status != STATUS_PARTIAL &&
			    run.status != STATUS_STOPPED)
				fail_msg("byte %zu ^ %02x: %d", i, flips[k],
					 run.status);
			assert_string_not_equal(run.messages, "");
			s.bytes[i] = (char)(s.bytes[i] ^ flips[k]);
		}
	tb_free(&s);
}

static void a_wrong_checksum_is_told(void **state)
{
	struct tarbytes s = sealed();

	(void)state;
	s.bytes[1024 + 1536] ^= 1;
	run.read = true;
	go_all(&s);
	assert_string_equal(run.data, "iello" "world!");
	assert_string_equal(run.messages, "tarpipe: s.tar: the checksum of bytes "
			    "0 to 5120 is wrong: damaged, and used all the same\n");
	assert_int_equal(run.status, STATUS_PARTIAL);
	assert_int_equal(run.result, 0);
	tb_free(&s);
}

static void a_damaged_header_is_not_passed_over(void **state)
{
	struct tarbytes s = sealed();

	(void)state;
	s.bytes[1024 + 2048 + 3] ^= 1;
	go_all(&s);
	assert_string_equal(run.names, "a ");
	assert_string_equal(run.messages, "tarpipe: s.tar: damaged header at "
			    "byte 3072\n");
	assert_int_equal(run.status, STATUS_STOPPED);
	tb_free(&s);
}

static void what_makes_no_sense_is_left_out(void **state)
{
	struct tarbytes s = { 0 };

	(void)state;
	tb_head(&s);
	tb_file(&s, "a", "a");
	tb_record(&s, "path", "x\0y", 3);
	tb_file(&s, "b", "b");
	tb_file(&s, "c", "c");
	tb_end(&s);
	tb_trailer(&s);
	go_all(&s);
	assert_string_equal(run.names, "a c ");
	assert_string_equal(run.messages, "tarpipe: s.tar: b, at byte 2048, is "
			    "left out: a name with a NUL in it\n");
	assert_int_equal(run.status, STATUS_PARTIAL);
	assert_int_equal(run.result, 0);
	tb_free(&s);
}

static void data_that_overlap_are_told(void **state)
{
	static const char map[] = "2\n0\n5\n3\n5\n";
	struct tarbytes s = { 0 }, body = { 0 };

	(void)state;
	tb_body(&body, map, strlen(map));
	tb_add(&body, "helloworld", 10);
	tb_file(&s, "first", "");
	struct tarbytes pax = { 0 };
	tb_add(&pax, "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
		     "23 GNU.sparse.name=spx\n" "26 GNU.sparse.realsize=20\n", 93);
	tb_header(&s, "x", 'x', 93, NULL);
	tb_body(&s, pax.bytes, 93);
	tb_header(&s, "g", '0', body.len, NULL);
	tb_body(&s, body.bytes, body.len);
	tb_file(&s, "last", "behind");
	tb_end(&s);
	run.read = true;
	go_all(&s);
	assert_string_equal(run.names, "first spx last ");
	assert_says("spx, at byte 512, is left out: "
		    "a sparse map that makes no sense");
	assert_non_null(strstr(run.data, "!behind"));
	assert_int_equal(run.status, STATUS_PARTIAL);
	tb_free(&s);
	tb_free(&body);
	tb_free(&pax);
}

/* ---- what follows ---- */

static void zeros_may_follow(void **state)
{
	struct tarbytes s = sealed();

	(void)state;
	tb_add(&s, NULL, 300001);
	go_all(&s);
	assert_string_equal(run.messages, "");
	assert_int_equal(run.status, STATUS_OK);
	tb_free(&s);
}

static void junk_is_told(void **state)
{
	struct tarbytes s = sealed();
	size_t end = s.len;
	char words[64];

	(void)state;
	tb_add(&s, NULL, 1000);
	tb_add(&s, "junk", 4);
	tb_add(&s, NULL, 100000);
	go_all(&s);
	snprintf(words, sizeof(words), "junk follows at byte %zu\n", end + 512);
	assert_says(words);
	assert_int_equal(run.status, STATUS_PARTIAL);
	assert_int_equal(run.result, 0);
	run.ignore_zeros = true;
	go_all(&s);
	assert_says(words);
	assert_int_equal(run.status, STATUS_PARTIAL);
	tb_free(&s);
}

static void another_archive_is_told(void **state)
{
	struct tarbytes s = plain("a"), t = plain("b");

	(void)state;
	tb_add(&s, NULL, 512 * 7);
	size_t at = s.len;
	char words[99];
	tb_add(&s, t.bytes, t.len);
	go_all(&s);
	snprintf(words, sizeof(words), "tarpipe: s.tar: another archive follows "
		 "at byte %zu: --ignore-zeros reads on\n", at);
	assert_string_equal(run.messages, words);
	assert_int_equal(run.status, STATUS_PARTIAL);
	assert_string_equal(run.names, "a ");
	tb_free(&s);
	tb_free(&t);
}

static void archives_are_read_one_after_the_other(void **state)
{
	struct tarbytes s = sealed(), t = sealed(), u = plain("u");
	size_t second;

	(void)state;
	tb_add(&s, NULL, 512 * 3);
	second = s.len;
	tb_add(&s, t.bytes, t.len);
	tb_add(&s, u.bytes, u.len);
	tb_add(&s, t.bytes, t.len);
	run.ignore_zeros = run.read = true;
	for (run.piece = 0; run.piece < 1400; run.piece += 701) {
		go_all(&s);
		assert_string_equal(run.messages, "");
		assert_string_equal(run.names, "a b a b u a b ");
		assert_int_equal(run.status, STATUS_OK);
		assert_int_equal(run.at[2], second + 1024);
	}
	run.piece = 0;
	s.bytes[second + 1024 + 1536] ^= 1;	/* the second one's data */
	go_all(&s);
	assert_says("is wrong");
	assert_string_equal(run.names, "a b a b u a b ");
	assert_int_equal(run.status, STATUS_PARTIAL);
	tb_free(&s);
	tb_free(&t);
	tb_free(&u);
}

static void a_lone_zero_block_is_the_end_as_in_tar(void **state)
{
	struct tarbytes s = { 0 };

	(void)state;
	tb_file(&s, "a", "hello");
	tb_add(&s, NULL, 512);
	tb_file(&s, "b", "hello");
	tb_end(&s);
	go_all(&s);
	assert_string_equal(run.names, "a ");
	assert_string_equal(run.messages, "tarpipe: s.tar: a lone zero block "
			    "before byte 1536: taken for the end; "
			    "--ignore-zeros reads on\n");
	assert_int_equal(run.status, STATUS_PARTIAL);
	run.ignore_zeros = true;
	go_all(&s);
	assert_string_equal(run.names, "a b ");
	assert_string_equal(run.messages, "");
	tb_free(&s);
}

/* ---- the ring ---- */

static void an_abort_is_no_message(void **state)
{
	struct tarbytes s = sealed();

	(void)state;
	run.abort = EIO;
	for (size_t cut = 0; cut <= s.len; cut += 256) {
		go(s.bytes, cut);
		assert_string_equal(run.messages, "");
		assert_int_equal(run.result, -1);
	}
	tb_free(&s);
}

/* ---- members that are not true ---- */

/* Damaged, shrunk, and one between; the last one is at the archive's end. */
static struct tarbytes flawed(bool ours)
{
	struct tarbytes to = { 0 };

	if (ours)
		tb_head(&to);
	tb_file(&to, "a", "hello");
	tb_flaw(&to, false, 2);
	tb_pax(&to, "mtime", "1.5");
	tb_file(&to, "b", "world!");
	tb_file(&to, "c", "more");
	tb_flaw(&to, true, 0);
	tb_end(&to);
	if (ours)
		tb_trailer(&to);
	return to;
}

static void the_stream_says_what_is_not_true(void **state)
{
	static const size_t pieces[] = { 1, 511, 512, 513, 1024, 65537, 0 };
	struct tarbytes s = flawed(true);

	(void)state;
	run.check = true;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		run.piece = pieces[i];
		go_all(&s);
		assert_int_equal(run.result, 0);
		assert_string_equal(run.names, "a b c ");
		assert_string_equal(run.data, "bad 6 0 ");
		assert_string_equal(run.messages,
				    "tarpipe: a: damaged from byte 2 on, where it "
				    "could not be read when it was packed: left "
				    "out\n"
				    "tarpipe: c: shrank to 0 bytes while it was "
				    "packed: cut to them\n");
		assert_int_equal(run.status, STATUS_PARTIAL);
	}
	run.read = true;
	go_all(&s);
	assert_string_equal(run.data, "hellobad world!6 more0 ");
	assert_says("a: damaged from byte 2 on");
	assert_says("packed: zeros stand there\n");
	assert_says("packed: zeros follow them\n");
	tb_free(&s);
}

/* Who doesn't ask hears nothing: the member may not be wanted. */
static void nobody_asks(void **state)
{
	struct tarbytes s = flawed(true);

	(void)state;
	go_all(&s);
	assert_string_equal(run.names, "a b c ");
	assert_string_equal(run.messages, "");
	tb_free(&s);
}

/* They have such comments only by accident. */
static void streams_of_others_say_nothing(void **state)
{
	struct tarbytes s = flawed(false);

	(void)state;
	run.check = true;
	go_all(&s);
	assert_string_equal(run.data, "5 6 4 ");
	assert_string_equal(run.messages, "");
	tb_free(&s);
}

/* No archive of ours has them; nothing is said that can't be. */
static void marks_that_make_no_sense(void **state)
{
	struct tarbytes s = { 0 };

	(void)state;
	tb_head(&s);
	tb_flaw(&s, false, 0);
	tb_file(&s, "beyond", "text");
	tb_flaw(&s, true, 4);
	tb_file(&s, "twice", "text");
	tb_flaw(&s, true, 3);
	tb_flaw(&s, false, 2);
	tb_file(&s, "empty", "");
	tb_flaw(&s, false, 0);
	tb_header(&s, "comment", 'g', 7, NULL);
	tb_body(&s, "nothing", 7);
	tb_file(&s, "other", "text");
	tb_header(&s, "comment", 'g', 7, NULL);
	tb_body(&s, "nothing", 7);
	tb_flaw(&s, false, 0);
	tb_file(&s, "long", "text");
	tb_header(&s, "comment", 'g', 600, NULL);
	tb_add(&s, NULL, 1024);
	tb_end(&s);
	tb_trailer(&s);
	run.check = true;
	go_all(&s);
	assert_int_equal(run.result, 0);
	assert_string_equal(run.names, "beyond twice empty other long ");
	assert_string_equal(run.data, "bad 3 0 4 4 ");
	assert_says("beyond: damaged from byte 0 on");
	assert_says("twice: shrank to 3 bytes");
	assert_null(strstr(run.messages, "other"));
	tb_free(&s);
}

/* Wherever it ends between the data and the next header, nobody knows. */
static void what_follows_is_cut_off(void **state)
{
	struct tarbytes s = flawed(true);
	char want[128];

	(void)state;
	run.check = true;
	for (size_t len = 1024 + 512 + 5; len < 1024 + 1024 + 1024; len++) {
		go(s.bytes, len);
		assert_int_equal(run.result, -1);
		assert_string_equal(run.data, "cut ");
		snprintf(want, sizeof(want), "tarpipe: s.tar: cut off at byte %zu, "
			 "within a\n", len);
		assert_string_equal(run.messages, want);
	}
	tb_free(&s);
	s = flawed(true);
	s.bytes[2048 + 100] ^= 1;
	go_all(&s);
	assert_string_equal(run.data, "cut ");
	assert_string_equal(run.messages, "tarpipe: s.tar: a: damaged header, "
			    "before byte 2048\n");
	assert_int_equal(run.status, STATUS_STOPPED);
	tb_free(&s);
}

/* ---- no memory ---- */

static void without_memory_there_is_none(void **state)
{
	struct instream_config config = { .shown = "s" };

	(void)state;
	calls_that_fail = 1;
	assert_null(instream_new(&config));
	assert_int_equal(errno, ENOMEM);
	instream_free(NULL);
}

static void without_memory_nothing_is_read(void **state)
{
	struct tarbytes s = sealed();

	(void)state;
	hashes_that_fail = 1;
	go_all(&s);
	assert_int_equal(run.result, -1);
	assert_int_equal(run.status, STATUS_STOPPED);
	assert_string_equal(run.messages, "tarpipe: s.tar: reading: Cannot "
			    "allocate memory\n");
	tb_free(&s);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sealed_stream_is_whole),
		TEST(a_stream_of_others_needs_no_seal),
		TEST(an_archive_without_members_is_one),
		TEST(large_data_lie_in_the_ring),
		TEST(any_thread_gives_blocks_back),
		TEST(a_cut_at_every_byte_is_noticed),
		TEST(a_cut_tells_within_what),
		TEST(end_marks_have_to_come),
		TEST(nothing_is_no_archive),
		TEST(other_bytes_are_no_archive),
		TEST(every_flipped_byte_is_noticed),
		TEST(a_wrong_checksum_is_told),
		TEST(a_damaged_header_is_not_passed_over),
		TEST(what_makes_no_sense_is_left_out),
		TEST(data_that_overlap_are_told),
		TEST(zeros_may_follow),
		TEST(junk_is_told),
		TEST(another_archive_is_told),
		TEST(archives_are_read_one_after_the_other),
		TEST(a_lone_zero_block_is_the_end_as_in_tar),
		TEST(an_abort_is_no_message),
		TEST(the_stream_says_what_is_not_true),
		TEST(nobody_asks),
		TEST(streams_of_others_say_nothing),
		TEST(marks_that_make_no_sense),
		TEST(what_follows_is_cut_off),
		TEST(without_memory_there_is_none),
		TEST(without_memory_nothing_is_read),
	};

	return cmocka_run_group_tests_name("instream", tests, NULL, NULL);
}
