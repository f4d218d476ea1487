#!/bin/sh
# unpack.sh: -x: streams of GNU tar become trees; what is refused, chosen, cut short, or
# does not fit.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

need_tool tar python3
tar --version 2>/dev/null | grep -q 'GNU tar' || skip_all 'tar is not GNU tar'

mkdir -p src/d/deep src/empty
echo one >src/d/one
echo new >src/d/deep/new
ln src/d/one src/hard
ln src/d/one src/d/deep/again
ln -s d/one src/link
ln -s /nowhere src/dangling
mkfifo src/fifo
: >src/none
fill 300 1 >src/small
fill 4096 2 >src/page
fill 5000000 3 >src/large
truncate -s 3M src/sparse
printf 'end' >>src/sparse
chmod 4711 src/small
chmod 750 src/d
find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
tar --format=posix --sort=name -C src -cf posix.tar ./small .
tar --format=gnu -C src -cf gnu.tar .
tar --format=ustar -C src -cf ustar.tar .
tar --format=posix -S -C src -cf sparse.tar .

context='pax'
tarpipe -x -f posix.tar posix
assert_status 0
assert_silent
assert_same_tree --except blocks src posix
assert_same_inode posix/hard posix/d/deep/again
for format in gnu ustar sparse; do
	context=$format
	tarpipe -x -f $format.tar $format
	assert_status 0
	assert_silent
	ok 'same contents' diff -r --no-dereference --exclude=fifo src $format
	assert_links 3 $format/hard
done
assert_blocks_at_most 64 sparse/sparse

context='a second time'
tarpipe -x -f posix.tar posix
assert_status 0
assert_silent
touch -r src posix		# it keeps its own, which has changed
assert_same_tree --except blocks src posix

context='from a pipe'
mkdir pipe
status=0
tar --format=posix -C src -cf - . | (cd pipe && timeout 60 "$TARPIPE" -x) 2>"$err" || status=$?
assert_status 0
touch -r src pipe
assert_same_tree --except blocks src pipe

context='what is listed'
tarpipe -x -v -f posix.tar listed
assert_output '^\./d/one$'
is "$(wc -l <"$out")" "$(tar -tf posix.tar | wc -l)" 'a line for each member'

# ---- existing names ----

context='-k'
mkdir kept
echo mine >kept/small
tarpipe -x -k -f posix.tar kept
assert_status 0
assert_content mine kept/small
assert_content one kept/hard
context='links of an old name'
mkdir over
echo old >over/outside
ln over/outside over/hard
tarpipe -x -f posix.tar over
assert_status 0
assert_content old over/outside
assert_same_inode over/hard over/d/one

context='--keep-directory-symlink'
mkdir -p linked/real
ln -s real linked/d
"$tools/make-tar" 'd|d|' 'f|d/a|a' 'h|d/b|d/a' 'h|c|d/a' >through.tar
tarpipe -x --keep-directory-symlink -f through.tar linked
assert_status 0
assert_silent
assert_same_inode linked/real/a linked/real/b
assert_same_inode linked/real/a linked/c
assert_target real linked/d

# ---- choosing ----

context='chosen members'
mkdir chosen
tarpipe -x -f posix.tar -C chosen './d/deep/new' nothing
assert_status 2
assert_message 'nothing: no member'
assert_content new chosen/d/deep/new
is "$(find chosen | sort | tr '\n' ' ')" 'chosen chosen/d chosen/d/deep chosen/d/deep/new ' 'and no others'
context='excluded'
tarpipe -x -f posix.tar --exclude=d --exclude=hard excluded
assert_status 0
assert_missing excluded/d excluded/hard
assert_same_file src/large excluded/large
context='leading components cut off'
tar --format=posix -cf long.tar src
tarpipe -x -f long.tar --strip-components=1 cut
assert_status 0
assert_silent
touch -r src cut
assert_same_tree --except blocks src cut

# ---- operands ----

context='operands'
for operands in 'new one' 'new a b'; do
	# shellcheck disable=SC2086 # words
	tarpipe -x -f posix.tar $operands
	assert_status 64
	assert_message ".*tarpipe -x -C $operands"
done
assert_missing new
tarpipe -x -f posix.tar no/parent
assert_status 64
ln -s nothing dangling
tarpipe -x -f posix.tar dangling
assert_status 64
tarpipe -x -f posix.tar src/small
assert_status 64
tarpipe -x -f posix.tar host:dir
assert_status 64
assert_message '.*ssh host tarpipe -x dir'
tarpipe -x -f posix.tar ''
assert_status 64
tarpipe -x -f posix.tar -C nothere
assert_status 64
tarpipe -x -f nothere.tar new
assert_status 3
assert_missing new
(cd / && launch "$TARPIPE" -x -f "$work/posix.tar"; echo "$status" >"$base/status")
is "$(cat "$base/status")" 64 'never into / by default'

# ---- cut short ----

size=$(stat -c %s posix.tar)
# Where the data of the large file are, among others.
for cut in 0 511 512 100000 2000000 $((size / 2)) $((size - 10240)); do
	context="cut after $cut bytes"
	head -c "$cut" posix.tar >cut.tar
	rm -rf cutdst
	tarpipe -x -f cut.tar cutdst
	assert_status 3
	is "$(find cutdst -name '.tarpipe-*' 2>/dev/null)" '' 'nothing temporary is left'
	# What is there is whole.
	diff -rq --no-dereference --exclude=fifo src cutdst 2>&1 |
		grep -v -e '^Only in src' >differs
	is "$(cat differs)" '' 'all that is there is whole'
done
context='a cut stream and an old file'
mkdir old
echo old >old/large
head -c $((size / 2)) posix.tar >cut.tar
tarpipe -x -f cut.tar old
assert_status 3
ok 'the old file or the new one' test "$(cat old/large | head -c 3)" = old -o \
	"$(stat -c %s old/large)" = 5000000

# ---- a full destination ----

if on_filesystem tmpfs full 1m; then
	context='a full destination'
	tarpipe -x -f posix.tar full/dst
	assert_status 3
	assert_told_once 'No space left'
	is "$(find full/dst -name large)" '' 'nothing that looks complete'
	off_filesystem full
	on_filesystem tmpfs full 1m
	context='a full destination, from a pipe'
	mkfifo feed
	(trap '' PIPE; cat posix.tar >feed 2>"$base/feed.err"; echo $? >"$base/feed.rc") &
	tarpipe -x -f feed full/dst
	assert_status 3
	wait
	is "$(cat "$base/feed.rc")" 0 'its writer ends in peace'
fi

# ---- interrupted ----

context='a signal while the writer sleeps'
mkfifo slow
start -x -f slow sig
exec 9>slow
head -c 4000000 posix.tar >&9
case $TARPIPE_FLAGS in
*-p*) wait_for test -d sig ;;	# it waits for a full ring
*) wait_for grep -q . sig/small ;;
esac
kill -TERM "$pid"
rc=0
wait "$pid" || rc=$?
exec 9>&-
is "$rc" 143 'dies of it, at once'
is "$(find sig -name '.tarpipe-*')" '' 'nothing temporary is left'

done_testing
