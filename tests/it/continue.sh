#!/bin/sh
# continue.sh: --continue leaves alone what is complete and replaces all else.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
in_ext4

stamp='2001-02-03 04:05:06.123456789'

# settled NAME...: what would change if anybody touched them.
settled() {
	stat -c '%n %i %Z %z %a %u:%g' -- "$@" 2>&1
}

# small_tree DIR: all of what is looked at here, each thing once.
small_tree() {
	mkdir "$1" "$1/d" "$1/d/below"
	fill 1000 1 >"$1/small"
	fill 300000 2 >"$1/d/medium"
	fill 3000000 3 >"$1/d/below/large"
	: >"$1/d/empty"
	truncate -s 1M "$1/d/sparse" && fill 5000 4 >>"$1/d/sparse"
	ln "$1/small" "$1/d/second"
	ln -s small "$1/link"
	mkfifo "$1/d/fifo"
	chmod 4755 "$1/d/medium"
	chmod 400 "$1/d/empty"
	if holds_xattrs "$1"; then
		setfattr -n user.kept -v value "$1/d/medium"
		setfattr -n user.kept -v other "$1/small"
	fi
	find "$1" -depth -exec touch -h -d "$stamp" {} +
}

context='nothing is left to do'
small_tree src
tarpipe src dst
before=$(settled dst/small dst/d/medium dst/d/below/large dst/d/empty dst/d/sparse dst/d/fifo)
tarpipe --continue --stats src dst
assert_status 0
assert_message '2 entries, 0 B .*; 8 left alone'
assert_same_tree src dst
is "$(settled dst/small dst/d/medium dst/d/below/large dst/d/empty dst/d/sparse dst/d/fifo)" \
	"$before" 'nothing was done to what is right'
context='-v'
tarpipe --continue -v src dst
ok 'what is left alone is listed, too' grep -q -x 'src/d/medium' "$out"

context='nothing but a temporary name'	# all that a run that was killed has left
mkdir leftover
echo part >leftover/.tarpipe-tmp-0123456789abcdef-0
touch -d "$stamp" leftover/.tarpipe-tmp-0123456789abcdef-0
tarpipe --continue src leftover
assert_status 0
assert_same_tree src leftover

context='into a new one'
tarpipe --continue src new
assert_status 0
assert_same_tree src new

context='replaced'
echo short >dst/small			# another size: a partial file
touch -d "$stamp" dst/small
fill 300000 7 >dst/d/medium		# newer
touch -d '2033-01-01' dst/d/medium
touch -d '2001-02-03 04:05:06.123456788' dst/d/below/large	# by a nanosecond
ln -sfn elsewhere dst/link
rm dst/d/fifo && echo file >dst/d/fifo
touch dst/d/sparse			# now
tarpipe --continue --stats src dst
assert_status 0
assert_message '9 entries, .*; 1 left alone'
assert_same_tree src dst
assert_same_file src/d/medium dst/d/medium

context='metadata alone'
before=$(stat -c '%i' dst/d/medium dst/d/below/large dst/d/empty)
chmod 600 dst/d/medium
chmod 644 dst/d/empty
touch -a -d '1999-01-01' dst/d/below/large
if holds_xattrs dst; then
	setfattr -n user.extra -v x dst/d/below/large
	setfattr -n user.kept -v wrong dst/d/medium
	setfacl -m u:4321:r dst/d/empty 2>/dev/null
fi
if am_root; then
	chown 4:5 dst/d/medium
	chown -h 4:5 dst/link
	setcap cap_net_raw+ep dst/d/below/large 2>/dev/null
fi
tarpipe --continue src dst
assert_status 0
assert_same_tree src dst
is "$(stat -c '%i' dst/d/medium dst/d/below/large dst/d/empty)" "$before" 'they are the same inodes'

tarpipe --continue src dst		# looking at the source has changed atimes
if am_root && chattr +i dst/d/below/large 2>/dev/null; then
	context='one that nobody may change'
	tarpipe --continue src dst
	assert_status 0
	chattr -i dst/d/below/large
