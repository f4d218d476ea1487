#!/bin/sh
# changing.sh: files that grow, shrink, or become something else while they
# are read.  strace holds the program at a call; meanwhile the file changes.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tracing

readers=read,readv,pread64,preadv,preadv2
openers=open,openat,openat2

fresh() {
	rm -rf src dst
	mkdir src
	fill 100000 1 >src/a
	fill "$1" 2 >src/log
	fill 3000 3 >src/z
	touch -d '2001-02-03 04:05:06.123456789' src/* src
	cp -p src/log log-before
}

# held_read COMMAND...: which runs while the first read of log waits.
held_read() {
	meanwhile '(read|pread)[a-z0-9]*\(' "$@"
	traced -P log -P "$work/src/log" -e trace=$readers \
		-e inject=$readers:delay_enter=500000:when=1 \
		tarpipe --reflink=never src dst
	wait
}

others_are_there() {
	assert_status "$1"
	assert_well_formed
	assert_same_file src/a dst/a
	assert_same_file src/z dst/z
	assert_mtime 981173106.123456789 dst/a
	assert_mtime 981173106.123456789 dst/z
}

told() {
	others_are_there 1
	assert_message '.*log: '
	assert_told_once '.'
}

is_prefix() {
	ok "$2 is a true beginning of $1" \
		cmp -n "$(stat -c %s "$2")" "$1" "$2"
}

for size in 500 3000000; do
	context="$size bytes, grows"
	fresh $size
	held_read sh -c 'seq 100000 >>src/log'
	told
	is_prefix src/log dst/log
	ok 'and holds all there was' test "$(stat -c %s dst/log)" -ge $size

	context="$size bytes, shrinks to 10"
	fresh $size
	held_read truncate -s 10 src/log
	told
	is_prefix log-before dst/log
	assert_size 10 dst/log

	context="$size bytes, shrinks to nothing"
	fresh $size
	held_read truncate -s 0 src/log
	told
	assert_size 0 dst/log

	# The one that was opened is whole; whether that counts as changed is open.
	context="$size bytes, replaced"
	fresh $size
	held_read sh -c 'seq 5 >src/new && mv src/new src/log'
	assert_status_in 0 1
	assert_same_file log-before dst/log

	context="$size bytes, removed"
	fresh $size
	held_read rm src/log
	assert_status_in 0 1
	assert_same_file log-before dst/log
done

# Growing without end: a true beginning, and an end.
context='grows all the time'
fresh 1000000
(
	while ! [ -e stop ]; do
		fill 20000 9 >>src/log
	done
) &
writer=$!
tarpipe --reflink=never src dst
touch stop
wait $writer
assert_status_in 0 1
is_prefix src/log dst/log

# By reference: held where the kernel copies.
held_reference() {
	meanwhile 'copy_file_range\(' "$@"
	traced -P log -P "$work/src/log" -e trace=copy_file_range,ioctl \
		-e inject=copy_file_range:delay_enter=500000:when=1 \
		-e inject=ioctl:error=EOPNOTSUPP \
		tarpipe --reflink=auto src dst
	wait
}
context='by reference, shrinks'
fresh 3000000
held_reference sh -c 'truncate -s 100000 src/log; touch tried'
if [ -e tried ]; then
	told
	is_prefix log-before dst/log
	assert_size 100000 dst/log
	context='by reference, grows'
	fresh 3000000
	held_reference sh -c 'seq 100 >>src/log'
	others_are_there 1
	is_prefix src/log dst/log
else
	skip 'copy_file_range is not used here'
fi

# held_open NAME COMMAND...: which runs while NAME waits to be opened.
held_open() {
	held_name=$1
	shift
	meanwhile "open.*\"$held_name\"" "$@"
	traced -P "$held_name" -e trace=$openers \
		-e inject=$openers:delay_enter=500000:when=1 tarpipe src dst
	wait
}

# Nothing is read that was not there as a file when it was looked at.
becomes() {
	context="becomes $1"
	shift
	fresh 500
	rm -f src/device
	held_open log sh -c "rm src/log && $1"
	told
	if [ -f dst/log ] || [ -c dst/log ]; then
		fail 'no stand-in'
	else
		pass 'no stand-in'
	fi
}
becomes 'a FIFO' 'mkfifo src/log'
becomes 'a directory' 'mkdir src/log'
mkdir outside && echo secret >outside/secret
becomes 'a symbolic link' 'ln -s ../outside/secret src/log'
if am_root && can_make_nodes; then
	becomes 'a device without end' 'mknod src/log c 1 5'
else
	skip 'devices can not be made here' 'becomes a device'
fi

context='a directory becomes a symbolic link'
fresh 500
mkdir src/dir && echo in >src/dir/in
held_open dir sh -c 'mv src/dir aside && ln -s ../outside src/dir'
others_are_there 1
assert_message '.*dir: '
is "$(grep -r secret dst)" '' 'nothing from outside is there'
rm -rf aside

context='a symbolic link becomes a file'
fresh 500
ln -s a src/link
meanwhile 'readlink.*"link"' sh -c 'rm src/link && echo x >src/link'
traced -P link -e trace=readlink,readlinkat \
	-e inject=readlink,readlinkat:delay_enter=500000:when=1 tarpipe src dst
wait
others_are_there 1
assert_message '.*link: '

context='a directory becomes a file'
fresh 500
mkdir src/dir && echo in >src/dir/in
held_open dir sh -c 'rm -r src/dir && echo x >src/dir'
others_are_there 1
assert_message '.*dir: '
done_testing
