#!/bin/sh
# specials.sh: FIFOs, sockets and devices, as root, as a user, and in a user
# namespace.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir src src/d
mkfifo -m 640 src/fifo
mkfifo src/d/fifo
make_socket src/socket || diag 'left out: a socket'
: >src/empty
echo after >src/zz
touch -h -d '2001-02-03 04:05:06.123456789' src/fifo src/zz

context='FIFOs and sockets'
tarpipe src dst
assert_status 0
assert_silent
assert_type fifo dst/fifo
assert_same_tree src dst
tarpipe src dst
assert_status 0
assert_same_tree src dst

context='special files not kept'
tarpipe --no-preserve=special src plain
assert_status 0
assert_missing plain/fifo plain/d/fifo plain/socket
assert_content after plain/zz

context=
if ! am_root || ! can_make_nodes; then
	skip 'devices can not be made here' 'devices'
	done_testing
fi
mknod src/null c 1 3
mknod -m 600 src/zero c 1 5
mknod src/loop b 7 0
mknod src/large c 511 262143
mknod src/whiteout c 0 0
chown 5:6 src/loop src/fifo
ln src/null src/d/null

context='as root'
tarpipe src nodes
assert_status 0
assert_silent
assert_device 1:3 nodes/null
assert_device 7:0 nodes/loop
assert_type 'block special file' nodes/loop
assert_same_inode nodes/null nodes/d/null
assert_same_tree src nodes
tarpipe src nodes
assert_status 0
assert_same_tree src nodes

# A device's content is never read, whatever the type it is given in.
context='a device as the source'
tarpipe src/zero one-device
assert_status 0
assert_device 1:5 one-device

nodes_are_told() {
	assert_status 2
	for n in null zero loop large; do
		assert_message ".*$n: .*: Operation not permitted"
		assert_missing "$1/$n"
	done
	assert_well_formed
	assert_no_message 'socket' 'a socket is no loss'
	assert_type fifo "$1/fifo"
	assert_type fifo "$1/d/fifo"
	assert_size 0 "$1/empty"
	assert_content after "$1/zz"
	assert_mtime 981173106.123456789 "$1/zz"
	assert_mtime 981173106.123456789 "$1/fifo"
}

context='as an ordinary user'
if can_be_user; then
	mkdir home && chown $user_id:$user_id home
	as_user tarpipe src home/dst
	nodes_are_told home/dst
else
	skip 'no setpriv'
fi

context='in a user namespace'
if unshare -Ur true 2>/dev/null; then
	chown -h 0:0 src/*
	under unshare -Ur tarpipe src namespaced
	nodes_are_told namespaced
else
	skip 'user namespaces are not allowed here'
fi
done_testing
