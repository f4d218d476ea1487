#!/bin/sh
# signals.sh: HUP, INT, TERM, PIPE: out within a second, by that signal, whatever call a
# thread is in; what is finished is as it shall be, what is not does not look complete,
# and a second run completes it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_faultfs

mkdir src src/a-dir src/a-dir/below src/m src/z-dir
echo one >src/a-dir/one
echo two >src/a-dir/below/two
chmod 750 src/a-dir src/a-dir/below
fill 3000000 1 >src/m/large
echo three >src/z-dir/three
find src -depth -exec touch -d '2001-02-03 04:05:06.123456789' {} +
tar -C src --sort=name --format=posix -cf src.tar a-dir m z-dir
on_faultfs src from
on_faultfs back to

# ends_by SIGNAL NUMBER PID: the process, in a second, by that signal.
ends_by() {
	kill -"$1" "$3"
	sent=$(date +%s%N)
	{ sleep 5; kill -KILL "$3"; } 2>/dev/null &
	watchdog=$!
	wait "$3" 2>/dev/null
	status=$?
	took=$((($(date +%s%N) - sent) / 1000000))
	kill "$watchdog" 2>/dev/null
	is "$status" $((128 + $2)) "dies of SIG$1"
	ok 'within a second' test $took -lt 1000
}

# unfinished DST: m/large is not there, or does not look complete.
unfinished() {
	if ! [ -e "$1/m/large" ]; then
		pass 'what is not finished is not there'
	elif [ "$(stat -c %Y "$1/m/large")" -ne 981173106 ]; then
		pass 'what is not finished does not look complete'
	else
		assert_same_file src/m/large "$1/m/large"
	fi
}

# finished DST: the directory whose turn is over has its metadata.
finished() {
	assert_content two "$1/a-dir/below/two"
	for finished_name in a-dir a-dir/below a-dir/one; do
		assert_mtime 981173106.123456789 "$1/$finished_name"
	done
	assert_mode 750 "$1/a-dir"
	assert_mode 750 "$1/a-dir/below"
}

# completes DST: a second run completes the tree.
completes() {
	faults
	tarpipe src "$1"
	assert_status 0
	assert_silent
	assert_same_tree --except blocks src "$1"
	rm -rf "$1"
}

# ---- a call that does not come back --------------------------------------------------

# Uninterrupted calls are what network file systems and dying disks offer; a signal that
# kills ends them, one that is handled does not.
for how in 'INT:2 read from dst' 'TERM:15 write src to/dst' 'HUP:1 flush src to/dst' \
	'INT:2 utimens src to/dst'; do
	# shellcheck disable=SC2086 # words
	set -- $how
	context="SIG${1%:*} while $2 waits"
	faults "$2 *m/large stall"
	mkdir -p "$4"
	start --reflink=never "$3/a-dir" "$3/m" "$3/z-dir" "$4/"
	wait_for test -s "$hits"
	ends_by "${1%:*}" "${1#*:}" "$pid"
	faults
	unfinished "$4"
	# What was packed just before it reads may not have been handed over.
	[ "$2" = read ] || finished "$4"
	is "$(of_ours)" '' 'no process is left'
	# A worker that the signal found in a call leaves at most its one name.
	ok 'at most one temporary name' \
		test "$(find "$4" -name '.tarpipe-*' | wc -l)" -le 1
	completes "$4"
done

for what in mkdir create getattr opendir; do
	context="SIGTERM while $what waits at the destination"
	case $what in
	mkdir) mkdir back/dst ;;
	*) cp -a src back/dst && echo old >back/dst/m/large ;;
	esac
	faults "$what dst/* stall"
	start --unlink-first src to/dst
	wait_for test -s "$hits"
	ends_by TERM 15 "$pid"
	faults
	is "$(of_ours)" '' 'no process is left'
	completes to/dst
done

context='SIGINT while the source lists'
faults 'readdir z-dir stall'
start from dst
wait_for test -s "$hits"
ends_by INT 2 "$pid"
faults
assert_nothing_left dst
completes dst

context='a second signal'
faults 'write *m/large hang'
start --reflink=never src to/dst
wait_for test -s "$hits"
kill -INT "$pid"
sleep 0.1
kill -TERM "$pid"
faults
wait "$pid"
case $? in
130 | 143) pass 'dies of one of them' ;;
*) fail 'dies of one of them' ;;
esac
completes to/dst

# ---- streams --------------------------------------------------------------------------

context='-c, reading waits'
for signal in INT:2 HUP:1; do
	faults 'read m/large stall'
	echo before >x.tar
	start -c -f x.tar from
	wait_for test -s "$hits"
	ends_by "${signal%:*}" "${signal#*:}" "$pid"
	faults
	assert_content before x.tar
	assert_nothing_left .
