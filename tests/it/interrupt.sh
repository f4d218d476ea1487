#!/bin/sh
# interrupt.sh: a signal ends the run at once, by that signal, and leaves
# nothing behind that looks complete.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# Allocated, never written: long to copy, quick to make.
mkdir src
fallocate -l 3G src/big 2>/dev/null || skip_all 'no room, or no fallocate, for a file of 3 GB'
echo small >src/a-small
touch -d '2001-02-03 04:05:06' src/big src/a-small
shared_before=$(ls /dev/shm 2>/dev/null; ipcs -m 2>/dev/null)

# busy DIR: something of a file is there, under any name.
# shellcheck disable=SC2317 # by wait_for
busy() {
	[ -n "$(find "$1" -type f -size +1M 2>/dev/null)" ]
}

# ends_by SIGNAL NUMBER: the process, in a second, by that signal.
ends_by() {
	sent=$(date +%s%N)
	wait "$pid" 2>/dev/null
	status=$?
	took=$((($(date +%s%N) - sent) / 1000000))
	is "$status" $((128 + $2)) "dies of SIG$1"
	ok 'within a second' test $took -lt 1000
}

# nothing_half_done DST
nothing_half_done() {
	if [ -e "$1/big" ] && [ "$(stat -c %Y "$1/big")" -eq 981173106 ]; then
		fail 'a part of a file does not look complete'
	else
		pass 'a part of a file does not look complete'
	fi
	is "$(find "$1" -type f ! -name a-small ! -name big)" '' 'nothing temporary is left'
	is "$(ls /dev/shm 2>/dev/null; ipcs -m 2>/dev/null)" "$shared_before" 'no shared memory either'
	is "$(pgrep -P "$pid" 2>/dev/null)" '' 'no child either'
}

interrupted() {
	rm -rf dst
	start "$@" src dst
	if ! wait_for busy dst; then
		fail 'it starts'
		return
	fi
}

for how in auto never; do
	for signal in INT:2 TERM:15 HUP:1; do
		context="--reflink=$how, SIG${signal%:*}"
		interrupted --reflink=$how
		kill -"${signal%:*}" "$pid"
		ends_by "${signal%:*}" "${signal#*:}"
		nothing_half_done dst
		assert_missing dst/big
	done
done

context='a full ring'
interrupted --reflink=never -m 64k -j 1
kill -TERM "$pid"
ends_by TERM 15
nothing_half_done dst

context='to one thread'
case $(uname -m) in
x86_64) tgkill=234 ;;
aarch64 | riscv64) tgkill=131 ;;
*) tgkill= ;;
esac
if [ -n "$tgkill" ]; then
	for which in 1 2; do
		interrupted --reflink=never
		# The youngest are its own, also where a sanitizer adds one.
		# shellcheck disable=SC2012 # numbers
		thread=$(ls "/proc/$pid/task" | sort -n | tail -n $which | head -n 1)
		perl -e 'syscall(0 + shift, 0 + shift, 0 + shift, 15) == 0 or exit 1' \
			$tgkill "$pid" "$thread"
		ends_by TERM 15
		nothing_half_done dst
	done
else
	skip 'the number of tgkill is not known here'
fi

context='an older version'
mkdir older && echo old >older/big
rm -rf dst && cp -a older dst
start --reflink=never src dst
wait_for busy dst
kill -INT "$pid"
ends_by INT 2
assert_content old dst/big
nothing_half_done dst

# After SIGKILL the next run clears up.
context='SIGKILL'
rm -f src/big && fallocate -l 1G src/big && touch -d '2001-02-03 04:05:06' src/big
start --reflink=never src dst
wait_for busy dst
kill -KILL "$pid"
wait "$pid" 2>/dev/null
is $? 137 'it is gone'
assert_content old dst/big
ok 'at most one temporary name for each worker' \
	test "$(find dst -type f ! -name a-small ! -name big | wc -l)" -le 8
context='the run after SIGKILL'
truncate -s 0 src/big && echo new >src/big
tarpipe src dst
assert_status 0
assert_same_tree src dst

# Who waits for the reader is woken, too: it reads, but nothing comes.
context='while nothing happens'
mkdir idle && echo x >idle/x
if ! command -v pgrep >/dev/null; then
	skip 'pgrep is not installed'
elif can_trace; then
	rm -f "$base/lib/trace"
	env --default-signal=INT,TERM ASAN_OPTIONS=detect_leaks=0 \
		strace -f -qq -o "$base/lib/trace" -P x -e trace=openat,openat2 \
		-e inject=openat,openat2:delay_enter=800000:when=1 \
		"$TARPIPE" idle idle-copy >"$out" 2>"$err" </dev/null &
	tracer=$!
	wait_for grep 'open.*"x"' "$base/lib/trace"
	kill -TERM "$(pgrep -P $tracer | head -n 1)"
	wait $tracer
	is $? 143 'dies of SIGTERM'
else
	skip 'strace may not trace here'
fi
done_testing
