#!/bin/sh
# buffer.sh: the buffering stage alone does what buffer(1) does, and what its manual
# says where it does not; and what it can do beside.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

TARPIPE_FLAGS=

# stage ARG...: the stage, reading ./in
stage() {
	launch sh -c 'exec "$0" --buffer "$@" <in' "$TARPIPE" "$@"
}

# peer ARG...: the real one, reading ./in, in the same variables
peer() {
	launch sh -c 'exec "$0" "$@" <in' buffer "$@"
}

# assert_like_peer ARG...: the same bytes and the same status
assert_like_peer() {
	if ! have buffer; then
		skip 'buffer is not installed' "as buffer: $*"
		return
	fi
	stage "$@"
	cp "$out" ours
	ours="$status $(sed -n 's/^Kilobytes Out/&/p' "$err")"
	peer "$@"
	is "$ours" "$status $(sed -n 's/^Kilobytes Out/&/p' "$err")" \
		"status and total as buffer: $*"
	ok "bytes as buffer: $*" cmp "$out" ours
}

fill 2500000 3 >in

# ---- What is copied -----------------------------------------------------

context='copy'
stage
assert_status 0
assert_silent
assert_same_file in "$out"
: >empty && cp in saved && cp empty in
stage -t
assert_status 0
is "$(cat "$err")" 'Kilobytes Out 0' 'nothing in, nothing out'
mv saved in
for args in '' '-s 1k' '-s 701' '-s 512k' '-s 1b' '-s 512k -m 4m' '-b 1' '-b 1 -s 1' \
	'-b 2 -s 512k' '-m 8m -p 75' '-p 100' '-p 100 -b 1' '-p 50 -b 3' '-B -s 300k' \
	'-B' '-u 1 -s 100k' '-Z' '-t' '-z 100k' '-S 0' '-S 1m' '-m 64k' '-b 2048' \
	'-s 1K -m 1M' '-m 1m -b 2048'; do
	# shellcheck disable=SC2086 # words
	case $args in
	'-b 1 -s 1') head -c 3000 in >small; mv in big; mv small in
		assert_like_peer $args; mv big in ;;
	*) assert_like_peer $args ;;
	esac
done

context='pipes'
for args in '' '-s 512k' '-m 8m' '-s 100 -m 64k'; do
	# shellcheck disable=SC2086 # words
	is "$(cat in in in in | "$TARPIPE" --buffer $args | cksum)" \
		"$(cat in in in in | cksum)" "from pipe to pipe: ${args:-no options}"
done
is "$( (printf abc; sleep 0.1; printf de; sleep 0.1; printf f) |
	"$TARPIPE" --buffer -s 4 -d 2>"$err" | cat)" abcdef 'in small pieces'

# One that sleeps and one that reads late, at both kinds of ends.
is "$( (cat in; sleep 0.3; cat in in) | "$TARPIPE" --buffer -s 10k -m 64m |
	(sleep 0.3; cksum))" "$(cat in in in | cksum)" 'either side rests'

# ---- Blocks -------------------------------------------------------------

# Each read of the other side is told: only whole blocks are to be seen.
context='blocks'
blocks() {
	perl -e 'while (($n = sysread STDIN, $_, 1 << 20) > 0) { $odd++ if $n % 1000 }
		print $odd || 0'
}
is "$( (for n in 1 2 3 4 5; do head -c 700 in; sleep 0.05; done) |
	"$TARPIPE" --buffer -s 1000 | blocks)" 1 'only the last is short, through pipes'
is "$( (for n in 1 2 3 4 5; do head -c 700 in; sleep 0.05; done) |
	"$TARPIPE" --buffer -B -s 1000 | blocks)" 0 'padded, none is'
if can_trace; then
	traced -e trace=write tarpipe --buffer -s 100k -i in -o /dev/null
	is "$(grep -c 'write(.*102400) *= 102400' "$base/lib/trace")" 24 \
		'a device gets one write for each block'
	traced -e trace=read -P /dev/zero tarpipe --buffer -s 1000 -i /dev/zero -o /dev/full
	is "$(grep -E 'read\(.*= [0-9]+$' "$base/lib/trace" | grep -vc ', 1000)')" 0 \
		'a device is read block by block'
	truncate -s 2200000000 hole
	traced --seccomp-bpf -e trace=lseek -e inject=lseek:retval=0 \
		tarpipe --buffer -Z -s 512k -i hole -o /dev/null
	rm hole
	is "$(grep -c 'lseek(.*, 0, SEEK_SET)' "$base/lib/trace")" 2 \
		'-Z seeks after each GiB'
