#!/bin/sh
# regress-misc.sh: small things that went wrong once.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

context='setgid without the group'
if am_root && have setpriv; then
	mkdir -m 777 plain
	mkdir setgid && chown 0:5000 setgid && chmod 2777 setgid
	mkdir src src/d
	echo content >src/f
	echo content >src/d/f
	chown -R 1000:5000 src
	chmod 2775 src/d
	chmod 2755 src/f
	chmod 755 src
	reach_program
	for where in setgid plain; do
		context="setgid without the group, in $where"
		under setpriv --reuid 1000 --regid 1000 --clear-groups tarpipe src $where/dst
		wrong=
		for name in f d d/f; do
			[ "$(stat -c %g:%a src/$name)" = "$(stat -c %g:%a $where/dst/$name)" ] ||
				wrong="$wrong $name:$(stat -c %g:%a $where/dst/$name)"
		done
		case $status in
		0) is "$wrong" '' 'status 0, and kept' ;;
		2)
			is "$(grep -c set.id "$err")" 1 'status 2, and told once'
			assert_told_once .
			;;
		*) fail 'status 0 or 2' ;;
		esac
		assert_content content $where/dst/d/f
	done
else
	skip 'needs root and setpriv'
fi

context='too many names, all of them there already'
if have perl && on_filesystem tmpfs from 64m && on_filesystem ext4 to 256M '-N 2000'; then
	mkdir from/src from/src/d
	echo content >from/src/d/0
	perl -e 'for (1..65009) { link "from/src/d/0", "from/src/d/$_" or die "$!" }'
	tarpipe from/src to/dst
	assert_status_in 0 2
	for n in 1 2; do
		context="too many names, changed $n times"
		echo "content $n" >from/src/d/0
		tarpipe from/src to/dst
		assert_status_in 0 2
		ok 'at most one message for each inode more' test "$(wc -l <"$err")" -le 2
		is "$(find to/dst/d -type f | wc -l)" 65010 'all names are there'
		is "$(find to/dst/d -type f -printf '%i %p\n' | sort -u -k 1,1 | cut -d ' ' -f 2 | xargs cat | sort -u)" \
			"content $n" 'with the new content'
		is "$(find to/dst/d -type f -size "$(stat -c %s from/src/d/0)c" | wc -l)" 65010 \
			'and its size'
		is "$(find to/dst/d -name '.*')" '' 'nothing temporary is left'
	done
	off_filesystem from
	off_filesystem to
elif ! have perl; then
	skip 'perl is not installed'
fi

# with_files N COMMAND...: under a limit of open files.
with_files() {
	with_n=$1
	shift
	under prlimit --nofile="$with_n:$with_n" "$@"
}

context='--keep-directory-symlink with few descriptors'
if have prlimit; then
	rm -rf src dst real
	mkdir src src/l dst real
	ln -s ../real dst/l
	for n in $(seq 200); do
		mkdir "src/l/d$n"
		echo "$n" >"src/l/d$n/f"
	done
	deep=src/l/deep
	for n in $(seq 60); do
		mkdir "$deep"
		echo "$n" >"$deep/f"
		deep=$deep/n
	done
	for jobs in 1 8 8 8; do
		context="--keep-directory-symlink with few descriptors, -j$jobs"
		rm -rf real/*
		with_files 64 tarpipe -j $jobs --keep-directory-symlink src dst
		assert_status 0
		assert_silent
		assert_target ../real dst/l
		assert_same_tree src/l real
	done

	context='20 descriptors'
	rm -rf src dst
	mkdir src src/many
	seq 300 | split -l 1 -a 3 - src/many/
	deep=src/deep
	for n in $(seq 40); do
		mkdir "$deep"
		echo "$n" >"$deep/f"
		fill 70000 "$n" >"$deep/large"
		mkdir "$deep/side" && echo side >"$deep/side/f"
		deep=$deep/n
	done
	for flags in '-j 8' '-j 8 --reflink=never' '-j 1'; do
		for round in first second; do
			context="20 descriptors, $flags, $round"
			[ $round = second ] || rm -rf dst
			# shellcheck disable=SC2086 # words
			with_files 20 tarpipe $flags src dst
			assert_status 0
			assert_silent
			assert_same_tree src dst
		done
	done
else
	skip 'prlimit is not installed'
fi

context='names into a full device'
rm -rf src dst
mkdir src
seq 1000 | split -l 1 -a 3 - src/a-long-enough-name-
if [ -c /dev/full ]; then
	timeout 20 "$TARPIPE" -v src dst >/dev/full 2>"$err" </dev/null
	status=$?
	assert_status 2
	assert_told_once .
	assert_message '.*: No space left on device'
	assert_same_tree src dst
else
	skip 'no /dev/full'
fi

# All the workers are at one of these when there is no room any more.
context='a full disk'
rm -rf src
mkdir src
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	fill 3000000 "$n" >src/f$n
done
if on_filesystem tmpfs fs 8m; then
	wrong=
	for n in 1 2 3 4 5; do
		rm -rf fs/dst
		tarpipe -j 8 src fs/dst
		[ "$status" -eq 3 ] || wrong="$wrong $n:$status"
		[ "$(grep -c 'No space left' "$err")" -eq 1 ] || wrong="$wrong $n:told"
		[ "$(wc -l <"$err")" -eq 1 ] || wrong="$wrong $n:lines"
	done
	is "$wrong" '' 'status 3, and one message, five times'
	off_filesystem fs
fi

# What is mounted there is what counts, not what readdir says.
context='mounted over'
rm -rf src dst
mkdir src
echo below >src/file
echo above >above
if am_root && can_make_nodes && mknod src/device c 1 3 &&
	mount --bind /dev/zero src/file 2>/dev/null; then
	will_unmount src/file
	mount --bind above src/device && will_unmount src/device
	tarpipe src dst
	assert_status 0
	assert_silent
	assert_type 'character special file' dst/file
	assert_device 1:5 dst/file
	assert_type 'regular file' dst/device
	assert_content above dst/device
	off_filesystem src/file
	off_filesystem src/device
else
	skip 'devices can not be made, or nothing be mounted here'
fi

# The holder of a lease gives it up a second after it is asked for.
context='a lease'
rm -rf src dst
mkdir src
for name in small large; do
	rm -rf dst held
	echo content >src/small
	fill 3000000 1 >src/large
	if ! have perl; then
		skip 'perl is not installed'
		continue
	fi
	# shellcheck disable=SC2016 # perl
	perl -e 'use Fcntl; $| = 1;
		$SIG{IO} = "IGNORE";
		open F, "+<", $ARGV[0] or exit 1;
		fcntl F, 1024, 1 or exit 1;
		open H, ">", "held"; close H;
		for (1 .. 100) {
			select undef, undef, undef, 0.05;
			if (fcntl(F, 1025, 0) != 1) {	# it is being broken
				select undef, undef, undef, 1;
				last;
			}
		}
		fcntl F, 1024, 2' "src/$name" 2>"$base/lib/lease" &
	holder=$!
	if wait_for sh -c "[ -e held ] || ! kill -0 $holder" && [ -e held ]; then
		tarpipe src dst
		assert_status 0
		assert_silent
		assert_same_tree src dst
	else
		skip 'no lease can be had here' "$name"
	fi
	kill $holder 2>/dev/null
	wait $holder
done
done_testing
