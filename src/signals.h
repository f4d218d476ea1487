/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals: HUP, INT, TERM and PIPE as something that main waits for.
 *
 * A handler writes the number into a pipe, whichever thread it was sent to.  Signals
 * that were ignored when the program started stay ignored (nohup, `&` in scripts).  A
 * run that ends by one cleans up first and then dies of it, so that the caller sees
 * what it expects.
 */
#ifndef TARPIPE_SIGNALS_H
#define TARPIPE_SIGNALS_H

#include <stdbool.h>

/*
 * Sets the handlers.  A write beyond a file size limit becomes an error (EFBIG)
 * instead of SIGXFSZ.  Returns 0, or -1 with errno.
 */
int signals_open(void);

/*
 * The signal is ignored.  Who writes to a pipe that nobody reads is told of it by EPIPE
 * alone then; else he dies of SIGPIPE, and need not say why.
 */
bool signals_ignored(int number);

/* Restores the default actions; does nothing when they were not set. */
void signals_default(void);

/*
 * The signal has come: from now on a second one kills at once.  The process dies of this
 * one in less than a second, whatever call a thread is in by then: one on a network file
 * system, say, whose server has gone, can be killed, but not waited for.
 */
void signals_hurry(int number);

/*
 * The same, and ends it: no thread that calls signals_done may be left, whose byte
 * would go to whatever has got the descriptor by then.
 */
void signals_close(void);

/* Ends signals_wait.  Any thread. */
void signals_done(void);

/* Waits for a signal, whose number it returns, or for signals_done: 0. */
int signals_wait(void);

/* Dies of the signal, by its default action.  Returns only if that was no death. */
void signals_die(int number);

#endif