else
	skip 'strace may not trace here'
fi

# ---- Numbers ------------------------------------------------------------

context='what is told'
stage -t
is "$(cat "$err")" 'Kilobytes Out 2441' '-t'
stage -S 1m
is "$(tr '\r' '\n' <"$err" | sed '/^$/d; s/,.*//' | tr '\n' ' ')" \
	'      1030K       2050K       2441K ' '-S'
is "$(tr '\r' '\n' <"$err" | grep -cE '^ {6}[ 0-9]{4}K, [ 0-9?]{10}K/s$')" 3 '-S has the form'
stage -z 512k
is "$(tr '\r' '\n' <"$err" | sed '/^$/d; s/,.*//' | tr -s '\n ' '  ')" \
	' 512K 1024K 1536K 2048K 2441K ' '-z is -s and -S'
stage -d
assert_message '99 blocks of 10240 bytes' '-d tells the blocks: 99, as buffer has them'
stage -d -m 8m
assert_message '815 blocks of 10240 bytes' '815 in 8m'

context='refused'
while read -r args; do
	# shellcheck disable=SC2086 # words
	stage $args
	assert_status 255 "255: $args"
	is "$(wc -c <"$out") $(grep -c '^tarpipe: ' "$err")" '0 1' "one line, no output: $args"
done <<'END'
-s 0
-s 10x
-s -1
-s
-b 0
-b 10k
-p 101
-p 75x
-m 1
-m 10k
-b 2048 -m 1m
-m 2q
-u -5
-u 1.5
-S x
-i in -i in
-o /dev/null -o /dev/null
-Q
operand
--hash=md5
--read-rate=0
--low=101
--teeth
--help=no
-i missing
-o missing/file
--tee=missing/file
--log=missing/log
-m 100t
END

context='large'
truncate -s 3G hole
launch sh -c '"$0" --buffer -s 3g -m 7g <in' "$TARPIPE"
assert_status 0 'a block above 2 GiB'
assert_same_file in "$out"
launch sh -c '"$0" --buffer -m 5g -b 400000 <in' "$TARPIPE"
assert_status 0 'memory above 2 GiB, 400000 blocks'
assert_same_file in "$out"
launch "$TARPIPE" --buffer -s 512k -t -i hole -o /dev/null
is "$status $(cat "$err")" '0 Kilobytes Out 3145728' 'more than 2 GiB go through'
rm hole

context='files'
printf '%s' 'a longer thing' >target
launch "$TARPIPE" --buffer -i in -o target
assert_status 0
assert_same_file in target
launch "$TARPIPE" --buffer -i target -o target
assert_status 255 'a file is not copied on itself'
assert_same_file in target
launch "$TARPIPE" --buffer -i in -o target --tee target
assert_status 255 'nor is an output used twice'

context='the name'
ln -s "$TARPIPE" buffer
launch sh -c './buffer -t <in'
is "$status $(cat "$err")" '0 Kilobytes Out 2441' 'called buffer it is buffer'
launch ./buffer --help
assert_status 0
assert_output '--tee=FILE'

# ---- The marks ----------------------------------------------------------

# A steady source; when do its bytes come out?  Gaps of 0.25 s part the bursts.
bursts() {
	perl -MTime::HiRes=time -e '
		my ($last, @burst) = (0);
		while (($n = sysread STDIN, $_, 1 << 20) > 0) {
			my $now = time;
			push @burst, 0 if $now - $last > 0.25;
			$burst[-1] += $n; $last = $now;
		}
		print "@burst"'
}
# 20 blocks of 1000 bytes, a bit less than 20 a second
steady() {
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		head -c 1000 in
		sleep 0.05
	done
}
context='-p'
is "$(steady | "$TARPIPE" --buffer -s 1000 -b 10 -p 80 | bursts)" '8000 8000 4000' \
	'collects 8 of 10 blocks, writes them, collects again'
