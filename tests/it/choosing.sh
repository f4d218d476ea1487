#!/bin/sh
# choosing.sh: excludes, lists of names and paths cut short, as tar chooses.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# names DIR: all that is in it, one a line
names() {
	(cd "$1" && find . -mindepth 1 | LC_ALL=C sort | cat -v)
}

# choice OPTION...: what GNU tar takes of src
choice() {
	rm -rf want
	mkdir want
	tar -C src -cf - "$@" . 2>/dev/null | tar -C want -xf -
	names want
}

gnu_tar=
if tar --version 2>/dev/null | grep -q 'GNU tar'; then
	gnu_tar=yes
fi

newline='a
b'
mkdir -p src/a/b/c src/cache/d src/d/cache src/empty
for name in top.c top.o a/x.o a/x.c a/b/y.o a/b/c/z cache/d/f d/cache/f d/keep 'sp ace' "$newline" '[x]' x; do
	echo "$name" >"src/$name"
done
touch -d '2001-02-03 04:05:06.789' src/a/b/c src/a/b src/a src

# ---- A copy: patterns ----

# excluded OPTION...: a copy takes what tar takes, and says nothing.
excluded() {
	context="exclude $*"
	rm -rf dst
	tarpipe "$@" src dst
	assert_status 0
	assert_silent
	if [ "$gnu_tar" ]; then
		is "$(names dst)" "$(choice "$@")" 'the choice of GNU tar'
	else
		skip 'tar is not GNU tar' 'the choice of GNU tar'
	fi
}
excluded '--exclude=*.o'
excluded --exclude=cache
excluded --exclude=./cache
excluded --exclude=b/y.o
excluded '--exclude=a/*'
excluded '--exclude=*/b/c*'
excluded '--exclude=sp ace' "--exclude=$newline"
excluded '--exclude=[x]'
excluded '--exclude=\[x]'
excluded --exclude=none
excluded '--exclude=*.o' --exclude=cache --exclude=a/b
printf '*.o\n\ncache  \n[a-b]/b\nlast' >patterns
excluded -X patterns
excluded -X patterns --exclude=top.c
excluded --exclude-from=patterns --exclude=empty
context=

tarpipe -v --exclude=a src vdst
assert_status 0
is "$(grep -cE '^src/a(/|$)' "$out")" 0 '-v names only what is copied'
tarpipe -n '--exclude=*.o' --exclude=cache src ndst
assert_status 0
is "$(LC_ALL=C sort "$out" | tr '\n' ' ')" \
	'src src/[x] src/a src/a/b src/a/b/c src/a/b/c/z src/a/x.c src/a\nb src/d src/d/keep src/empty src/sp ace src/top.c src/x ' \
	'-n lists what would be copied'
assert_missing ndst

# Patterns that end in NUL.
printf 'a\nb\0cache\0' >patterns0
rm -rf dst
tarpipe --null -X patterns0 src dst
assert_status 0
assert_missing "dst/$newline" dst/cache dst/d/cache
assert_content x dst/x

# Several sources go by their names.
mkdir other
echo 1 >other/f
tarpipe --exclude=src/a --exclude=other/f --exclude=x src other into/
assert_status 0
assert_missing into/src/a into/other/f into/src/x
assert_names into other src
assert_names into/other
tarpipe --exclude=other src other into2/
assert_status 0
assert_names into2 src

# What is excluded is not looked at.
if can_be_user; then
	mkdir closed
	echo 1 >closed/open
	mkdir -m 0 closed/secret
	chown -R "$user_id:$user_id" closed
	mkdir -m 777 room
	as_user tarpipe --exclude=secret closed room/dst
	assert_status 0
	assert_silent
	assert_names room/dst open
	as_user tarpipe closed room/dst2
	assert_status 2
else
	skip 'needs root and setpriv, to become another user' 'an excluded directory may be unreadable'
fi

# ---- A copy: names of a list ----

# listed OPTION... : a copy takes the names that tar takes; dst equals src in them.
listed() {
	context="list $*"
	rm -rf dst want
	tarpipe "$@" src dst
	assert_status 0
	assert_silent
	if [ "$gnu_tar" ]; then
		mkdir want
		tar -C src -cf - --no-unquote "$@" | tar -C want -xf -
		is "$(names dst)" "$(names want)" 'the choice of GNU tar'
	else
		skip 'tar is not GNU tar' 'the choice of GNU tar'
	fi
}
printf '%s\n' top.c a/b/y.o ./cache/ a/x.c 'sp ace' a/b/c a/b '[x]' >list
listed -T "$work/list"
is "$(stat -c '%n %Y' src/a src/a/b src/a/b/c | sed s/src/dst/)" \
	"$(stat -c '%n %Y' dst/a dst/a/b dst/a/b/c)" \
	'directories on the way have their times'
