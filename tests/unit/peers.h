/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peers: other programs that read what was written, for tests.  Include it after cmocka.h.
 */
#ifndef TARPIPE_PEERS_H
#define TARPIPE_PEERS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool peer_runs(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "%s >/dev/null 2>&1", command);
	return system(line) == 0;
}

/* Skips the test, in words, where the program is missing. */
static inline void peer_need(const char *name, const char *command)
{
	if (peer_runs(command))
		return;
	print_message("# skipped: %s is missing or another one\n", name);
	skip();
}

static inline void need_gnu_tar(void)
{
	peer_need("GNU tar", "tar --version | grep -q GNU");
}

static inline void need_python(void)
{
	peer_need("python3", "python3 -c 'import tarfile'");
}

/* What a command prints, errors included, without the last newline. */
static inline const char *said(const char *command)
{
	static char text[1 << 16];
	char line[5000];
	FILE *pipe;
	size_t len;

	snprintf(line, sizeof(line), "{ %s ; } 2>&1", command);
	pipe = popen(line, "r");
	if (!pipe)
		fail_msg("popen");
	len = fread(text, 1, sizeof(text) - 1, pipe);
	pclose(pipe);
	if (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	return text;
}

/* For each member of `tar`, a line by `expression`, in which it is `m`. */
static inline const char *python_says(const char *tar, const char *expression)
{
	char line[4096];

	snprintf(line, sizeof(line),
		 "LC_ALL=C.UTF-8 python3 -c 'import tarfile\n"
		 "for m in tarfile.open(\"%s\"): print(%s)'", tar, expression);
	return said(line);
}

/* Nobody has anything to say of it. */
static inline void assert_silent(const char *tar)
{
	static const char *const readers[][2] = {
		{ "tar --version | grep -q GNU", "tar tf %s >/dev/null" },
		{ "bsdtar --version", "bsdtar tf %s >/dev/null" },
		{ "busybox tar --help", "busybox tar tf %s >/dev/null" },
		{ "python3 -c 'import tarfile'",
		  "python3 -W error -m tarfile -l %s >/dev/null" },
	};
	char line[512];

	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (!peer_runs(readers[i][0])) {
			print_message("# missing: %s\n", readers[i][0]);
			continue;
		}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(line, sizeof(line), readers[i][1], tar);
#pragma GCC diagnostic pop
		assert_string_equal(said(line), "");
	}
}

#endif
