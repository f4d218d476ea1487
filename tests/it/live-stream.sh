#!/bin/sh
# live-stream.sh: -c of a tree that changes underfoot: the stream stays whole and aligned,
# the other files are exact, status 1, and one message for each.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tracing
need_tool tar

openers=open,openat,openat2
mkdir outside && echo secret >outside/in && echo secret >outside/secret

fresh() {
	rm -rf src dst aside s.tar
	mkdir src src/dir
	echo in >src/dir/in
	fill 100000 1 >src/a
	fill 3000 2 >src/log
	ln -s a src/link
	fill 3000 3 >src/z
	touch -d '2001-02-03 04:05:06.123456789' src/a src/z
}

# held NAME CALLS PATTERN COMMAND...: which runs while NAME waits at the call.
held() {
	held_name=$1 held_calls=$2
	meanwhile "$3" sh -c "$4"
	traced -P "$held_name" -e trace="$held_calls" \
		-e inject="$held_calls:delay_enter=300000:when=1" \
		tarpipe -c -f s.tar src
	wait
	context="$context ($held_name)"
	assert_status 1
	assert_told_once "$held_name: "
	is "$(wc -l <"$err")" 1 'and nothing else is said'
	assert_well_formed
	ok 'others read it to its end' tar -tf s.tar
	tarpipe -x -f s.tar dst
	assert_status 0 'it is whole'
	assert_same_file src/a dst/a
	assert_same_file src/z dst/z
	assert_mtime 981173106.123456789 dst/a
	assert_mtime 981173106.123456789 dst/z
	is "$(grep -r secret dst)" '' 'nothing from outside is there'
}

becomes() {
	context="becomes $1"
	fresh
	held log $openers 'open.*"log"' "rm src/log && $2"
	assert_missing dst/log
}
becomes 'nothing' true
becomes 'a FIFO' 'mkfifo src/log'
becomes 'a directory' 'mkdir src/log'
becomes 'a symbolic link' 'ln -s ../outside/secret src/log'
if am_root && can_make_nodes; then
	becomes 'a device without end' 'mknod src/log c 1 5'
else
	skip 'devices can not be made here' 'becomes a device'
fi

context='a directory vanishes'
fresh
held dir $openers 'open.*"dir"' 'rm -r src/dir'
context='a directory becomes a file'
fresh
held dir $openers 'open.*"dir"' 'rm -r src/dir && echo x >src/dir'
context='a directory is swapped for a symbolic link'
fresh
held dir $openers 'open.*"dir"' 'mv src/dir aside && ln -s ../outside src/dir'
assert_missing dst/dir/secret
context='a symbolic link becomes a file'
fresh
held link readlink,readlinkat 'readlink.*"link"' 'rm src/link && echo x >src/link'
done_testing
