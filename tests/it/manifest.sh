#!/bin/sh
# manifest.sh: the list that --manifest writes, read by others; theirs, read by us.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4
mkdir -p 'src/a dir/below' src/links/far
: >src/none
fill 3000 1 >src/small
fill 3000000 2 >src/large
truncate -s 2M src/holes
printf x | dd of=src/holes bs=1 seek=1000000 conv=notrunc status=none
fill 50 3 >src/links/one
ln src/links/one src/links/far/two
ln -s 'a target with spaces' src/symlink
mkfifo src/fifo
for name in 'new
line' 'back\slash' '#hash' 'a=b' 'star*' "$(printf 'byte\377')" 'ümlaut' "tab	x" '..a'; do
	echo "$name" >"src/a dir/$name"
done
touch -d '1960-01-01' src/none
touch -h -d '2001-02-03 04:05:06.000000007' src/symlink
! { am_root && can_make_nodes; } || mknod src/node b 7 9
chmod 6755 src/small

# The list of a copy is that of its source, and stays true.
tarpipe --manifest=list src dst
assert_status 0
assert_silent
is "$(head -n 1 list)" '#mtree' 'it says what it is'
is "$(grep -c '^\.' list)" "$(find src -printf '.\n' | wc -l)" 'an entry for each name'
is "$(sed -n 's/^\.\/small .*sha256digest=//p' list)" "$(sha256sum <src/small | cut -d' ' -f1)" \
	'the sum of a small file'
is "$(sed -n 's/^\.\/large .*sha256digest=//p' list)" "$(sha256sum <src/large | cut -d' ' -f1)" \
	'... of one that went by reference'
is "$(sed -n 's/^\.\/holes .*sha256digest=//p' list)" "$(sha256sum <src/holes | cut -d' ' -f1)" \
	'... of one with holes'
is "$(sed -n 's/^\.\/links\/far\/two .*sha256digest=//p' list)" \
	"$(sha256sum <src/links/one | cut -d' ' -f1)" '... of a further name'
is "$(find . -maxdepth 1 -name '.*' ! -name .)" '' 'nothing temporary is left'

agrees() {
	tarpipe --compare --manifest="$1" "$2"
	assert_status 0 "$3"
	is "$(cat "$out" "$err")" '' '... with nothing to tell'
}
# What is read ahead has the same names and sums.
mkdir -p off ahead
for how in '' --strip-components=1 '--exclude=far'; do
	# shellcheck disable=SC2086 # a word, or none
	tarpipe --read-ahead=off $how --manifest=list-off src/links src/small off/
	# shellcheck disable=SC2086
	tarpipe --read-ahead=4 $how --manifest=list-ahead src/links src/small ahead/
	ok "the same list with look-ahead${how:+, $how}" cmp list-off list-ahead
	rm -r off ahead && mkdir off ahead
done
tarpipe --read-ahead=4 -c -f ahead.tar --manifest=list-ahead src
ok '... and with -c' cmp list list-ahead

agrees list dst 'the copy agrees with its list'
agrees list src '... and the source'
launch sh -c '"$0" --compare --manifest=- dst <list' "$TARPIPE"
assert_status 0 'from standard input'

tarpipe --reflink=never --manifest=list2 src dst2
is "$(sort list2)" "$(sort list)" 'read instead of referred to: the same list'
tarpipe -j 1 -m 64k --reflink=never --manifest=list3 src dst3
is "$(sort list3)" "$(sort list)" '... through a small ring'
launch sh -c '"$0" -c --manifest=list4 src >x.tar' "$TARPIPE"
assert_status 0 'a list of what is packed'
is "$(sort list4)" "$(sort list)" '... is the same'
launch sh -c '"$0" -c -z -C src --manifest=list5 links >x.tgz' "$TARPIPE"
assert_status 0 'with -C, compressed'
is "$(grep -c '^\./links' list5)" 4 '... it has the names of the members'
mkdir into
tarpipe --manifest=list6 src/links src/small into/
assert_status 0 'several sources'
agrees list6 into '... and what became of them'