is "$(stat -c %y dst)" "$(stat -c %y src)" 'so has the destination'
listed '--exclude=*.o' --exclude=c --files-from="$work/list"
printf 'a\nb\0a/b/c/\0d/cache\0' >list0
listed --null -T "$work/list0"
printf '' >list-empty
rm -rf dst
tarpipe -T list-empty src dst
assert_status 0
assert_names dst
context='list on standard input'
(cd src && find . -name '*.o' -print0) >found
rm -rf dst
under sh -c 'cat found | "$@"' - tarpipe --null -T - src dst
assert_status 0
is "$(names dst)" './a
./a/b
./a/b/y.o
./a/x.o
./top.o' 'what find found'
context=

# A name is copied when it is there, not when the list ends.
mkfifo slow
rm -rf dst
{
	echo a/x.c
	wait_for test -e dst/a/x.c && echo seen >seen
	echo top.c
} >slow &
tarpipe -T slow src dst
wait
assert_status 0
assert_content seen seen
assert_content top.c dst/top.c

# The whole, by way of all its names, twice.
rm -rf dst
(cd src && find . -mindepth 1 -print0 && find . -mindepth 1 -depth -print0) >all0
tarpipe --null -T all0 src dst
assert_status 0
assert_silent
assert_same_tree src dst

# One by one what can't be: the rest is copied.
mkdir secret
echo 1 >secret/f
ln -s ../secret src/link
printf '%s\n' none a/x.c /etc/passwd ../secret/f a/../top.c link/f a/none/f top.c/x top.c link >bad
rm -rf dst
tarpipe -T bad src dst
assert_status 2
assert_well_formed
assert_message 'src/none: .*No such file'
assert_message '/etc/passwd: is absolute'
assert_message '\.\./secret/f: has .*in it'
assert_message 'a/\.\./top\.c: has .*in it'
assert_message 'src/link: .*Not a directory'
assert_message 'src/a/none: .*No such file'
assert_message 'src/top\.c: .*Not a directory'
is "$(names dst)" './a
./a/x.c
./link
./top.c' 'the rest is there'
rm src/link

# Into a directory that is there, by its name, and by what is in it.
mkdir dir
tarpipe -T list src dir/
assert_status 0
assert_content a/x.c dir/src/a/x.c
mkdir merged
echo own >merged/own
tarpipe -T list src/ merged
assert_status 0
assert_content own merged/own
assert_content a/x.c merged/a/x.c

# A list that goes to and fro does not have a directory read at each turn.
if can_trace; then
	mkdir -p turns/a turns/b
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		echo "$i" >turns/a/$i
		echo "$i" >turns/b/$i
		printf '%s\n' a/$i b/$i
	done >turns.list
	under env ASAN_OPTIONS=detect_leaks=0 strace -f -qq -e trace=getdents64 -o trace "$TARPIPE" -T turns.list turns dst-turns
	assert_status 0
	assert_same_tree turns dst-turns
	ok 'directories are read once' test "$(grep -c getdents64 trace)" -le 10
else
	skip 'strace may not trace here' 'directories are read once'
fi

# ---- What is refused, before anything is written ----

refused() {
	tarpipe "$@"
	assert_status 64 "refused: $*"
	assert_missing new
}
refused -X none src new
assert_message 'none: .*No such file'
refused -X src src new
assert_message 'src: .*Is a directory'
refused -T none src new
assert_message 'none: .*No such file'
refused -T src src new
assert_message 'src: .*Is a directory'
refused -X list0 src new
assert_message 'list0: .*--null'
refused -T list src other new/
assert_message '.*one SRC'
refused -T list src/top.c new
assert_message 'src/top\.c: .*Not a directory'
ln -s src linked
refused -T list linked new/
rm -rf dst
tarpipe -T list linked dst
assert_status 0
assert_content a/x.c dst/a/x.c

# A list for --null without it: nothing of it is taken for all of it.
rm -rf dst
tarpipe -T list0 src dst
assert_status 2
assert_message 'list0: .*--null'

# ---- Paths cut short ----

