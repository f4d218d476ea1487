#!/bin/sh
# existing.sh: nothing is written through an old name, what is there stays whole
# until the new one is, and names besides stay.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir src dst outside outside/dir
echo keep >outside/file
echo other >outside/other
echo in >outside/dir/in
for n in f g h dangling to-dir large; do
	echo new >src/$n
done
fill 300000 1 >src/large
mkdir src/d && echo new >src/d/in
ln -s nowhere src/symlink
mkfifo src/fifo

ln -s ../outside/file dst/f
ln outside/other dst/g
echo old >dst/h && chmod 400 dst/h
ln -s nowhere/at/all dst/dangling
ln -s ../outside/dir dst/to-dir
ln outside/other dst/large
ln -s ../outside/file dst/symlink
ln outside/other dst/fifo
mkdir dst/d dst/more && echo old >dst/d/in && echo besides >dst/d/besides
echo besides >dst/more/besides
# Not their number of names, which changes as those in dst give way.
outside() {
	stat -c %n:%i:%Y:%a:%s outside outside/* outside/dir/in
}
before=$(outside)
unharmed() {
	assert_content keep outside/file
	assert_content other outside/other
	assert_content in outside/dir/in
	assert_names outside/dir in
	is "$(outside)" "$before" 'nothing outside is changed'
}

for n in 1 2; do
	context="run $n"
	tarpipe src dst
	assert_status 0
	assert_silent
	unharmed
	assert_links 1 outside/other
	assert_type 'regular file' dst/f
	assert_links 1 dst/g
	assert_same_tree --extra src dst
	assert_content besides dst/d/besides
	assert_content besides dst/more/besides
	is "$(find dst -name '.*' -o -name '*tarpipe*')" '' 'nothing temporary is left'
done

context='--unlink-first'
ln -sf ../outside/file dst/f
ln -f outside/other dst/g
tarpipe --unlink-first src dst
assert_status 0
unharmed
assert_same_tree --extra src dst

context='-k'
rm -rf kept && cp -a dst kept
echo old >kept/h && ln -sf ../outside/file kept/f && rm kept/g
echo old >kept/d/in
touch -d '2001-01-01' kept/h
tarpipe -k src kept
assert_status 0
assert_content old kept/h
assert_content old kept/d/in
assert_mtime 978307200.000000000 kept/h
assert_target ../outside/file kept/f
assert_content new kept/g
unharmed

# A whole new one, or the old one: never something between.
context='replaced, not overwritten'
mkdir open && echo old >open/large && cp src/large open-src && mkdir one && mv open-src one/large
exec 5<open/large
tarpipe one open
assert_status 0
is "$(cat <&5)" old 'who has the old one open still reads it'
exec 5<&-
assert_same_file one/large open/large

# The workers replace side by side, in one directory too.
context='many rounds'
mkdir rounds
for d in a b c big; do
	mkdir rounds/$d
	seq 40 | split -l 1 - rounds/$d/
	mkfifo rounds/$d/p
	ln -s x rounds/$d/l
done
seq 300 | split -l 1 -a 3 - rounds/big/more-
for n in a b c; do
	ln rounds/a/aa rounds/b/linked-$n
	ln rounds/b/ab rounds/c/linked-$n
done
tarpipe rounds rounds-copy
wrong=
for n in $(seq 25); do
	tarpipe -j 8 rounds rounds-copy
	[ "$status,$(cat "$err")" = 0, ] || wrong="$wrong $n"
done
is "$wrong" '' 'no round goes wrong'
assert_same_tree rounds rounds-copy

context='a sticky directory of someone else'
if can_be_user; then
	mkdir sticky && chmod 1777 sticky && chown 5:5 sticky
	echo theirs >sticky/f && chown 5:5 sticky/f && chmod 666 sticky/f
	mkdir mine && echo mine >mine/f && echo mine >mine/g
	as_user tarpipe mine/ sticky
	assert_status 2
	assert_message '.*f: .*: Operation not permitted'
	assert_content theirs sticky/f
	assert_owner 5:5 sticky/f
	assert_content mine sticky/g
	assert_mode 1777 sticky
	is "$(find sticky -type f | wc -l)" 2 'nothing temporary is left'
else
	skip 'needs root and setpriv'
fi

# Directories take the source's metadata; default ACLs and attributes that are
# not the source's go.
context='directories that were there'
mkdir old old/d && echo x >old/d/more && chmod 700 old/d && touch -d '2001-01-01' old/d
setfacl -d -m u:1:rwx old/d 2>/dev/null
setfacl -m u:2:rwx old/d 2>/dev/null
holds_xattrs old && setfattr -n user.old -v 1 old/d
am_root && chown 5:6 old/d
tarpipe src old
assert_status 0
assert_same_tree --extra src old
assert_content x old/d/more

# DST must have a name of SRC's, or nothing, in the bare form.
context='something else'
mkdir else && echo mine >else/unrelated
else_before=$(snapshot else)
tarpipe src else
assert_status 64
assert_message '.*src/ else' 'shows one spelling'
assert_message '.*else/' 'and the other'
is "$(snapshot else)" "$else_before" 'nothing is written'
tarpipe src/ else
assert_status 0
assert_same_tree --extra src else
done_testing
