#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# onefs.sh: --one-file-system enters nothing that is mounted in SRC, and needs no answer
# from it; without it, each name is copied once.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# Unprivileged: who may mount by a namespace of his own.
context='a user in a namespace of his own'
mkdir -p user/src/m user/src/d
echo d >user/src/d/f
cat >inside <<'E2'
set -e
mount -t tmpfs -o mode=1751 tmpfs src/m
echo in >src/m/in
mount --bind src/d src/d
"$@"
E2
if unshare -Urm sh -e -c 'mount -t tmpfs tmpfs "$1"' - user/src/m 2>/dev/null; then
	chmod -R a+rwX user
	(
		cd user || exit 99
		launch unshare -Urm sh ../inside "$TARPIPE" --one-file-system src dst
		echo "$status" >../user-status
	)
	is "$(cat user-status)" 0 'status 0'
	assert_mode 1751 user/dst/m
	assert_names user/dst d m
	assert_names user/dst/m
	assert_names user/dst/d
else
	skip 'no namespaces for users here'
fi

am_root || {
	skip 'mounting needs root'
	done_testing
}

mkdir -p src/sub/m1 src/m2 src/data src/m3dir src/file
echo data >src/data/d
echo below >src/sub/m1/below
echo own >src/m3
echo plain >src/file/m3
echo other >other
on_filesystem tmpfs src/sub/m1 4m
echo in >src/sub/m1/in
chmod 1751 src/sub/m1
chown 7:8 src/sub/m1
setfacl -m u:99:rwx src/sub/m1
holds_xattrs src/sub/m1 && setfattr -n user.x -v y src/sub/m1
touch -d '2001-02-03 04:05:06.789' src/sub/m1
mount --bind src/data src/m2 && will_unmount src/m2
mount --bind other src/m3 && will_unmount src/m3
mkdir src/proc && mount -t proc proc src/proc && will_unmount src/proc

# stayed DST: what a copy has to have
stayed() {
	assert_names "$1" data file m2 m3 m3dir proc sub
	assert_names "$1/sub" m1
	assert_names "$1/sub/m1"
	assert_names "$1/m2"
	assert_names "$1/proc"
	assert_content data "$1/data/d"
	assert_content other "$1/m3"
	assert_owner 7:8 "$1/sub/m1"
	assert_mtime 981173106.789000000 "$1/sub/m1"
	assert_mode 555 "$1/proc"
	is "$(getfacl -n -p -c "$1/sub/m1" 2>&1)" "$(getfacl -n -p -c src/sub/m1)" \
		'the ACL of what is mounted'
	is "$(getfattr -d -m user "$1/sub/m1" 2>&1 | tail -n +2)" \
		"$(getfattr -d -m user src/sub/m1 | tail -n +2)" 'its attributes'
}

for flags in '' --read-ahead=4; do
	context="a copy $flags"
	rm -rf dst
	# shellcheck disable=SC2086 # words
	tarpipe $flags --one-file-system src dst
	assert_status 0
	stayed dst
	assert_told_once 'src/m3: has another file mounted over it'

	tarpipe --one-file-system --compare src dst
	assert_status 0 '--compare finds nothing'

	context="a stream $flags"
	rm -rf dst
	# shellcheck disable=SC2086 # words
	tarpipe $flags --one-file-system -c -f a.tar --manifest=list src
	assert_status 0
	tarpipe -x -f a.tar dst
	stayed dst
	tarpipe --compare --one-file-system --manifest=list src
	assert_status 0 'the list and the source agree: nothing is extra'
	tarpipe --compare --one-file-system -f a.tar src
	assert_status 0 'and so does the stream'
done

context='a difference in a mount point'
chmod 700 dst/m2
tarpipe --one-file-system --compare src dst
assert_status 1
assert_output '^m2: mode'

context='excluded'
rm -rf dst
tarpipe --one-file-system --exclude=m1 --exclude=proc src dst
assert_status 0
assert_names dst data file m2 m3 m3dir sub
assert_names dst/sub

