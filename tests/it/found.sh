#!/bin/sh
# found.sh: trees as found on a system: /usr/share and /usr/include.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

limit=240

# In memory where that is plenty; each file system holds attributes as it can.
memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)

# plainly_readable DIR: this user may read all of it.
plainly_readable() {
	[ -z "$(find "$1" ! -type l ! -readable -print -quit 2>&1)" ]
}

copy_found() {
	context=$1
	if ! [ -d "$1" ] || ! plainly_readable "$1"; then
		skip "$1 is not there, or not readable"
		return
	fi
	size=$(du -sm "$1" | cut -f 1)
	if [ "$memory" -gt $((size * 3 + 1000)) ] &&
		on_filesystem tmpfs fs "$((size * 2 + 100))m"; then
		dst=fs/dst
	else
		dst=dst
	fi
	tarpipe "$1" $dst
	assert_status 0
	assert_silent
	if am_root; then
		assert_same_tree "$1" $dst
		assert_rsync_agrees "$1" $dst
	else
		assert_same_tree --except owner "$1" $dst
	fi
	if [ $dst = fs/dst ]; then
		off_filesystem fs
	else
		rm -rf dst
	fi
}

copy_found /usr/include
copy_found /usr/share
done_testing