# Others.
if have bsdtar; then
	is "$(LC_ALL=C.UTF-8 bsdtar -tf list | wc -l)" "$(find src -printf '.\n' | wc -l)" 'bsdtar lists it'
	(cd dst && LC_ALL=C.UTF-8 bsdtar -cf ../fromlist.tar --format=pax @../list) 2>"$err"
	tarpipe --compare --no-preserve=holes,xattr,acl,links -f fromlist.tar dst
	assert_status 0 'bsdtar packs what it lists'
	for options in all use-set,all indent,all; do
		bsdtar -C dst -cf theirs --format=mtree --options="mtree:sha256,$options" .
		agrees theirs dst "a list of bsdtar's ($options)"
	done
else
	skip 'bsdtar is not installed' "bsdtar's lists"
fi
if have mtree; then
	(cd dst && mtree -p . -f ../list) >theirs.out 2>&1
	is "$? $(cat theirs.out)" '0 ' 'mtree agrees with it'
	keys=type,mode,uid,gid,nlink,size,time,link,device,sha256
	(cd dst && mtree -c -p . -k "$keys") >theirs
	agrees theirs dst "a list of mtree's"
	mtree -C -k "$keys" -f theirs >full
	agrees full dst '... with full paths'
else
	skip 'mtree is not installed' "mtree's lists"
fi

# Differences.
sees() {
	sees_what=$1 sees_line=$2
	shift 2
	rm -rf dst
	cp -a src dst
	"$@"
	tarpipe --compare --no-preserve=times --manifest=list dst
	assert_status 1 "sees $sees_what"
	is "$(cat "$out")" "$sees_line" '... and says so'
}
sees 'a missing file' 'small: missing' rm dst/small
sees 'a name too many' 'links/more: extra' touch dst/links/more
sees 'another byte' 'large: content: has another sha256' \
	sh -c 'printf "\377" | dd of=dst/large bs=1 seek=2999999 conv=notrunc status=none'
sees 'another size' 'none: content: 0 bytes became 1' truncate -s 1 dst/none
sees 'another mode' 'small: mode: 6755 became 0755' chmod u-s,g-s dst/small
sees 'a lost link' 'links/far/two: links: is not one file with links/one' \
	sh -c 'cp dst/links/one t && mv t dst/links/far/two'
sees 'a link too many' 'small: links: 1 became 2
extra: extra' ln dst/small dst/extra
sees 'another target' 'symlink: target: a target with spaces became x' ln -sfn x dst/symlink
sees 'another type' 'fifo: type: FIFO became file' sh -c 'rm dst/fifo && : >dst/fifo'
sees 'an odd name' 'a dir/new\nline: missing' rm 'dst/a dir/new
line'
rm -rf dst

# What is not kept is not listed.
tarpipe --no-preserve=owner,times,mode --manifest=list7 src dst
ok 'no owner, times, modes' test "$(grep -c -E 'uid=|time=|mode=' list7)" = 0
rm -rf dst

# A list that is not complete gets no name.
echo old >old
if can_trace; then
	traced -e inject=pread64:error=EIO:when=1 -P "$PWD/src/small" \
		tarpipe --manifest=old src dst
	assert_status 2 'a file that can not be read'
	is "$(grep -c '^\./small' old)" 0 '... is not listed'
	rm -rf dst
else
	skip 'strace may not trace here' 'a file that can not be read'
fi
if on_filesystem tmpfs little 1M; then
	echo old >old
	tarpipe --manifest=old src little/dst
	assert_status 3 'a destination that is full'
	is "$(cat old)" old '... leaves the old list'
	rm -rf little/dst
fi
if on_filesystem tmpfs tiny 64k; then
	mkdir many
	(cd many && seq -f 'a-name-that-is-long-enough-to-fill-a-list-soon-%g' 1000 | xargs touch)
	tarpipe --manifest=tiny/list many many2
	assert_status 2 'a list that does not fit'
	assert_message 'tiny/list: writing the list: No space left'
	assert_names tiny
	ok '... the copy is whole' diff -r many many2
fi
tarpipe --manifest=nowhere/list src dst8
assert_status 64 'a list that can not be begun'
printf '#mtree\n./a type=file mode=99x\n' >bad
mkdir c && : >c/a
tarpipe --compare --manifest=bad c
assert_status 2 'a list that makes no sense is trouble'
assert_message '\./a: not compared'
: >bad
tarpipe --compare --manifest=bad c
assert_status 2 'an empty list is no list'
done_testing