is "$(steady | "$TARPIPE" --buffer -s 1000 -b 10 -p 100 | bursts)" '10000 10000' \
	'all of them'
is "$(steady | "$TARPIPE" --buffer -s 1000 -b 9 -p 99 | bursts)" '8000 8000 4000' \
	'whole blocks'
if have buffer; then
	is "$(steady | buffer -s 1000 -b 10 -p 80 | bursts)" '8000 8000 4000' 'as buffer does'
fi

# What the reader has taken while nobody reads what comes out of it: all blocks, the one
# that is being written, and what the pipes hold.
context='--low'
(for n in 1 2 3 4; do cat in; done) >four
mkfifo slow
"$TARPIPE" --buffer -s 100k -b 10 --low=20 -p 50 -d -i four -o slow 2>"$err" &
stage_pid=$!
sh -c 'sleep 0.3; exec cksum' <slow >sum
wait $stage_pid
is "$? $(cat sum)" "0 $(cksum <four)" 'both marks at once'
ok 'the ring was full' grep -E '[1-9][0-9]* times full' "$err"

context='-u'
begun=$(date +%s%N)
head -c 20000 in | "$TARPIPE" --buffer -s 1000 -u 20000 >/dev/null
took=$((($(date +%s%N) - begun) / 1000000))
ok "20 pauses of 20 ms took $took ms" test $took -ge 400

context='rates'
for option in read-rate write-rate; do
	begun=$(date +%s%N)
	head -c 500000 in | "$TARPIPE" --buffer --$option=500000 >/dev/null
	took=$((($(date +%s%N) - begun) / 1000000))
	ok "--$option: half a megabyte took $took ms" test $took -ge 850 -a $took -le 3000
done

# ---- Beyond buffer ------------------------------------------------------

context='--tee'
launch "$TARPIPE" --buffer -i in -o one --tee=two --tee=three
assert_status 0
for file in one two three; do assert_same_file in $file; done
launch "$TARPIPE" --buffer -i in -o one --tee=/dev/full --tee=three
assert_status 254 'one that fails makes it 254'
assert_told_once '^tarpipe: /dev/full: write, 0 bytes are out: No space left'
for file in one three; do assert_same_file in $file; done
launch "$TARPIPE" --buffer -i in -o /dev/full --tee=two
assert_status 254
assert_same_file in two
launch "$TARPIPE" --buffer -i /dev/zero -o /dev/full --tee=/dev/full
assert_status 254 'all that fail end it'

context='--hash'
stage --hash=crc32
want=$(gzip -c in | tail -c 8 | head -c 4 | od -An -tx4 --endian=little | tr -d ' ')
is "$(cat "$err")" "tarpipe: crc32 $want" 'crc32 as in gzip'
assert_same_file in "$out"
if have xxhsum; then
	stage --hash=xxh3 -s 701
	is "$(sed 's/.* //' "$err")" "$(xxhsum -H3 in 2>/dev/null | grep -oE '[0-9a-f]{16}')" \
		'xxh3 as by xxhsum'
else
	skip 'xxhsum is not installed'
fi

context='--log'
stage --log=log -i missing
stage --log=log --hash=crc32
assert_status 0
is "$(wc -l <log)" 3 'lines of two runs'
ok 'messages' grep -E '^20[-0-9]*T[:0-9]*Z tarpipe: missing: open the input: No such' log
ok 'a summary' grep 'Z tarpipe: 2500000 bytes read, 2500000 written' log

# ---- What goes wrong ----------------------------------------------------

context='failures'
stage -o /dev/full
assert_status 254
assert_message '/dev/full: write, 0 bytes are out: No space left on device'
if on_filesystem tmpfs small 1M; then
	stage -o small/file
	assert_status 254
	assert_message 'small/file: write, 1048576 bytes are out: No space left'
