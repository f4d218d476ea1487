#!/bin/sh
# links.sh: names of one inode stay names of one inode.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/a/b/c src/z
fill 5000 1 >src/file
ln src/file src/a/b/c/file
ln src/file src/z/file
fill 500000 2 >src/z/large
ln src/z/large src/a/large
: >src/a/empty && ln src/a/empty src/z/empty
ln -s nowhere src/symlink && ln -P src/symlink src/a/symlink
mkfifo src/a/fifo && ln src/a/fifo src/fifo
truncate -s 1M src/hole && ln src/hole src/a/b/hole
echo out >outside && ln outside src/has-a-name-outside
# Many inodes with names in two directories, and one with many names.
mkdir src/first src/second src/many
for n in $(seq 500); do
	echo "$n" >"src/first/$n"
done
ln src/first/* src/second
echo many >src/many/0
for n in $(seq 300); do
	ln src/many/0 "src/many/$n"
done

tarpipe src dst
assert_status 0
assert_silent
assert_links 3 dst/file
assert_same_inode dst/file dst/a/b/c/file
assert_links 1 dst/has-a-name-outside
assert_links 301 dst/many/0
assert_same_tree src dst
assert_rsync_agrees src dst

context='again'
tarpipe src dst
assert_status 0
assert_silent
assert_same_tree src dst

# What was one inode and isn't now, and the other way round.
context='over other groups'
rm dst/a/large && cp dst/z/large dst/a/large
ln -f dst/first/1 dst/first/2
ln -f dst/file dst/many/7
echo apart >dst/second/9.new && mv dst/second/9.new dst/second/9
tarpipe src dst
assert_status 0
assert_same_tree src dst

context='links not kept'
tarpipe --no-preserve=links src apart
assert_status 0
assert_links 1 apart/file
assert_same_tree --except links,group,blocks src apart

# Several sources are one run: names of one inode in two of them.
context='across sources'
mkdir one two && echo x >one/f && ln one/f two/f
mkdir both
tarpipe one two both/
assert_status 0
assert_same_inode both/one/f both/two/f

context='by reference'
tarpipe --reflink=never src by-reading
assert_status 0
assert_same_tree src by-reading

# Only some of the names are readable as files: the others still link.
context='as an ordinary user'
if can_be_user; then
	mkdir home && chown $user_id:$user_id home
	as_user tarpipe src home/dst
	assert_status 0
	assert_silent
	assert_same_tree --except owner src home/dst
else
	skip 'needs root and setpriv'
fi
done_testing
