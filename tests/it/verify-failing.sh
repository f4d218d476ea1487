#!/bin/sh
# verify-failing.sh: with --verify, what reads back otherwise, or not at all, is named with
# where, and the rest is copied; what can't be asked of the disk is said.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
need_faultfs

differs='reads back otherwise than it was read at the source: the MiB from byte'

mkdir -p src/sub
echo small >src/small
fill 2000000 1 >src/two
fill 45000000 2 >src/large
fill 300 3 >src/sub/other
ln src/small src/sub/name
find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
tar -C src --format=posix -cf src.tar .
on_faultfs back to

# into WAY [OPTION]...: src becomes to/dst.
into() {
	into_way=$1
	shift
	context="$what, $into_way"
	rm -rf back/dst
	: >"$hits"
	case $into_way in
	copy) tarpipe --verify --stats --reflink=never "$@" src to/dst ;;
	stream) launch sh -c '"$0" -x --verify --stats "$@" <src.tar' "$TARPIPE" "$@" to/dst ;;
	esac
	assert_well_formed
	assert_nothing_left back/dst
}

# ---- a byte is another one ----------------------------------------------------------

for way in copy stream; do
	faults
	what='nothing fails'
	into $way
	assert_status 0
	assert_message 'verified 4 files, .* read back; 0 differ$'

	what='a small file'
	faults 'read dst/small at=3 flip'
	into $way
	assert_status 2
	assert_message "to/dst/(small|sub/name): $differs 0\$"
	assert_message 'verified 3 files, .* read back; 1 differs$'
	assert_same_tree src back/dst

	what='in a MiB that is not full'
	faults 'read dst/two at=1999999 flip'
	into $way
	assert_status 2
	assert_message "to/dst/two: $differs 1048576\$"

	what='two bytes, far apart'
	faults 'read dst/large at=44999999 flip' 'read dst/large at=5242879 flip'
	into $way
	assert_status 2
	assert_told_once 'to/dst/large: '
	assert_message "to/dst/large: $differs 4194304\$"

	what='the last byte of a large one'
	faults 'read dst/large at=44999999 flip'
	into $way -j1
	assert_status 2
	assert_message "to/dst/large: $differs 44040192\$"

	what='an error of reading'
	faults 'read dst/large at=20000000 EIO' 'read dst/sub/other EIO'
	into $way
	assert_status 2
	assert_message 'to/dst/large: reading it back at byte [0-9]+: Input/output error'
	assert_message 'to/dst/sub/other: reading it back at byte 0: Input/output error'
	assert_message 'verified 2 files, .* read back; 2 differ$'
	faults
	assert_same_tree src back/dst
done

what='somebody has cut it'
faults 'read dst/two at=0 shrink'
into copy
assert_status 2
assert_message "to/dst/two: ($differs 0\$|its size is another when)"
faults

# Whoever restored a file, and when: it is verified.
context='again and again'
for n in 1 2 3 4 5 6 7 8; do
	faults 'read dst/large at=3000000 flip'
	rm -rf back/dst
	tarpipe --verify --stats src to/dst
	if [ $status -ne 2 ]; then
		break
	fi
done
assert_status 2
faults

# ---- the source ---------------------------------------------------------------------

context='a source that shrinks'
mkdir from-back
cp -a src from-back
on_faultfs from-back from
faults 'read src/large at=30000000 shrink times=1'
tarpipe --verify --reflink=never from/src dst-shrunk
assert_status 1
assert_message 'from/src/large: shrank by'
is "$(wc -l <"$err")" 1 'and nothing else is said'
faults

context='a source that cannot be read, and goes by reference'
cp -a src to/src
faults 'read src/large at=30000000 EIO'
tarpipe --verify to/src to/dst-ref
if grep -q 'copy dst-ref/large' "$hits"; then
	diag 'by reference'
fi
assert_status 2
assert_message 'to/src/large: reading at byte [0-9]+: Input/output error'
assert_missing to/dst-ref/large
assert_same_file src/two to/dst-ref/two
faults

