#!/bin/sh
# readonly.sh: read-only and unsearchable things, copied by an ordinary user.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# The whole test is one user's; root only lends a place.
if am_root; then
	need_user
	chown $user_id:$user_id .
	user=as_user
else
	user=
fi

$user sh <<'END'
mkdir -p src/ro/sub src/empty src/write-only
echo 1 >src/ro/sub/f
setfattr -n user.k -v v src/ro/sub/f 2>/dev/null
setfattr -n user.k -v v src/ro/sub src/ro 2>/dev/null
setfacl -m u:1:r src/ro/sub/f 2>/dev/null
echo 2 >src/ro/two; ln src/ro/two src/ro/sub/also-two
ln -s nowhere src/ro/sub/l
mkfifo src/ro/sub/p
seq 100000 >src/ro/large
chmod 0444 src/ro/sub/f src/ro/large; chmod 0400 src/ro/two
chmod 0000 src/ro/sub/p
touch -h -d '2001-02-03 04:05:06.123456789' src/ro/sub/* src/ro/sub src/ro/*
chmod 0555 src/ro/sub src/ro src/empty
touch -d '2001-02-03 04:05:06.123456789' src/ro src/empty
chmod 0500 src
END

$user tarpipe src dst
assert_status 0
assert_silent
assert_mode 444 dst/ro/sub/f
assert_mode 555 dst/ro/sub
assert_mode 555 dst/ro
assert_mode 0 dst/ro/sub/p
assert_mode 500 dst
assert_same_tree src dst

# Twice: now what stands there is read-only as well.
context=again
$user tarpipe src dst
assert_status 0
assert_silent
assert_same_tree src dst

context='older things below read-only directories'
$user sh -c 'chmod u+w dst/ro/sub dst/ro; rm -f dst/ro/sub/f; echo old >dst/ro/two
	chmod 400 dst/ro/two; chmod 500 dst/ro/sub dst/ro' 2>/dev/null
$user tarpipe src dst
assert_status 0
assert_same_tree src dst

# Nobody but root can read it, but its name and its metadata can be had.
context='a directory that can not be read'
if am_root; then
	mkdir -p closed/dark/inside && echo ok >closed/ok && chmod 000 closed/dark
	as_user tarpipe closed closed-copy
	assert_status 2
	assert_message '.*dark: '
	assert_content ok closed-copy/ok
else
	skip 'needs root' 'it is told'
fi
done_testing