fi

context='the same size and time'
fill 300000 8 >dst/d/medium
setfattr -x user.kept dst/d/medium 2>/dev/null
touch -d "$stamp" dst/d/medium
tarpipe --continue src dst
assert_status 0
is "$(cmp -s src/d/medium dst/d/medium; echo $?)" 1 'is taken for the same'
tarpipe src dst
assert_same_file src/d/medium dst/d/medium

context='another type'
rm -r dst && cp -a src dst
rm dst/d/medium dst/small && mkdir dst/d/medium && ln -s d/sparse dst/small
tarpipe --continue src dst
assert_status 0
assert_same_tree src dst
mkdir dst/d/empty.d && rm -f dst/d/fifo && mkdir dst/d/fifo && : >dst/d/fifo/file
rmdir dst/d/empty.d
tarpipe --continue src dst
assert_status 2
assert_message 'dst/d/fifo: a directory is in its place'

context='a farm of links'
rm -rf dst && cp -a src dst
cp -al dst farm
tarpipe --continue src dst
assert_status 0
assert_same_inode farm/d/medium dst/d/medium
chmod 640 src/d/medium src/small
setfattr -n user.kept -v changed src/d/below/large 2>/dev/null || chmod 640 src/d/below/large
inodes=$(stat -c %i farm/d/medium farm/small farm/d/below/large)
tarpipe --continue src dst
assert_status 0
assert_same_tree --except links src dst
is "$(stat -c %i farm/d/medium farm/small farm/d/below/large)" "$inodes" 'the farm has its inodes'
assert_mode 4755 farm/d/medium
assert_mode 644 farm/small
is "$([ dst/d/medium -ef farm/d/medium ]; echo $?)" 1 'what differs was made anew'
is "$([ dst/small -ef farm/small ]; echo $?)" 1 '... with all its names'
assert_same_inode farm/d/empty dst/d/empty

context='two files that were one'
rm -rf src dst farm farm.* new
mkdir src dst
fill 5000 1 >src/one
cp src/one src/two
touch -d "$stamp" src/one src/two
cp -p src/one dst/one
ln dst/one dst/two
tarpipe --continue src/ dst
assert_status 0
assert_links 1 dst/one
assert_links 1 dst/two
assert_same_file src/one dst/one
assert_same_file src/two dst/two

# Names a, b and c of one file at the source; at the destination each is missing,
# partial, complete by itself, or a name of the first, of the second or of a stranger.
context='groups of links'
rm -rf src dst
mkdir src
fill 5000 1 >src/a
ln src/a src/b
mkdir src/z
ln src/a src/z/c
touch -d "$stamp" src/a
wrong='' mixtures=0
for a in missing partial complete stranger; do
	for b in missing partial complete first stranger; do
		for c in missing complete first second stranger; do
			rm -rf dst
			mkdir dst dst/z
			cp -p src/a stranger
			for name in a b z/c; do
				case $name in a) how=$a ;; b) how=$b ;; *) how=$c ;; esac
				case $how in
				missing) ;;
				partial) head -c 1000 src/a >dst/$name ;;
				complete) cp -p src/a dst/$name ;;
				first) [ ! -e dst/a ] || ln dst/a dst/$name ;;
				second) [ ! -e dst/b ] || ln dst/b dst/$name ;;
				stranger) ln stranger dst/$name ;;
				esac
			done
			chmod 600 stranger
			mixtures=$((mixtures + 1))
			was=$(stat -c '%i %a %Y' stranger)
			# shellcheck disable=SC2086 # words
			"$TARPIPE" $TARPIPE_FLAGS --continue src/ dst >"$out" 2>"$err" || wrong="$wrong $a,$b,$c:status"
			cmp -s src/a dst/a &&
				[ "$(stat -c %i dst/a)" = "$(stat -c %i dst/b)" ] &&
				[ "$(stat -c %i dst/a)" = "$(stat -c %i dst/z/c)" ] &&
				[ "$(stat -c '%h %a %y' dst/a)" = "$(stat -c '%h %a %y' src/a)" ] ||
				wrong="$wrong $a,$b,$c:links"
			[ "$(stat -c '%i %a %Y' stranger)" = "$was" ] || wrong="$wrong $a,$b,$c:stranger"
			rm stranger
		done
	done
