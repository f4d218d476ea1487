#!/bin/sh
# sudden-death.sh: copies, and either side of `-c | -x`, end at random moments: nothing is
# left behind, nothing looks complete that is not, and a second run completes the tree.
# ROUNDS (a few, or as `make stress` says) and SEED may be set.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool perl
: "${ROUNDS:=12}"
: "${SEED:=$(date +%s)}"
diag "$ROUNDS rounds, SEED=$SEED"

mkdir src
for d in a b c d e; do
	mkdir src/$d src/$d/below
	(cd src/$d && seq 40 | split -l 1 -a 2 - f)
	(cd src/$d/below && seq 30 | split -l 1 -a 2 - g)
	ln src/$d/faa src/$d/below/name
	ln -s faa src/$d/link
	mkfifo src/$d/fifo
	chmod 2750 src/$d/below
	chmod 6711 src/$d/fab
	chmod 400 src/$d/fac
done
fill 2000000 1 >src/b/large
fill 4000000 2 >src/d/larger
fill 300000 3 >src/e/medium
truncate -s 2M src/c/sparse && fill 70000 4 >>src/c/sparse
find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
cp -a src old
find old -type f -size -100k -exec sh -c 'for f; do echo old >"$f"; done' sh {} + 2>/dev/null
fill 1000000 9 >old/b/large
find old -depth -exec touch -h -d '2002-02-03 04:05:06' {} +
sh "$tools/list-tree" src src >want 2>&1

# What a whole run takes bounds the moments.
first=$(date +%s%N)
tarpipe src dst
span=$(($(date +%s%N) - first))
assert_status 0
wrong=

# note WORDS: what went wrong in this round.
note() {
	wrong="$wrong $round($how,$signal):$*"
	diag "round $round, $how, SIG$signal: $*"
}

# run_copy, run_stream: $victim is who will be killed; all is waited for.
run_copy() {
	env --default-signal=INT,TERM,PIPE "$TARPIPE" "$@" src dst >"$out" 2>"$err" </dev/null &
	victim=$!
	sleep "$moment"
	kill -"$signal" $victim 2>/dev/null
	wait $victim 2>/dev/null
	rc=$?
	case $rc,$signal in
	0,* | 137,KILL | 143,TERM | 130,INT) ;;
	*) note "status $rc" ;;
	esac
}
run_stream() {
	# Both ends are open before there is anybody to be killed.
	exec 8<>pipe 6>pipe 7<pipe 8>&-
	env --default-signal=INT,TERM,PIPE "$TARPIPE" -c src >&6 2>"$err" </dev/null 6>&- 7<&- &
	packer=$!
	env --default-signal=INT,TERM,PIPE "$TARPIPE" -x dst <&7 >"$out" 2>"$err.x" 6>&- 7<&- &
	unpacker=$!
	exec 6>&- 7<&-
	[ "$1" = c ] && victim=$packer || victim=$unpacker
	sleep "$moment"
	kill -"$signal" $victim 2>/dev/null
	wait $packer 2>/dev/null
	rc_c=$?
	wait $unpacker 2>/dev/null
	rc_x=$?
	case $1,$rc_c,$rc_x,$signal in
	?,0,0,* | c,137,3,KILL | c,143,3,TERM | c,130,3,INT) ;;
	# Who has handed over all may be killed to no effect.
	c,137,0,KILL | c,143,0,TERM | c,130,0,INT) ;;
	# It reads to the end of the pipe, or is gone: the packer is told then.
	x,141,137,KILL | x,141,143,TERM | x,141,130,INT) ;;
	x,0,137,KILL | x,0,143,TERM | x,0,130,INT) ;;
	*) note "statuses $rc_c and $rc_x" ;;
	esac
}

mkfifo pipe
round=0
while [ "$round" -lt "$ROUNDS" ]; do
	round=$((round + 1))
	set -- $(awk -v s="$SEED" -v r="$round" -v span="$span" 'BEGIN {
		srand(s * 10007 + r); rand()
		printf "%.4f %d\n", rand() * span * 1.1 / 1e9, int(rand() * 5) }')
	moment=$1
	case $2 in 0) signal=TERM ;; 1) signal=INT ;; *) signal=KILL ;; esac
	rm -rf dst
	over=
	case $((round % 6)) in
	0) how=copy && run_copy ;;
	1) how=read && run_copy --reflink=never -m 256k ;;
	2) how=over && cp -a old dst && over='--over old' && run_copy ;;
	3) how=c && run_stream c ;;
	4) how=x && run_stream x ;;
	5) how=over-x && cp -a old dst && over='--over old' && run_stream x ;;
	esac
	[ -z "$(of_ours)" ] || note 'a process is left'
	left=$(find dst -name '.tarpipe-*' 2>/dev/null | wc -l)
	case $signal in
	KILL) [ "$left" -le 8 ] || note "$left temporary names" ;;
	*) [ "$left" -eq 0 ] || note "$left temporary names" ;;
	esac
	# shellcheck disable=SC2086 # words
	half=$(perl "$tools/half-done" $over src dst 2>&1)
	[ -z "$half" ] || note "$half"
	case $how in
	c | x | over-x) [ ! -d dst ] || touch -r src dst ;;
	esac
	"$TARPIPE" src dst >"$out" 2>"$err" </dev/null || note "the second run ends with $?"
	[ -s "$err" ] && note "the second run says $(head -n 1 "$err")"
	sh "$tools/list-tree" src dst >got 2>&1
	cmp -s want got || note 'the second run leaves a difference'
done
is "$wrong" '' "$ROUNDS rounds"
ok 'no shared memory is left' wait_for same_shared_memory
done_testing
