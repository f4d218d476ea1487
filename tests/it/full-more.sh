#!/bin/sh
# full-more.sh: quotas and limits of a file's size go on with the next file; who waits
# for a side that does nothing uses no time.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
limit=20

mkdir src src/d
fill 3000000 1 >src/large
fill 3000000 2 >src/d/larger
for n in 1 2 3; do
	echo $n >src/f$n
	echo $n >src/d/g$n
done
find src -depth -exec touch -d '2001-02-03 04:05:06.123456789' {} +
tar -C src --format=posix -cf src.tar .

# but_large DST: all is there but the two, and nothing else.
but_large() {
	assert_well_formed
	assert_missing "$1/large" "$1/d/larger"
	for n in 1 2 3; do
		assert_content $n "$1/f$n"
		assert_content $n "$1/d/g$n"
		assert_mtime 981173106.123456789 "$1/d/g$n"
	done
	assert_nothing_left "$1"
}

context='a limit of the size of files'
if have prlimit; then
	for how in '--reflink=never' '--reflink=auto' '-j 1 -m 64k'; do
		rm -rf dst
		# shellcheck disable=SC2086 # words
		under prlimit --fsize=1000000 tarpipe $how src dst
		assert_status 2
		for name in large d/larger; do
			assert_message "dst/$name: .*at byte (1000000|0): File too large"
		done
		is "$(wc -l <"$err")" 2 'each once'
		but_large dst
	done
	rm -rf dst
	under prlimit --fsize=1000000 tarpipe -x -f src.tar dst
	assert_status 2
	is "$(grep -c 'at byte [0-9]*: File too large' "$err")" 2 'each once'
	but_large dst
	echo before >x.tar
	under prlimit --fsize=1000000 tarpipe -c -f x.tar src
	assert_status 3
	assert_told_once 'x.tar: write, 1000000 bytes are safely out: File too large'
	assert_content before x.tar
	assert_nothing_left .
else
	skip 'prlimit is not installed'
fi

# quota DIR TYPE: at most 1 MiB below DIR/dst for each, whoever it belongs to.
quota() {
	case $2 in
	xfs)
		mkdir "$1/dst" && have xfs_quota &&
			xfs_quota -x -c "project -s -p $1/dst 7" -c 'limit -p bhard=1m 7' "$1"
		;;
	ext4)
		mkdir "$1/dst" && have chattr && have setquota &&
			chattr -p 7 "$1/dst" && chattr +P "$1/dst" &&
			setquota -P 7 0 1024 0 0 "$1"
		;;
	esac >/dev/null 2>&1
}
for type in xfs ext4; do
	context="a quota on $type"
	case $type in
	xfs) mkfs_more='' mount_more=prjquota ;;
	ext4) mkfs_more='-O quota,project -E quotatype=prjquota' mount_more=prjquota ;;
	esac
	on_filesystem $type fs 512M "$mkfs_more" || continue
	umount fs
	if mount -o loop,$mount_more "$base/lib/fs.$type" fs 2>/dev/null && quota fs $type; then
		for way in copy stream; do
			find fs/dst -mindepth 1 -delete
			case $way in
			copy) tarpipe --reflink=never --no-preserve=root src/ fs/dst ;;
			stream) tarpipe -x -f src.tar fs/dst ;;
			esac
			if grep -q 'No space left' "$err"; then
				# Over a project's quota this kernel says that it is full.
				assert_status 3
				assert_told_once .
			else
				assert_status 2
				for name in large d/larger; do
					assert_message "fs/dst/$name: .*at byte [0-9]+: Disk quota exceeded"
				done
				but_large fs/dst
			fi
			assert_missing fs/dst/large fs/dst/d/larger
			assert_nothing_left fs/dst
		done
	else
		skip 'project quotas can not be had here'
	fi
	off_filesystem fs
done

# ---- nothing spins -------------------------------------------------------------------

# used PID: the clock ticks that it has used.
used() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}
idle() {
	sleep 0.3
	before=$(used "$1")
	sleep 0.5
	ok 'who waits uses no time' test $(($(used "$1") - before)) -le 2
}

context='the reader rests'
mkfifo pipe
sleep 60 <>pipe &
sleeper=$!
env --default-signal=TERM,PIPE "$TARPIPE" -c -m 64k src >pipe 2>"$err" </dev/null &
pid=$!
idle $pid
kill $pid
wait $pid 2>/dev/null
kill $sleeper
wait $sleeper 2>/dev/null
rm pipe

context='the writer rests'
mkfifo pipe
for flags in '' '-p 75' '-p 100 -m 64k'; do
	# shellcheck disable=SC2086 # words
	start -x $flags -f pipe dst-idle
	exec 9>pipe
	head -c 100000 src.tar >&9
	idle "$pid"
	exec 9>&-
	wait "$pid"
	is $? 3 'then the stream is cut'
	rm -rf dst-idle
done
assert_nothing_left .

# For copies the file system is what rests.
faultfs=$TOP_BUILDDIR/tests/tools/faultfs
if [ -x "$faultfs" ] && need_faultfs; then
	on_faultfs src from
	on_faultfs back to
	for what in 'read from dst' 'write src to/dst'; do
		for flags in '' '-p 75' '-m 64k -j 1'; do
			# shellcheck disable=SC2086 # words
			set -- $what
			context="$1 rests, $flags"
			faults "$1 * times=1 hang"
			# shellcheck disable=SC2086 # words
			start $flags --reflink=never "$2" "$3"
			wait_for test -s "$hits"
			idle "$pid"
			faults
			wait "$pid"
			is $? 0 'and ends well'
			assert_same_tree --except blocks src "$3"
			rm -rf "$3"
		done
	done
else
	skip 'tests/tools/faultfs is not built' 'a file system that rests'
fi
done_testing
