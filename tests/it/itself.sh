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
done_testing
