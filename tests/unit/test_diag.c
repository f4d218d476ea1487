/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages and the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "diag.h"
#include "thread.h"

static int forget(void **state)
{
	(void)state;
	diag_reset();
	diag_init(false);
	return 0;
}

static void the_highest_status_wins(void **state)
{
	(void)state;
	assert_int_equal(diag_status(), STATUS_OK);
	diag_raise(STATUS_CHANGED);
	assert_int_equal(diag_status(), STATUS_CHANGED);
	diag_raise(STATUS_STOPPED);
	diag_raise(STATUS_PARTIAL);
	diag_raise(STATUS_OK);
	assert_int_equal(diag_status(), STATUS_STOPPED);
	diag_reset();
	assert_int_equal(diag_status(), STATUS_OK);
}

static void a_failure_names_file_call_and_reason(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	errno = ENOTTY;
	diag_fail(STATUS_PARTIAL, "a/b", EACCES, "open");
	assert_int_equal(errno, ENOTTY);
	diag_fail(STATUS_CHANGED, "f", 0, "grew by %d bytes", 7);
	diag_fail(STATUS_USAGE, NULL, 0, "no operands");
	diag_fail(STATUS_STOPPED, NULL, ENOMEM, "ring");
	assert_string_equal(capture_end(),
		"tarpipe: a/b: open: Permission denied\n"
		"tarpipe: f: grew by 7 bytes\n"
		"tarpipe: no operands\n"
		"tarpipe: ring: Cannot allocate memory\n");
	assert_int_equal(diag_status(), STATUS_USAGE);
}

static void quiet_silences_notes_alone(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	diag_note("dst", "keeps its own mode");
	diag_init(true);
	diag_note("dst", "is not heard");
	diag_fail(STATUS_PARTIAL, "f", EIO, "read");
	assert_string_equal(capture_end(),
		"tarpipe: dst: keeps its own mode\n"
		"tarpipe: f: read: Input/output error\n");
}

static void a_note_leaves_the_status_alone(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	diag_note(NULL, "hello");
	assert_string_equal(capture_end(), "tarpipe: hello\n");
	assert_int_equal(diag_status(), STATUS_OK);
}

static void assert_escaped(const char *bytes, const char *want)
{
	char out[256];

	assert_int_equal(diag_escape(out, sizeof out, bytes, strlen(bytes)),
			 strlen(want));
	assert_string_equal(out, want);
}

static void escapes_what_a_terminal_obeys(void **state)
{
	(void)state;
	assert_escaped("plain name.txt", "plain name.txt");
	assert_escaped("a\nb", "a\\nb");
	assert_escaped("\a\b\t\v\f\r\033[31m", "\\a\\b\\t\\v\\f\\r\\e[31m");
	assert_escaped("\001\177", "\\001\\177");
	assert_escaped("back\\slash", "back\\\\slash");
	assert_escaped("\302\233" "2J", "\\302\\233" "2J");	/* C1: CSI */
	assert_escaped("\342\200\256txt", "\\342\\200\\256txt");	/* right to left */
	assert_escaped("\330\234", "\\330\\234");		/* Arabic letter mark */
	assert_escaped("\342\200\216\342\200\217",
		       "\\342\\200\\216\\342\\200\\217");
	assert_escaped("\342\200\250", "\\342\\200\\250");	/* line separator */
}

static void keeps_utf_8_and_nothing_like_it(void **state)
{
	(void)state;
	assert_escaped("gr\303\274n \342\202\254 \360\237\220\247",
		       "gr\303\274n \342\202\254 \360\237\220\247");
	/* the first and last of each length */
	assert_escaped("\302\240\337\277", "\302\240\337\277");
	assert_escaped("\340\240\200\357\277\277", "\340\240\200\357\277\277");
	assert_escaped("\360\220\200\200\364\217\277\277",
		       "\360\220\200\200\364\217\277\277");
	assert_escaped("\200", "\\200");
	assert_escaped("\365\200\200\200", "\\365\\200\\200\\200");
	assert_escaped("\374", "\\374");			/* latin 1 */
	assert_escaped("a\303", "a\\303");			/* cut short */
	assert_escaped("\303(", "\\303(");
	assert_escaped("\300\257", "\\300\\257");		/* overlong / */
	assert_escaped("\340\200\257", "\\340\\200\\257");
	assert_escaped("\355\240\200", "\\355\\240\\200");	/* surrogate */
	assert_escaped("\364\220\200\200", "\\364\\220\\200\\200");
}

static void escapes_into_what_room_there_is(void **state)
{
	char out[8] = "untouch";

	(void)state;
	assert_int_equal(diag_escape(NULL, 0, "a\nb", 3), 4);
	assert_int_equal(diag_escape(out, 3, "a\nb", 3), 4);
	assert_string_equal(out, "a\\");
	assert_int_equal(diag_escape(out, 4, "abcd", 4), 4);
	assert_string_equal(out, "abc");
	assert_int_equal(diag_escape(out, sizeof out, "a\0b", 3), 6);
	assert_string_equal(out, "a\\000b");
}

static void a_hostile_name_forges_no_line(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	diag_fail(STATUS_PARTIAL, "x\ntarpipe: all is well", ENOENT, "open");
	diag_fail(STATUS_PARTIAL, "f", 0, "is a link to %s", "a\r\033[2Kb");
	diag_count(DIAG_NO_XATTR, "n\n", "set user.a\nb", EOPNOTSUPP);
	diag_summary();
	assert_string_equal(capture_end(),
		"tarpipe: x\\ntarpipe: all is well: open: "
		"No such file or directory\n"
		"tarpipe: f: is a link to a\\r\\e[2Kb\n"
		"tarpipe: n\\n: set user.a\\nb: Operation not supported: "
		"the destination holds no such attributes\n");
}

