/* SPDX-License-Identifier: BSD-2-Clause */
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "thread.h"

static const int watched[] = { SIGHUP, SIGINT, SIGTERM, SIGPIPE };

enum {
	WATCHED = sizeof(watched) / sizeof(*watched),
	GRACE = 800000000,	/* ns that cleaning up may take */
};

/* A handler has no other way to its data. */
static int wake[2] = { -1, -1 };
static bool handled[WATCHED];

static void post(unsigned char number)
{
	int saved = errno;

	/* A full pipe holds enough reasons to stop. */
	while (write(wake[1], &number, 1) < 0 && errno == EINTR)
		;
	errno = saved;
}

static void handle(int number)
{
	post((unsigned char)number);
}

int signals_open(void)
{
	struct sigaction action = { .sa_handler = handle,
				    .sa_flags = SA_RESTART };
	struct sigaction before;

	if (pipe2(wake, O_CLOEXEC) != 0)
		return -1;
	(void)fcntl(wake[1], F_SETFL, O_NONBLOCK);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < WATCHED; i++)
		if (sigaction(watched[i], NULL, &before) == 0 &&
		    before.sa_handler != SIG_IGN)
			handled[i] = sigaction(watched[i], &action, NULL) == 0;
	return 0;
}

bool signals_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

void signals_default(void)
{
	for (size_t i = 0; i < WATCHED; i++)
		if (handled[i]) {
			signal(watched[i], SIG_DFL);
			handled[i] = false;
		}
}

static void grace_main(void *arg)
{
	clock_wait(clock_ns() + GRACE);
	signals_die((int)(intptr_t)arg);
}

void signals_hurry(int number)
{
	struct thread thread;	/* nobody waits for it */

	signals_default();
	(void)thread_start(&thread, "grace", grace_main,
			   (void *)(intptr_t)number);
}

void signals_close(void)
{
	signals_default();
	for (int i = 0; i < 2; i++) {
		if (wake[i] >= 0)
			close(wake[i]);
		wake[i] = -1;
	}
}

void signals_done(void)
{
	post(0);
}

int signals_wait(void)
{
	struct pollfd posted = { wake[0], POLLIN, 0 };
	unsigned char number = 0;

	while (poll(&posted, 1, -1) < 0 && errno == EINTR)
		;
	while (read(wake[0], &number, 1) < 0 && errno == EINTR)
		;
	return number;
}

void signals_die(int number)
{
	sigset_t set;

	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}
