/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeit: runs a pipeline without a shell and says what it cost.
 *
 *     timeit -o FILE [-C DIR] COMMAND [ARG]... ['|' [-C DIR] COMMAND [ARG]...]...
 *
 * A stage is a command with its arguments; an argument that is exactly `|` ends
 * it, and -C runs it in DIR.  The first stage reads standard input, the last
 * writes standard output.  FILE gets one line:
 *
 *     WALL USER SYSTEM RSS-SUM RSS-MAX
 *
 * WALL are the seconds from before the first fork until the last process has
 * ended, grandchildren that lost their parent included; USER and SYSTEM the
 * seconds of processor time of all of them.  RSS-MAX is the peak resident size
 * in KiB of the largest process.  RSS-SUM adds up the peaks of the stages: a
 * stage that forks on its own counts with the largest of its processes, and
 * memory that two stages share counts twice.
 *
 * The status is 0 when every stage ended with 0, else that of the first to end
 * otherwise (128 and the signal's number when a signal ended it).  INT, TERM and
 * HUP kill the whole pipeline.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cost {
	double user, system;	/* seconds */
	long rss_sum, rss_max;	/* KiB */
	int status;
};

/* The process group of the stages; 0 until the first has been started. */
static volatile sig_atomic_t group;

static void usage(void)
{
	errx(64, "usage: timeit -o FILE [-C DIR] COMMAND [ARG]... "
	     "['|' [-C DIR] COMMAND [ARG]...]...");
}

static void kill_group(int sig)
{
	(void)sig;
	if (group > 0)
		kill(-(pid_t)group, SIGKILL);
}

static const int handled[] = { SIGINT, SIGTERM, SIGHUP };
enum { HANDLED = sizeof(handled) / sizeof(handled[0]) };

static void handle_signals(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	for (int i = 0; i < HANDLED; i++)
		sigaction(handled[i], &action, NULL);
}

/* No signal may fall between a fork and the note of its group. */
static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < HANDLED; i++)
		sigaddset(&set, handled[i]);
	sigprocmask(how, &set, NULL);
}

/* Becomes the stage; a leading -C DIR is ours. */
static void stage_exec(char **argv, int in, int out)
{
	/* A shell starts its background jobs with SIGINT ignored. */
	handle_signals(SIG_DFL);
	block_signals(SIG_UNBLOCK);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		err(126, "dup2");
	if (argv[0] && argv[1] && strcmp(argv[0], "-C") == 0) {
		if (chdir(argv[1]) < 0)
			err(126, "%s", argv[1]);
		argv += 2;
	}
	if (!argv[0])
		usage();
	execvp(argv[0], argv);
	err(127, "%s", argv[0]);
}

/* Starts a stage in the common process group. */
static void stage_start(char **argv, int in, int out)
{
	pid_t pid = fork();

	if (pid < 0)
		err(126, "fork");
	if (pid == 0) {
		setpgid(0, (pid_t)group);
		stage_exec(argv, in, out);
	}
	/* Here too: whichever of us comes first. */
	setpgid(pid, (pid_t)group);
	if (!group)
		group = pid;
}

static char **stage_end(char **argv)
{
	while (*argv && strcmp(*argv, "|") != 0)
		argv++;
	return argv;
}

/* Starts all stages, each with a pipe to the next. */
static void pipeline_start(char **argv)
{
	int in = STDIN_FILENO;

	for (;;) {
		char **end = stage_end(argv);
		int ends[2] = { -1, STDOUT_FILENO };
		int more = *end != NULL;

		if (more && pipe2(ends, O_CLOEXEC) < 0)
			err(126, "pipe");
		*end = NULL;
		stage_start(argv, in, ends[1]);
		if (in != STDIN_FILENO)
			close(in);
		if (!more)
			return;
		close(ends[1]);
		in = ends[0];
		argv = end + 1;
	}
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void cost_add(struct cost *cost, int status, const struct rusage *used)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	cost->user += seconds(&used->ru_utime);
	cost->system += seconds(&used->ru_stime);
	cost->rss_sum += used->ru_maxrss;
	if (used->ru_maxrss > cost->rss_max)
		cost->rss_max = used->ru_maxrss;
	if (!cost->status)
		cost->status = code;
}

/* Waits for the stages and for what they left behind. */
static void pipeline_wait(struct cost *cost)
{
	struct rusage used;
	int status;

	for (;;) {
		if (wait4(-1, &status, 0, &used) > 0)
			cost_add(cost, status, &used);
		else if (errno != EINTR)
			return;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void cost_write(const struct cost *cost, double wall, const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		err(126, "%s", path);
	fprintf(out, "%.6f %.6f %.6f %ld %ld\n", wall, cost->user, cost->system,
		cost->rss_sum, cost->rss_max);
	if (fclose(out) != 0)
		err(126, "%s", path);
}

int main(int argc, char **argv)
{
	struct cost cost = { 0 };
	double start;

	if (argc < 4 || strcmp(argv[1], "-o") != 0)
		usage();
	handle_signals(kill_group);
	/* A caller that is killed takes us, and so the pipeline, along. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Orphans of a stage become our children, so that wait4 sees them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start = now();
	block_signals(SIG_BLOCK);
	pipeline_start(argv + 3);
	block_signals(SIG_UNBLOCK);
	pipeline_wait(&cost);
	cost_write(&cost, now() - start, argv[2]);
	return cost.status;
}
