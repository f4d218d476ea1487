#!/bin/sh
# failing-destination.sh: whatever the destination refuses, at whatever call, is named,
# once each or once for its kind; a full one stops the run within two seconds.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
need_faultfs
limit=20

mkdir src src/d src/e
for n in 1 2 3; do
	echo "$n" >src/d/f$n
	chown 1000:1000 src/d/f$n
	chmod 2640 src/d/f$n
done
fill 3000000 1 >src/d/large
fill 500 2 >src/e/small
ln src/e/small src/e/name
ln -s small src/e/link
mkfifo src/e/fifo
truncate -s 2M src/e/sparse
fill 100000 4 >>src/e/sparse
truncate -s 3M src/e/sparse
holds_xattrs src || skip_all 'no user attributes on this file system'
for n in d/f1 d/f2 d/f3; do
	setfattr -n user.k -v "value of $n" src/$n
done
find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
tar -C src --xattrs --format=posix -cf src.tar . 2>/dev/null
on_faultfs back to
cp -a src back/src

# into WAY [OPTION]...: src becomes to/dst; what was there is gone, but for $before.
into() {
	into_way=$1
	shift
	context="$what, $into_way"
	rm -rf back/dst
	[ -z "$before" ] || cp -a "$before" back/dst
	started=$(date +%s%N)
	case $into_way in
	copy) tarpipe "$@" --reflink=never src to/dst ;;
	reference) tarpipe "$@" to/src to/dst ;;
	stream) launch sh -c '"$0" -c src | "$0" -x "$@"' "$TARPIPE" "$@" to/dst ;;
	esac
	took=$((($(date +%s%N) - started) / 1000000))
	faults_hit=$(cat "$hits")
	faults
	assert_well_formed
	ok 'it came to that' test -n "$faults_hit"
	assert_nothing_left back/dst
}
before=

# whole [timed]: each file with a final name is what it shall be; or, where it can't be
# removed any more, has not its final time.
whole() {
	whole_wrong=
	for whole_name in d/f1 d/f2 d/f3 d/large e/small e/name e/sparse; do
		[ -e back/dst/$whole_name ] || continue
		[ "${1:-}" != timed ] ||
			[ "$(stat -c %Y back/dst/$whole_name)" = 981173106 ] || continue
		cmp -s src/$whole_name back/dst/$whole_name ||
			whole_wrong="$whole_wrong $whole_name"
	done
	is "$whole_wrong" '' 'nothing half done bears a final name'
}

# ---- full ---------------------------------------------------------------------------

full() {
	for full_way in $1; do
		faults "$2"
		into "$full_way"
		assert_status 3
		assert_told_once "$3"
		is "$(wc -l <"$err")" 1 'and nothing else is said'
		ok 'within two seconds' test $took -lt 2000
		whole
	done
}
both='copy stream'
what='ENOSPC after some bytes'
full "$both" 'write * bytes=1000000 ENOSPC' '(d/large|e/sparse): writing at byte [0-9]+: No space left'
what='ENOSPC by reference'
full reference 'copy *large bytes=1000000 ENOSPC' 'd/large: copying by reference at byte 1000000: No space left'
for call in create mkdir symlink mknod link truncate flush; do
	what="ENOSPC of $call"
	full "$both" "$call dst/* ENOSPC" 'to/dst/[de].*: No space left'
done
what='ENOSPC when it is renamed'
before=src
full "$both" 'rename dst/d/f* ENOSPC' 'to/dst/d/f[123]: renameat: No space left'
before=
what='EROFS from some moment'
for way in $both; do
	faults 'change * after=20 EROFS'
	into $way
	assert_status 3
	is "$(grep -c -v ': Read-only file system$' "$err")" 0 'nothing else is said'
	ok 'a few lines: the file at hand, and the next' test "$(wc -l <"$err")" -le 4
	ok 'within two seconds' test $took -lt 2000
	whole timed
done

# ---- one file after the other ------------------------------------------------------

for error in EIO:Input/output EDQUOT:Disk.quota EFBIG:File.too.large; do
	for call in write flush create; do
		[ $call,${error%:*} != create,EFBIG ] || continue
		what="${error%:*} of $call"
		for way in $both; do
			faults "$call dst/d/* ${error%:*}"
			into $way
			assert_status 2
			for n in f1 f2 f3 large; do
				assert_message ".*d/$n: .*: ${error#*:}"
			done
			is "$(wc -l <"$err")" 4 'each once'
			assert_names back/dst/d
			assert_same_tree --except blocks src/e back/dst/e
		done
	done
	what="${error%:*} in the midst"
	faults "write dst/d/large bytes=1000000 ${error%:*}"
	into copy
	assert_status 2
	assert_told_once "d/large: writing at byte 1000000: ${error#*:}"
	assert_missing back/dst/d/large
	assert_same_tree --except blocks src/e back/dst/e
