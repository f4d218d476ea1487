#!/bin/sh
# truth.sh: a stream that was cut, damaged or mixed up is told from a whole one, whoever
# made it.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/dir other
echo one >src/dir/one && ln src/dir/one src/dir/two && ln -s one src/dir/link
fill 3000 7 >src/dir/large
# Sizes at the edge of a block.
for size in 0 511 512 513 1024; do
	fill $size 3 >src/size-$size
done
echo other >other/other

size_of() {
	stat -c %s "$1"
}

# list_cut AT FILE: FILE's first bytes are listed; status and messages as of a run.
list_cut() {
	head -c "$1" "$2" >cut.tar
	tarpipe -t -f cut.tar
}

# ---- streams of our own ----

context='ours'
tarpipe -c -f s.tar src
assert_status 0
tarpipe -c -f other.tar other
whole=$(size_of s.tar)
tarpipe -t -f s.tar
assert_status 0
assert_silent
names=$(wc -l <"$out")

context='ours, by a pipe'
status=0
cat s.tar | "$TARPIPE" -t >got 2>said || status=$?
is "$status" 0 'status 0'
is "$(wc -l <got)" "$names" 'all names'

# The trailer is the last block that is not zero.
end=$(od -An -v -tx1 -w512 s.tar | awk '/[1-9a-f]/ { end = NR } END { print end * 512 }')

context='ours, cut'
bad=
at=0
while [ "$at" -lt "$end" ]; do
	list_cut "$at" s.tar
	[ "$status" -eq 3 ] && [ "$(wc -l <"$err")" -eq 1 ] || bad="$bad $at:$status"
	case $at in
	0) grep -q 'empty' "$err" ;;
	*) grep -q "at byte [0-9]" "$err" ;;
	esac || bad="$bad $at:message"
	at=$((at + 255))
done
is "$bad" '' 'status 3, one message with the offset'
bad=
at=512
while [ "$at" -lt "$end" ]; do
	list_cut "$at" s.tar
	[ "$status" -eq 3 ] || bad="$bad $at:$status"
	at=$((at + 512))
done
is "$bad" '' 'also between two blocks'
list_cut "$end" s.tar
assert_status 0 'without the padding it is whole'
assert_silent

context='ours, flipped'
bad=
at=0
while [ "$at" -lt "$whole" ]; do
	cp s.tar flipped.tar
	byte=$(od -An -tu1 -j "$at" -N 1 s.tar)
	# shellcheck disable=SC2059 # the format is made here
	printf "\\$(printf %03o $((byte ^ 1)))" |
		dd of=flipped.tar bs=1 seek="$at" conv=notrunc status=none
	tarpipe -t -f flipped.tar
	case $status in
	2 | 3) ;;
	*) bad="$bad $at:$status" ;;
	esac
	[ -s "$err" ] || bad="$bad $at:silent"
	at=$((at + 131))
done
is "$bad" '' 'each flipped bit is noticed'

context='ours, data damaged'
at=$(LC_ALL=C grep -a -b -o 'other' other.tar | tail -n 1 | sed 's/:.*//')
if [ -n "$at" ]; then
	cp other.tar flipped.tar
	printf O | dd of=flipped.tar bs=1 seek="$at" conv=notrunc status=none
	tarpipe -x --to-stdout -f flipped.tar
	assert_status 2
	assert_message 'flipped.tar: the checksum of bytes 0 to [0-9]+ is wrong'
	is "$(cat "$out")" Other 'what came is there all the same'
else
	skip 'the data were not found'
fi

# ---- what follows the end ----

context='junk'
{ cat s.tar && echo junk; } >junk.tar
tarpipe -t -f junk.tar
assert_status 2
assert_message "junk.tar: junk follows at byte $whole$"
is "$(wc -l <"$out")" "$names" 'all names'
tarpipe -t --ignore-zeros -f junk.tar
assert_status 2

