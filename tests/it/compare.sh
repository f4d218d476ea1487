#!/bin/sh
# compare.sh: --compare tells each way in which trees differ, and agrees with others:
# compare-trees, rsync and diff.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4

mkdir -p src/dir/empty src/links/far
fill 5000 1 >src/file
fill 700000 2 >src/large
: >src/none
fill 100 3 >src/links/one
ln src/links/one src/links/far/two
fill 100 4 >src/links/other
ln -s file src/symlink
mkfifo src/fifo
truncate -s 4M src/holes
printf x | dd of=src/holes bs=1 seek=2000000 conv=notrunc status=none
fill 2000 5 >'src/dir/odd
name'
touch -d '2001-02-03 04:05:06.123456789' src/file
touch -h -d '2002-02-03 04:05:06.5' src/symlink
chmod 4711 src/none
if holds_xattrs src; then
	setfattr -n user.one -v 1 src/file
	setfattr -n user.dir -v 1 src/dir
	setfacl -m u:1000:rwx src/large
	setfacl -d -m u:1000:rwx src/dir
	attributes=yes
fi
if am_root && can_make_nodes; then
	mknod src/node c 1 3
	chown 3:4 src/links/other
fi

remake() {
	rm -rf dst
	cp -a src dst
}
remake

rsync_sees() {
	[ -n "$(rsync -aHAXn --checksum --modify-window=-1 --delete -i src/ dst/ 2>&1)" ]
}
diff_sees() {
	! diff -r --no-dereference -x node src dst 2>&1 | grep -v 'a fifo while file dst/fifo is a fifo' | cmp -s - /dev/null
}
others_see() {
	case " $judges " in
	*' trees '*) ok '... compare-trees, too' sh -c "! sh '$tools/compare-trees' src dst" ;;
	esac
	case " $judges " in
	*' rsync '*) ! have rsync || ok '... rsync, too' rsync_sees ;;
	esac
	case " $judges " in
	*' diff '*) ok '... diff, too' diff_sees ;;
	esac
}

tarpipe --compare src dst
assert_status 0 'equal trees are equal'
is "$(cat "$out")" '' 'of equal trees nothing is told'
assert_silent
assert_same_tree src dst
assert_rsync_agrees src dst
ok 'diff agrees' diff -r --no-dereference -x fifo -x node src dst
tarpipe --compare src src
assert_status 0 'a tree equals itself'

# sees WHAT JUDGES LINE COMMAND...: after the command, which changes dst, that line is
# told and no other of that name; the judges see something, too.
sees() {
	sees_what=$1 judges=$2 sees_line=$3
	shift 3
	if ! "$@"; then
		fail "makes $sees_what"
		return
	fi
	tarpipe --compare src dst
	assert_status 1 "sees $sees_what"
	# the directory's own time may have changed with it
	is "$(grep -v -E '^(\.|dir|links|links/far): times: ' "$out")" "$sees_line" '... and says so'
	assert_silent
	others_see
	tarpipe --compare -q src dst
	assert_status 1 '... with -q by the status'
	is "$(cat "$out" "$err")" '' '... alone'
	remake
}
same_time() {
	touch -h -r "src/$1" "dst/$1"
}

sees 'a missing file' 'trees rsync diff' 'file: missing' rm dst/file
sees 'a missing directory' 'trees rsync diff' 'dir: missing' rm -r dst/dir
sees 'a file too many' 'trees rsync diff' 'dir/more: extra' touch dst/dir/more
sees 'a directory too many' 'trees rsync diff' 'more: extra' mkdir -p dst/more/below
sees 'a changed byte under the same size and time' 'trees rsync diff' \
	'large: content: differs from byte 654321 on' \
	sh -c 'printf "\377" | dd of=dst/large bs=1 seek=654321 conv=notrunc status=none &&
		touch -r src/large dst/large'
sees 'a byte too few' 'trees rsync diff' 'large: content: 700000 bytes became 699999' \
	sh -c 'truncate -s 699999 dst/large && touch -r src/large dst/large'
sees 'a byte in a hole' 'trees rsync diff' 'holes: content: differs from byte 3000000 on' \
	sh -c 'printf x | dd of=dst/holes bs=1 seek=3000000 conv=notrunc status=none &&
		touch -r src/holes dst/holes'
