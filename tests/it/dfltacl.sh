#!/bin/sh
# dfltacl.sh: ACLs arrive as they are, and none is inherited from where they go.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/d/below
echo s >src/secret && chmod 600 src/secret
echo o >src/open && chmod 644 src/open
echo l >src/d/below/f && chmod 400 src/d/below/f
fill 200000 1 >src/large && chmod 640 src/large
ln -s secret src/link
mkfifo -m 620 src/fifo
mkdir -m 500 src/strict
setfacl -m u:1:rwx src/open 2>/dev/null || skip_all 'no ACLs on this file system'
setfacl -d -m u:2:rwx src/d/below

inherits() {
	mkdir "$1"
	setfacl -d -m u:1:rwx,g::rwx,o::rwx,m::rwx "$1"
}

context='into a directory with a default ACL'
inherits dst
tarpipe src dst
assert_status 0
assert_silent
assert_acl 'user::rw- group::--- other::---' dst/secret
assert_acl 'user::rwx group::r-x other::r-x' dst/d
assert_acl 'user::r-x group::--- other::---' dst/strict
assert_same_tree src dst

context='one that keeps its own'
inherits keeps
tarpipe --no-preserve=root src/ keeps
assert_status 0
ok 'it keeps its default ACL' sh -c 'getfacl -n keeps | grep default:user:1:rwx'
assert_acl 'user::rw- group::--- other::---' keeps/secret
for n in d secret open strict large fifo; do
	is "$(getfacl -n -c -p keeps/$n)" "$(getfacl -n -c -p src/$n)" "the ACL of $n is the source's"
done
assert_same_tree --except mode,mtime,owner src/d keeps/d

context='below one that was there'
mkdir old && inherits old/d
tarpipe src old
assert_status 0
assert_same_tree src old

context='a single file'
mkdir single && inherits single/in
tarpipe src/secret single/in
assert_status 0
assert_acl 'user::rw- group::--- other::---' single/in/secret

context='ACLs not kept'
inherits without
tarpipe --no-preserve=acl src/ without
assert_status 0
is "$(getfacl -n -c -p -s without/secret without/open)" '' 'no ACL, not even an inherited one'
done_testing
