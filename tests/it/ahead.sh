#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ahead.sh: what is read ahead, by however many, changes nothing but the time it takes.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4

# ---- the same result ----

context='the same tree'
make_everything src
for n in 1 4 64; do
	tarpipe --read-ahead="$n" src "dst$n"
	assert_status 0
	assert_same_tree src "dst$n"
	rm -rf "dst$n"
done

# many DIR: files and directories, some below the other
many() {
	for i in 1 2 3 4 5 6 7 8 9; do
		for j in 1 2 3 4 5 6 7 8 9; do
			mkdir -p "$1/d$i/e$j"
			fill $((i * 700 + j)) "$j" >"$1/d$i/e$j/file"
			echo "$i$j" >"$1/d$i/$j.c"
			ln -s "../d$i" "$1/d$i/e$j/link"
		done
		fill 300000 "$i" >"$1/d$i/large"
		ln "$1/d$i/1.c" "$1/d$i/e9/other"
	done
}

# same_stream OPTION... : the bytes, and so the order, with helpers and without
same_stream() {
	tarpipe -c --read-ahead=off "$@"
	cp "$out" off.tar
	cp "$err" off.err
	off_status=$status
	for n in 1 3 64; do
		tarpipe -c --read-ahead="$n" "$@"
		assert_status "$off_status"
		ok "the same stream with $n: $*" cmp off.tar "$out"
		is "$(sort "$err")" "$(sort off.err)" "the same messages with $n: $*"
	done
}
context='the same order'
many tree
tarpipe -c -f first.tar tree	# symlinks have been read now, which shows in their atime
same_stream tree
same_stream --exclude 'e[3-5]' --exclude d7 tree
same_stream --strip-components=2 tree
(cd tree && find . -name '*.c' && echo d8 && echo ./d1/e2) >list
same_stream -C tree -T list
same_stream tree/d1 tree/d2/1.c tree/d3

context='a name each'
tarpipe -v --read-ahead=4 tree listed
is "$(sort "$out")" "$(find tree | sort)" '-v names all of it'

context='the smallest ring'
tarpipe -m 64k --read-ahead=64 tree small
assert_status 0
assert_same_tree tree small

# ---- short of descriptors ----

for n in 24 40 100; do
	context="$n descriptors"
	(
		ulimit -n "$n"
		"$TARPIPE" --read-ahead=64 tree "few$n" 2>few.err
	)
	is "$? $(cat few.err)" '0 ' 'all goes well'
	assert_same_tree tree "few$n"
	rm -rf "few$n"
done

context='deeper than descriptors'
(
	i=0
	while [ $i -lt 300 ]; do
		mkdir d f || exit
		echo $i >file
		echo $i >f/file
		cd d || exit
		i=$((i + 1))
	done
) <<-EOF
EOF
mkdir deep
mv d f file deep
(
	ulimit -n 40
	"$TARPIPE" --read-ahead=8 deep deeper 2>deep.err
)
is "$? $(cat deep.err)" '0 ' 'all goes well'
is "$(find deeper | wc -l)" "$(find deep | wc -l)" 'all of it is there'
rm -rf deep deeper

# ---- what can't be read ----

context='unreadable'
if can_be_user; then
	mkdir -p closed/d closed/e
	for i in 1 2 3 4 5 6 7 8 9; do
		echo $i >closed/$i
		echo $i >closed/e/$i
	done
	chmod 0 closed/3 closed/7 closed/e/5 closed/d
	chmod 755 . closed closed/e
	mkdir mine
	chown "$user_id" mine
	for n in off 4; do
		as_user tarpipe --read-ahead=$n closed mine/copy
		assert_status 2
		sort "$err" >closed.$n
		rm -rf mine/copy
	done
	is "$(cat closed.4)" "$(cat closed.off)" 'the same messages'
	is "$(wc -l <closed.4)" 4 'each once'
else
	skip 'needs root, to become another user'
fi