context='two in a row'
cat s.tar other.tar >two.tar
tarpipe -t -f two.tar
assert_status 2
assert_message "two.tar: another archive follows at byte $whole: --ignore-zeros reads on$"
is "$(wc -l <"$out")" "$names" 'the names of the first'
tarpipe -t --ignore-zeros -f two.tar
assert_status 0
assert_silent
is "$(wc -l <"$out")" $((names + 2)) 'the names of both'
head -c $((whole + 1500)) two.tar >cut.tar
tarpipe -t --ignore-zeros -f cut.tar
assert_status 3

context='no archive'
fill 5000 1 >text
tarpipe -t -f text
assert_status 3
assert_message 'text: not a tar archive$'
: >empty
tarpipe -t -f empty
assert_status 3
assert_message 'empty: empty: no archive$'
# One that is compressed and cut before the first byte is not called empty as well.
mkdir tiny
tarpipe -c --bzip2 -f tiny.tbz tiny
head -c 60 tiny.tbz >tiny.cut
tarpipe -t -f tiny.cut
assert_status 3
assert_message 'tiny\.cut: bzip2 data is cut'
is "$(wc -l <"$err")" 1 'one message'
head -c 10240 /dev/zero >zeros
tarpipe -t -f zeros
assert_status 0 'end marks alone are an archive'

# ---- others' ----

# made WORDS TOOL COMMAND: whole.tar is whole, and its parts are not.
made() {
	context=$1
	if ! have "$2"; then
		skip "$2 is not installed"
		return
	fi
	rm -f whole.tar
	(cd src && eval "$3") >"$base/lib/said" 2>&1 || diag_lines 5 <"$base/lib/said"
	tarpipe -t -f whole.tar
	assert_status 0
	assert_silent
	made_end=$(od -An -v -tx1 -w512 whole.tar |
		awk '/[1-9a-f]/ { end = NR } END { print end * 512 }')
	bad=
	for at in 1 100 511 512 513 1000 1024 1500 1536 2048 2500 $((made_end - 512)) \
		$((made_end - 1)) "$made_end" $((made_end + 1)) $((made_end + 511)) \
		$((made_end + 512)) $((made_end + 1023)); do
		list_cut "$at" whole.tar
		[ "$status" -eq 3 ] || bad="$bad $at:$status"
		grep -q "cut off at byte $at" "$err" || [ "$at" -lt 512 ] ||
			bad="$bad $at:message"
	done
	is "$bad" '' 'cut: status 3'
	list_cut $((made_end + 1024)) whole.tar
	assert_status 0 'whole with its end marks'
	{ head -c $((made_end + 512)) whole.tar && cat whole.tar; } >lone.tar
	tarpipe -t -f lone.tar
	assert_status 2 'a lone zero block: status 2'
	assert_message 'lone.tar: a lone zero block before byte'
	tarpipe -t --ignore-zeros -f lone.tar
	assert_status 0 'and passed over where asked'
	cat whole.tar whole.tar >two.tar
	tarpipe -t -f two.tar
	assert_status 2 'two in a row: status 2'
	cp whole.tar flipped.tar
	printf '\377' | dd of=flipped.tar bs=1 seek=5 conv=notrunc status=none
	tarpipe -t -f flipped.tar
	assert_status 3 'a damaged header: status 3'
}
made 'GNU tar' tar 'tar -cf ../whole.tar .'
made 'GNU tar, posix' tar 'tar --format=posix -cf ../whole.tar .'
made 'GNU tar, v7' tar 'tar --format=v7 -cf ../whole.tar .'
made bsdtar bsdtar 'bsdtar -cf ../whole.tar .'
made python python3 "python3 -c '
import tarfile
f = tarfile.open(\"../whole.tar\", \"w\")
f.add(\".\")
f.close()'"
made cpio cpio 'find . | cpio --quiet -o -H ustar >../whole.tar'
made pax pax 'pax -w -x ustar -f ../whole.tar .'
made busybox busybox 'busybox tar -cf ../whole.tar .'

context='the writer does not die'
{
	sh -c 'trap "" PIPE; cat whole.tar && head -c 3000000 /dev/zero; echo $? >rc' |
		"$TARPIPE" -t >got 2>said
	echo $? >rc2
} 2>/dev/null
is "$(cat rc) $(cat rc2)" '0 0' 'zeros behind the end are taken'
done_testing
