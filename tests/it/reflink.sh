#!/bin/sh
# reflink.sh: large files go by reference where the file system can, and where
# it can't --reflink=always says so.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root

# used DIR: KiB of the file system.
used() {
	sync -f "$1"
	df -k --output=used "$1" | tail -n 1
}

fill_tree() {
	mkdir "$1" "$1/d"
	fill 20000000 1 >"$1/large"
	fill 65536 2 >"$1/d/just"
	fill 65535 3 >"$1/d/less"
	: >"$1/empty"
	ln -s large "$1/link"
	truncate -s 4M "$1/sparse" && fill 100000 4 >>"$1/sparse" && truncate -s 9M "$1/sparse"
	chown 1000:1000 "$1/large" && chmod 4711 "$1/large"
	setfattr -n user.k -v v "$1/large"
	touch -d '2001-02-03 04:05:06.123456789' "$1/large"
}

for type in xfs btrfs; do
	context=$type
	on_filesystem $type fs || continue
	fill_tree fs/src
	before=$(used fs)
	for how in always auto; do
		context="$type, --reflink=$how"
		tarpipe --reflink=$how fs/src fs/dst-$how
		assert_status 0
		assert_silent
		assert_same_tree fs/src fs/dst-$how
	done
	ok 'takes no room' test $(($(used fs) - before)) -lt 8000
	context="$type, --reflink=never"
	before=$(used fs)
	tarpipe --reflink=never fs/src fs/dst-never
	assert_status 0
	assert_same_tree fs/src fs/dst-never
	ok 'takes room' test $(($(used fs) - before)) -gt 18000

	# More of them than can be under way at once.
	context="$type, many"
	mkdir fs/many fs/many/a fs/many/b
	split -b 70000 -a 3 fs/src/large fs/many/a/
	split -b 80000 -a 3 fs/src/large fs/many/b/
	tarpipe fs/many fs/dst-many
	assert_status 0
	assert_same_tree fs/many fs/dst-many
	context="$type, over what shares it"
	tarpipe --reflink=auto fs/src fs/dst-auto
	assert_status 0
	echo changed >fs/dst-auto/d/just
	is "$(head -c 65536 fs/src/d/just | cksum)" "$(fill 65536 2 | cksum)" 'a change stays in the copy'

	context="$type to another file system"
	for how in auto always; do
		tarpipe --reflink=$how fs/src other-$how
		if [ $how = auto ]; then
			assert_status 0
			assert_same_tree fs/src other-$how
		else
			assert_status 2
			assert_message '.*large: ' 'names what it can not do'
			assert_target large other-$how/link
			assert_missing other-$how/large
		fi
	done
	rm -rf other-auto other-always
	off_filesystem fs
done

context='ext4'
if on_filesystem ext4 fs; then
	fill_tree fs/src
	for how in auto never; do
		tarpipe --reflink=$how fs/src fs/dst-$how
		assert_status 0
		assert_silent
		assert_same_tree fs/src fs/dst-$how
	done
	context='ext4, --reflink=always'
	tarpipe --reflink=always fs/src fs/dst-always
	assert_status 2
	assert_message '.*large: .*: Operation not supported'
	assert_well_formed
	assert_missing fs/dst-always/large
	assert_target large fs/dst-always/link
fi

context=
tarpipe --reflink=perhaps src dst
assert_status 64
assert_message '.*perhaps'

# Whatever the kernel refuses, the file arrives by reading.
can_trace || { skip 'strace may not trace here'; done_testing; }
fill_tree src
for error in EXDEV EOPNOTSUPP ENOSYS EINVAL EPERM EBADF EIO; do
	context="copy_file_range says $error"
	traced -e inject=copy_file_range:error=$error -P large -P "$work/src/large" \
		tarpipe src dst-$error
	case $error in
	EIO) assert_status_in 0 2 ;;
	*) assert_status 0 ;;
	esac
	[ "$status" -ne 0 ] || assert_same_tree src dst-$error
	rm -rf dst-$error
done
context='copy_file_range copies nothing'
traced -e inject=copy_file_range:retval=0 -P large -P "$work/src/large" tarpipe src dst-zero
assert_status 0
assert_same_tree src dst-zero
done_testing
