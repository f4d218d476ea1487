#!/bin/sh
# ends.sh: where a stream comes from and goes to, and what is said when that fails.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir tree
fill 3000000 1 >tree/a
fill 100 2 >tree/b

# piped WORDS...: a shell line in which $T is the program with its flags
piped() {
	T="$TARPIPE $TARPIPE_FLAGS"
	export T
	launch sh -c "$1"
}

# on_terminal ARG...: the program with a terminal at both ends
on_terminal() {
	status=0
	script -qec "timeout 20 $TARPIPE $*" /dev/null >"$out" </dev/null 2>/dev/null ||
		status=$?
	tr -d '\r' <"$out" >"$err"
}

# ---- Output that fails ----------------------------------------------------

context='full'
for how in '-f /dev/full' '>/dev/full'; do
	piped "\$T -c $how tree"
	assert_status 3
	assert_told_once ': write, 0 bytes are safely out: No space left on device'
done
if am_root && on_filesystem tmpfs small 1M; then
	echo before >small/x.tar
	tarpipe -c -f small/x.tar tree
	assert_status 3
	assert_told_once 'small/x.tar: write, [0-9]+ bytes are safely out: No space left'
	assert_names small x.tar
	assert_content before small/x.tar
	piped '$T -c tree >small/y.tar'
	assert_status 3
	assert_told_once 'standard output: write, [0-9]+ bytes are safely out: No space'
	said=$(sed -n 's/.*write, \([0-9]*\) bytes.*/\1/p' "$err")
	is "$(stat -c %s small/y.tar)" "$said" 'so many bytes are there'
fi
tarpipe -c -f /dev/full -q tree
assert_status 3
# Longer than the message takes, and the ring is full.
piped '$T -c -m 64k -f /dev/full tree'
assert_status 3

context='a reader that goes'
for reader in 'head -c 100000 >/dev/null' true 'exec <&-'; do
	piped "{ \$T -c tree; echo \$? >rc; } | { $reader; }"
	is "$(cat rc)" 141 "dies of SIGPIPE: $reader"
	assert_silent
	piped "trap '' PIPE; { \$T -c tree; echo \$? >rc; } | { $reader; }"
	is "$(cat rc)" 3 "ignoring that, status 3: $reader"
	assert_told_once 'standard output: write, [0-9]+ bytes are safely out: Broken pipe'
done
# tar and others go after the record with the end marks.
piped '{ $T -c tree; echo $? >rc; } | tar -tf - >list'
is "$(cat rc)" 0 'one that has seen the end marks may go'

context='closed'
piped '$T -c tree >&-'
assert_status 3
piped '$T -t <&-'
assert_status 3

# ---- A file ---------------------------------------------------------------

context='-f FILE'
mkdir new
tarpipe -c -f new/x.tar tree
assert_status 0
assert_silent
assert_mode 644 new/x.tar
assert_names new x.tar
mv new/x.tar .
tar -tf x.tar | sort >first
echo junk >x.tar
chmod 640 x.tar
ln -s x.tar link.tar
tarpipe -c -f link.tar tree
assert_status 0
assert_type 'symbolic link' link.tar
assert_mode 640 x.tar
ok 'a symlink is followed' sh -c 'tar -tf x.tar | sort | cmp - first'
ln x.tar other
cp x.tar copy
tarpipe -c -f x.tar tree/b
ok 'nothing is written through a hard link' cmp other copy
if am_root; then
	chown 1234:5678 x.tar
	tarpipe -c -f x.tar tree
	assert_owner 1234:5678 x.tar
	if can_be_user; then
		mkdir -m 777 open
		echo before >open/x.tar
		as_user tarpipe -c -f open/x.tar tree
		assert_status 0
		assert_owner "$user_id:$user_id" open/x.tar
		mkdir -m 755 shut
		as_user tarpipe -c -f shut/x.tar tree
		assert_status 3
		assert_message 'shut/x.tar: open the output: Permission denied'
	fi
fi
tarpipe -c -f tree tree
assert_status 64
assert_message 'tree: .*[Ii]s a directory'
tarpipe -c -f none/x.tar tree
assert_status 3
mkfifo fifo
piped '{ tar -tf fifo >list; } & $T -c -f fifo tree; rc=$?; wait; exit $rc'
assert_status 0
ok 'a FIFO is written to' sh -c 'sort list | cmp - first'
assert_type fifo fifo