done
faults

context='-c, nobody reads'
mkfifo pipe
sleep 60 <>pipe &
sleeper=$!
env --default-signal=INT,TERM,PIPE,HUP "$TARPIPE" -c -m 64k src >pipe 2>"$err" </dev/null &
pid=$!
sleep 0.2
ends_by TERM 15 "$pid"
kill $sleeper
wait $sleeper 2>/dev/null
assert_nothing_left .

context='-x'
for how in INT:2 TERM:15; do
	context="-x, writing waits, SIG${how%:*}"
	faults 'write *m/large stall'
	start -x -f src.tar to/dst
	wait_for test -s "$hits"
	ends_by "${how%:*}" "${how#*:}" "$pid"
	faults
	unfinished to/dst
	finished to/dst
	is "$(of_ours)" '' 'no process is left'
	faults
	tarpipe -x -f src.tar to/dst
	assert_status 0
	assert_silent
	assert_same_file src/m/large to/dst/m/large
	is "$(find back -name '.tarpipe-*')" '' 'nothing temporary is left'
	rm -rf to/dst
done

# Of the pipe's two halves one is told to go: the other says so, and nothing is left.
for how in c:INT:2 c:TERM:15 c:KILL:9 x:INT:2 x:TERM:15 x:KILL:9; do
	context="-c | -x, SIG$(echo "$how" | cut -d : -f 2) to -${how%%:*}"
	rm -rf dst
	faults 'read m/large stall'
	rm -f pipe rc-c pid-c && mkfifo pipe
	{
		env --default-signal=INT,TERM,PIPE,HUP "$TARPIPE" -c from >pipe 2>err-c </dev/null &
		echo $! >pid-c
		wait $!
		echo $? >rc-c
	} &
	env --default-signal=INT,TERM,PIPE,HUP "$TARPIPE" -x dst <pipe >"$out" 2>"$err" &
	pid_x=$!
	wait_for test -s "$hits"
	case $how in
	c:*)
		kill -"$(echo "$how" | cut -d : -f 2)" "$(cat pid-c)"
		wait $pid_x
		status=$?
		assert_status 3
		assert_told_once 'cut off at byte [0-9]+|is cut|at byte [0-9]+'
		wait_for test -s rc-c
		is "$(cat rc-c)" $((128 + ${how##*:})) 'the packer died of it'
		;;
	x:*)
		kill -"$(echo "$how" | cut -d : -f 2)" $pid_x
		wait $pid_x 2>/dev/null
		is $? $((128 + ${how##*:})) 'the unpacker died of it'
		faults
		wait_for test -s rc-c
		is "$(cat rc-c)" 141 'the packer dies of SIGPIPE'
		;;
	esac
	faults
	wait
	unfinished dst
	is "$(of_ours)" '' 'no process is left'
	case $how in *KILL*) ;; *) assert_nothing_left dst ;; esac
	completes dst
done

# ---- PIPE ---------------------------------------------------------------------------------

context='-v, and nobody reads'
rm -rf dst && mkdir many && (cd many && seq 3000 | split -l 1 -a 4 - a-long-enough-name-)
rm -f rc
{ env --default-signal=PIPE "$TARPIPE" -v many dst 2>"$err"; echo $? >rc; } | true
is "$(cat rc)" 141 'dies of SIGPIPE'
assert_silent
assert_nothing_left dst
context='-v, and nobody reads, SIGPIPE ignored'
(
	trap '' PIPE
	{ "$TARPIPE" -v many dst 2>"$err"; echo $? >rc; } | true
)
is "$(cat rc)" 2 'status 2'
assert_told_once 'Broken pipe'
assert_same_tree many dst

# ---- what was ignored stays so -----------------------------------------------------------

for how in HUP INT TERM; do
	context="SIG$how ignored at the start"
	for mode in copy -c -x; do
		rm -rf dst x.tar
		faults 'read * times=1 hang'
		case $mode in
		copy) set -- from dst ;;
		-c) set -- -c -f x.tar from ;;
		-x) cp src.tar src/src.tar && set -- -x -f from/src.tar dst ;;
		esac
		(
			trap '' $how
			exec "$TARPIPE" "$@" >"$out" 2>"$err" </dev/null
		) &
		pid=$!
		wait_for test -s "$hits"
		kill -$how $pid
		sleep 0.05
		faults
		wait $pid
		is $? 0 "$mode: runs to its end"
		rm -f src/src.tar
	done
done

done_testing
