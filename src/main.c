/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tarpipe: a tree of files gets from here to there.
 *
 * The map.  Data flows one way, from walk to restore; each room may use those
 * below it and none above.
 *
 *   door           main.c      this: parse, run, exit
 *                  cli.c       the command line: one table of options
 *                  cliset.c    ... what an option does with its argument
 *                  spec.c      what the operands mean, and what is refused
 *                  specself.c  ... a destination that is a source
 *                  specpack.c  ... those of -c
 *                  specdst.c   ... the destination, and -x's
 *                  host.c      operands that name another machine
 *                  bufcli.c    the command line of the buffering stage alone
 *                  options.c   the engine of both: one table of options
 *   plan           job.c       a copy: makes the parts, starts threads, joins them
 *                  create.c    -c: a tree, the ring, bytes
 *                  extract.c   -x: bytes, the ring, a tree
 *                  list.c      -t, --to-stdout: bytes, the ring, lines or bytes
 *                  listing.c   a member as a line
 *                  compare.c   --compare: what differs
 *                  comparetree.c ... from a tree
 *                  comparestream.c ... from a stream
 *                  comparelist.c ... from a list of files
 *                  comparefind.c ... names of the destination by paths
 *                  differ.c    a difference as a line
 *                  attrs.c     attributes, compared
 *                  samefile.c  the bytes of two files, compared
 *                  alias.c     names of one inode, in two trees
 *                  twin.c      directories of a tree, beside the walk of another
 *                  met.c       names that came, and those that did not
 *                  buffer.c    the buffering stage alone: bytes in, bytes out
 *                  sink.c      the restoring side of a run, ready made
 *                  budget.c    descriptors, shared out
 *                  signals.c   HUP, INT, TERM, PIPE as something to wait for
 *                  stats.c     the numbers of a run
 *                  hash.c      the checksum of a stream
 *
 *   source half                              sink half
 *     walk.c     names, in disk order          unpack.c   batches for workers
 *     walkdir.c  directories on the way        pool.c     the workers' threads
 *     walkscout.c ... opened before their turn order.c    names that come again wait
 *     walkmount.c ... where their file system ends
 *     route.c    the way to a listed name
 *     ahead.c    what is fetched before its turn
 *     fetch.c    ... files: first calls on them
 *     scout.c    ... directories
 *     dirlist.c  names read from directories
 *     links.c    names of one inode            restore.c  records become files
 *     select.c   which names are wanted        object.c   a name, until complete
 *     nameset.c  ... those without wildcards   regular.c  regular files
 *     names.c    lists of names                there.c    ... and others, left alone
 *     have.c     what the destination has      hardlink.c further names
 *     pack.c     files become records          apply.c    metadata, in order
 *     packread.c regular files are read        inodes.c   names of one inode
 *     packfile.c ... and become records        gate.c     the only way to a name
 *     packhave.c ... or are left alone         gatemake.c ... directories made, or taken
 *     packsums.c ... and their sums are told   below.c    paths from elsewhere, kept inside
 *     packattr.c extended attributes           temp.c     names until complete
 *     packtar.c  files become tar members
 *     packout.c  ... and these a stream
 *     packlist.c ... and lines of a list
 *     manifest.c a list of what is packed
 *     listwriter.c ... its sums and lines
 *                                              handover.c ... parts of them to be verified
 *                                              verify.c   what was written, read back
 *                                              sync.c     all on the disk at the end
 *                                              untar.c    tar members become records
 *                                              untardir.c ... their directories
 *                                              untarfile.c ... their data
 *
 *   languages      record.c    what both halves speak, in the ring
 *                  tarwrite.c  tar, by libarchive's encoder
 *                  paxhead.c   ... and what is changed in its headers
 *                  tarsparse.c ... and where a sparse file's data stand
 *                  tarread.c   ... and its decoder
 *                  tarframe.c  where its members begin and end
 *                  tarpax.c    records of pax headers
 *                  taracl.c    ACLs as tar has them
 *                  seal.c      how a stream says that it is whole
 *                  flaw.c      ... and that a member is not
 *                  instream.c  a tar stream from the ring, and the truth about it
 *                  filter.c    compression: kinds, and the way out
 *                  filterin.c  ... and the way in
 *                  gzip.c      gzip, written in parallel
 *                  gunzip.c    ... and read
 *                  frames.c    where compressed frames end
 *                  feed.c      compressed bytes, with a look ahead
 *   ends           end_fd.c    byte streams on descriptors
 *                  end_tape.c  records on tapes
 *                  output.c    places that a stream goes to
 *                  newfile.c   a file that is named when it is complete
 *                  pass.c      from pipe to pipe by reference
 *                  pace.c      bytes a second
 *                  intake.c    where a stream comes from
 *                  outlet.c    where a stream goes to
 *   ground         ring.c      the buffer between them
 *                  crew.c      threads that wait for devices
 *                  rate.c      ... as many as that pays
 *                  slab.c      bytes that wait to be taken
 *                  mtree.c     lists of files, as mtree(5) has them
 *                  mtreename.c ... names in them
 *                  sha256.c    a checksum
 *                  extent.c    holes, and copying by reference
 *                  sums.c      checksums of a file's parts
 *                  cache.c     reading and writing past the page cache
 *                  stamp.c     whether a file is the one that is meant
 *                  fskind.c    what is special of a file system
 *                  mounts.c    what is mounted where
 *                  meta.c      metadata and attributes of an inode
 *                  owner.c     users and groups by name
 *                  diag.c      messages and the exit status
 *                  thread.c    locks, threads, counters
 *                  size.c      numbers as people write and read them
 *                  path.c      paths, as words
 *                  parts.c     paths of archives, taken apart
 *                  text.c      strings that grow
 *                  bytes.c     bytes that grow
 *                  ustar.c     a tar header block
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bufcli.h"
#include "buffer.h"
#include "cli.h"
#include "compare.h"
#include "create.h"
#include "diag.h"
#include "extract.h"
#include "job.h"
#include "list.h"
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

static int run(const struct opts *opts)
{
	switch (opts->mode) {
	case MODE_CREATE:
		return create_run(opts);
	case MODE_EXTRACT:
		return opts->to_stdout ? list_run(opts) : extract_run(opts);
	case MODE_LIST:
		return list_run(opts);
	case MODE_COMPARE:
		return compare_run(opts);
	case MODE_COPY:
		break;
	}
	return job_run(opts);
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
	number = run(&opts);
	if (number == JOB_LEFT_BEHIND)
		_exit((int)diag_status());
	free(opts.choices);
	if (number != 0)
		signals_die(number);
	return diag_status();
}
