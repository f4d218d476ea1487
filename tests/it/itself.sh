#!/bin/sh
# itself.sh: a destination inside the source, or equal to it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/sub/below src/x
echo a >src/a
echo b >src/sub/b
fill 100000 1 >src/sub/large
echo x >src/x/x
ln -s src link-to-src
ln -s src/sub link-to-sub
ln -s ../../x src/sub/below/link-to-x
before=$(snapshot src)

# refused SRC DST
refused() {
	tarpipe "$@"
	assert_status 64 "refused: $*"
	assert_message '.*'
	is "$(snapshot src)" "$before" "nothing is changed by: $*"
}

refused src src
refused src/ src
refused src src/
refused src src/.
refused src/. src
refused src link-to-src
refused link-to-src src
refused src src/dst
refused src src/sub
refused src src/sub/
refused src src/sub/dst
refused src/ src/sub/below/dst
refused src link-to-sub/dst
refused src link-to-sub
refused src src/sub/below/link-to-x
refused src src/sub/../dst
refused src "$work/src/sub/dst"
refused src/sub src/
refused src/a src/a
refused src/a src/
refused src/a src
refused src/a src/sub/../a
cd src || exit 99
for dst in . ./copy copy sub/copy "$work/src/copy" ../src/copy; do
	tarpipe . "$dst"
	assert_status 64 "refused: . $dst"
	is "$(cd .. && snapshot src)" "$before" "nothing is changed by: . $dst"
done
cd ..

# The other way round it is an ordinary copy.
context='a source inside the destination'
mkdir around && cp -a src around/src
tarpipe around/src/ around
assert_status 0
assert_same_tree --extra --except mtime,links around/src around
assert_same_tree src around/src

context='names that begin alike'
mkdir a ab && echo a >a/f
tarpipe a ab/new
assert_status 0
tarpipe a a-copy
assert_status 0
assert_same_tree a a-copy

# A bind mount hides where the destination is: it is met in the walk.
context='by a bind mount'
mkdir mnt
if am_root && mount --bind src/x mnt 2>/dev/null; then
	will_unmount mnt
	tarpipe src/ mnt
	assert_status_in 0 2 64
	ok 'it ends, and is told' test -s "$err"
	is "$(find src -name sub -not -path 'src/x/*' | wc -l)" 1 'the source has what it had'
	ok 'nothing is copied into itself' test ! -e src/x/x/x -a ! -e src/x/x/a
	[ "$status" -eq 64 ] || assert_content b mnt/sub/b
else
	skip 'bind mounts need root'
fi

context='a new one by a bind mount'
if mountpoint -q mnt; then
	tarpipe src mnt/new
	assert_status 2
	assert_told_once 'src/x/new: left out: it is the destination'
	assert_content b mnt/new/sub/b
	assert_names mnt/new/x $(ls mnt | grep -vx new)
	assert_missing src/x/new/x/new
	rm -rf src/x/new
fi

# The packer knows nothing of where its stream goes.
context='by a stream'
mkdir many && for i in 1 2 3 4 5 6 7 8 9; do
	mkdir -p many/d$i/e && echo $i >many/d$i/e/f
done
for flags in '' --read-ahead=4; do
	# shellcheck disable=SC2086 # words
	timeout 20 "$TARPIPE" $TARPIPE_FLAGS $flags -c many 2>"$err" |
		timeout 20 "$TARPIPE" $TARPIPE_FLAGS -x many/new 2>>"$err"
	status=$?
	ok 'it ends' test "$status" -ne 124
	is "$(cat many/new/d[0-9]/e/f | tr -d '\n')" 123456789 'with all that there was'
	assert_missing many/new/new/new
	rm -rf many/new
done

# Each new directory would be found in the next one, for ever.
context='deep in itself, by a slow stream'
mkdir -p deep/d1 deep/d2/e
fill 300000 1 >deep/d1/f
fill 300000 2 >deep/d2/e/f
{
	timeout 30 "$TARPIPE" $TARPIPE_FLAGS -m 64k --write-rate=4m -c deep 2>"$err"
	echo $? >packed
} | timeout 30 "$TARPIPE" $TARPIPE_FLAGS -x deep/d2/e/new
ok 'it ends by itself' grep -qx '[01]' packed
ok 'it is not deeper than eight rounds' \
	test "$(find deep -printf '%d\n' | sort -n | tail -n 1)" -le 32
assert_same_file deep/d1/f deep/d2/e/new/d1/f
rm -rf deep/d2/e/new

# An overlay hides it as a bind mount does, and its files are others by number.
context='by an overlay'
mkdir -p lay/low lay/src lay/m
echo a >lay/low/a
echo s >lay/src/s
if am_root && on_filesystem tmpfs lay/src 8m && mkdir lay/src/up lay/src/work &&
	mount -t overlay -o "lowerdir=lay/low,upperdir=lay/src/up,workdir=lay/src/work" \
		overlay lay/m 2>/dev/null; then
	will_unmount lay/m
	echo s >lay/src/s
	tarpipe lay/src lay/m/new
	assert_status 64
	assert_message 'lay/m/new: lies within the source lay/src'
	assert_missing lay/src/up/new
	tarpipe lay/low lay/m/new
	assert_status 0 'from what it shows'
	mkdir lay/low/merged
	mount --bind lay/m lay/low/merged && will_unmount lay/low/merged
	tarpipe lay/low lay/low/merged/other
	assert_status 64
else
	skip 'no overlay can be mounted here'
fi
done_testing
