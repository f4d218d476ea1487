#!/bin/sh
# sparse.sh: holes stay holes, at the start, in the middle, at the end, one
# after the other, and nothing of one file's layout leaks into the next.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool perl

mkdir src src/row
(cd src && truncate -s 8M s && printf q >>s && truncate -s 20M s)
truncate -s 10M src/h
[ "$(stat -c %b src/h)" -lt 100 ] || skip_all 'no holes on this file system'
truncate -s 4097 src/k
truncate -s 5M src/last && printf x >>src/last
truncate -s 5M src/first && printf x | dd of=src/first conv=notrunc status=none
: >src/empty
head -c 1000000 /dev/zero >src/zeros
truncate -s 1 src/one-byte-hole
# In order: sparse, dense, empty, sparse, dense, of all sizes around a block.
n=100
for size in 511 512 513 4095 4096 4097 8191 65535 65537; do
	n=$((n + 5))
	truncate -s $size src/row/$n && fill 3000 $n >>src/row/$n
	fill $size $n >src/row/$((n + 1))
	: >src/row/$((n + 2))
	fill 4096 $n >src/row/$((n + 3)) && truncate -s $((size * 30)) src/row/$((n + 3))
	fill $((size * 30)) $n >src/row/$((n + 4))
done
# 2000 pieces of 4 KiB with holes between.
perl -e 'open my $f, ">", "src/comb" or die;
	for (0..1999) { seek $f, $_ * 8192, 0; print $f chr(65 + $_ % 26) x 4096 }'
ln src/comb src/row/comb

check() {
	assert_status 0
	assert_silent
	assert_same_tree src "$1"
	assert_blocks_at_most 200 "$1/h"
	assert_blocks_at_most 300 "$1/s"
}

for how in auto never; do
	context="--reflink=$how"
	tarpipe --reflink=$how src dst-$how
	check dst-$how
done
context='again'
tarpipe --reflink=never src dst-never
check dst-never

context='over dense files of the same names'
cp -r --sparse=never src dense
tarpipe --reflink=never src/ dense
check dense

for type in ext4 xfs btrfs tmpfs; do
	context=$type
	on_filesystem $type fs || continue
	tarpipe src fs/dst
	check fs/dst
	cp -a src fs/src
	tarpipe fs/src back
	assert_status 0
	assert_same_tree fs/src back
	rm -rf back
	off_filesystem fs
done

context='holes not kept'
tarpipe --no-preserve=holes src filled
assert_status 0
assert_same_tree --except blocks src filled
ok 'the holes are filled' test "$(stat -c %b filled/h)" -ge 20480

context='20 GB of hole onto 100 MB'
if on_filesystem ext4 fs 100M; then
	mkdir huge && truncate -s 20G huge/h && printf end >>huge/h && echo z >huge/z
	tarpipe huge fs/dst
	assert_status 0
	assert_size 21474836483 fs/dst/h
	assert_blocks_at_most 256 fs/dst/h
	is "$(tail -c 3 fs/dst/h)" end 'its end is right'
	assert_content z fs/dst/z
fi
done_testing
