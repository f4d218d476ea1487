#!/bin/sh
# hostile.sh: streams that aim outside the destination: nothing there is made or changed,
# each is named, and everything else is unpacked.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

need_tool python3
make_tar() { "$tools/make-tar" "$@"; }

# What must stay as it is: $o, beside the destinations.
mkdir out out/dir out/q
o=$work/out
echo victim >out/v
chmod 600 out/v
chmod 700 out/dir
touch -d '2001-02-03 04:05:06.5' out/v out/dir out/q out
before=$(snapshot out)

# unpack NAME MEMBER...: into a new NAME, with a good file at the end.
unpack() {
	context=$1
	unpack_dir=$1
	shift
	make_tar "$@" 'f|zz|the rest' >"$base/in.tar"
	tarpipe -x -f "$base/in.tar" "$unpack_dir"
	is "$(snapshot out)" "$before" 'nothing outside has changed'
	assert_content 'the rest' "$unpack_dir/zz"
	assert_well_formed
}

# ---- names that lead out ----

n=0
for name in ../o a/../../o "$o/o" ./..//o .. a/.. /; do
	n=$((n + 1))
	unpack "name$n" "f|$name|bad"
	assert_status 2
	assert_names "name$n" zz
	assert_message '.*refused'
done
for kind in 'd|../o|' 's|../o|x' 'p|../o|' 'h|../o|zz' "d|$o/new|" 'f||nameless'; do
	n=$((n + 1))
	unpack "name$n" "$kind"
	assert_status 2
	assert_names "name$n" zz
done
long=$(printf '%0300d' 0)
unpack long "f|d/$long|bad" "d|$long|" "f|d/good|good"
assert_status 2
assert_content good long/d/good
is "$(grep -c 'name too long' "$err")" 2 'each is told' || true

# ---- symlinks that are met on the way ----

unpack through-link "s|m|$o/o" 'f|m|mine'
assert_status 0
assert_type 'regular file' through-link/m
assert_missing out/o

unpack through-dir "s|d|$o" 'f|d/o|bad' 'f|d/dir/o|bad' 'd|d/dir||mode=777'
assert_status 2
assert_target "$o" through-dir/d
assert_message '.*symbolic link to a directory'

unpack two-steps 's|d|.' 's|d/e|..' 'f|d/e/o|bad'
assert_status 2
assert_missing o

context='over two streams'
make_tar "s|d|$o" 's|e|..' >one.tar
make_tar 'f|d/o|bad' 'f|e/o|bad' 'd|d||mode=777' >two.tar
tarpipe -x -f one.tar two-streams
assert_status 0
tarpipe -x -f two.tar two-streams
assert_status 2
is "$(snapshot out)" "$before" 'nothing outside has changed'
assert_missing o
assert_target "$o" two-streams/d

unpack dir-then-link 'd|d|' "s|d|$o" 'f|d/o|bad'
assert_status 2
unpack full-then-link 'd|d|' 'f|d/x|x' "s|d|$o" 'f|d/o|mine'
assert_status 2
assert_type directory full-then-link/d
assert_content mine full-then-link/d/o

# ---- hard links ----

n=0
for target in "$o/v" ../out/v ../../out/v s/v s/../v a/../../out/v s . ''; do
	n=$((n + 1))
	unpack "link$n" "s|s|$o" "h|h|$target" "f|h|other|mode=4777|uid=$(id -u)|gid=$(id -g)"
	if [ "$target" = s ]; then
		assert_status 0
	else
		assert_status 2
	fi
	assert_content other "link$n/h"
	assert_links 1 "link$n/h"
done
unpack link-to-dir 'd|d|' 'f|d/f|f' 'h|h|d'
assert_status 2
assert_message '.*/h: refused'
assert_missing link-to-dir/h
unpack link-to-link 's|l|/etc/passwd' 'h|h|l' 'f|h|mine'
assert_status 0
assert_content mine link-to-link/h
assert_target /etc/passwd link-to-link/l
is "$(stat -c %h /etc/passwd)" 1 '/etc/passwd has no further name'

unpack link-with-data 'f|f|1234' 'h|h|f|data=1234' 'h|g|f|data=12345678'
assert_status 2
assert_same_inode link-with-data/f link-with-data/h
assert_content 1234 link-with-data/f
assert_told_once 'not.* those of the file'
unpack link-with-data-out "h|h|$o/v|data=evil"
assert_status 2
assert_missing link-with-data-out/h

# ---- what is done late ----

unpack late-dir 'd|d||mode=777' 'f|d/x|x' "s|d|$o/dir" 'd|p/q||mode=777' \
	"s|p|$o" 'f|p/q/o|mine'
assert_status 2
assert_type directory late-dir/p
unpack late-empty 'd|d||mode=777' "s|d|$o/dir" 'd|e||mode=777|mtime=5'
assert_status 0
assert_target "$o/dir" late-empty/d
assert_mode 777 late-empty/e
acl='u::rwx\nu:1:rwx\ng::rwx\nm::rwx\no::rwx'
unpack link-metadata "s|s|$o/v|mode=777|pax.SCHILY.acl.access=$acl|pax.SCHILY.xattr.user.k=v"
assert_type 'symbolic link' link-metadata/s

context='somebody swaps directories'
make_tar 'seq:d|d%d||mode=777;f|d%d/f|x|1|300' >swap.tar
mkdir swap
( i=0; while [ $i -lt 2000 ] && ! [ -e stop ]; do
	for d in swap/d*; do
		mv "$d" "$base/gone.$i" 2>/dev/null && ln -s "$o/dir" "$d"
		i=$((i + 1))
	done
done ) 2>/dev/null &
swapper=$!
tarpipe -x -f swap.tar swap
touch stop
wait "$swapper"
is "$(snapshot out)" "$before" 'nothing outside has changed'
assert_status_in 0 2

# ---- nothing that is asked for is lost ----

context='symlinks that point outside'
make_tar "s|l|$o/v" 's|m|../../..' >in.tar
tarpipe -x -f in.tar legit
assert_status 0
assert_target "$o/v" legit/l
assert_target ../../.. legit/m

context='bytes of a terminal in a name'
make_tar 'f|../e\x1b]0;x\x07\nfoo|bad' >in.tar
tarpipe -x -f in.tar bytes
assert_status 2
assert_well_formed

done_testing
