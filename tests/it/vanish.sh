#!/bin/sh
# vanish.sh: names that go away between being listed and being opened.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir src src/d3 src/loop
for n in $(seq 40); do
	echo "$n" >"src/f$n"
done
echo in >src/d3/in
ln -s target src/l5
touch -d '2001-01-01' src

if can_trace; then
	openers=open,openat,openat2
	for name in f17 d3; do
		context="$name vanishes"
		traced -P $name -e inject=$openers:error=ENOENT:when=1 tarpipe src dst-$name
		assert_status 1
		assert_message ".*$name: "
		assert_told_once '.'
		assert_well_formed
		cp -a src want && rm -r want/$name && touch -r src want
		assert_same_tree --extra want dst-$name
		[ $name = d3 ] || assert_missing dst-$name/$name
		assert_missing dst-$name/$name/in
		rm -rf want
	done
	context='a symbolic link vanishes'
	traced -P l5 -e inject=readlink,readlinkat:error=ENOENT:when=1 tarpipe src dst-l5
	assert_status 1
	assert_message '.*l5: '
	assert_missing dst-l5/l5
	context='a file can not be read'
	traced -P f17 -P "$work/src/f17" -e inject=read,readv,pread64,preadv:error=EIO \
		tarpipe --reflink=never src dst-eio
	assert_status 2
	assert_message '.*f17: '
	assert_missing dst-eio/f17
	assert_content 18 dst-eio/f18
else
	skip 'strace may not trace here' 'a name that vanishes'
fi

# At random: whatever happens, what stays is copied, and the status is mild.
context='a busy directory'
(
	while [ -d src/loop ] && ! [ -e stop ]; do
		for n in 1 2 3 4 5 6 7 8 9; do
			echo "$n" >src/loop/$n
			mkdir src/loop/d$n
			echo "$n" >src/loop/d$n/in
			rm -r "src/loop/$n" "src/loop/d$n"
		done 2>/dev/null
	done
) &
busy=$!
worst=0
for n in $(seq 20); do
	tarpipe src "busy-$n"
	[ "$status" -le "$worst" ] || worst=$status
	[ "$(find "busy-$n" -maxdepth 1 -name 'f*' | wc -l)" -eq 40 ] || worst="files are missing"
done
touch stop
wait $busy
case $worst in
[01]) pass 'status 0 or 1, and every other file' ;;
*) fail "status 0 or 1, and every other file: $worst" ;;
esac
context='while the sink waits for its mark'
if can_trace; then
	mkdir waits
	for n in 1 2 3; do
		echo "$n" >waits/f$n
	done
	for flags in '-p 75' '-p 100 -m 64k' '-p 100 -m 64k -j 1'; do
		# shellcheck disable=SC2086 # words
		traced -P f2 -P waits/f2 -e inject=openat:error=ENOENT:when=1 \
			tarpipe $flags waits dst-waits
		assert_status 1
		assert_message 'waits/f2: '
		is "$(grep -c '^tarpipe: ' "$err")" 1 'nothing else is said'
		assert_names dst-waits f1 f3
		assert_nothing_left dst-waits
		rm -rf dst-waits
	done
else
	skip 'strace may not trace here'
fi
done_testing
