#!/bin/sh
# comparer.sh: the comparer that the other tests rely on sees every kind of
# difference.  The program under test has no part in it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

if am_root && on_filesystem ext4 fs 256M; then
	cd fs || exit 99
fi
make_everything src
rm src/sizes/20000000 src/sizes/1048* src/holes/[elmsz]*
cp -a src dst

remake() {
	am_root || chmod -R u+rwX dst
	rm -rf dst
	cp -a src dst
}

compare() {
	sh "$tools/compare-trees" "$@" >"$base/lib/differences" 2>&1
}
ok 'a faithful copy is none worse' compare src dst
diag_lines <"$base/lib/differences"
ok 'a tree equals itself' compare src src

# sees WHAT PATTERN COMMAND...: after the command, which changes dst, exactly
# that difference is told; then dst is made whole again.
sees() {
	sees_what=$1 sees_pattern=$2
	shift 2
	if ! "$@"; then
		fail "makes $sees_what"
		return
	fi
	compare src dst
	is $? 1 "sees $sees_what"
	ok "... and says so: $sees_pattern" grep -E -a -e "$sees_pattern" "$base/lib/differences"
	remake
}

ordinary() {
	sees 'a missing file' '^\./sizes/513: entry: missing' rm dst/sizes/513
	sees 'a missing empty directory' '^\./empty/below: entry: missing' rmdir dst/empty/below
	sees 'a file too many' '^\./more: entry: only in the copy' touch dst/more
	sees 'a changed byte under the same size and time' '^\./sizes/4097: sha256:' \
		sh -c 'printf x | dd of=dst/sizes/4097 conv=notrunc status=none &&
			touch -r src/sizes/4097 dst/sizes/4097'
	sees 'a byte too few' '^\./sizes/513: size: 513 became 512' truncate -s 512 dst/sizes/513
	sees 'another type' '^\./special/fifo: type: p became f' \
		sh -c 'rm dst/special/fifo && : >dst/special/fifo'
	sees 'another mode' '^\./sizes/1: mode: 644 became 640' chmod 640 dst/sizes/1
	sees 'a lost sticky bit' '^\./modes/dir-7777: mode: 7777 became 6777' chmod -t dst/modes/dir-7777
	sees 'a lost setuid bit' '^\./modes/file-6755: mode: 6755 became 2755' chmod u-s dst/modes/file-6755
	sees 'another mtime, by a nanosecond' '^\./sizes/2: mtime:' \
		touch -d '2001-02-03 04:05:06.123456788' dst/sizes/2
	sees 'another mtime of a directory' '^\./sizes: mtime:' touch dst/sizes
	sees 'another mtime of a symbolic link' '^\./symlinks/dot: mtime:' touch -h dst/symlinks/dot
	sees 'another mtime of a FIFO' '^\./special/fifo: mtime:' touch dst/special/fifo
	sees 'another mtime of the top' '^\.: mtime:' touch dst
	sees 'another mode of the top' '^\.: mode:' chmod 700 dst
	sees 'another target' '^\./symlinks/dot: target: \. became \.\.' ln -sfn .. dst/symlinks/dot
	sees 'a second inode' '^\./links/once: links: 2 became 1' \
		sh -c 'cp -p dst/links/once dst/t && mv dst/t dst/links/once'
	sees 'a second inode of an empty file' '^\./links/one/empty: links: 3 became 1' \
		sh -c 'cp -p dst/links/one/empty dst/t && mv dst/t dst/links/one/empty'
	sees 'a link too many' '^\./sizes/7: links: 1 became 2' \
		sh -c 'rm dst/sizes/9 && ln dst/sizes/7 dst/sizes/9'
	sees 'names that changed their inodes' '^\./links/one/a-file: group:' \
		sh -c 'cd dst/links && mv file t && mv two/large file && mv t two/large'
	sees 'a hole that was filled' '^\./holes/all: blocks:' \
		sh -c 'cp -p --sparse=never dst/holes/all t && mv t dst/holes/all'
	sees 'a name that differs in an odd byte' '^\./names/a.*: entry: only in the copy' \
		sh -c 'mv "dst/names/new
line" "dst/names/anew
line"'
}

