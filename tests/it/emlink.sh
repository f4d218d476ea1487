#!/bin/sh
# emlink.sh: more names of one inode than the destination permits.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
need_tool perl

on_filesystem tmpfs from 64m || done_testing
on_filesystem ext4 to || done_testing

mkdir from/src from/src/d
echo content >from/src/d/0
chown 7:8 from/src/d/0
perl -e 'for (1..65009) { link "from/src/d/0", "from/src/d/$_" or die "$!" }'
echo after >from/src/z

tarpipe from/src to/dst
assert_status 2
assert_told_once '.'
assert_message '.*: .*[Tt]oo many links'
is "$(find to/dst/d -type f | wc -l)" 65010 'all names are there'
is "$(find to/dst/d -printf '%i %n\n' | sort -u | wc -l)" 3 'of two inodes (and the directory)'
is "$(find to/dst/d -type f -printf '%i %s %U:%G %T@\n' | sort -u | cut -d ' ' -f 2- | sort -u | wc -l)" \
	1 'with the same metadata'
is "$(find to/dst/d -type f -printf '%i %p\n' | sort -u -k 1,1 | cut -d ' ' -f 2 | xargs cat | sort -u)" \
	content 'and content'
ok 'the first is used up' sh -c 'find to/dst/d -type f -links 65000 | grep -q .'
assert_content after to/dst/z
assert_same_tree --except links,group from/src to/dst
done_testing
