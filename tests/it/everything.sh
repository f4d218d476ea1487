#!/bin/sh
# everything.sh: a tree with all that a tree can hold arrives whole, on each
# file system; a second run changes nothing; what stood there before gives way.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# Where mounting works, the source stands on a file system known to hold it all.
in_ext4
mkdir -p fs
make_everything src

# An older, different tree under the same names.
make_older() {
	cp -a src "$1"
	find "$1" -type f -size -100k -exec sh -c 'for f; do echo older >"$f"; done' sh {} +
	find "$1" ! -type l -exec chmod 700 {} + -exec touch -d '1990-01-01' {} +
	setfacl -d -m u:77:rwx "$1/empty" "$1/sizes" 2>/dev/null
	rm "$1/special/fifo" "$1/sizes/513" "$1/symlinks/dot" "$1/links/file"
	ln -s sizes/1 "$1/special/fifo"
	mkfifo "$1/sizes/513"
	echo older >"$1/symlinks/dot"
	ln "$1/sizes/511" "$1/links/file"
	ln -f "$1/sizes/512" "$1/links/once"
}

check_copy() {
	assert_status 0
	assert_silent
	assert_same_tree src "$1"
}

copy_onto() {
	context=$1
	tarpipe src "fs/dst"
	check_copy fs/dst
	assert_rsync_agrees src fs/dst
	context="$1, again"
	tarpipe src "fs/dst"
	check_copy fs/dst
	context="$1, over an older tree"
	make_older fs/older
	tarpipe src/ fs/older
	check_copy fs/older
	context=
}

for type in ext4 xfs btrfs tmpfs; do
	on_filesystem "$type" fs || continue
	if holds_xattrs fs; then
		copy_onto "$type"
	else
		skip "$type holds no user attributes here" "on $type"
	fi
	off_filesystem fs
done

# On one file system large files go by reference, or not.
for how in auto never; do
	context="--reflink=$how"
	tarpipe "--reflink=$how" src "dst-$how"
	check_copy "dst-$how"
done
context=

for type in xfs btrfs; do
	on_filesystem "$type" fs || continue
	make_everything fs/src >"$base/lib/said"
	for how in always auto never; do
		context="$type, --reflink=$how"
		tarpipe "--reflink=$how" fs/src "fs/dst-$how"
		assert_status 0
		assert_silent
		assert_same_tree fs/src "fs/dst-$how"
	done
	context=
	off_filesystem fs
done
done_testing
