#!/bin/sh
# erofs.sh: a file system that turns read-only in the middle of a run stops it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
limit=20

mkdir src
for n in 1 2 3 4 5 6 7 8; do
	fill 1000000 $n >src/f$n
done
find src -depth -exec touch -d '2001-02-03 04:05:06.123456789' {} +
tar -C src --format=posix -cf src.tar f1 f2 f3 f4 f5 f6 f7 f8

on_filesystem ext4 fs 64M || done_testing
if ! mount -o remount,errors=remount-ro fs 2>/dev/null; then
	skip 'ext4 is not remounted here'
	done_testing
fi
trigger=/sys/fs/ext4/$(basename "$(findmnt -n -o SOURCE fs)")/trigger_fs_error
if ! [ -w "$trigger" ]; then
	skip "ext4 can't be told to fail here (trigger_fs_error)"
	done_testing
fi

mkfifo pipe
start -x -f pipe fs/dst
exec 9>pipe
head -c 4500000 src.tar >&9
wait_for test -e fs/dst/f3
echo test >"$trigger"
ok 'it is read-only now' wait_for grep -E "^[^ ]+ $work/fs ext4 (ro|[^ ]*emergency_ro)" /proc/mounts
# What comes now is taken until it finds out, and then nobody reads.
(trap '' PIPE; tail -c +4500001 src.tar >&9) 2>/dev/null
exec 9>&-
wait "$pid"
status=$?
assert_status 3
assert_well_formed
assert_message 'fs/dst(/f[0-9])?: .*: (Read-only file system|Input/output error)$'
for name in fs/dst/f*; do
	if [ "$(stat -c %.9Y "$name")" = 981173106.123456789 ]; then
		ok "${name##*/} has its time and is whole" cmp "src/${name##*/}" "$name"
	fi
done
is "$(of_ours)" '' 'no process is left'
done_testing