rm -rf dst
tarpipe --strip-components=1 --exclude=b src dst
assert_status 0
assert_silent
is "$(names dst)" './cache
./cache/f
./d
./d/f
./keep
./x.c
./x.o' 'one component is cut off'
rm -rf dst
tarpipe --strip-components=3 src dst
assert_status 0
assert_names dst z
rm -rf dst
tarpipe --strip-components=1 src other dst/
assert_status 0
assert_content top.c dst/top.c
assert_content 1 dst/f
rm -rf dst
tarpipe --strip-components=2 -T list src dst
assert_status 0
is "$(names dst)" './c
./c/z
./f
./y.o' 'names of a list are cut, too'
rm -rf dst
tarpipe --strip-components=9 src dst
assert_status 0
assert_names dst
tarpipe -n --strip-components=2 -T list src dst
assert_status 0
assert_output '^src/a/b/c/z$'
is "$(grep -c '^src/a$' "$out")" 0 '-n lists what is left'

# Two of one name: one of them, whole.
mkdir -p two/1/d two/2/d
echo one >two/1/f
echo two >two/2/f
touch two/1/d/1 two/2/d/2
rm -rf dst
tarpipe --strip-components=1 two dst
assert_status 0
ok 'one of two that meet' grep -qx -e one -e two dst/f
assert_names dst/d 1 2

# ---- Streams ----

# members FILE: names in an archive, one a line
members() {
	tar -tf "$1" --quoting-style=escape 2>/dev/null | sed 's,^\./,,; s,/$,,; /^$/d' | LC_ALL=C sort
}

# packed WORDS ARG...: -c packs what GNU tar packs
packed() {
	tarpipe -c -f ours.tar "$@"
	assert_status 0 "-c $*: status 0"
	tar -cf theirs.tar "$@"
	is "$(members ours.tar)" "$(members theirs.tar)" "-c $*: the choice of GNU tar"
}

if ! [ "$gnu_tar" ]; then
	skip 'tar is not GNU tar' '-c, -x and -t'
else
	packed -C src '--exclude=*.o' .
	packed -C src --exclude=cache --exclude=a/b a cache d
	packed -X patterns -C src .
	printf '%s\n' top.c a/b/y.o ./cache/ a/x.c a/b/c >names
	packed -C src -T "$work/names"
	packed -C src '--exclude=*.o' -T "$work/names"
	packed -C src --null -T "$work/list0"
	packed -C src -T "$work/names" d
	printf 'none\ntop.c\n/etc/passwd\n' >bad
	tarpipe -c -f ours.tar -C src -T "$work/bad"
	assert_status 2
	is "$(members ours.tar)" top.c 'the rest of a list is packed'
	rm -f ours.tar
	tarpipe -c -f ours.tar -C src -X none .
	assert_status 64
	assert_missing ours.tar
	if have bsdtar; then
		tarpipe -c -f ours.tar --strip-components=1 -C src a d
		assert_status 0
		bsdtar -cf theirs.tar --strip-components=1 -C src a d
		is "$(members ours.tar)" "$(members theirs.tar)" 'paths are cut as by bsdtar'
	else
		skip 'bsdtar is not installed' 'paths are cut as by bsdtar'
	fi
fi

# unpacked ARG...: -x takes what bsdtar or GNU tar takes, named first
unpacked() {
	unpacked_by=$1
	shift
	if ! have "$unpacked_by"; then
		skip "$unpacked_by is not installed" "-x $*: the choice of $unpacked_by"
		return
	fi
	rm -rf dst want
	mkdir dst want
	tarpipe -x -f "$archive" -C dst "$@"
	assert_status 0 "-x $*: status 0"
	"$unpacked_by" -xf "$archive" -C want "$@"
	is "$(names dst)" "$(names want)" "-x $*: the choice of $unpacked_by"
}

# told ARG...: -t lists what bsdtar lists
told() {
	tarpipe -t -f "$archive" "$@"
	assert_status 0 "-t $*: status 0"
	if have bsdtar; then
		is "$(sed 's,/$,,' "$out" | LC_ALL=C sort)" \
			"$(bsdtar -tf "$archive" "$@" | sed 's,/$,,' | LC_ALL=C sort)" \
			"-t $*: the choice of bsdtar"
	else
		skip 'bsdtar is not installed' "-t $*: the choice of bsdtar"
	fi
}

rm "src/$newline"
tar -C src -cf dot.tar .
tar -cf src.tar src
printf '%s\n' src/top.c src/a/b/ >names
printf 'src/x\0src/d\0' >names0
for archive in src.tar dot.tar; do
	unpacked tar '--exclude=*.o' --exclude=cache
	unpacked tar '--exclude=a/*'
	unpacked tar -X patterns
	unpacked tar --strip-components=1
	unpacked bsdtar --strip-components=2
	unpacked bsdtar '--exclude=*.o' --strip-components=2
	unpacked bsdtar '*.c'