if can_trace; then
	context='failing calls'
	for what in openat:ENOENT:1 openat:EIO:2 openat:EMFILE:2; do
		call=${what%%:*} rest=${what#*:}
		traced -P file -P tree/d4/e5/file \
			-e inject="$call:error=${rest%:*}" tarpipe --read-ahead=4 tree failed
		assert_status "${rest#*:}"
		is "$(grep -c 'file: opening: ' "$err")" "$(find tree -name file | wc -l)" \
			"${rest%:*} is told once for each name"
		is "$(find failed -name file | wc -l)" 0 'none of them is there'
		is "$(find failed -name '*.c' | wc -l)" 81 'the others are'
		rm -rf failed
	done
	context='directories that fail'
	traced -P e5 -e inject=openat:error=EACCES tarpipe --read-ahead=4 tree failed
	assert_status 2
	is "$(grep -c '/e5: opening the directory: Permission denied' "$err")" 9 \
		'each is told'
	is "$(find failed/d1/e5)" failed/d1/e5 'and is there, empty'
	rm -rf failed
else
	skip 'strace may not trace here' 'failing calls'
fi

# ---- a source that takes its time ----

context='a slow source'
if ! am_root || ! [ -x "$TOP_BUILDDIR/tests/tools/faultfs" ] || ! [ -c /dev/fuse ]; then
	skip 'needs root, /dev/fuse and tests/tools/faultfs, which is built where fuse3 is'
	done_testing
fi
need_faultfs
rm -f tree/d*/large tree/d*/e9/other

# slow_source MS [RULE]: tree at ./slow, where each open, read and opendir takes MS
slow_source() {
	on_faultfs tree slow
	faults ${2:+"$2"} "open * slow=$1" "read * slow=$1" "opendir * slow=$1"
}
calls_of() {
	grep -c "^$1 " "$hits"
}
together() {
	awk '/ slow=/ && $NF > most { most = $NF } END { print most + 0 }' "$hits"
}

files=$(find tree -type f | wc -l)
directories=$(find tree -type d | wc -l)
for mode in copy -c; do
	context="a slow source, $mode"
	slow_source 5
	if [ $mode = copy ]; then
		tarpipe --stats slow fast
	else
		tarpipe -c --stats -f fast.tar slow
	fi
	off_filesystem slow
	assert_status 0
	assert_message 'read ahead by up to [0-9]+ helpers'
	ok 'several calls at one time' test "$(together)" -gt 3
	is "$(calls_of open)" "$files" 'each file is opened once'
	is "$(calls_of opendir)" "$directories" 'each directory, too'
done
ok 'the copy is whole' diff -r --no-dereference tree fast
tarpipe -x -f fast.tar unpacked
ok 'the stream is whole' diff -r --no-dereference tree unpacked

context='a slow source, without helpers'
slow_source 5
tarpipe --stats --read-ahead=off slow plain
off_filesystem slow
assert_no_message 'read ahead'
is "$(together)" 1 'one call at one time'

# The compressor's threads fill the ring, and the packer, which waits, must not touch it.
context='-c -z, read ahead'
slow_source 2
for round in 1 2 3; do
	tarpipe -c -z -m 1m -s 64k -j 4 --read-ahead=4 -f ahead.tar.gz slow
	assert_status 0
	assert_silent
	ok "whole, round $round" gzip -t ahead.tar.gz
	tarpipe --compare -f ahead.tar.gz tree
	assert_status 0
done
off_filesystem slow

# ---- a source that does not answer ----

for mode in copy -c; do
	context="a read that never comes back, $mode"
	slow_source 1 'read */7.c hang'
	if [ $mode = copy ]; then
		start --read-ahead=4 slow never
	else
		start -c --read-ahead=4 -f never.tar slow
	fi
	wait_for grep hang "$hits"
	kill -INT "$pid"
	before=$(date +%s)
	status=0
	wait "$pid" || status=$?
	assert_status 130
	ok 'at once' test $(($(date +%s) - before)) -le 2
	umount -l slow
	faults		# it comes back after all
	off_filesystem slow 2>/dev/null
	assert_missing never.tar
done
is "$(find never -name 7.c)" '' 'nothing of it is there'

done_testing
