#!/bin/sh
# times.sh: times of everything, directories and symbolic links too, to the
# nanosecond.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/a/b/c src/empty src/z
echo f >src/f
echo g >src/a/b/g
fill 300000 1 >src/a/large
: >src/a/b/c/nothing
truncate -s 1M src/a/hole
ln -s nowhere src/a/b/c/link
mkfifo src/a/b/fifo
make_socket src/z/socket || diag 'left out: a socket'
# Children after parents, each with times of its own.
n=0
find src | sort >"$base/lib/names"
while read -r name; do
	n=$((n + 1))
	touch -h -m -d "2001-02-03 04:05:06.1234567$((n + 10))" "$name"
done <"$base/lib/names"

tarpipe src dst
assert_status 0
assert_silent
assert_mtime "$(stat -c %.9Y src)" dst
assert_mtime "$(stat -c %.9Y src/a/b/c/link)" dst/a/b/c/link
assert_same_tree src dst

context='each file system'
mkdir odd odd/dir
set -- 0 0.000000001 0.999999999 -1 -1.5 -0.000000001 -1000000000.123456789 \
	1 4102444800.987654321 2147483647.999999999
for t; do
	: >"odd/$t"
	mkdir "odd/dir/$t"
	ln -s -- "$t" "odd/link$t"
	mkfifo "odd/fifo$t"
	touch -h -d "@$t" "odd/$t" "odd/dir/$t" "odd/link$t" "odd/fifo$t"
done
for type in ext4 xfs btrfs tmpfs; do
	context=$type
	on_filesystem $type fs || continue
	# Only times that it can hold: let touch find out.
	mkdir fs/probe
	cp -a odd fs/probe/odd
	tarpipe odd fs/odd
	# What it can't hold is told, once.
	if [ "$(cd odd && find . -printf '%p %T@\n' | sort)" = \
		"$(cd fs/probe/odd && find . -printf '%p %T@\n' | sort)" ]; then
		assert_status 0
	else
		assert_status 2
		assert_told_once 'setting its times'
	fi
	assert_same_tree fs/probe/odd fs/odd
	off_filesystem fs
done

# Access times are kept as well, and reading leaves the source's alone where
# that is allowed (the owner's files; symbolic links can't be read without).
context='access times'
mkdir at at/d
echo f >at/f
fill 200000 2 >at/large
: >at/d/e
ln -s f at/l
touch -a -h -d '2001-01-01 01:01:01.111111111' at/f at/large at/d/e at/l
touch -m -h -d '2002-02-02 02:02:02.222222222' at/f at/large at/d/e at/l
touch -a -d '2003-03-03 03:03:03.333333333' at/d at
atimes() {
	(cd "$1" && find . ! -type l -printf '%p %A@\n' | sort)
}
before=$(atimes at)
touch -a -d '2003-03-03 03:03:03.333333333' at/d at # find has read them
tarpipe at at-copy
assert_status 0
is "$(stat -c %.9X at-copy/f at-copy/large at-copy/d/e)" "$(stat -c %.9X at/f at/large at/d/e)" \
	'files have the access times of the source'
is "$(stat -c %.9X at-copy at-copy/d)" "1046660583.333333333
1046660583.333333333" 'directories too'
is "$(stat -c %.9X at-copy/l)" 978310861.111111111 'symbolic links too'
is "$(stat -c %.9X at/f at/large at/d/e)" "978310861.111111111
978310861.111111111
978310861.111111111" 'reading has not changed those of the source'
is "$(atimes at)" "$before" 'nor of the directories'

context='by reference'
tarpipe --reflink=auto at at-copy2
is "$(stat -c %.9X:%.9Y at-copy2/large)" "$(stat -c %.9X:%.9Y at/large)" 'both times'
done_testing
