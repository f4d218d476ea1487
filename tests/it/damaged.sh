#!/bin/sh
# damaged.sh: a file that -c could not read whole does not look whole where its stream is
# unpacked: it is left out, or cut if it shrank, and told; other tars read on.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_faultfs
limit=20
mtime=981173106.123456789

mkdir src
fill 3000 1 >src/first
fill 4000000 2 >src/bad
fill 3000 3 >src/next
fill 2000 4 >src/short
truncate -s 2M src/holes
fill 300000 5 >>src/holes
truncate -s 4M src/holes
fill 3000 6 >src/zlast
touch -d "@$mtime" src/*
cp -a src kept
on_faultfs src from

# pack WANT ARG...: s.tar holds from's files in this order; $byte is where it failed.
pack() {
	pack_want=$1
	shift
	tarpipe -c -f s.tar "$@" -C from first bad next short holes zlast
	assert_status "$pack_want"
	assert_well_formed
	ok 'it came to that' test -s "$hits"
	byte=$(sed -n 's/.*reading at byte \([0-9]*\).*/\1/p' "$err" | tail -n 1)
	faults
}

# unpack WANT ARG...: of s.tar, into dst, which is new.
unpack() {
	unpack_want=$1
	shift
	rm -rf dst
	mkdir dst
	tarpipe -x -f s.tar -C dst "$@"
	assert_status "$unpack_want"
	assert_well_formed
	assert_nothing_left dst
}

# there NAME...: they are, exact, and nothing else.
there() {
	assert_names dst "$@"
	for there_name; do
		assert_same_file "kept/$there_name" "dst/$there_name"
		assert_mtime $mtime "dst/$there_name"
	done
}

# cut_to SIZE NAME: it is a true beginning, with its final metadata.
cut_to() {
	assert_size "$1" "dst/$2"
	ok 'a true beginning' cmp -n "$1" "kept/$2" "dst/$2"
	assert_mtime $mtime "dst/$2"
}

# restore NAME...: what a rule has shrunk.
restore() {
	for restore_name; do
		cp -p "kept/$restore_name" src/
	done
}

# ---- EIO ----

lost="bad: reading at byte [0-9]+, the rest is filled with zeros: Input/output error$"
for way in '' --zstd=1 '-m 64k' '-m 64k -s 8k'; do
	context="EIO in mid file${way:+, $way}"
	faults 'read bad at=2500000 EIO'
	# shellcheck disable=SC2086 # words
	pack 2 $way
	assert_message "$lost"
	assert_told_once .
	case $way in
	-m*) unpack 2 -m 64k -j 1 ;;
	*) unpack 2 ;;
	esac
	assert_message "bad: damaged from byte $byte on, where it could not be read when it was packed: left out$"
	assert_told_once .
	there first holes next short zlast
done

for way in gnu ustar; do
	context="EIO in mid file, $way"
	faults 'read bad at=2500000 EIO'
	pack 2 --format=$way
	assert_message "$lost"
	unpack 2
	assert_message "bad: damaged from byte $byte on"
	assert_names dst first holes next short zlast
done

context='EIO in a sparse file'
faults 'read holes at=2200000 EIO'
pack 2
unpack 2
assert_message "holes: damaged from byte $byte on, .*: left out$"
there bad first next short zlast

context='EIO at the first byte'
faults 'read bad EIO' 'read short EIO'
pack 2
is "$(tarpipe -t -f s.tar && tr '\n' ' ' <"$out")" 'first next holes zlast ' \
	'there is no such member'
unpack 0
there first holes next zlast

context='EIO in the last file'
faults 'read bad at=2500000 EIO'
tarpipe -c -f s.tar -C from first bad
assert_status 2
faults
unpack 2
there first
unpack 0 first
assert_silent
context='what is not wanted'
unpack 0 first
assert_silent
there first