done
what='EIO by reference'
faults 'copy *large bytes=1000000 EIO'
into reference
assert_status 2
assert_told_once 'd/large: copying by reference at byte 1000000: Input/output error'
assert_missing back/dst/d/large

what='an older one'
before=older
cp -a src older && echo old >older/d/large && echo old >older/d/f1
for way in $both; do
	faults 'write *tarpipe-tmp* EIO'
	into $way
	assert_status 2
	assert_content old back/dst/d/large
	assert_content old back/dst/d/f1
done
before=

what='ENAMETOOLONG and EMLINK'
for way in $both; do
	faults 'create dst/d/f2 ENAMETOOLONG' 'mkdir dst/e EMLINK'
	into $way
	assert_status 2
	assert_message '.*d/f2: .*: File name too long'
	assert_message '.*e: .*: Too many links'
	assert_missing back/dst/d/f2 back/dst/e
	assert_same_file src/d/large back/dst/d/large
done

what='it can not be removed either'
faults 'write dst/d/large after=1 EIO' 'unlink dst/d/large EIO'
rm -rf back/dst
tarpipe --reflink=never src to/dst
faults
assert_status 2
assert_message '.*d/large: writing at byte [0-9]+: Input/output error'
assert_message '.*d/large: removing what is not complete: Input/output error'
[ "$(stat -c %Y back/dst/d/large)" != 981173106 ]
is $? 0 'and does not look complete'

# ---- metadata ---------------------------------------------------------------------

# told CALL WORD: EPERM and EACCES of each file, EOPNOTSUPP once for all.
told() {
	for error in EPERM:Operation.not.permitted EACCES:Permission.denied EIO:Input/output EDQUOT:Disk.quota; do
		what="${error%:*} of $1"
		faults "$1 dst/d/f* ${error%:*}"
		into copy
		assert_status 2
		for n in 1 2 3; do
			assert_message ".*d/f$n: .*$2.*: ${error#*:}"
		done
		assert_same_tree --except "$3,blocks" src back/dst
	done
	for error in EOPNOTSUPP ENOSYS; do
		# FUSE never asks again for attributes then.
		[ $error,$1 != ENOSYS,setxattr ] || continue
		for way in $both; do
			what="$error of $1"
			faults "$1 dst/d/f* $error"
			into $way
			assert_status 2
			assert_told_once '(not supported|not implemented).*2 more'
			assert_same_file src/d/f1 back/dst/d/f1
		done
	done
}
told chown chown owner,mode
told chmod chmod mode
told utimens 'times' mtime
told setxattr 'user\.k' xattr

what='no special files, links'
for error in EPERM:Operation.not.permitted EOPNOTSUPP:Operation.not.supported; do
	for call in mknod symlink; do
		what="${error%:*} of $call"
		for way in $both; do
			faults "$call * ${error%:*}"
			into $way
			assert_status 2
			assert_told_once ": ${error#*:}"
			assert_same_file src/d/large back/dst/d/large
		done
	done
done
what='no hard links'
for way in $both; do
	faults 'link * EPERM'
	into $way
	assert_status 2
	assert_same_file src/e/small back/dst/e/small
	assert_same_file src/e/small back/dst/e/name
done

# ---- the rest -----------------------------------------------------------------------

what='short writes'
umount to && on_faultfs back to --direct
for way in $both; do
	faults 'write * short'
	into $way
	assert_status 0
	assert_silent
	assert_same_file src/d/large back/dst/d/large
done

what='a server that goes away'
faults 'write *large after=1 times=1 hang'
server=$(pgrep -f "^$faultfs --direct .* to\$" | head -n 1)
if [ -n "$server" ]; then
	rm -rf back/dst
	{ wait_for test -s "$hits" && kill -KILL "$server"; } &
	tarpipe --reflink=never src to/dst
	wait
	assert_status_in 2 3
	assert_message '.*large: .*: (Transport endpoint is not connected|Software caused connection abort)'
	assert_well_formed
	ok 'what is there does not look complete' \
		test "$(stat -c %Y back/dst/d/large)" -ne 981173106
	umount -l to
	on_faultfs back to --direct
else
	skip 'pgrep is not installed'
fi

context='an archive'
for call in write fsync flush; do
	echo before >back/x.tar
	case $call in
	fsync) faults "$call * EIO" ;;
	*) faults "$call * after=1 EIO" ;;
	esac
	tarpipe -c -f to/x.tar src
	assert_faults_hit "^$call "
	assert_status 3
	assert_told_once 'x.tar: .*: Input/output error'
	assert_content before back/x.tar
	faults
	is "$(find back -name '.tarpipe-*')" '' 'nothing temporary is left'
done
done_testing
