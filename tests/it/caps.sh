#!/bin/sh
# caps.sh: file capabilities survive, though changing an owner removes them.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
need_tool setcap

mkdir src
for n in root user setid large; do
	cp /bin/true src/$n
done
fill 3000000 1 >src/large
chown 1000:1000 src/user src/setid src/large
chmod 6755 src/setid
setcap cap_net_raw+ep src/root 2>/dev/null || skip_all 'capabilities of files can not be set here'
setcap cap_net_raw+ep src/user
setcap cap_net_raw,cap_chown+eip src/setid
setcap cap_net_raw+ep src/large
ln src/user src/another-name

for how in auto never; do
	context="--reflink=$how"
	tarpipe --reflink=$how src dst-$how
	assert_status 0
	assert_silent
	assert_owner 1000:1000 dst-$how/user
	assert_cap cap_net_raw=ep dst-$how/user
	assert_cap cap_net_raw=ep dst-$how/another-name
	assert_cap cap_net_raw=ep dst-$how/large
	assert_cap cap_chown,cap_net_raw=eip dst-$how/setid
	assert_mode 6755 dst-$how/setid
	assert_same_tree src dst-$how
done

context='as an ordinary user'
if can_be_user; then
	mkdir home && chown $user_id:$user_id home
	as_user tarpipe src home/dst
	assert_status 2
	assert_message '.*user: .*security\.capability' 'names the file and the attribute'
	assert_well_formed
	assert_same_file src/user home/dst/user
	assert_same_tree --except owner,xattr,cap,mode src home/dst
else
	skip 'no setpriv' 'the user can not set them'
fi
done_testing
