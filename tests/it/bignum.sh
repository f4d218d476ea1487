#!/bin/sh
# bignum.sh: large owners, and files of more than 8 GiB.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir src
echo f >src/f
truncate -s 9G src/big 2>/dev/null || skip_all 'no files of 9 GiB on this file system'
printf tail >>src/big
[ "$(stat -c %b src/big)" -lt 1000 ] || skip_all 'no holes on this file system'
echo z >src/zz
if am_root; then
	chown 3000000000:2097152 src/f
	mkdir src/d && chown 4294967294:4294967294 src/d
else
	skip 'needs root' 'large owners'
fi

for how in auto never; do
	context="--reflink=$how"
	tarpipe --reflink=$how src dst-$how
	assert_status 0
	assert_silent
	assert_size 9663676420 dst-$how/big
	assert_blocks_at_most 256 dst-$how/big
	is "$(tail -c 10 dst-$how/big | od -An -c | tr -d ' ')" '\0\0\0\0\0\0tail' 'its end is right'
	assert_content z dst-$how/zz
	assert_same_tree --except sha256 src dst-$how
done
done_testing