context='what is there already'
faults 'read bad at=2500000 EIO'
pack 2
rm -rf dst
mkdir dst
echo old >dst/bad
tarpipe -x -f s.tar -C dst
assert_status 2
assert_content old dst/bad

for way in '' --unlink-first; do
	context="a second name${way:+, $way}"
	ln -f src/bad src/other
	faults 'read bad at=2500000 EIO'
	tarpipe -c -f s.tar -C from first bad other zlast
	assert_status 2
	faults
	rm src/other
	unpack 2 $way
	assert_message 'bad: damaged from byte [0-9]+'
	assert_names dst first other zlast
	assert_same_file kept/bad dst/other
done

# By a pipe, and its status at both ends.
context='a pipe'
faults 'read bad at=2500000 EIO'
rm -rf dst
launch sh -c '{ "$0" -c from; echo $? >rc; } | "$0" -x dst' "$TARPIPE"
assert_status 2
is "$(cat rc)" 2 'the packer has status 2, too'
faults
there first holes next short zlast

context='one archive after the other'
faults 'read bad at=2500000 EIO'
pack 2
cp s.tar damaged.tar
tarpipe -c -f whole.tar -C from bad
cat damaged.tar whole.tar >s.tar
unpack 2 --ignore-zeros
assert_message 'bad: damaged from byte'
there bad first holes next short zlast
cat whole.tar damaged.tar >s.tar
unpack 2 --ignore-zeros
there bad first holes next short zlast

# ---- who only looks ----

context='-t'
cp damaged.tar s.tar
tarpipe -t -f s.tar
assert_status 2
is "$(tr '\n' ' ' <"$out")" 'first bad next short holes zlast ' 'all names'
assert_message 'bad: damaged from byte [0-9]+ on, where it could not be read when it was packed: zeros stand there$'
assert_told_once .
tarpipe -t -f s.tar next
assert_status 0
assert_silent

context='--to-stdout'
tarpipe -x --to-stdout -f s.tar bad next
assert_status 2
assert_message 'bad: damaged from byte .*: zeros stand there$'
is "$(stat -c %s "$out")" 4003000 'all has its size'
ok 'what follows is true' sh -c 'tail -c 3000 "$1" | cmp - kept/next' sh "$out"

context='--compare'
tarpipe --compare -f s.tar kept
assert_status 2
assert_message 'bad: damaged from byte'
assert_output 'bad: content: differs from byte [0-9]+ on'
unpack 2
tarpipe --compare -f s.tar dst
assert_status 2
is "$(cat "$out")" 'bad: missing' 'the file that was left out'
assert_message 'bad: damaged from byte'

# ---- it shrank ----

for way in '' --gzip '-m 64k'; do
	context="it shrinks${way:+, $way}"
	faults 'read bad at=1900000 times=1 shrink' 'read short times=1 shrink'
	# shellcheck disable=SC2086 # words
	pack 1 $way
	assert_message 'bad: shrank by 2000000 bytes while it was read: filled with zeros$'
	restore bad short
	unpack 1
	assert_message 'bad: shrank to 2000000 bytes while it was packed: cut to them$'
	assert_message 'short: shrank to 1000 bytes while it was packed: cut to them$'
	is "$(wc -l <"$err")" 2 'and nothing else is said'
	assert_names dst bad first holes next short zlast
	cut_to 2000000 bad
	cut_to 1000 short
	assert_same_file kept/next dst/next
done
context='it shrinks, and others look'
tarpipe -t -f s.tar
assert_status 1
assert_message 'bad: shrank to 2000000 bytes while it was packed: zeros follow them$'
tarpipe --compare -f s.tar dst
assert_status 1
is "$(cat "$out")" '' 'what was unpacked is no other size'
assert_message 'bad: its content is not compared$'
tarpipe --compare -f s.tar kept
assert_status 1
assert_output 'bad: content: differs from byte 2000000 on$'

context='a sparse file shrinks'
faults 'read holes at=2200000 times=1 shrink'
pack 1
restore holes
unpack 1
cut_to 2097152 holes

