#!/bin/sh
# continue-more.sh: --continue reads nothing of what is complete, knows the grain of times,
# and tells what changes under its hands.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
stamp='2001-02-03 04:05:06.123456789'

# many_files DIR
many_files() {
	mkdir "$1" "$1/a" "$1/a/b"
	for i in $(seq 40); do
		fill $((i * 300)) "$i" >"$1/f$i"
		fill $((i * 500)) "$i" >"$1/a/b/g$i"
	done
	fill 2000000 5 >"$1/a/large"
	find "$1" -depth -exec touch -h -d "$stamp" {} +
}

# ---- What is complete is not read ----

if [ -x "$TOP_BUILDDIR/tests/tools/faultfs" ] && am_root && [ -c /dev/fuse ]; then
	need_faultfs
	many_files back
	on_faultfs back fuse
	for flags in --read-ahead=off --read-ahead=4 '--read-ahead=4 -j 1' '-m 64k'; do
		context="a source that can't be read, $flags"
		rm -rf dst
		faults ''
		# shellcheck disable=SC2086 # words
		tarpipe $flags fuse dst
		assert_status 0
		faults 'read * EIO'
		# shellcheck disable=SC2086 # words
		tarpipe $flags --continue --stats fuse dst
		assert_status 0
		assert_message '2 entries, 0 B .*; 81 left alone'
		is "$(cat "$hits")" '' 'nothing was read'
	done
	context='what is not complete is read'
	rm dst/a/b/g7
	tarpipe --continue fuse dst
	assert_status 2
	assert_message 'fuse/a/b/g7: reading at byte 0: '
	assert_missing dst/a/b/g7
	faults ''
	tarpipe --continue fuse dst
	assert_status 0
	assert_same_tree back dst
	off_filesystem fuse
	rm -rf back dst
else
	skip 'faultfs, root or /dev/fuse is not there' "a source that can't be read"
fi

# ---- The grain of times ----

# grains TYPE SAME OTHER [OPTIONS...]: on that file system a source file whose mtime is SAME
# (in ns behind an even second) is the one that was copied at $stamp, one of OTHER is not.
grains() {
	grains_type=$1 grains_same=$2 grains_other=$3
	shift 3
	context=$grains_type
	on_filesystem "$grains_type" fs 512M "${mkfs_words:-}" || return
	rm -rf src && mkdir src && fill 1000 1 >src/f
	touch -d '2001-02-03 04:05:06.123456789' src/f
	tarpipe "$@" src fs/dst
	assert_status 0
	umount fs && mount -o loop "$base/lib/fs.$grains_type" fs || exit 99
	fill 1000 2 >src/f
	touch -d "2001-02-03 04:05:$grains_same" src/f
	tarpipe "$@" --continue --stats src fs/dst
	assert_status 0
	assert_message '.*; 1 left alone'
	ok 'what can be the same time is the same' cmp -s fs/dst/f "$base/lib/one"
	touch -d "2001-02-03 04:05:$grains_other" src/f
	tarpipe "$@" --continue src fs/dst
	assert_status 0
	assert_same_file src/f fs/dst/f
	cd "$work" && off_filesystem fs
}
fill 1000 1 >"$base/lib/one"
grains vfat 07.999999999 08.0 --no-preserve=owner,mode,xattr,acl
grains exfat 06.129 06.131 --no-preserve=owner,mode,xattr,acl
grains ext4 06.123456789 06.123456790
mkfs_words='-I 128' grains ext4 06.9 07.0
grains xfs 06.123456789 06.123456788
grains btrfs 06.123456789 06.123456790
context=

# ---- It changes meanwhile ----

if can_trace; then
	rm -rf src dst
	many_files src
	context='taken away'
	tarpipe src dst
	# The packer has looked, the restorer has not.
	meanwhile '"f7".*O_PATH' sh -c 'echo other >dst/f7'
	traced -e trace=openat -P f7 -e inject=openat:delay_enter=500000 \
		-- tarpipe -j 1 --read-ahead=off --continue src dst
	wait
	assert_status 2
	assert_message 'dst/f7: changed after it was found to be complete: not copied'
	assert_content other dst/f7
	tarpipe --continue src dst
	assert_status 0
	assert_same_tree src dst
else
	skip 'strace may not trace here' 'taken away'
fi
done_testing
