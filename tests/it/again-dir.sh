#!/bin/sh
# again-dir.sh: directories that a stream names before, after, between or never.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

need_tool python3
make_tar() { "$tools/make-tar" "$@"; }

# unpack NAME MEMBER...
unpack() {
	context=$1
	unpack_dir=$1
	shift
	make_tar "$@" >in.tar
	tarpipe -x -j 4 -f in.tar "$unpack_dir"
	assert_status 0
	assert_silent
}

unpack before 'd|d||mode=750|mtime=1000' 'f|d/a|a' 'd|d/sub||mode=700|mtime=2000' 'f|d/sub/b|b'
assert_mode 750 before/d
assert_mtime 1000.000000000 before/d
assert_mode 700 before/d/sub
assert_mtime 2000.000000000 before/d/sub

unpack after 'f|d/a|a' 'f|d/sub/b|b' 'd|d/sub||mode=700|mtime=2000' 'd|d||mode=750|mtime=1000'
assert_mode 750 after/d
assert_mtime 1000.000000000 after/d
assert_mode 700 after/d/sub
assert_mtime 2000.000000000 after/d/sub

unpack both 'd|d||mode=700|mtime=1' 'f|d/a|a' 'f|x|x' 'd|d||mode=750|mtime=1000'
assert_mode 750 both/d
assert_mtime 1000.000000000 both/d

unpack late 'd|d||mode=555|mtime=1000' 'd|d/e||mode=711|mtime=2000' 'f|d/e/a|a' \
	'seq:f|other/f%d|x|1|400' 'f|d/e/late|late' 'f|d/late|late'
assert_content late late/d/late
assert_content late late/d/e/late
assert_mode 555 late/d
assert_mtime 1000.000000000 late/d
assert_mode 711 late/d/e
assert_mtime 2000.000000000 late/d/e

unpack never 'f|a/b/c|c'
assert_mode 755 never/a
assert_mode 755 never/a/b

unpack closed 'd|d||mode=000|mtime=7' 'f|d/f|f' 'f|x|x' 'f|d/g|g'
assert_mode 0 closed/d
assert_mtime 7.000000000 closed/d

context='attributes of a directory'
if holds_xattrs .; then
	unpack attributes 'd|d||mtime=3|pax.SCHILY.xattr.user.k=v' 'f|d/f|f' 'f|x|x' 'f|d/g|g'
	assert_xattr user.k v attributes/d
	assert_mtime 3.000000000 attributes/d
else
	skip 'no attributes here'
fi

# Existing ones keep theirs, when nothing says otherwise.
mkdir -p there/d/e
chmod 2710 there/d
touch -d '2001-02-03 04:05:06.123456789' there/d/e there/d
unpack there 'f|d/e/f|f' 'f|d/g|g'
assert_mode 2710 there/d
assert_mtime 981173106.123456789 there/d
assert_mtime 981173106.123456789 there/d/e
unpack there 'd|d||mode=755|mtime=9'
assert_mode 755 there/d
assert_mtime 9.000000000 there/d
assert_names there/d e g

context='umask'
(umask 077 && make_tar 'f|a/f|f' >in.tar && "$TARPIPE" -x -f in.tar masked)
assert_mode 700 masked/a

# ---- the destination itself ----

if am_root; then
	mkdir dst
	chmod 1777 dst
	chown 5:5 dst
	context='a destination that is there'
	make_tar 'd|./||mode=700|uid=1000|gid=1000|mtime=5' 'f|./f|f' >in.tar
	tarpipe -x -f in.tar dst
	assert_status 0
	assert_mode 1777 dst
	assert_owner 5:5 dst
	tarpipe -x --preserve=root -f in.tar dst
	assert_mode 700 dst
	assert_owner 1000:1000 dst
	assert_mtime 5.000000000 dst
	context='a destination that is made'
	tarpipe -x -f in.tar made
	assert_status 0
	assert_mode 700 made
	assert_owner 1000:1000 made
	assert_mtime 5.000000000 made
	tarpipe -x --no-preserve=root -f in.tar plain
	assert_mode 755 plain
	assert_owner 0:0 plain
else
	skip 'needs root' 'the destination itself'
fi
context='a destination that is made, of which nothing is said'
make_tar 'f|f|f' >in.tar
tarpipe -x -f in.tar bare
assert_mode 755 bare

# ---- as an ordinary user ----

context='directories that one may not enter, as a user'
if can_be_user; then
	make_tar 'd|ro||mode=555|mtime=4' 'f|ro/f|f|mode=444' 'd|no||mode=000|mtime=6' \
		'f|no/f|f' 'f|x|x' 'f|no/g|g' 'f|ro/g|g' >in.tar
	chmod 755 .
	chmod 644 in.tar
	mkdir mine
	chown "$user_id:$user_id" mine
	as_user tarpipe -x -f in.tar mine
	assert_status 0
	assert_silent
	assert_mode 555 mine/ro
	assert_mtime 4.000000000 mine/ro
	assert_mode 0 mine/no
	assert_mtime 6.000000000 mine/no
	assert_content g mine/no/g
	assert_mode 444 mine/ro/f
else
	skip 'needs root, to become another user'
fi

done_testing
