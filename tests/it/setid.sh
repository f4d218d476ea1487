#!/bin/sh
# setid.sh: setuid, setgid and sticky bits, which chown clears.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root

mkdir src
for owner in 0:0 1000:1000 0:1000 1000:0; do
	for mode in 4755 2755 6755 2644 1644; do
		f=src/$owner-$mode
		echo "$f" >"$f"
		chown "$owner" "$f"
		chmod "$mode" "$f"
		ln "$f" "$f-second-name"
	done
	for mode in 1777 2775 3770 2700; do
		d=src/dir-$owner-$mode
		mkdir "$d"
		echo below >"$d/below"
		chown "$owner" "$d"
		chmod "$mode" "$d"
	done
done

tarpipe src dst
assert_status 0
assert_silent
assert_mode 4755 dst/1000:1000-4755
assert_mode 2644 dst/1000:1000-2644-second-name
assert_mode 1777 dst/dir-0:0-1777
assert_mode 2775 dst/dir-1000:1000-2775
assert_same_tree src dst

# A setgid directory gives its group to what is made in it, not to what is copied.
context='into a setgid directory'
mkdir into && chown 5:5 into && chmod 2777 into
tarpipe --no-preserve=root src/ into
assert_status 0
assert_same_tree --except mode,owner,mtime src into
assert_mode 2755 into/0:0-2755
assert_owner 0:0 into/0:0-2755
assert_mode 2775 into/dir-0:0-2775
assert_owner 0:0 into/dir-0:0-2775
mkdir plain && echo plain >plain/f && mkdir plain/d
tarpipe --no-preserve=root plain/ into
assert_owner 0:0 into/d
assert_mode 755 into/d

# What gets another owner must not be setuid for that one.
context='owner not kept'
tarpipe --no-preserve=owner src dst2
assert_owner 0:0 dst2/1000:1000-4755
assert_mode 755 dst2/1000:1000-4755
assert_mode 4755 dst2/0:0-4755

context='as an ordinary user'
if can_be_user; then
	mkdir home && chown $user_id:$user_id home
	rm -r src/dir-*-3770 src/dir-*-2700 # it can't read them
	as_user tarpipe src home/dst
	is "$(find home/dst -type f -perm /6000)" '' 'no setid bit under another owner'
	is "$(find home/dst ! -user $user_id)" '' 'all is the user'\''s'
	assert_message '.*set[ug]*id' 'the loss is told'
	assert_told_once 'set[ug]*id'
	assert_status 2
	assert_well_formed
	assert_same_tree --except owner,mode src home/dst

	context="a user's own"
	mkdir home/own && chown $user_id:$user_id home/own
	as_user sh -c 'cd home/own && echo x >s && chmod 4755 s && mkdir d && chmod 2755 d'
	as_user tarpipe home/own home/own-copy
	assert_status 0
	assert_silent
	assert_same_tree home/own home/own-copy
else
	skip 'no setpriv' 'a user'
fi
done_testing
