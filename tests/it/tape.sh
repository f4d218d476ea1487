#!/bin/sh
# tape.sh: archives on a tape, the drive being a file on FUSE that answers as one.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

need_root
drive=$TOP_BUILDDIR/tests/tools/tapedrive
[ -x "$drive" ] || skip_all 'tests/tools/tapedrive is not built: fuse3 was not found'
[ -c /dev/fuse ] || skip_all 'there is no /dev/fuse'
need_tool mt tar
case $(mt --version 2>&1) in
*mt-st*) ;;
*) skip_all 'mt is not the one of mt-st' ;;
esac

# load [OPTION]...: a blank tape in ./cart, the drive as ./mnt/st0 and ./mnt/nst0
load() {
	rm -rf cart
	mkdir -p cart mnt
	"$drive" "$@" cart mnt || skip_all 'no FUSE file system can be mounted here'
	will_unmount mnt
}

unload() {
	off_filesystem mnt
}

# assert_tape WANT: what is on it, in runs, as in `16 rec 65536, 1 mark`
assert_tape() {
	is "$(uniq -c cart/index | sed 's/^ *//' | paste -sd , | sed 's/,/, /g')" "$1" \
		"on the tape: $1"
}

# records SIZE: how many records of SIZE the archive in ./plain.tar makes
records() {
	plain_size=$(stat -c %s plain.tar)
	echo $(((plain_size + $1 - 1) / $1))
}

mkdir -p tree/sub
fill 300000 1 >tree/a
fill 77777 2 >tree/sub/b
ln tree/a tree/sub/c
ln -s a tree/link
truncate -s 2M tree/sub/hole
touch -d '2001-02-03 04:05:06.123456789' tree/a tree/sub/b tree/sub

# ---- The drive by itself --------------------------------------------------

context='the drive'
load
is "$(mt -f mnt/nst0 status | grep -c 'BOT EOD ONLINE')" 1 'mt knows it'
tar -b 128 -cf mnt/st0 tree
tar -b 128 -cf plain.tar tree
assert_tape "$(records 65536) rec 65536, 1 mark"
is "$(tar -b 128 -tf mnt/st0)" "$(tar -tf plain.tar)" 'tar reads what it wrote'
ok 'mt goes to the end' mt -f mnt/nst0 eod
tar -b 20 -cf mnt/nst0 -C tree a
assert_tape "$(records 65536) rec 65536, 1 mark, 30 rec 10240, 1 mark"
mt -f mnt/nst0 rewind
mt -f mnt/nst0 fsf 1
is "$(tar -b 20 -tf mnt/nst0)" a 'the second file of the tape'
is "$(mt -f mnt/nst0 status | sed -n 's/^\(File.*\), part.*/\1/p')" \
	'File number=1, block number=30' 'tar leaves it before the mark'
ok 'bsfm goes to where the second file begins' mt -f mnt/nst0 bsfm 1
is "$(mt -f mnt/nst0 tell)" "At block $(($(records 65536) + 1))." 'which is there'
mt -f mnt/nst0 rewind
is "$(for _ in 1 2 3; do dd if=mnt/nst0 bs=1M status=none | wc -c; done | paste -sd ' ')" \
	"$(($(records 65536) * 65536)) 307200 0" 'a read ends at the mark, once'
for size in 1 511 65536 1048576; do
	head -c $((3 * size)) tree/a tree/sub/hole tree/sub/hole 2>/dev/null |
		head -c $((3 * size)) |
		dd of=mnt/st0 bs="$size" iflag=fullblock status=none
	assert_tape "3 rec $size, 1 mark"
	is "$(dd if=mnt/st0 bs=1M 2>&1 >/dev/null | sed -n 's/ records in//p')" \
		"$([ "$size" = 1048576 ] && echo 3+0 || echo 0+3)" "three reads give them"
done
ok 'a smaller read is refused' sh -c '! dd if=mnt/st0 of=/dev/null bs=1000k count=1'
mt -f mnt/nst0 setblk 1000
ok 'fixed blocks take a multiple' dd if=tree/a of=mnt/st0 bs=5000 count=2 status=none
assert_tape '10 rec 1000, 1 mark'
ok 'and nothing else' sh -c '! dd if=tree/a of=mnt/st0 bs=1500 count=1'
unload
load --capacity=100000
perl -e 'open F, ">", "mnt/st0" or die; $r = "x" x 30000;
	print syswrite(F, $r) ? "+" : "-" for 1 .. 10; print "\n"' >taken
is "$(cat taken)" '++++-+-+-+' 'early warning, then every other write'
unload
load --no-back
dd if=tree/a of=mnt/st0 bs=1000 count=3 status=none
ok 'it may be unable to go back' sh -c '! mt -f mnt/nst0 bsr 1'
unload


# ---- Archives, records of any size ---------------------------------------