context='names of a list'
rm -rf dst
printf '%s\n' m2 file/m3 m3 data/d >names
tarpipe --one-file-system -T names src dst
assert_status 0
assert_names dst data file m2 m3
assert_names dst/m2
assert_content plain dst/file/m3

context='names of a list beyond'
rm -rf dst
printf '%s\n' sub/m1/in data/d >names
tarpipe --one-file-system -T names src dst
assert_status 2
assert_told_once 'src/sub/m1: is on another file system'
assert_names dst data sub
assert_names dst/sub

context='an operand that is a mount point'
rm -rf dst
tarpipe --one-file-system src/sub/m1 dst
assert_status 0
assert_names dst in

context='each operand has its own'
rm -rf dst
tarpipe --one-file-system src/sub/m1 src/m2 src/sub dst/
assert_status 0
assert_names dst m1 m2 sub
assert_names dst/m1 in
assert_names dst/m2 d
assert_names dst/sub/m1

context='without statx'
if can_trace; then
	rm -rf dst
	traced -e trace=statx -e inject=statx:error=ENOSYS tarpipe --one-file-system src dst
	assert_names dst/sub m1
	assert_missing dst/sub/m1/in dst/proc/self
else
	skip 'strace may not trace here'
fi

# ---- a destination in the source ----

context='a destination on another file system in the source'
mkdir src/new
on_filesystem tmpfs src/new 16m
tarpipe src src/new
assert_status 64 'without the option it is refused'
for flags in '' --read-ahead=4; do
	# shellcheck disable=SC2086 # words
	tarpipe $flags --one-file-system src src/new
	assert_status 0
	assert_names src/new data file m2 m3 m3dir new proc sub
	assert_names src/new/new
	tarpipe --one-file-system --compare src src/new
	assert_status 0 'and they are equal'
	find src/new -mindepth 1 -delete
	# shellcheck disable=SC2086 # words
	tarpipe $flags --one-file-system src src/new/below
	assert_status 0 'one that is made'
	assert_names src/new below
	assert_names src/new/below/new
	find src/new -mindepth 1 -delete
done
tarpipe --one-file-system -c -f src/new/a.tar src
assert_status 0
tarpipe -t -f src/new/a.tar
is "$(grep -c new "$out")" 1 'an archive there: only the mount point is in it'
context='a destination on the same one'
tarpipe --one-file-system src src/data/new
assert_status 64
assert_missing src/data/new
context='through a bind mount, on the same one'
tarpipe --one-file-system src src/m2/new
assert_status 2
assert_message 'src/data/new: left out: it is the destination'
assert_missing src/data/new/data/new
rm -rf src/data/new
off_filesystem src/new
rmdir src/new

# ---- a small system ----

context='the root of a system'
mkdir -p root/bin root/etc root/proc root/tmp root/mnt/new
cp "$TARPIPE" root/bin/tarpipe
ldd "$TARPIPE" | grep -o '/[^ ]*' | while read -r lib; do
	mkdir -p "root/$(dirname "$lib")"
	cp "$lib" "root/$lib"
done
echo etc >root/etc/hosts
mount -t proc proc root/proc && will_unmount root/proc
on_filesystem tmpfs root/tmp 4m
on_filesystem tmpfs root/mnt/new 64m
echo scratch >root/tmp/scratch
launch chroot root /bin/tarpipe --one-file-system / /mnt/new
case $(cat "$err") in
*'shared libraries'* | *'No such file'*) skip 'the program does not start in a root of its own' ;;
*)
	assert_status 0
	assert_names root/mnt/new/proc
	assert_names root/mnt/new/tmp
	assert_names root/mnt/new/mnt/new
	assert_content etc root/mnt/new/etc/hosts
	;;
esac

# ---- subvolumes ----