static void a_command_in_a_message_can_be_pasted(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	diag_fail(STATUS_USAGE, "a\\b", 0, "use %s", "tar -C 'a\\b'");
	assert_string_equal(capture_end(), "tarpipe: a\\\\b: use tar -C 'a\\b'\n");
}

static void a_long_name_is_shown_whole(void **state)
{
	static char name[20001], want[20100];

	(void)state;
	memset(name, 'n', 20000);
	snprintf(want, sizeof want, "tarpipe: %s: open: Is a directory\n", name);
	capture_begin(STDERR_FILENO);
	diag_fail(STATUS_PARTIAL, name, EISDIR, "open");
	assert_string_equal(capture_end(), want);
}

static void losses_are_told_once_with_a_count(void **state)
{
	(void)state;
	capture_begin(STDERR_FILENO);
	diag_summary();
	for (int i = 0; i < 5; i++)
		diag_count(DIAG_NO_ACL, i ? "other" : "first", "set ACL", EOPNOTSUPP);
	diag_count(DIAG_SETID, "su", NULL, 0);
	assert_int_equal(diag_status(), STATUS_PARTIAL);
	diag_summary();
	assert_string_equal(capture_end(),
		"tarpipe: first: set ACL: Operation not supported: "
		"the destination holds no ACLs (and 4 more)\n"
		"tarpipe: su: setuid and setgid are left out under another "
		"owner or group\n");
	diag_reset();
	capture_begin(STDERR_FILENO);
	diag_summary();
	assert_string_equal(capture_end(), "");
}

/* --- odd standard errors --- */

static void nobody_listening_does_not_stop_us(void **state)
{
	int saved = dup(STDERR_FILENO), ends[2];

	(void)state;
	close(STDERR_FILENO);
	diag_fail(STATUS_PARTIAL, "f", EIO, "read");
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	dup2(ends[1], STDERR_FILENO);
	diag_fail(STATUS_STOPPED, "f", EIO, "read");
	close(ends[1]);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(diag_status(), STATUS_STOPPED);
}

enum { SHOUTS = 2000, SHOUTERS = 4 };

static void shout(void *arg)
{
	for (int i = 0; i < SHOUTS; i++)
		diag_fail(STATUS_PARTIAL, arg, EIO, "line %d", i);
}

/* Reads slowly what four threads write into a pipe that does not block. */
static void threads_do_not_mix_their_lines(void **state)
{
	static char names[SHOUTERS][200];
	struct thread threads[SHOUTERS];
	int saved = dup(STDERR_FILENO), ends[2], lines = 0, bad = 0;
	char line[512];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	fcntl(ends[0], F_SETFL, 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	for (int i = 0; i < SHOUTERS; i++) {
		memset(names[i], 'a' + i, sizeof names[i] - 1);
		assert_int_equal(thread_start(&threads[i], "shout", shout,
					      names[i]), 0);
	}
	FILE *in = fdopen(ends[0], "r");
	while (lines < SHOUTS * SHOUTERS && fgets(line, sizeof line, in)) {
		lines++;
		const char *name = names[(line[9] - 'a') & 3];
		bad += strncmp(line, "tarpipe: ", 9) != 0 ||
		       strncmp(line + 9, name, strlen(name)) != 0 ||
		       strncmp(line + 9 + strlen(name), ": line ", 7) != 0 ||
		       !strstr(line, ": Input/output error\n");
	}
	for (int i = 0; i < SHOUTERS; i++)
		thread_join(&threads[i]);
	dup2(saved, STDERR_FILENO);
	close(saved);
	fclose(in);
	assert_int_equal(lines, SHOUTS * SHOUTERS);
	assert_int_equal(bad, 0);
}

static void count_many(void *arg)
{
	for (int i = 0; i < SHOUTS; i++)
		diag_count(DIAG_NO_OWNER, arg, "chown", EPERM);
}

static void threads_lose_no_count(void **state)
{
	static char name[] = "f";
	struct thread threads[SHOUTERS];

	(void)state;
	for (int i = 0; i < SHOUTERS; i++)
		assert_int_equal(thread_start(&threads[i], "count", count_many,
					      name), 0);
	for (int i = 0; i < SHOUTERS; i++)
		thread_join(&threads[i]);
	capture_begin(STDERR_FILENO);
	diag_summary();
	assert_string_equal(capture_end(),
		"tarpipe: f: chown: Operation not permitted: "
		"the destination holds no owners (and 7999 more)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_highest_status_wins, forget),
		cmocka_unit_test_setup(a_failure_names_file_call_and_reason, forget),
		cmocka_unit_test_setup(quiet_silences_notes_alone, forget),
		cmocka_unit_test_setup(a_note_leaves_the_status_alone, forget),
		cmocka_unit_test(escapes_what_a_terminal_obeys),
		cmocka_unit_test(keeps_utf_8_and_nothing_like_it),
		cmocka_unit_test(escapes_into_what_room_there_is),
		cmocka_unit_test_setup(a_hostile_name_forges_no_line, forget),
		cmocka_unit_test_setup(a_command_in_a_message_can_be_pasted, forget),
		cmocka_unit_test_setup(a_long_name_is_shown_whole, forget),
		cmocka_unit_test_setup(losses_are_told_once_with_a_count, forget),
		cmocka_unit_test_setup(nobody_listening_does_not_stop_us, forget),
		cmocka_unit_test_setup(threads_do_not_mix_their_lines, forget),
		cmocka_unit_test_setup(threads_lose_no_count, forget),
	};

	return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
