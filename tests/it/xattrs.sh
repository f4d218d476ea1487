#!/bin/sh
# xattrs.sh: what the destination can't hold, or refuses, is told, and the rest
# of the file arrives all the same.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
holds_xattrs . || skip_all 'no user attributes on this file system'

mkdir src
for n in a b c; do
	echo $n >src/$n
	setfattr -n user.k -v "value $n" src/$n
	chmod 640 src/$n
	am_root && chown 1000:1000 src/$n
	touch -d '2001-02-03 04:05:06.123456789' src/$n
done
echo plain >src/plain

rest_is_there() {
	assert_same_tree --except xattr src "$1"
}

context='a file system without attributes'
if on_filesystem ramfs fs; then
	if holds_xattrs fs; then
		skip 'ramfs holds attributes here'
	else
		tarpipe src fs/dst
		assert_status 2
		assert_told_once 'user\.k'
		assert_message '.*([Nn]ot supported).*2 more' 'says it once, with a count'
		assert_well_formed
		rest_is_there fs/dst
		tarpipe --no-preserve=xattr src fs/dst2
		assert_status 0
		assert_silent
		rest_is_there fs/dst2
	fi
fi

context='an attribute of 60 KiB'
value=$(fill 60000 1 | tr '\n' +)
big_tree() {
	mkdir "$1"
	echo big >"$1/big" && setfattr -n user.big -v "$value" "$1/big" 2>/dev/null || return 1
	mkdir "$1/d" && setfattr -n user.big -v "$value" "$1/d"
	echo small >"$1/small" && setfattr -n user.small -v 1 "$1/small"
}
if on_filesystem xfs fs; then
	big_tree fs/src
	tarpipe fs/src fs/dst
	assert_status 0
	assert_same_tree fs/src fs/dst
	context='more attributes than fit'
	if on_filesystem btrfs fs2; then
		tarpipe fs/src fs2/dst
		assert_status 2
		assert_message '.*big: .*user\.big'
		assert_message '.*d: .*user\.big'
		assert_xattr user.small 1 fs2/dst/small
		assert_content big fs2/dst/big
		assert_same_tree --except xattr fs/src fs2/dst
	fi
fi
context='an attribute of 60 KiB'
if on_filesystem ext4 fs3 128M '-O ea_inode'; then
	if big_tree fs3/src; then
		tarpipe fs3/src fs3/dst
		assert_status 0
		assert_same_tree fs3/src fs3/dst
	else
		skip 'not with this kernel' 'ext4 with ea_inode'
	fi
fi

# /etc/xattr.conf marks how XFS stores ACLs; cluster file systems mark what is
# theirs alone.
context='not carried'
if on_filesystem xfs fs4; then
	mkdir fs4/src
	echo acl >fs4/src/acl && setfacl -m u:1:rwx fs4/src/acl
	tarpipe fs4/src dst4
	assert_status 0
	assert_silent
	assert_same_tree fs4/src dst4
fi
if am_root; then
	mkdir cluster && echo x >cluster/f
	for name in trusted.gfid trusted.lov trusted.lma trusted.link trusted.glusterfs.dht trusted.mine; do
		setfattr -n $name -v 1 cluster/f || diag "left out: $name"
	done
	tarpipe cluster cluster-copy
	assert_status 0
	assert_silent
	is "$(getfattr -d -m - cluster-copy/f | grep .)" '# file: cluster-copy/f
trusted.mine="1"' 'layout attributes of cluster file systems stay behind'
else
	skip 'needs root' 'trusted attributes'
fi

context='existing ones'
mkdir old && cp -a src/. old && setfattr -n user.more -v old old/a
tarpipe src old
assert_status 0
assert_same_tree src old

context=
can_trace || { skip 'strace may not trace here' 'refused attributes'; done_testing; }
setters=setxattr,lsetxattr,fsetxattr
for error in EPERM ENOSPC EDQUOT EACCES; do
	context="setting says $error"
	traced -e inject=$setters:error=$error tarpipe src dst-$error
	assert_status 2
	for n in a b c; do
		assert_message ".*$n: .*user\.k" "names $n"
	done
	assert_well_formed
	rest_is_there dst-$error
done
# An ACL is one of them; alone refused, it is named as such.
context='an ACL is refused'
mkdir acl
if echo a >acl/a && setfacl -m u:1:rwx acl/a 2>/dev/null; then
	touch -d '2001-02-03 04:05:06.123456789' acl/a
	for error in EPERM EOPNOTSUPP; do
		traced -e inject=$setters:error=$error tarpipe acl acl-$error
		assert_status 2
		assert_told_once '.'
		assert_message '.*/a: .*posix_acl_access: '
		assert_content a acl-$error/a
		assert_mtime 981173106.123456789 acl-$error/a
	done
else
	skip 'no ACLs on this file system'
fi
context='setting says EOPNOTSUPP'
traced -e inject=$setters:error=EOPNOTSUPP tarpipe src dst-none
assert_status 2
assert_told_once '.'
rest_is_there dst-none

# Attributes that vanish, or that the source has none of.
context='reading says ENODATA'
traced -e inject=getxattr,lgetxattr,fgetxattr:error=ENODATA tarpipe src dst-nodata
assert_status_in 0 1
rest_is_there dst-nodata
context='listing says EOPNOTSUPP'
traced -e inject=listxattr,llistxattr,flistxattr:error=EOPNOTSUPP tarpipe src dst-nolist
assert_status 0
assert_silent
rest_is_there dst-nolist
context='reading says EIO'
traced -e inject=listxattr,llistxattr,flistxattr:error=EIO tarpipe src dst-eio
assert_status 2
rest_is_there dst-eio
done_testing