sees 'another type' 'trees rsync diff' 'fifo: type: FIFO became file' \
	sh -c 'rm dst/fifo && : >dst/fifo'
sees 'a file for a directory' 'trees rsync diff' 'dir: type: directory became file' \
	sh -c 'rm -r dst/dir && : >dst/dir'
sees 'another mode' 'trees rsync' 'file: mode: 0644 became 0640' chmod 640 dst/file
sees 'a lost setuid bit' 'trees rsync' 'none: mode: 4711 became 0711' chmod u-s dst/none
sees 'another mtime, by a nanosecond' 'trees rsync' \
	'file: times: mtime 981173106.123456789 became 981173106.123456788' \
	touch -d '2001-02-03 04:05:06.123456788' dst/file
sees 'another mtime of a symlink' 'trees rsync' \
	'symlink: times: mtime 1012709106.500000000 became 1012709107.000000000' \
	touch -h -d '2002-02-03 04:05:07' dst/symlink
sees 'another target' 'trees rsync diff' 'symlink: target: file became large' \
	sh -c 'ln -sfn large dst/symlink && touch -h -r src/symlink dst/symlink'
sees 'names that are two files' 'trees rsync' 'links/far/two: links: is not one file with links/one' \
	sh -c 'cp -p dst/links/one t && mv t dst/links/far/two'
sees 'names that are one file' 'trees' 'links/far/same: links: is one file with links/other' \
	sh -c 'fill() { seq "$2" 7 99999999 | head -c "$1"; }
		fill 100 4 >src/links/far/same && chown --reference=src/links/other src/links/far/same &&
		touch -r src/links/other src/links/far/same &&
		touch -r src/links/far dst/links/far && ln dst/links/other dst/links/far/same'
rm -f src/links/far/same
remake
sees 'a filled hole' 'trees' "holes: holes: 4096 bytes of data became 4194304" \
	sh -c 'cp -p --sparse=never dst/holes t && mv t dst/holes'
sees 'a name that differs in an odd byte' 'trees rsync diff' 'dir/odd\nname: missing
dir/odd\tname: extra' mv 'dst/dir/odd
name' 'dst/dir/odd	name'
if [ "${attributes:-}" ]; then
	sees 'a lost attribute' 'trees rsync' 'file: xattr: user.one is missing' \
		setfattr -x user.one dst/file
	sees 'a changed attribute of a directory' 'trees rsync' 'dir: xattr: user.dir differs' \
		setfattr -n user.dir -v 2 dst/dir
	sees 'an attribute too many' 'trees rsync' 'none: xattr: user.more is extra' \
		setfattr -n user.more -v 2 dst/none
	sees 'another ACL' 'trees rsync' 'large: mode: 0674 became 0664
large: acl: access differs' setfacl -m u:1000:rw- dst/large
	sees 'a lost default ACL' 'trees rsync' 'dir: acl: default is missing' setfacl -k dst/dir
else
	skip 'no attributes here' 'attributes and ACLs'
fi
if [ -e src/node ]; then
	sees 'another owner' 'trees rsync' 'links/other: owner: 3:4 became 3:5' chgrp 5 dst/links/other
	sees 'another device' 'trees rsync' 'node: device: 1:3 became 1:5' \
		sh -c 'rm dst/node && mknod dst/node c 1 5 && touch -r src/node dst/node'
else
	skip 'needs root' 'owners and devices'
fi

# ---- what is compared is what a copy would make ----

context='operands'
touch dst/more
tarpipe --compare src/ dst
assert_status_in 0 1
is "$(grep -c extra "$out")" 0 'SRC/ DST: what DST has besides is no difference'
remake
mkdir into
cp -a src into/src
cp -a src/file into/other
tarpipe --compare src into/
assert_status 0 'SRC DIR/: DIR/SRC is compared, nothing beside it'
tarpipe --compare src/file dst
assert_status 0 'a file is compared with what it became'
tarpipe --compare src/file src/large dst/
assert_status 0 'several, too'
tarpipe --compare src/file dst/large
assert_status 1 'a file that is another'
tarpipe --compare src nowhere
assert_status 64 'DST has to be there'
tarpipe --compare src
assert_status 64 'one operand is too few'
tarpipe --compare nowhere dst
assert_status 64 'SRC has to be there'
tarpipe --compare -c src
assert_status 64 'one mode at a time'
tarpipe --compare host:src dst
assert_status 64 'no host'
assert_no_message 'tarpipe -x' 'shows no command that would write'
context=

