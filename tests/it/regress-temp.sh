#!/bin/sh
# regress-temp.sh: temporary names stand in nobody's way, and nobody in theirs.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

key=0123456789abcdef

context='a source with such names'
mkdir src
seq 1200 | split -l 1 -a 4 - src/f
for n in 0 1 2 3 4 5 6 7; do
	echo "own $n" >src/.tarpipe-tmp-$n
done
cp -a src dst
for jobs in 2 8; do
	wrong=
	for n in 1 2 3 4 5 6 7 8 9 10; do
		tarpipe -j $jobs src dst
		[ "$status,$(cat "$err")" = 0, ] || wrong="$wrong $n:$status"
		diff -r src dst >"$base/lib/diff" 2>&1 || wrong="$wrong $n:differs"
	done
	is "$wrong" '' "-j$jobs, ten times"
	assert_same_tree src dst
done

context='a source with leftovers'
mkdir left left/d
seq 300 | split -l 1 -a 4 - left/d/f
for n in 0 1 2 3 4 5 6 7; do
	echo "own $n" >left/.tarpipe-tmp-$key-$n
	echo "own $n" >left/d/.tarpipe-tmp-$key-$n
done
wrong=
for n in 1 2 3 4 5; do
	tarpipe -j 8 left left-copy
	[ "$status,$(cat "$err")" = 0, ] || wrong="$wrong $n:$status"
	diff -r left left-copy >"$base/lib/diff" 2>&1 || wrong="$wrong $n:differs"
done
is "$wrong" '' '-j8, five times'
assert_same_tree left left-copy

context='a stream that comes back to where it brought such a name'
if have python3; then
	"$tools/make-tar" "f|d/.tarpipe-tmp-$key-0|a file" "s|d/.tarpipe-tmp-$key-1|a link" \
		'seq:f|e%d/x|x|1|6000' 'f|d/z|z' >back.tar
	tarpipe -x -f back.tar back
	assert_status 0
	assert_silent
	assert_content 'a file' back/d/.tarpipe-tmp-$key-0
	assert_target 'a link' back/d/.tarpipe-tmp-$key-1
	assert_content z back/d/z
else
	skip 'python3 is not installed'
fi

context="DST's own name"
mkdir one mine && echo new >one/f && echo old >mine/f
for name in .tarpipe-tmp-3 .tarpipe-tmp- .tarpipe-tmp-$key .tarpipe-tmp-$key- \
	.tarpipe-tmp-${key}0-1 .tarpipe-tmp-$key-x .tarpipe-tmp-x$key-1; do
	echo "$name" >"mine/$name"
done
tarpipe one mine
assert_status 0
assert_silent
assert_content new mine/f
for name in .tarpipe-tmp-3 .tarpipe-tmp- .tarpipe-tmp-$key .tarpipe-tmp-$key- \
	.tarpipe-tmp-${key}0-1 .tarpipe-tmp-$key-x .tarpipe-tmp-x$key-1; do
	assert_content "$name" "mine/$name"
done
mkdir -p mine/.tarpipe-tmp-$key-1 && echo in >mine/.tarpipe-tmp-$key-1/in
tarpipe one mine
assert_status 0
assert_content in mine/.tarpipe-tmp-$key-1/in

# leftovers DIR
leftovers() {
	echo half >"$1/.tarpipe-tmp-$key-0"
	echo half >"$1/.tarpipe-tmp-fedcba9876543210-11"
}
left() {
	find "$@" -name '.tarpipe-tmp-*' -printf '%P '
}

context='leftovers'
for what in 'a file is replaced' 'a file is new' 'nothing comes'; do
	rm -rf from to
	mkdir from from/d to to/d && echo besides >to/d/besides
	case $what in
	*replaced) echo new >from/d/f && echo old >to/d/f ;;
	*new) echo new >from/d/f ;;
	esac
	leftovers to/d
	tarpipe from to
	assert_status 0
	is "$(left to)" '' "gone when $what"
	assert_content besides to/d/besides
	assert_same_tree --extra from to
done
rm -rf to && mkdir to to/d && echo old >to/f
leftovers to
tarpipe from to
assert_status 0
is "$(left to)" '' 'gone in the top directory'

context='no files of their own'
rm -rf to && mkdir to to/d && echo new >from/d/f
mkfifo to/d/.tarpipe-tmp-$key-0
ln -s nowhere to/d/.tarpipe-tmp-$key-1
tarpipe from to
assert_status 0
is "$(left to)" '' 'a FIFO and a symbolic link go, too'

context='a living one'
if have flock; then
	rm -rf to && mkdir to to/d && echo new >from/d/f && echo old >to/d/f
	echo alive >to/d/.tarpipe-tmp-$key-0
	echo half >to/d/.tarpipe-tmp-$key-1
	exec 5<to/d/.tarpipe-tmp-$key-0
	flock -x 5
	tarpipe from to 5<&-
	assert_status 0
	is "$(left to)" "d/.tarpipe-tmp-$key-0 " 'stays, the other one is gone'
	assert_content alive to/d/.tarpipe-tmp-$key-0
	exec 5<&-
	tarpipe from to
	assert_status 0
	is "$(left to)" '' 'is gone when nobody holds it'
else
	skip 'flock is not installed'
fi

# What is made and not yet locked is not taken for a leftover by another run.
context='two at once'
if can_trace; then
	rm -rf to two && mkdir to two
	echo new >from/f && echo old >to/f
	echo two >two/g && echo old >to/g
	# shellcheck disable=SC2016 # for that shell
	meanwhile 'flock\(' sh -c '"$1" "$2/" to >"$3" 2>&1; echo $? >>"$3"' \
		sh "$TARPIPE" two "$base/lib/second"
	traced -e trace=flock -e inject=flock:delay_enter=400000:when=1 \
		tarpipe --no-preserve=root from/ to
	wait
	if grep flock "$base/lib/trace" >"$base/lib/locks"; then
		assert_status 0
		assert_silent
		is "$(cat "$base/lib/second")" 0 'the other one ends well, too'
		assert_content new to/f
		assert_content two to/g
		is "$(left to)" '' 'nothing temporary is left'
	else
		skip 'flock is not called here'
	fi
else
	skip 'strace may not trace here'
fi
done_testing