# ---- the list beside it ----

context='--manifest'
faults 'read bad at=2500000 EIO' 'read short times=1 shrink'
pack 2 --manifest=list
restore short
is "$(grep -c bad list)" 0 'what is damaged is not listed'
ok 'what shrank has its new size' grep -q '^\./short .*size=1000 ' list
unpack 2
tarpipe --compare --no-preserve=root --manifest=list dst
assert_status 0 'it is true of what is unpacked'

# ---- cut behind the data ----

cp damaged.tar s.tar
mark=$(LC_ALL=C grep -a -b -o 'comment=tarpipe 1 damaged=' s.tar | head -n 1 | sed 's/:.*//')
mark=$((mark / 512 * 512 - 512))
for at in 0 511 512 1023; do
	context="cut $at bytes into the mark"
	head -c $((mark + at)) damaged.tar >s.tar
	unpack 3
	assert_message "s.tar: cut off at byte $((mark + at)), within bad$"
	there first
done
# No stream of ours has it; the checksum is another, too.
context='a link to what is left out'
ln kept/bad kept/secondname
tarpipe -c -f whole.tar -C kept bad secondname zlast
rm kept/secondname
behind=$(LC_ALL=C grep -a -b -o secondname whole.tar | head -n 1 | sed 's/:.*//')
{
	head -c "$behind" whole.tar
	tail -c +$((mark + 1)) damaged.tar | head -c 1024
	tail -c +$((behind + 1)) whole.tar
} >s.tar
unpack 2
assert_message 'bad: damaged from byte .*: left out$'
assert_message 'dst/secondname: not linked: .*No such file or directory$'
there zlast
context='the mark is damaged'
cp damaged.tar s.tar
printf '\377' | dd of=s.tar bs=1 seek=$((mark + 5)) conv=notrunc status=none
unpack 3
there first

# Of a whole stream the last file is complete when the end mark is there.
context='a stream that stands still'
tarpipe -c -f s.tar -C from first zlast
rm -rf dst
mkfifo pipe
"$TARPIPE" -x dst <pipe 2>/dev/null &
pid=$!
exec 3>pipe
head -c 8704 s.tar >&3
ok 'what is followed by a header is there' wait_for cmp kept/first dst/first
exec 3>&-
wait $pid
is $? 3 'it was cut'
rm pipe

# ---- other tars ----

# read_by WORDS STATUS SAYS COMMAND...: it unpacks s.tar into dst.
read_by() {
	context=$1
	read_status=$2
	read_says=$3
	shift 3
	if ! have "$1"; then
		skip "$1 is not installed"
		return
	fi
	rm -rf dst
	mkdir dst
	status=
	(cd dst && "$@" <../s.tar) >"$base/lib/said" 2>&1
	is "$?" "$read_status" "its status is $read_status"
	is "$(head -c 1000 "$base/lib/said" | cat -v)" "$read_says" 'it says what it always says'
	for read_name in first next short zlast; do
		assert_same_file "kept/$read_name" "dst/$read_name"
	done
	assert_size 4000000 dst/bad
	ok 'it has what could be read' cmp -n "$byte" kept/bad dst/bad
}

rm -f src/holes
: >src/holes
for format in pax gnu ustar; do
	faults 'read bad at=2500000 EIO'
	pack 2 --format=$format
	read_by "GNU tar, $format" 0 '' tar -xf -
	read_by "bsdtar, $format" 0 '' bsdtar -xf -
	read_by "busybox tar, $format" 0 '' busybox tar -xf -
	read_by "Python, $format" 0 '' python3 -c '
import sys, tarfile
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as t:
	t.extractall(".")'
	read_by "pax, $format" 0 '' pax -r
	# GNU cpio reads no other format of ours, marked or not.
	[ $format = gnu ] && read_by "cpio, $format" 0 '' cpio -iu --quiet
	read_by "bsdcpio, $format" 0 '' bsdcpio -i --quiet
done
done_testing