context='choices'
chmod 600 dst/file
touch dst/file
tarpipe --compare --no-preserve=mode,times src dst
assert_status 0 'parts that are not wanted'
tarpipe --compare --exclude=file src dst
assert_status 0 'names that are not wanted'
touch dst/dir/skipped
tarpipe --compare --exclude=file --exclude=skipped --no-preserve=times src dst
assert_status 0 '... also when only DST has them'
echo links >list
tarpipe --compare -T list src dst
assert_status 0 'only names of a list'
echo file >list
tarpipe --compare -T list src dst
is "$(cut -d: -f1,2 "$out")" 'file: mode
file: times' '... and these'
remake
touch -d '2001-02-03 04:05:06' dst/file
tarpipe --compare --modify-window=1 src dst
assert_status 0 'fractions of a second may be lost'
touch -d '2001-02-03 04:05:08' dst/file
tarpipe --compare --modify-window=1 src dst
assert_status 1 'but no more'
remake
chmod 700 dst
tarpipe --compare --no-preserve=root src dst
assert_status 0 'the top itself may be left out'
remake
context=

# ---- nothing is changed, no access time either ----

touch -a -d '2000-01-01' dst/file src/file
tarpipe --compare src dst
is "$(stat -c %X dst/file src/file | sort -u)" 946684800 'access times stay'

# ---- no noise between file systems ----

context=
for type in ext4 xfs btrfs tmpfs; do
	if ! have "mkfs.$type" && [ $type != tmpfs ]; then
		skip "mkfs.$type is not installed" "on $type"
		continue
	fi
	on_filesystem $type "fs-$type" || continue
	tarpipe src "fs-$type/copy"
	copied=$status
	tarpipe --compare src "fs-$type/copy"
	if [ "$copied" = 0 ]; then
		assert_status 0 "$type: what was copied with status 0 is equal"
		is "$(cat "$out" "$err")" '' "$type: nothing is told"
	else
		assert_status 1 "$type: what was lost is seen"
	fi
	tarpipe --compare "fs-$type/copy" src
	assert_status_in "$copied" 1
	off_filesystem "fs-$type"
done

# ---- deep trees, few descriptors ----

if have python3; then
	python3 - <<'END'
import os
top = os.getcwd()
for tree in 'deep1', 'deep2':
    os.chdir(top)
    os.mkdir(tree)
    os.chdir(tree)
    for i in range(3000):
        open('f', 'w').close()
        os.utime('f', (1, 1))
        if tree == 'deep2' and i == 2999:
            os.chmod('f', 0)
        os.mkdir('d' * 20)
        os.chdir('d' * 20)
END
	under sh -c 'ulimit -n 64; exec "$@"' sh tarpipe --compare --no-preserve=times deep1 deep2
	assert_status 1 '3,000 levels with 64 descriptors'
	is "$(wc -l <"$out")" 1 'the only difference is at the bottom'
	ok '... and told' grep -q '/f: mode: 0644 became 0000$' "$out"
	assert_silent
	rm -rf deep1 deep2
else
	skip 'no python3' 'deep trees'
fi

# ---- trouble ----

if can_be_user; then
	chmod 000 dst/large
	chmod 711 "$work"
	as_user tarpipe --compare --no-preserve=mode,special src dst
	assert_status 2 'what may not be read is trouble, not sameness'
	assert_message 'dst/large: opening: Permission denied'
	remake
else
	skip 'needs root' 'what may not be read'
fi
if can_trace; then
	traced -e inject=pread64:error=EIO:when=1 -P dst/large -P "$PWD/dst/large" \
		tarpipe --compare src dst
	assert_status 2 'a read error is trouble'
	assert_message 'dst/large: reading at byte 0: Input/output error'
	traced -e inject=getdents64:error=EIO:when=1 -P "$PWD/src/dir" tarpipe --compare src dst
	assert_status 2 'a directory that is not read is trouble'
	assert_message 'src/dir: reading the directory: Input/output error'
else
	skip 'strace may not trace here' 'read errors'
fi
tarpipe --compare src dst
assert_status 0 'and at the end all is as it was'
done_testing