context='stopped'
echo before >x.tar
chmod 644 x.tar
start -c -f x.tar --write-rate=1m -m 64k tree
sleep 0.5
kill -TERM "$pid"
wait "$pid" 2>/dev/null
is $? 143 'dies of the signal'
assert_content before x.tar
is "$(find . -name '.tarpipe-tmp*')" '' 'nothing temporary is left'

context='the archive in the tree'
cp tree/b tree/x.tar
tarpipe -c -f tree/x.tar tree
assert_status 0
assert_message '.*x\.tar'
is "$(tar -tf tree/x.tar | grep -c x.tar)" 0 'it is not in itself'
piped '$T -c tree >tree/x.tar'
assert_status 0
is "$(tar -tf tree/x.tar | grep -c x.tar)" 0 'by the shell, too'
ok 'and whole' tar -tf tree/x.tar
rm tree/x.tar

# ---- Tees and sums --------------------------------------------------------

context='tees'
tarpipe -c -f x.tar --tee=t1 --tee=t2 tree
assert_status 0
assert_same_file x.tar t1
assert_same_file x.tar t2
tarpipe -c -f x.tar --tee=/dev/full --tee=t1 tree
assert_status 2
assert_told_once '/dev/full: write, 0 bytes are safely out: No space left on device'
assert_same_file x.tar t1
tarpipe -c -f x.tar --tee=x.tar tree
assert_status 3
assert_message 'x.tar: is an output already'
tarpipe -c -f x.tar --hash=crc32 tree
is "$(sed -n 's/^tarpipe: crc32 //p' "$err")" \
	"$(gzip -c x.tar >x.gz && gzip -lv x.gz | awk 'NR == 2 { print $2 }')" \
	'the sum is that of the file'

# ---- Input ----------------------------------------------------------------

context='input'
tarpipe -t -f none
assert_status 3
assert_message 'none: open the input: No such file'
tarpipe -t -f tree
assert_status 64
piped '$T -t <tree'
assert_status 64
piped '{ cat x.tar; head -c 5000000 /dev/zero; echo $? >rc; } | $T -t'
is "$(cat rc)" 0 'the writer is read to its end'
piped '{ (trap "" PIPE; cat x.tar tree/a tree/a; echo $? >rc); } | $T -x dst'
is "$(cat rc)" 0 'also when junk follows'
assert_status 2
if can_trace; then
	traced -e trace=read -e inject=read:error=EIO:when=4+ -P x.tar tarpipe -t -f x.tar
	assert_status 3
	assert_told_once 'x.tar: read after [0-9]+ bytes: Input/output error'
fi
# What came is shown while the writer rests.
piped '{ head -c 4096 x.tar; wait_for_it() { n=0; until [ -s seen ] || [ $n -gt 200 ]; do
	sleep 0.05; n=$((n + 1)); done; }; wait_for_it; tail -c +4097 x.tar; } |
	$T -xv dst2 >seen'
ok 'a writer that rests is not waited for' test -s seen

context='a terminal'
if have script; then
	on_terminal -c tree
	assert_status 64
	assert_message '.*missing -f\?'
	on_terminal -t
	assert_status 64
	assert_message '.*missing -f\?'
	on_terminal -c -f /dev/tty tree
	assert_status 64
else
	skip 'script is not installed' 'a terminal'
fi

context='the archive alone'
echo precious >alone
tarpipe -c -f alone alone
assert_status 64
assert_content precious alone
context='the archive and others'
echo other >others
tarpipe -c -f alone alone others
assert_status 0
assert_message 'alone: left out'
is "$(tar -tf alone)" others 'the others are packed'
context='names of hosts'
for option in '-f host:x' '-f u@host:x --tee=y' '-f x --tee=host:x' '-f host:'; do
	# shellcheck disable=SC2086 # words
	tarpipe -c $option others
	assert_status 64
	assert_missing host:x u@host:x y x
done
tarpipe -x -f host:x -C .
assert_status 64
tarpipe -t -f ''
assert_status 64
tarpipe -c -f ./host:x others
assert_status 0
assert_type 'regular file' host:x

done_testing