context='a btrfs subvolume'
if on_filesystem btrfs fs 512M; then
	mkdir fs/src
	btrfs -q subvolume create fs/src/vol 2>/dev/null ||
		btrfs subvolume create fs/src/vol >/dev/null
	echo in >fs/src/vol/in
	echo out >fs/src/out
	chmod 750 fs/src/vol
	tarpipe --one-file-system fs/src volcopy
	assert_status 0
	assert_names volcopy out vol
	assert_names volcopy/vol
	assert_mode 750 volcopy/vol
	tarpipe --one-file-system fs/src fs/src/vol/new
	assert_status 0 'a destination in it'
	assert_names fs/src/vol/new/vol
fi

# ---- servers that don't answer ----

context='a server that does not answer'
if (need_faultfs) | grep -q '# SKIP'; then
	skip 'no FUSE here'
else
	need_faultfs
	mkdir -p back/dir src/hung
	echo fuse >back/file
	chown 5:6 src/hung
	chmod 2751 src/hung
	on_faultfs back src/hung
	faults 'getattr * hang' 'opendir * hang' 'readdir * hang' \
		'getxattr * hang' 'listxattr * hang'
	for flags in '' --read-ahead=4; do
		rm -rf dst
		# shellcheck disable=SC2086 # words
		limit=10 tarpipe $flags --one-file-system src dst
		assert_status 0
		assert_names dst/hung
		assert_owner 5:6 dst/hung
		assert_mode 2751 dst/hung
		limit=10 tarpipe --one-file-system --compare src dst
		assert_status 0 'and is equal'
		# shellcheck disable=SC2086 # words
		limit=10 tarpipe $flags --one-file-system -c -f a.tar src
		assert_status 0 'a stream'
	done
	context='a file of such a server over a file'
	echo covered >src/file/hung
	faults
	mount --bind src/hung/file src/file/hung && will_unmount src/file/hung
	faults 'getattr * hang' 'open * hang' 'read * hang'
	rm -rf dst
	limit=10 tarpipe --one-file-system src dst
	assert_status 2
	assert_told_once 'src/file/hung: left out: what is mounted over it may not answer'
	assert_names dst/file m3
	faults
	off_filesystem src/file/hung
	faults 'getattr * hang' 'opendir * hang' 'readdir * hang'
	context='a server that does not answer, in a list'
	printf '%s\n' hung data/d >names
	rm -rf dst
	limit=10 tarpipe --one-file-system -T names src dst
	assert_names dst data hung
	faults
fi

# ---- what is mounted when it is needed ----

context='autofs'
mkdir auto auto/src auto/src/net
mkfifo pipe
exec 9<>pipe
if mount -t autofs -o fd=9,pgrp=1,minproto=5,maxproto=5,direct auto auto/src/net 2>/dev/null; then
	will_unmount auto/src/net
	for flags in '' --read-ahead=4; do
		rm -rf dst
		# shellcheck disable=SC2086 # words
		limit=10 tarpipe $flags --one-file-system auto/src dst
		assert_status 0
		assert_names dst net
		assert_names dst/net
	done
	limit=10 tarpipe --one-file-system --compare auto/src dst
	assert_status 0 '--compare does not mount it either'
	is "$(timeout 0.2 head -c 1 pipe | wc -c)" 0 'nobody was asked to mount it'
else
	skip 'autofs can not be mounted here'
fi
exec 9>&-

# ---- without the option ----

context='without the option'
mkdir -p loop/a/b
echo f >loop/a/f
ln loop/a/f loop/a/g
mkdir loop/a/up
mount --bind loop loop/a/up && will_unmount loop/a/up
mkdir loop/twice && mount --bind loop/a/b loop/twice && will_unmount loop/twice
echo b >loop/a/b/b
tarpipe loop loopcopy
assert_status 0 'a loop of bind mounts ends'
assert_names loopcopy a twice
assert_names loopcopy/a b f g up
assert_names loopcopy/a/up a twice
assert_names loopcopy/a/up/a b f g up
assert_names loopcopy/a/up/a/up
assert_names loopcopy/a/up/twice
assert_content f loopcopy/a/up/a/f
assert_content b loopcopy/twice/b
assert_same_inode loopcopy/a/f loopcopy/a/g
done_testing
