#!/bin/sh
# verify.sh: with --verify status 0 means that what was written reads back as it was read;
# what does not is named, with its first differing MiB.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

differs='reads back otherwise than it was read at the source: the MiB from byte'

# verified FILES DIFFER: --stats says so.
verified() {
	assert_message "verified $1 files?, .* read back; $2 differs?\$"
}

# ---- what is whole ------------------------------------------------------------------

mkdir -p tree/sub
: >tree/empty
echo small >tree/small
fill 1048576 1 >tree/mib
fill 1048575 2 >tree/less
fill 1048577 3 >tree/more
fill 40000000 4 >tree/sub/large
truncate -s 40M tree/hole
fill 100 5 >tree/sparse
truncate -s 5M tree/sparse
fill 3000000 6 >>tree/sparse
truncate -s 12M tree/sparse
truncate -s 2M tree/zeros
head -c 2097152 /dev/zero | dd of=tree/zeros conv=notrunc status=none
ln tree/small tree/sub/name
ln -s small tree/link
mkfifo tree/fifo
echo closed >tree/closed
chmod 0 tree/closed
echo set >tree/setid
chmod 4755 tree/setid
chmod 444 tree/more

# old DIR: all times in it are one, that of reading included.
old() {
	find "$1" -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
}

on_each() {
	for fs in ext4 xfs btrfs tmpfs; do
		context="on $fs"
		on_filesystem $fs fs 600m || continue
		"$@"
		context=
		off_filesystem fs
	done
}

whole() {
	for whole_how in copy stream gzip; do
		context="on $fs, $whole_how"
		rm -rf fs/dst
		old tree
		case $whole_how in
		copy) tarpipe --verify --stats tree fs/dst ;;
		stream) launch sh -c '"$0" -c tree | "$0" -x --verify --stats fs/dst' "$TARPIPE" ;;
		gzip) launch sh -c '"$0" -c -z tree | "$0" -x --verify --stats fs/dst' "$TARPIPE" ;;
		esac
		assert_status 0
		verified 11 0
		assert_no_message 'not read back'
		is "$(find fs/dst -type f -printf '%A@ %T@\n' | sort -u)" \
			'981173106.1234567890 981173106.1234567890' \
			'reading back leaves no trace in the times'
		assert_same_tree --except atime tree fs/dst
	done
	context="on $fs, by reference"
	cp -a tree fs/tree
	rm -rf fs/dst
	tarpipe --verify --stats fs/tree fs/dst
	assert_status 0
	verified 11 0
	assert_same_tree --except atime tree fs/dst
}
on_each whole

# ---- where it is asked for ----------------------------------------------------------

context='options'
tarpipe -c --verify tree
assert_status 64
tarpipe -t --verify -f x.tar
assert_status 64
tarpipe -x -O --verify -f x.tar
assert_status 64
mkdir one
echo 1 >one/file
tarpipe --verify --sync one dst-sync
assert_status 0
assert_silent
assert_same_file one/file dst-sync/file
echo 2 >dst-sync/file
tarpipe --verify -k one dst-sync
assert_status 0
assert_content 2 dst-sync/file

context='a hole of 3 GB'
truncate -s 3G one/hole
tarpipe --verify --stats one dst-hole
assert_status 0
verified 2 0
assert_blocks_at_most 8 dst-hole/hole

context='few descriptors'
mkdir many
(
	cd many || exit
	seq 1 3000 | split -l 1 -a 4 - f
)
for n in 40 256; do
	under prlimit --nofile=$n:$n tarpipe --verify --stats many "dst-$n"
	assert_status 0
	verified 3000 0
	ok 'same bytes' diff -r many "dst-$n"
done

context='another owner'
if can_be_user; then
	mkdir user
	chown "$user_id" user
	mkdir mine
	echo closed >mine/closed
	echo readable >mine/readable
	fill 3000000 7 >mine/large
	chmod 0 mine/closed
	chmod 400 mine/readable mine/large
	chown -R "$user_id" mine
	tarpipe -c -f mine.tar mine
	as_user tarpipe -x --verify --stats -f mine.tar user
	assert_status 0
	verified 3 0
	assert_mode 0 user/closed
	assert_mode 400 user/large
	is "$(cat user/closed)" closed 'its content'
fi

context='no room'
if on_filesystem tmpfs small 2m; then
	tarpipe --verify tree small/dst
	assert_status 3
	assert_nothing_left small
fi
done_testing
