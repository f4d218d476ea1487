#!/bin/sh
# regress-signal.sh: a signal, or a full disk, ends the run also while nobody
# takes what it says, and modes that were widened come back.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool perl

long=$(printf '%0200d' 0)

# A FIFO that stays open and that nobody empties.
mkfifo pipe
sleep 60 <>pipe &
sleeper=$!

# stuck: it hasn't ended by itself, and does nothing any more.
stuck() {
	sleep 1
	ok 'it waits for the pipe' kill -0 "$pid"
}

# ends_by SIGNAL NUMBER: the process, in a second, by that signal.
ends_by() {
	kill -"$1" "$pid"
	sent=$(date +%s%N)
	perl -e "sleep 5; kill KILL, shift" "$pid" &
	watchdog=$!
	wait "$pid" 2>/dev/null
	status=$?
	took=$((($(date +%s%N) - sent) / 1000000))
	kill "$watchdog" 2>/dev/null
	is "$status" $((128 + $2)) "dies of SIG$1"
	ok 'within a second' test $took -lt 1000
	is "$(find . -name '.tarpipe-tmp-*')" '' 'nothing temporary is left'
}

# The pipe is emptied, and full again.
fresh_pipe() {
	kill $sleeper
	wait $sleeper 2>/dev/null
	rm -rf pipe dst
	mkfifo pipe
	sleep 60 <>pipe &
	sleeper=$!
}

mkdir src
(cd src && seq 3000 | split -l 1 -a 4 - "$long-")
for signal in TERM:15 INT:2; do
	context="-v into a full pipe, SIG${signal%:*}"
	fresh_pipe
	env --default-signal=INT,TERM,PIPE "$TARPIPE" -v src dst >pipe 2>"$err" </dev/null &
	pid=$!
	stuck
	ends_by "${signal%:*}" "${signal#*:}"
done

if can_be_user; then
	chmod 0 src/*
	reach_program
	mkdir -m 777 user
	for signal in TERM:15 INT:2; do
		for listing in '' -v; do
			context="messages into a full pipe, SIG${signal%:*} ${listing:-no -v}"
			fresh_pipe
			rm -rf user/dst
			env --default-signal=INT,TERM,PIPE \
				setpriv --reuid "$user_id" --regid "$user_id" --clear-groups \
				"$TARPIPE" ${listing:+"$listing"} src user/dst \
				>pipe 2>&1 </dev/null &
			pid=$!
			stuck
			ends_by "${signal%:*}" "${signal#*:}"
		done
	done
else
	skip 'needs root and setpriv' 'messages into a full pipe'
fi

# full_disk OPTION...: the first writes wait until the pipe is full: it takes 20
# names, the program's own buffer about as many, the disk 4 files.
full_disk() {
	context="a full disk and a full pipe${*:+, $*}"
	fresh_pipe
	on_filesystem tmpfs fs 300k || return
	perl -e 'use Fcntl; open P, "+<", "pipe" or die;
		fcntl P, F_SETFL, O_NONBLOCK | O_RDWR;
		syswrite P, "x" x 4096 for 1 .. 15' || return
	paths=
	for n in $(seq 12); do
		paths="$paths -P $work/fs/dst/$long-$n"
	done
	calls=write,pwrite64,writev,pwritev
	started=$(date +%s%N)
	# shellcheck disable=SC2086 # words
	env ASAN_OPTIONS=detect_leaks=0 timeout -k 1 10 \
		strace -f -qq -o "$base/lib/trace" $paths -e trace=$calls \
		-e inject=$calls:delay_enter=500000:when=1 \
		"$TARPIPE" -v "$@" full fs/dst >pipe 2>"$err" </dev/null
	status=$?
	took=$((($(date +%s%N) - started) / 1000000))
	assert_status 3
	ok 'within 3 seconds' test $took -lt 3000
	assert_told_once 'No space left'
	off_filesystem fs
}
mkdir full
for n in $(seq 100); do
	fill 65536 1 >"full/$long-$n"
done
if can_trace; then
	full_disk
	full_disk -j 1
	full_disk -j 8 -m 4m
else
	skip 'strace may not trace here' 'a full disk and a full pipe'
fi

kill $sleeper
wait $sleeper 2>/dev/null

# A user's own directory without w is widened while the run needs it.
context="a directory that was widened"
if can_be_user && can_trace && have pgrep; then
	rm -rf user src
	mkdir src src/d
	fill 3000000 1 >src/d/f
	mkdir user user/dst user/dst/d
	chown -R "$user_id:$user_id" user
	chmod 500 user/dst/d user/dst
	for what in d top; do
		context="widened, SIGTERM ($what)"
		chmod 500 user/dst
		[ $what = d ] || chmod 500 user/dst/d
		: >"$base/lib/trace"
		chmod 666 "$base/lib/trace"
		env --default-signal=INT,TERM ASAN_OPTIONS=detect_leaks=0 \
			setpriv --reuid "$user_id" --regid "$user_id" --clear-groups \
			strace -f -qq -o "$base/lib/trace" -P f -P "$work/src/d/f" \
			-e trace=read,pread64,readv,preadv,preadv2 \
			-e inject=read,pread64,readv,preadv,preadv2:delay_enter=900000:when=1 \
			"$TARPIPE" --reflink=never src user/dst >"$out" 2>"$err" </dev/null &
		tracer=$!
		wait_for grep -E 'read' "$base/lib/trace"
		diag "meanwhile: $(stat -c %a user/dst) $(stat -c %a user/dst/d)"
		victim=$(pgrep -P $tracer -x "$(basename "$TARPIPE")" | head -n 1)
		kill -TERM "$victim"
		wait $tracer
		is $? 143 'dies of SIGTERM'
		assert_mode 500 user/dst
		assert_mode 500 user/dst/d
	done
else
	skip 'needs root, setpriv, strace and pgrep'
fi
done_testing
