/* SPDX-License-Identifier: BSD-2-Clause */
/* fskind: what is to be known of the file system that an open file is on. */
#ifndef TARPIPE_FSKIND_H
#define TARPIPE_FSKIND_H

enum fskind {
	FSKIND_USUAL,
	FSKIND_MADE_UP,		/* without storage: its sizes mean nothing */
	FSKIND_REMOTE,		/* each read may wait for a network */
};

/* FSKIND_USUAL when it can't be found out.  Any thread. */
enum fskind fskind_of(int fd);

#endif
