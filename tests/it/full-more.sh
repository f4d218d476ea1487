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

# quota DIR TYPE: at most 2 MiB below DIR/dst, whoever it belongs to.
quota() {
	case $2 in
	btrfs)
		btrfs quota enable "$1" && btrfs subvolume create "$1/dst" &&
			btrfs qgroup limit 2m "$1/dst"
		;;
	xfs)
		mkdir "$1/dst" &&
			xfs_quota -x -c "project -s -p $1/dst 7" -c 'limit -p bhard=2m 7' "$1"
		;;
	ext4)
		mkdir "$1/dst" && chattr -p 7 "$1/dst" && chattr +P "$1/dst" &&
			setquota -P 7 0 2048 0 0 "$1"
		;;
	esac >/dev/null 2>&1
}

# there_or_told DST: each name is there, whole, or it or its directory is named: what a
# file took that is gone may count for a while.
there_or_told() {
	quota_wrong=
	for quota_name in large f1 f2 f3 d/larger d/g1 d/g2 d/g3; do
		if [ -e "$1/$quota_name" ]; then
			cmp -s "src/$quota_name" "$1/$quota_name" &&
				[ "$(stat -c %.9Y "$1/$quota_name")" = 981173106.123456789 ]
		else
			grep -q -e "$1/$quota_name: " -e "$1/${quota_name%/*}: " "$err"
		fi || quota_wrong="$quota_wrong $quota_name"
	done
	is "$quota_wrong" '' 'each name is there, whole, or told'
	assert_well_formed
}

# on_quota TYPE TOOL MKFS-OPTIONS MOUNT-OPTIONS: a file system on ./fs with quota()
# in force; else a test is skipped and says why.
on_quota() {
	on_filesystem "$1" fs 512M || return 1
	off_filesystem fs
	quota_file=$base/lib/fs.$1
	truncate -s 512M "$quota_file"
	# shellcheck disable=SC2086 # words
	if ! mkfs."$1" -q $3 "$quota_file" >/dev/null 2>&1; then
		skip "mkfs.$1 $3 failed" 'quotas'
		return 1
	fi
	if ! mount -o "loop${4:+,$4}" "$quota_file" fs 2>/dev/null; then
		skip "this kernel mounts $1, but not with quotas (CONFIG_XFS_QUOTA, CONFIG_QFMT_V2)" \
			'quotas'
		return 1
	fi
	will_unmount fs
	if ! have "$2"; then
		skip "$2 is not installed" 'quotas'
		off_filesystem fs
		return 1
	fi
	if ! quota fs "$1"; then
		skip "no quota can be set on $1 here" 'quotas'
		off_filesystem fs
		return 1
	fi
}
for type in btrfs xfs ext4; do
	context="a quota on $type"
	case $type in
	btrfs) set -- btrfs '' '' ;;
	xfs) set -- xfs_quota '' prjquota ;;
	ext4) set -- setquota '-O quota,project -E quotatype=prjquota' prjquota ;;
	esac
	on_quota $type "$@" || continue
	for way in copy reference stream; do
		context="a quota on $type, $way"
		find fs/dst -mindepth 1 -delete
		sync -f fs/dst # what was freed counts until then
		case $way in
		copy) tarpipe --reflink=never --no-preserve=root src/ fs/dst ;;
		reference) tarpipe --no-preserve=root src/ fs/dst ;;
		stream) tarpipe -x -f src.tar fs/dst ;;
		esac
		if grep -q 'No space left' "$err"; then
			# Over a project's quota some kernels say that it is full.
			assert_status 3
			assert_told_once .
		else
			assert_status 2
			assert_message "fs/dst/large: .*at byte [0-9]+: Disk quota exceeded"
			is "$(grep -c -v ': Disk quota exceeded$' "$err")" 0 'nothing else is said'
			is "$(cut -d : -f 2 "$err" | sort | uniq -d)" '' 'each once'
			there_or_told fs/dst
		fi
		assert_missing fs/dst/large fs/dst/d/larger
		assert_nothing_left fs/dst
	done
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
