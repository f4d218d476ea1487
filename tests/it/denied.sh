#!/bin/sh
# denied.sh: what an ordinary user may not read is named and leaves status 2;
# nothing stands in for it, and all the rest arrives.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_user

mkdir src src/nd src/nd/below src/list-only src/ok-dir src/ok-dir/d
echo 1 >src/ok1
echo no >src/no
echo 2 >src/ok2
echo hidden >src/nd/below/hidden
echo x >src/list-only/x
fill 300000 1 >src/large-no
fill 300000 1 >src/ok-dir/large
ln -s no src/link
chmod 000 src/no src/large-no src/nd
chmod 744 src/list-only
touch -d '2001-02-03 04:05:06.123456789' src/ok1 src/ok-dir src
mkdir home && chown $user_id:$user_id home

as_user tarpipe src home/dst
assert_status 2
assert_message '.*no: .*: Permission denied'
assert_message '.*large-no: .*: Permission denied'
assert_message '.*nd: .*: Permission denied'
assert_message '.*list-only/x: .*: Permission denied'
is "$(wc -l <"$err")" 4 'four things, four lines'
assert_well_formed
assert_missing home/dst/no home/dst/large-no home/dst/nd/below
assert_content 1 home/dst/ok1
assert_content 2 home/dst/ok2
assert_target no home/dst/link
assert_same_tree --except owner src/ok-dir home/dst/ok-dir
assert_mtime 981173106.123456789 home/dst
assert_mtime 981173106.123456789 home/dst/ok1
is "$(find home/dst -name '.*' | wc -l)" 0 'nothing temporary is left'

context='again'
as_user tarpipe src home/dst
assert_status 2
is "$(wc -l <"$err")" 4 'four things, four lines'
assert_content 1 home/dst/ok1

# Both halves of the pipe: who packs knows it, who unpacks has a whole stream.
context='a stream'
as_user tarpipe -c src
assert_status 2
for name in no large-no nd list-only/x; do
	assert_message ".*$name: .*: Permission denied"
done
is "$(wc -l <"$err")" 4 'four things, four lines'
cp "$out" s.tar
tarpipe -x -f s.tar unpacked
assert_status 0
assert_silent
assert_missing unpacked/no unpacked/large-no unpacked/nd/below
assert_content 1 unpacked/ok1
assert_content 2 unpacked/ok2
assert_same_tree src/ok-dir unpacked/ok-dir

context='quiet'
as_user tarpipe -q src home/dst
assert_status 2
assert_message '.*no: ' 'errors are still told'

# An older copy stays when the new one can't be read.
context='over an older one'
mkdir home/older && echo old >home/older/no && cp src/ok1 home/older/ok1
chown -R $user_id:$user_id home/older
as_user tarpipe src home/older
assert_status 2
assert_content old home/older/no

context='owners'
mkdir etc && echo a >etc/a && echo b >etc/b && mkdir etc/d && chown 0:3 etc/b
as_user tarpipe etc home/etc
assert_status 0
assert_silent
is "$(find home/etc ! -user $user_id)" '' 'all is the user'\''s own'
as_user tarpipe --preserve=owner etc home/etc2
assert_status 2
assert_message '.*a: .*: Operation not permitted' 'unless they are asked for'
assert_content a home/etc2/a

context='the source itself'
mkdir closed && chmod 000 closed
as_user tarpipe closed home/closed
assert_status_in 2 3 64
assert_message '.*closed: .*: Permission denied'

context='the destination'
mkdir locked && chmod 755 locked
as_user tarpipe etc locked/dst
assert_status 3
assert_message '.*locked/dst: .*: Permission denied'
assert_missing locked/dst

context='below the destination'
mkdir home/mixed && mkdir home/mixed/d && echo old >home/mixed/d/in
chown $user_id:$user_id home/mixed && chmod 755 home/mixed/d
echo new >etc/d/in
as_user tarpipe etc home/mixed
assert_status 2
assert_message '.*d/in: .*: Permission denied'
assert_content old home/mixed/d/in
assert_content a home/mixed/a
done_testing