done
archive=src.tar
unpacked bsdtar src/a/b src/x
unpacked bsdtar 'src/[a-c]*'
unpacked bsdtar 'src/\[x]'
unpacked bsdtar './src/a/b/'
unpacked bsdtar --exclude=y.o src/a/b
unpacked tar -T names
unpacked tar --null -T names0
unpacked tar -T names src/x
rm -rf dst
tarpipe -x -f src.tar -C . -X none
assert_status 64
mkdir dst
tarpipe -x -f src.tar -C dst src/x src/none
assert_status 2
assert_message '.*src/none'
assert_content x dst/src/x
# ---- Names of a file that was left out ----

mkdir -p twins/a twins/b
echo twins >twins/a/1
ln twins/a/1 twins/b/2
ln twins/a/1 twins/b/3
tar -cf twins.tar -C twins a b
tarpipe --exclude=a twins dst-twins
assert_status 0
assert_content twins dst-twins/b/2
is "$(stat -c %h dst-twins/b/2)" 2 'the names that were taken are one file'
tarpipe -c --exclude=a -f twins2.tar -C twins a b
assert_status 0
is "$(tar -tvf twins2.tar | cut -c 1 | tr -d '\n')" 'd-h' '-c: the first name that is taken has the data'
# With -x its data have gone by: it is told, and not linked to another file.
mkdir dst-twins2
tarpipe -x --exclude=a -f twins.tar -C dst-twins2
assert_status 2
assert_message 'dst-twins2/b/2: not linked: its target was left out \(a link to a/1\)'
assert_message 'dst-twins2/b/3: not linked: its target was left out \(a link to a/1\)'
mkdir dst-twins2/a
echo other >dst-twins2/a/1
touch -d 2001-02-03 dst-twins2/a/1
for option in --exclude=a -k; do
	tarpipe -x "$option" -f twins.tar -C dst-twins2
	assert_status 2
	assert_message 'dst-twins2/b/2: not linked: its target was there before, and is another file \(a link to a/1\)'
	assert_missing dst-twins2/b/2 dst-twins2/b/3
	assert_content other dst-twins2/a/1
done
tarpipe -x -f twins.tar -C dst-twins2
assert_status 0
rm dst-twins2/b/2
for option in --exclude=a -k; do
	tarpipe -x "$option" -f twins.tar -C dst-twins2
	assert_status 0 "the same file: $option"
	ok 'is linked to' test dst-twins2/a/1 -ef dst-twins2/b/2
done

# Many excludes cost no more than few.
seq -f 'name-%.0f' 200000 >many
mkdir lots
(cd lots && seq -f 'd/f%.0f' 3000 >../lots.list && mkdir d && xargs -a ../lots.list touch && mv d/f7 d/name-7)
tar -cf lots.tar lots
tarpipe -t -X many -f lots.tar
assert_status 0
is "$(wc -l <"$out")" 3001 'a list of many excludes'

archive=src.tar
# bsdtar takes blanks at the end of a line for a part of the pattern.
printf '*.o\n\ncache\n[a-b]/b\nlast' >patterns
told '--exclude=*.o'
told -X patterns
told src/a
told 'src/*.c'
told -T names
told --null -T names0
tarpipe -t -f src.tar src/none
assert_status 2
tarpipe -t -f src.tar -X none
assert_status 64
tarpipe -t -f src.tar -T none
assert_status 64
under sh -c 'cat names | "$@"' - tarpipe -t -T -
assert_status 64
assert_message "standard input can't be the archive and a list at once.*"

# ---- A name that comes twice ---------------------------------------------

# one_file DIR NAME...: these are names of one file, and it has no others
one_file() {
	is "$(cd "$1" && shift && stat -c '%h %i' "$@" | sort -u | sed 's/ .*//')" \
		"$(($# - 1))" "the names in $1 are of one file"
}

mkdir -p twice/sub
echo 1 >twice/sub/f
ln twice/sub/f twice/h
printf '%s\n' sub/f sub/f h >twice.list
context='listed twice'
rm -rf dst
tarpipe -T twice.list twice dst
assert_status 0
one_file dst sub/f h
tarpipe -c -C twice -T twice.list -f twice.tar
assert_status 0
for program in "$TARPIPE -x -C" 'tar -xf twice.tar -C'; do
	rm -rf dst
	mkdir dst
	# shellcheck disable=SC2086
	ok "${program%% *} unpacks it" $program dst <twice.tar
	one_file dst sub/f h
done
context='two operands that overlap'
tarpipe -c twice/sub twice -f twice.tar
assert_status 0
rm -rf dst
tarpipe -x -f twice.tar dst
assert_status 0
one_file dst sub/f twice/sub/f twice/h
context='two operands that overlap'
tarpipe twice/sub twice both/
assert_status 0
one_file both sub/f twice/sub/f twice/h

done_testing
