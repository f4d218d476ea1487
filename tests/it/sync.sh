#!/bin/sh
# sync.sh: with --sync status 0 means that it is on the disk: on each file system that
# was written to, and an error of writing back is told.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/mounted
fill 60000 1 >src/file
fill 60000 2 >src/mounted/file

context='plain'
tarpipe --sync src dst
assert_status 0
assert_silent
assert_same_tree src dst

context='-x'
tarpipe -c -f x.tar src
tarpipe -x --sync -f x.tar dst-x
assert_status 0
assert_silent
assert_same_tree src dst-x

# syncs ARG...: how many file systems the program syncs.
syncs() {
	traced -e trace=syncfs -e signal=none tarpipe "$@"
	grep -c 'syncfs(' "$base/lib/trace"
}

if can_trace; then
	context='calls'
	is "$(syncs src dst)" 0 'nothing is synced unasked'
	is "$(syncs --sync src dst)" 1 'one file system is synced once'
	traced -e inject=syncfs:error=EIO tarpipe --sync src dst
	assert_status 3
	assert_message 'dst: syncing its file system.*Input/output error'
	if on_filesystem tmpfs dst/mounted; then
		is "$(syncs --sync src dst)" 2 'what is mounted below is synced, too'
		off_filesystem dst/mounted
	fi
else
	skip 'strace is not there, or may not trace' 'which calls are made'
fi

# A disk that has less room than it says, found out when it is written to.
context='a lying disk'
on_filesystem tmpfs store 12m || done_testing
truncate -s 100m store/image
if mkfs.ext4 -q -F -E lazy_itable_init=1 -O ^has_journal store/image 2>/dev/null && mkdir lying &&
   mount -o loop,errors=continue store/image lying 2>/dev/null; then
	will_unmount lying
	mkdir many
	fill 30000000 3 >many/large
	tarpipe --sync many lying/dst
	assert_status 3
	assert_message 'lying/dst: syncing its file system'
else
	skip 'no ext4 on a loop device here' 'a disk that fails late'
fi
done_testing