load
for size in 10k 64k 256k 1m 512k; do
	context="records of $size"
	bytes=$(numfmt --from=iec "$(echo "$size" | tr mk MK)")
	rm -rf dst theirs
	tarpipe -c -f mnt/st0 -s "$size" tree
	assert_status 0
	assert_silent
	is "$(sort cart/index | uniq -c | sed 's/^ *[0-9]* //' | paste -sd ,)" \
		"mark,rec $bytes" 'all of one size, and one mark'
	ok 'tar reads it' sh -c 'mkdir theirs && tar -b "$1" -xpf mnt/st0 -C theirs' \
		sh $((bytes / 512))
	ok 'tar finds the same' diff -r --no-dereference tree theirs
	tarpipe -x -f mnt/st0 dst
	assert_status 0
	assert_silent
	assert_same_tree tree dst
	rm -rf dst
	tarpipe -x -f mnt/st0 -b 1 dst
	assert_status 0 'status 0 with a block that is too small'
	assert_same_tree tree dst
	tarpipe -t -f mnt/st0 -s 4m
	assert_status 0 'status 0 with a block that is too large'
	assert_output '^\./sub/hole$'
done

context='the default'
tarpipe -c -f mnt/st0 tree
assert_status 0
is "$(grep -vc -x -e 'rec 524288' -e mark cart/index)" 0 'records of 512 KiB'
tarpipe -c -f mnt/st0 -b 128 tree
is "$(grep -vc -x -e 'rec 65536' -e mark cart/index)" 0 '-b counts 512 bytes'

context='the small ring'
rm -rf dst
tarpipe -c -f mnt/st0 -m 1m -s 256k tree
assert_status 0
is "$(grep -vc -x -e 'rec 262144' -e mark cart/index)" 0 'splits no record'
tarpipe -x -f mnt/st0 -m 1m -s 256k dst
assert_status 0
assert_same_tree tree dst

context='compressed'
rm -rf dst
tarpipe -c -z -f mnt/st0 -s 64k tree
assert_status 0
is "$(grep -vc -x -e 'rec 65536' -e mark cart/index)" 0 'records of 64 KiB'
tarpipe -x -f mnt/st0 dst
assert_status 0
assert_silent
assert_same_tree tree dst

context="tar's"
for blocks in 20 128 2048; do
	rm -rf dst
	tar -b "$blocks" --format=posix -cf mnt/st0 -C tree .
	tarpipe -x -f mnt/st0 dst
	assert_status 0
	ok "-b $blocks comes whole" diff -r --no-dereference tree dst
done

# ---- Two archives --------------------------------------------------------

context='two archives'
mkdir one two
echo one >one/file
echo two >two/file
mt -f mnt/nst0 rewind
tarpipe -c -f mnt/nst0 -s 10k one
assert_status 0
tarpipe -c -f mnt/nst0 -s 64k two
assert_status 0
is "$(paste -sd , cart/index)" 'rec 10240,mark,rec 65536,mark' 'one after the other'
mt -f mnt/nst0 rewind
tarpipe -x -f mnt/nst0 d1
assert_content one d1/file
is "$(mt -f mnt/nst0 status | sed -n 's/^\(File number=[0-9]*\).*/\1/p')" \
	'File number=0' 'it is left before the mark, as tar leaves it'
mt -f mnt/nst0 fsf 1
tarpipe -x -f mnt/nst0 d2
assert_status 0
assert_content two d2/file
mt -f mnt/nst0 rewind
tarpipe -x -f mnt/nst0 d3
tarpipe -x -f mnt/nst0 d4
assert_status 0
assert_content two d4/file
tarpipe -x -f mnt/nst0 d5
assert_status 3 'status 3 where nothing follows'
unload

# ---- What goes wrong ------------------------------------------------------

context='no way back'
load --no-back
tarpipe -c -f mnt/st0 -s 64k tree
tarpipe -x -f mnt/st0 -s 10k d6
assert_status 3
assert_message "mnt/st0: read after 0 bytes: the record is larger than 10240 bytes.*-s or -b"
tarpipe -x -f mnt/st0 -s 64k d7
assert_status 0
assert_same_tree tree d7
unload

context='fixed blocks'
load --block=1024
tarpipe -c -f mnt/st0 -s 10000 tree
assert_status 64
assert_message 'mnt/st0: .*1024 bytes.*multiple'
tarpipe -c -f mnt/st0 -s 10k tree
assert_status 0
is "$(grep -vc -x -e 'rec 1024' -e mark cart/index)" 0 'they are what the drive has'
tarpipe -x -f mnt/st0 -b 1 d8
assert_status 0
assert_same_tree tree d8
unload

context='the end of the tape'
load --capacity=100000
tarpipe -c -f mnt/st0 -s 10k tree
assert_status 3
assert_told_once 'mnt/st0: write, 102400 bytes are safely out: No space left on device'
unload

context=
is "$(grep -c " $work/" /proc/mounts)" 0 'nothing is left mounted'
done_testing
