#!/bin/sh
# comparestream.sh: a tar stream against a tree, and the truth about the stream.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4
make_everything src
rm -f src/sizes/20000000
find src -type s -delete
"$TARPIPE" -c src >s.tar 2>/dev/null
tarpipe --compare -f s.tar src
assert_status 0 'a tree equals what was packed of it'
is "$(cat "$out")" '' 'nothing is told'
assert_silent
launch sh -c '"$0" --compare -f - src <s.tar' "$TARPIPE"
assert_status 0 'from standard input'
launch sh -c 'gzip -1 <s.tar | "$0" --compare -f - src' "$TARPIPE"
assert_status 0 'compressed'
mkdir unpacked
(cd unpacked && "$TARPIPE" -x --preserve=root -f ../s.tar)
tarpipe --compare -f s.tar unpacked
assert_status 0 'what was unpacked is what was in the stream'
assert_silent

rm -rf a b
mkdir -p a/d
fill 300000 1 >a/file
ln a/file a/d/link
truncate -s 1M a/holes
fill 5000 2 | dd of=a/holes seek=100 conv=notrunc status=none
ln -s file a/symlink
mkfifo a/fifo
"$TARPIPE" -c a >a.tar
remake() {
	rm -rf b
	cp -a a b
}
# sees WHAT LINE COMMAND...
sees() {
	sees_what=$1 sees_line=$2
	shift 2
	remake
	"$@"
	tarpipe --compare --no-preserve=times -f a.tar b
	assert_status 1 "sees $sees_what"
	is "$(cat "$out")" "$sees_line" '... and says so'
	assert_silent
}
sees 'a missing file' 'holes: missing' rm b/holes
sees 'a missing directory' 'd: missing
d/link: missing' rm -r b/d
sees 'a name too many' 'd/more: extra' touch b/d/more
sees 'a directory too many' 'more: extra' mkdir -p b/more/below
sees 'a changed byte' 'file: content: differs from byte 299999 on' \
	sh -c 'printf "\377" | dd of=b/file bs=1 seek=299999 conv=notrunc status=none'
sees 'a byte in a hole' 'holes: content: differs from byte 1000000 on' \
	sh -c 'printf x | dd of=b/holes bs=1 seek=1000000 conv=notrunc status=none'
sees 'another size' 'file: content: 300000 bytes became 5' truncate -s 5 b/file
sees 'a filled hole' 'holes: holes: 8192 bytes of data became 1048576' \
	sh -c 'cp --sparse=never a/holes b/holes'
sees 'a lost link' 'd/link: links: is not one file with file' sh -c 'rm b/d/link && cp a/file b/d/link'
sees 'another type' 'fifo: type: FIFO became directory' sh -c 'rm b/fifo && mkdir b/fifo'
sees 'another target' 'symlink: target: file became x' ln -sfn x b/symlink
sees 'a symlink on the way' 'd: type: directory became symlink
d/link: missing' sh -c 'mv b/d e && ln -s ../e b/d'
rm -rf e

remake
size=$(stat -c %s a.tar)
head -c $((size - 30000)) a.tar >cut.tar
tarpipe --compare -f cut.tar b
assert_status 3 'a stream that is cut is not equal'
(head -c 20000 a.tar && printf '\377' && tail -c +20002 a.tar) >flipped.tar
tarpipe --compare -f flipped.tar b
assert_status_in 1 2 3
ok '... and it is told' test -s "$out" -o -s "$err"
: >empty
tarpipe --compare -f empty b
assert_status_in 2 3
tarpipe --compare -f a.tar b c
assert_status 64 'one DST'
tarpipe --compare -f a.tar nowhere
assert_status 64 'which is there'
tarpipe --compare --exclude=d --exclude=fifo -f a.tar b
assert_status 0 'excludes'
(cd a && tar -cf ../up.tar --transform='s,^file$,../file,' -P file)
tarpipe --compare -f up.tar b
assert_status 2 'a path out of DST is not followed'
assert_message '\.\./file: not compared'
done_testing
