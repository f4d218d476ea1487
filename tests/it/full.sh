#!/bin/sh
# full.sh: a destination that is full stops the run: status 3, one message, and
# an end, whatever the ring is doing.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
limit=20

mkdir src
for n in 1 2 3 4 5 6 7 8 9; do
	fill 30000 $n >src/small$n
done
fill 20000000 1 >src/large
mkdir many
for n in $(seq 200); do
	: >"many/$n"
done
fill 200000 1 >one-file

stops() {
	started=$(date +%s)
	tarpipe "$@"
	assert_status 3
	ok 'it says why' grep -E '^tarpipe: .*: (No space left on device|Disk quota exceeded|File too large)' "$err"
	ok 'in a few lines' test "$(wc -l <"$err")" -le 3
	assert_well_formed
	ok 'within seconds' test $(($(date +%s) - started)) -le 5
}

# Whatever has a final name is whole.
whole_or_absent() {
	whole_wrong=
	for whole_name in "$2"/*; do
		[ -f "$whole_name" ] || continue
		cmp -s "$whole_name" "$1/${whole_name##*/}" || whole_wrong="$whole_wrong $whole_name"
	done
	is "$whole_wrong" '' 'nothing half done bears a final name'
}

context='64 KiB'
on_filesystem tmpfs fs 64k || done_testing
stops src fs/dst
whole_or_absent src fs/dst
is "$(find fs/dst -type f -name '.*')" '' 'nothing temporary is left'
off_filesystem fs

for options in '-p 75' '-p 100' '-m 64k' '-j 1' '-j 8 -m 64k'; do
	context="64 KiB, $options"
	on_filesystem tmpfs fs 64k || continue
	# shellcheck disable=SC2086 # words
	stops $options src fs/dst
	whole_or_absent src fs/dst
	off_filesystem fs
done

context='less than the mark'
on_filesystem tmpfs fs 64k || done_testing
mkdir fs/dst
stops -p 75 one-file fs/
assert_missing fs/one-file
stops one-file fs/dst/copy
assert_names fs/dst
off_filesystem fs

context='64 inodes'
if on_filesystem tmpfs fs 1m nr_inodes=64; then
	stops many fs/dst
	off_filesystem fs
fi

context='ext4'
if on_filesystem ext4 fs 8M; then
	stops src fs/dst
	whole_or_absent src fs/dst
	off_filesystem fs
fi

# The old one was there before, and stays.
context='no room for the new one'
if on_filesystem tmpfs fs 300k; then
	mkdir fs/dst && fill 200000 9 >fs/dst/one-file && cp fs/dst/one-file old
	mkdir one && cp one-file one/one-file
	stops one fs/dst
	assert_same_file old fs/dst/one-file
	assert_names fs/dst one-file
	context='--unlink-first makes room'
	tarpipe --unlink-first one fs/dst
	assert_status 0
	assert_same_file one-file fs/dst/one-file
	off_filesystem fs
fi

context='a limit on the size of files'
under prlimit --fsize=1000000 tarpipe src limited
case $status in
2 | 3 | 153) pass "status $status" ;;
*) fail "status 2 or 3, or death by SIGXFSZ, not $status" ;;
esac
whole_or_absent src limited

context='an error of the last write'
if can_trace; then
	traced -P large -e inject=write,pwrite64,writev,pwritev:error=EIO:when=3+ \
		-P "$work/eio/large" tarpipe --reflink=never src eio
	assert_status_in 2 3
	assert_message '.*large: .*: Input/output error'
	assert_missing eio/large
else
	skip 'strace may not trace here'
fi

# The run ends although nobody reads what it says.
context='nobody listens'
mkdir closed
timeout 20 sh -c '"$@" 2>&1 | true' sh "$TARPIPE" src nowhere/at/all
[ $? -ne 124 ]
is $? 0 'it ends'
tarpipe src/ closed
assert_status 0
done_testing
