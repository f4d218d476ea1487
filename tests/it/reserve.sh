#!/bin/sh
# reserve.sh: on ext4 a large file gets its space before its first byte; what it
# doesn't need is given back, and holes get none.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tracing
need_root

mkdir src
fill 9000000 1 >src/dense
fill 300000 2 >src/holes && truncate -s 8M src/holes && fill 5000 3 >>src/holes
fill 70000 4 >src/small

reserving() {
	traced -e trace=fallocate "$@"
}
reserved() {
	grep -c 'fallocate(' "$base/lib/trace"
}

context=ext4
on_filesystem ext4 fs 90M || done_testing
reserving tarpipe src fs/dst
assert_status 0
assert_silent
is "$(reserved)" 1 'the dense file is reserved for'
assert_same_tree src fs/dst
sync
assert_blocks_at_most 17700 fs/dst/dense
assert_blocks_at_most 800 fs/dst/holes

context='by reference'
reserving tarpipe fs/dst fs/dst2
assert_status 0
is "$(reserved)" 0 'nothing is'
assert_same_tree src fs/dst2

context='it shrinks'
readers=read,readv,pread64,preadv,preadv2
cp src/dense shrinking
meanwhile '(read|pread)[a-z0-9]*\(' truncate -s 1000000 shrinking
traced -P shrinking -P "$work/shrinking" -e trace=$readers \
	-e inject=$readers:delay_enter=500000:when=1 tarpipe shrinking fs/
wait
assert_status 1
sync
is "$(stat -c %s fs/shrinking)" 1000000 'what is left of it is there'
assert_blocks_at_most 2100 fs/shrinking

context='no room'
fill 100000000 5 >large
traced -e trace=fallocate,pwrite64 tarpipe large fs/
assert_status 3
assert_message '.*large: fallocate: No space left on device'
assert_missing fs/large
is "$(grep -c 'pwrite64(' "$base/lib/trace")" 0 'nothing was written'

context='no quota'
rm -rf fs/dst2
traced -e inject=fallocate:error=EDQUOT tarpipe src fs/dst2
assert_status 2
assert_message '.*dense: fallocate: Disk quota exceeded'
assert_missing fs/dst2/dense
assert_same_file src/small fs/dst2/small

context='a file system that can not'
rm -rf fs/dst2
mkdir two && cp src/dense two/a && cp src/dense two/b
traced -e inject=fallocate:error=EOPNOTSUPP tarpipe -j 1 two fs/dst2
assert_status 0
assert_silent
is "$(reserved)" 1 'it is asked once'
assert_same_tree two fs/dst2

context=-x
"$TARPIPE" -c -f tar -C src .
reserving tarpipe -x -f tar fs/out
assert_status 0
is "$(reserved)" 0 'an archive may say anything'
off_filesystem fs

for type in tmpfs xfs btrfs; do
	context=$type
	on_filesystem $type fs || continue
	reserving tarpipe src fs/dst
	assert_status 0
	is "$(reserved)" 0 'nothing is reserved'
	off_filesystem fs
done
done_testing
