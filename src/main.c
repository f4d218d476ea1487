/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tarpipe: a tree of files gets from here to there.
 *
 * The map.  Data flows one way, from walk to restore; each room may use those
 * below it and none above.
 *
 *   door           main.c      this: parse, run, exit
 *                  cli.c       the command line: one table of options
 *                  spec.c      what the operands mean, and what is refused
 *                  host.c      operands that name another machine
 *                  bufcli.c    the command line of the buffering stage alone
 *   plan           job.c       one run: makes the parts, starts threads, joins them
 *                  signals.c   HUP, INT, TERM, PIPE as something to wait for
 *                  stats.c     the numbers of a run
 *                  buffer.c    the buffering stage alone: bytes in, bytes out
 *                  hash.c      the checksum of a stream
 *
 *   source half                              sink half
 *     walk.c     names, in disk order          unpack.c   batches for workers
 *     links.c    names of one inode            pool.c     the workers' threads
 *     pack.c     files become records          restore.c  records become files
 *     packfile.c regular files                 object.c   a name, until complete
 *     packattr.c extended attributes           regular.c  regular files
 *                                              hardlink.c further names
 *                                              apply.c    metadata, in order
 *                                              inodes.c   names of one inode
 *                                              gate.c     the only way to a name
 *                                              temp.c     names until complete
 *
 *   language       record.c    what both halves speak, in the ring
 *   ends           end_fd.c    byte streams on descriptors
 *                  pass.c      from pipe to pipe by reference
 *   ground         ring.c      the buffer between them
 *                  extent.c    holes, and copying by reference
 *                  meta.c      metadata and attributes of an inode
 *                  owner.c     users and groups by name
 *                  diag.c      messages and the exit status
 *                  thread.c    locks, threads, counters
 *                  size.c      numbers as people write and read them
 *                  path.c      paths, as words
 *                  text.c      strings that grow
 */
#include <fcntl.h>
#include <unistd.h>

#include "bufcli.h"
#include "buffer.h"
#include "cli.h"
#include "diag.h"
#include "job.h"
#include "signals.h"

/*
 * A file must not be opened where messages go.  What is closed stays useless: who
 * reads or writes it is told.
 */
static void open_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int run_buffer(int argc, char **argv)
{
	struct buffer_opts opts;

	switch (bufcli_parse(&opts, argc, argv)) {
	case CLI_DONE:
		return 0;
	case CLI_REFUSED:
		return BUFFER_FAILED;
	case CLI_RUN:
		break;
	}
	return buffer_run(&opts);
}

int main(int argc, char **argv)
{
	struct opts opts;
	int number;

	open_standard_streams();
	if (bufcli_called(argc, argv))
		return run_buffer(argc, argv);
	switch (cli_parse(&opts, argc, argv)) {
	case CLI_DONE:
		return diag_status();
	case CLI_REFUSED:
		return STATUS_USAGE;
	case CLI_RUN:
		break;
	}
	diag_init(opts.quiet);
	number = job_run(&opts);
	if (number == JOB_LEFT_BEHIND)
		_exit((int)diag_status());
	if (number != 0)
		signals_die(number);
	return diag_status();
}