done
is "$wrong" '' "all $mixtures mixtures"

context='from a stream'
rm -rf src dst
small_tree src
tarpipe -c src -f archive.tar
tarpipe src dst
before=$(settled dst/d/medium dst/d/below/large)
sleep 0.1	# what this very run has made counts for nothing, and clocks tick
tarpipe -x --continue -f archive.tar dst
assert_status 0
touch -r src dst
assert_same_tree src dst
is "$(settled dst/d/medium dst/d/below/large)" "$before" 'what is right stays as it is'
fill 300000 9 >dst/d/medium
rm dst/d/empty
"$TARPIPE" -c src | "$TARPIPE" -x --continue dst
is $? 0 'through a pipe'
touch -r src dst
assert_same_tree src dst
assert_same_file src/d/medium dst/d/medium
head -c 2000000 archive.tar >cut.tar
before=$(settled dst/d/below/large)
tarpipe -x --continue -f cut.tar dst
assert_status_in 2 3
assert_same_file src/d/below/large dst/d/below/large

context='a name that comes twice'
rm -rf one two dst new
mkdir one two
echo AAAA >one/f
echo BBBB >two/f
touch -d "$stamp" one/f two/f
tar -cf twice.tar -C "$PWD/one" f && tar -rf twice.tar -C "$PWD/two" f
mkdir dst
tarpipe -x --continue -f twice.tar dst
assert_status 0
assert_content BBBB dst/f

context='refused'
for words in '-k src dst' '--no-preserve=times src dst' '-c src' '-t' '--compare src dst'; do
	# shellcheck disable=SC2086 # words
	tarpipe --continue $words
	assert_status 64 "refused: $words"
done

context='with --unlink-first'
rm -rf dst && cp -a src dst
head -c 100 src/d/medium >dst/d/medium
before=$(settled dst/d/below/large)
tarpipe --continue --unlink-first src dst
assert_status 0
assert_same_tree src dst
is "$(settled dst/d/below/large)" "$before" 'what is right stays as it is'

context='with a list'
rm -rf dst && cp -a src dst
rm dst/d/medium
before=$(settled dst/d/below/large)
printf '%s\n' d/medium d/below d/medium small >names
tarpipe --continue -T names src dst
assert_status 0
assert_same_file src/d/medium dst/d/medium
is "$(settled dst/d/below/large)" "$before" 'what is right stays as it is'

context='with --manifest'
rm -rf dst && tarpipe --manifest=want.mtree src dst
tarpipe --continue --manifest=got.mtree src dst
assert_status 0
assert_same_file want.mtree got.mtree
launch "$TARPIPE" --compare --manifest=got.mtree dst
assert_status 0

# What is left of a file with holes has its size, and may have its time.
context='a file with holes, made a moment ago'
rm -rf src dst && mkdir src
truncate -s 1M src/f && fill 5000 1 >>src/f
touch -d 'now + 30 seconds' src/f
tarpipe -v src dst
assert_status 0
assert_same_tree src dst

if can_be_user; then
	context='without root'
	rm -rf src dst
	small_tree src
	chown -R "$user_id:$user_id" src
	chmod -R a+rX src
	tarpipe src dst
	setfattr -n user.kept -v wrong dst/d/medium 2>/dev/null
	setfattr -n user.extra -v wrong dst/d/medium 2>/dev/null
	chmod 400 dst/d/medium
	chown "$user_id:$user_id" dst "$PWD"
	before=$(settled dst/d/below/large)
	as_user tarpipe --continue src/ dst
	assert_status 0
	assert_same_tree src dst
	is "$(settled dst/d/below/large)" "$before" 'what is right stays as it is'
else
	skip 'needs root and setpriv' 'without root'
fi
done_testing