attributes() {
	sees 'a lost attribute' '^\./xattrs/file: xattr: missing.*user\.one=0x31' \
		setfattr -x user.one dst/xattrs/file
	sees 'a changed byte of an attribute' '^\./xattrs/file: xattr: missing.*user\.binary=' \
		setfattr -n user.binary -v 0x00ff0a5c3d23 dst/xattrs/file
	sees 'a lost empty attribute' '^\./xattrs/file: xattr: missing.*user\.empty' \
		setfattr -x user.empty dst/xattrs/file
	sees 'an attribute too many' '^\./sizes/1: xattr: only in the copy' \
		setfattr -n user.more -v x dst/sizes/1
	sees 'a lost attribute of a directory' '^\./empty: xattr: missing' \
		setfattr -x user.dir dst/empty
	sees 'a lost ACL' '^\./acls/mask: acl: missing' setfacl -b dst/acls/mask
	sees 'another entry of an ACL' '^\./acls/access: acl: missing.*user:1000:rwx' \
		setfacl -m u:1000:rw- dst/acls/access
	sees 'a lost default ACL' '^\./acls/default: acl: missing.*default:' setfacl -k dst/acls/default
	sees 'a default ACL too many' '^\./empty: acl: only in the copy' \
		setfacl -d -m u:1:rwx dst/empty
}

privileged() {
	sees 'another owner' '^\./owners/0:1/file: owner: 0:1 became 2:1' chown 2 dst/owners/0:1/file
	sees 'another group of a symbolic link' '^\./owners/0:1/symlink: owner: 0:1 became 0:3' \
		chown -h :3 dst/owners/0:1/symlink
	sees 'a large owner cut short' '^\./owners/.*: owner:' \
		chown -h 902852608 dst/owners/3000000000:4294967294/dir
	sees 'another device' '^"\./special/large": device: 1ff:3ffff became 1:3' \
		sh -c 'rm dst/special/large && mknod -m 640 dst/special/large c 1 3'
	sees 'a lost capability' 'caps/user.*: cap: missing' setcap -r dst/caps/user
	sees 'a lost attribute of a symbolic link' '^\./xattrs/symlink: xattr: missing.*trusted' \
		setfattr -h -x trusted.symlink dst/xattrs/symlink
	sees 'a lost security attribute' '^\./xattrs/file: xattr: missing.*security' \
		setfattr -x security.testing dst/xattrs/file
	sees 'a lost attribute of a FIFO' '^\./xattrs/fifo: xattr: missing' \
		setfattr -h -x trusted.fifo dst/xattrs/fifo
}

ordinary
if holds_xattrs src && [ -n "$(getfacl -s src/acls/mask)" ]; then
	attributes
else
	skip "$PWD holds no attributes or no ACLs" 'attributes'
fi
if am_root; then
	privileged
else
	skip 'needs root' 'owners, devices, capabilities'
fi

# What it is told to leave out, it leaves out; and no more.
touch dst/more
compare --extra --except mtime src dst
is $? 0 '--extra allows a name'
compare src dst
is $? 1 'without --extra it is seen'
setfattr -n user.more -v x dst/empty 2>/dev/null &&
	compare --extra --except mtime src dst
is $? 1 '--extra still sees more attributes of what both have'
chmod 640 dst/sizes/1
compare --extra --except mtime,mode,xattr,acl src dst
is $? 0 '--except leaves an aspect out'

# It never takes a failure of its own for sameness.
compare src nowhere
is $? 2 'a missing tree is no equal tree'
mkdir none && compare src none
is $? 1 'an empty tree is no equal tree'
done_testing