fi
launch sh -c 'ulimit -f 100; exec "$0" --buffer -i in -o limited' "$TARPIPE"
assert_status 254 'a limit of file size is an error'
launch "$TARPIPE" --buffer -i .
assert_status 255
assert_message '\.: read after 0 bytes: Is a directory'
for args in '' '-m 64m' '-p 75'; do
	# shellcheck disable=SC2086 # words
	(yes | "$TARPIPE" --buffer $args 2>"$err"; echo $? >rc) | head -c 10 >/dev/null
	is "$(cat rc) $(grep -c 'Broken pipe' "$err")" '254 1' "a closed reader: ${args:-no options}"
done
# Nothing comes, and the reader is gone: the next block shows it.
mkfifo idle
{ head -c 100000 in; exec sleep 20; } >idle &
source=$!
{ "$TARPIPE" --buffer -i idle 2>"$err"; echo $? >rc; } | true
kill $source
is "$(cat rc)" 254 'the reader of an idle source is gone'
launch sh -c 'exec "$0" --buffer <&-' "$TARPIPE"
assert_status 255 'no standard input'
launch sh -c 'exec "$0" --buffer -i in >&-' "$TARPIPE"
assert_status 254 'no standard output'

context='a failing input'
if can_trace; then
	launch env ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$base/lib/trace" \
		-P in -P "$work/in" -e trace=read -e inject=read:error=EIO:when=4 \
		"$TARPIPE" --buffer -s 10k -i in
	assert_status 255
	read_size=$(stat -c %s "$out")
	assert_message "in: read after $read_size bytes: Input/output error"
	ok "what came before, $read_size bytes, is out" test "$read_size" -gt 500000
	ok 'and right' cmp -n "$read_size" in "$out"
	launch env ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$base/lib/trace" \
		-P held -P "$work/held" -e trace=close -e inject=close:error=EDQUOT \
		"$TARPIPE" --buffer -i in -o held
	assert_status 254 'a failing close counts'
	assert_message 'held: close, 2500000 bytes were written and may be lost'
else
	skip 'strace may not trace here'
fi

context='memory'
launch sh -c 'ulimit -v 1000000; exec "$0" --buffer -m 8g' "$TARPIPE"
case $status in
255) pass 'what can not be had is refused' && assert_message 'mapping .* blocks' ;;
*) skip 'a sanitizer takes the memory' ;;
esac
if am_root && have unshare && unshare --ipc sh -c 'echo 0 >/proc/sys/kernel/shmmax' 2>/dev/null; then
	launch unshare --ipc sh -c 'echo 0 >/proc/sys/kernel/shmmax
		exec "$0" --buffer -i in' "$TARPIPE"
	assert_status 0 'no shared memory is needed'
	assert_same_file in "$out"
else
	skip 'the limit of shared memory can not be set here'
fi

# ---- Signals and sudden deaths ------------------------------------------

context='signals'
shared_before=$(ipcs -ms 2>/dev/null; ls /dev/shm 2>/dev/null)
mkfifo never
for signal in HUP:1 INT:2 QUIT:3 TERM:15; do
	for args in '' '-p 50' '-o /dev/null'; do
		# It waits for an input that stays open and silent.
		# shellcheck disable=SC2086 # words
		(ulimit -c 0; exec env --default-signal=INT,QUIT,HUP,TERM \
			"$TARPIPE" --buffer $args -i never >/dev/null 2>"$err") &
		pid=$!
		exec 7>never
		kill -"${signal%:*}" $pid
		begun=$(date +%s%N)
		wait $pid 2>/dev/null
		is $? $((128 + ${signal#*:})) "dies of ${signal%:*}: ${args:-no options}"
		exec 7>&-
		ok 'at once' test $((($(date +%s%N) - begun) / 1000000)) -lt 1000
	done
done
# KILL, with all blocks full and somebody waiting behind.
yes | sh -c 'echo $$ >pid; exec "$0" --buffer -m 4m' "$TARPIPE" | sleep 20 &
ok 'it is there' wait_for test -s pid
sleep 0.2
kill -KILL "$(cat pid)"
ok 'nothing of it goes on' wait_for sh -c '! kill -0 "$(cat pid)" 2>/dev/null'
is "$(ipcs -ms 2>/dev/null; ls /dev/shm 2>/dev/null)" "$shared_before" 'no shared memory is left'
done_testing
