#!/bin/sh
# interop-in.sh: what other tars write is unpacked equal, in what they can hold.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4
make_everything src
find src -type s -delete
umask 022

# unpacked EXCEPT: s.tar holds src but for these aspects.
unpacked() {
	rm -rf dst
	tarpipe -x -f s.tar dst
	assert_status 0
	assert_silent
	assert_same_tree --except "$1" src dst
}

# written WORDS EXCEPT COMMAND...
written() {
	context=$1
	written_except=$2
	shift 2
	if ! have "$1"; then
		skip "$1 is not installed"
		return
	fi
	"$@" >"$base/lib/said" 2>&1 || { cat -v "$base/lib/said" | diag_lines 5; }
	unpacked "$written_except"
}

# GNU tar packs further names of FIFOs and devices as things of their own.
find src \( -type p -o -type c -o -type b \) -links +1 -delete

all='--xattrs --xattrs-include=* --acls'
set -f
# shellcheck disable=SC2086 # words
written 'GNU tar, posix' blocks tar --format=posix $all -C src -cf s.tar .
for version in 0.0 0.1 1.0; do
	# shellcheck disable=SC2086 # words
	written "GNU tar, posix, sparse $version" none \
		tar --format=posix $all -S --sparse-version=$version -C src -cf s.tar .
done
old=xattr,acl,cap,mtime
written 'GNU tar, gnu' $old,blocks tar --format=gnu -C src -cf s.tar .
written 'GNU tar, gnu, sparse' $old tar --format=gnu -S -C src -cf s.tar .
set +f
# bsdtar writes other times than these, and ACLs of no larger ids than int holds.
find src -depth ! -newermt '1970-01-01 00:00:01' -exec touch -h -d '1980-01-01' {} +
setfacl -b src/acls/mask 2>/dev/null
find src -depth -type d -exec touch -d '1980-01-01' {} +
written 'bsdtar, pax' none bsdtar --format=pax --acls --xattrs -C src -cf s.tar .
written 'bsdtar, compressed' none bsdtar --format=pax --acls --xattrs -z -C src -cf s.tar .

# ---- formats that hold less: a tree that they can hold ----

rm -rf src
mkdir -p src/sub/deep src/empty
for n in 0 1 511 512 513 4096 65537 1048577; do
	fill $n $n >src/sub/$n
done
long=$(fill 60 1 | tr '\n' -)
mkdir "src/$long"
for name in ' lead' '*' 'a=b' 'back\slash' "$(printf '\303\251')" "$(fill 90 2 | tr '\n' -)"; do
	echo "$name" >"src/$long/$name"
done
ln -s ../sub/1 src/sub/link
ln -s "$(fill 90 3 | tr '\n' -)" src/dangling
ln src/sub/512 src/zz
ln src/sub/512 src/sub/deep/another
for mode in 400 644 711 755 2755 4755 1644; do
	echo $mode >src/mode-$mode
	chmod $mode src/mode-$mode
done
mkfifo src/fifo
chmod 1777 src/empty
if am_root; then
	mknod src/null c 1 3 2>/dev/null
	chown -h 1000:2000 src/sub/* src/dangling
	chown 262143:262143 src/sub/1
fi
find src -depth -exec touch -h -d '2001-02-03 04:05:06' {} +

written 'GNU tar, gnu' none tar --format=gnu -C src -cf s.tar .
written 'GNU tar, ustar' none tar --format=ustar -C src -cf s.tar .
written 'bsdtar, gnutar' none bsdtar --format=gnutar -C src -cf s.tar .
written 'bsdtar, ustar' none bsdtar --format=ustar -C src -cf s.tar .
for format in USTAR GNU PAX; do
	written "Python, $format" none python3 -c '
import sys, tarfile
with tarfile.open("s.tar", "w", format=getattr(tarfile, sys.argv[1] + "_FORMAT")) as t: t.add("src", ".")' $format
done
context='cpio, ustar'
if have cpio; then
	(cd src && find . -print0 | cpio -0 -o -H ustar --quiet) >s.tar 2>/dev/null
	unpacked none
else
	skip 'cpio is not installed'
fi
context='pax, ustar'
if have pax; then
	(cd src && pax -w -x ustar . 2>/dev/null) >s.tar
	unpacked none
else
	skip 'pax is not installed'
fi
context='busybox tar'
if have busybox && busybox tar --help >/dev/null 2>&1; then
	busybox tar -C src -cf s.tar .
	unpacked none
else
	skip 'busybox is not installed'
fi
# V7 has names of 99 bytes and no FIFOs or devices.
find src \( -type p -o -type c -o -name "$long" \) -exec rm -rf {} +
find src -depth -type d -exec touch -h -d '2001-02-03 04:05:06' {} +
written 'GNU tar, v7' none tar --format=v7 -C src -cf s.tar .

context='an archive with another behind it'
mkdir one two && echo 1 >one/a && echo 2 >two/b
tar -C one -cf one.tar a
tar -C two -cf two.tar b
cat one.tar two.tar >s.tar
rm -rf dst
tarpipe -x -i -f s.tar dst
assert_status 0
is "$(cat dst/a dst/b)" '1
2' 'with -i both are unpacked'
rm -rf dst
tarpipe -x -f s.tar dst
assert_status 2
assert_message 's.tar: .*--ignore-zeros'
assert_missing dst/b
done_testing