# Who ends within a large file lets go of what was given of it (with --enable-asan it shows).
for way in copy stream; do
	what='no room within a file'
	faults 'write dst/large bytes=9000000 ENOSPC'
	into $way -j2
	assert_status 3
	assert_told_once 'to/dst/large: .*at byte [0-9]+: No space left on device'
	assert_missing back/dst/large
done
faults

context='names are full'
faults 'link dst/* EMLINK'
rm -rf back/dst
tarpipe --verify --stats src to/dst
assert_status 2
assert_message 'verified 5 files, .* read back; 0 differ$' 'what stands for them is verified, too'
faults

# ---- a disk that takes its time -----------------------------------------------------

context='it hangs while it is read back'
rm -rf back/dst
faults 'read dst/large at=3000000 stall'
start --verify src to/dst
wait_for grep stall "$hits"
kill -TERM "$pid"
sent=$(date +%s%N)
wait "$pid"
status=$?
took=$((($(date +%s%N) - sent) / 1000000))
assert_status 143
ok 'within a second' test $took -lt 1100
faults
assert_nothing_left back/dst
assert_same_file src/large back/dst/large

# ---- calls that fail ----------------------------------------------------------------

if can_trace; then
	context='writing back fails'
	traced -e inject=sync_file_range:error=EIO:when=1 tarpipe --verify src dst-eio
	assert_status 2
	assert_told_once 'dst-eio/.*: writing it to the disk, from byte [0-9]+: Input/output error'
	traced -e inject=sync_file_range:error=ENOSPC tarpipe --verify src dst-full
	assert_status 3
	assert_told_once 'dst-full/.*: writing it to the disk, from byte [0-9]+: No space left'
	assert_nothing_left dst-full

	context='what is cached stays so'
	if on_filesystem ext4 fs; then
		traced -e inject=fadvise64:retval=0 tarpipe --verify src fs/dst
		assert_status 0
		assert_told_once 'fs/dst/.*: not read back from the disk: it stays in the page cache'
		traced -e inject=fadvise64:retval=0 tarpipe --verify -q src fs/dst
		assert_silent
	fi

	context='no second opening, no access without a trace'
	find src -type f -exec touch -d '2001-02-03 04:05:06.123456789' {} +
	traced -e inject=fcntl:error=EPERM:when=2+2 tarpipe --verify src dst-plain
	assert_status 0
	old_atime=981173106.1234567890
	is "$(find dst-plain -type f -printf '%A@\n' | sort -u)" "$old_atime" 'the atime is put back'
fi

# ---- the disk itself ----------------------------------------------------------------

context='behind the back of the file system'
if ! have debugfs; then
	skip 'debugfs is not installed' "$context"
elif on_filesystem ext4 disk 100m; then
	tarpipe --verify src disk/dst
	assert_status 0
	image=$base/lib/disk.ext4
	umount disk
	block=$(debugfs -R 'bmap /dst/large 5000' "$image" 2>/dev/null)
	ok 'where its block is' test "$block" -gt 0
	printf '\001' | dd of="$image" bs=1 seek=$((block * 4096 + 7)) conv=notrunc status=none
	mount -o loop "$image" disk
	tarpipe --continue src disk/dst
	assert_status 0
	tarpipe -c -f src.tar src
	for way in '' -j1 --read-ahead=4 -x; do
		context="behind the back of the file system, --continue${way:+ $way}"
		case $way in
		-x) set -- -x -f src.tar disk/dst ;;
		*) set -- $way src disk/dst ;;
		esac
		tarpipe --continue --verify "$@"
		assert_status 2
		assert_message "disk/dst/large: $differs 19922944\$"
		is "$(wc -l <"$err")" 1 'and nothing else is said'
	done
	context='the source can not be read for it'
	on_faultfs src bad
	faults 'read large EIO'
	tarpipe --continue --verify bad disk/dst
	assert_status 2
	assert_message 'bad/large: reading at byte'
	is "$(wc -l <"$err")" 1 'and nothing else is said'
	ok 'what is there stays' test -s disk/dst/large
	faults
fi
done_testing
