#!/bin/sh
# failing-source.sh: a source that can't be read here and there, or changes while it is
# read: it is named, with the place, and all the rest arrives.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_faultfs
limit=20

mkdir src src/d src/d/below
for n in 1 2 3 4 5 6 7 8; do
	echo "$n" >src/d/f$n
done
echo below >src/d/below/in
fill 300000 1 >src/large
fill 5000000 2 >src/larger
fill 500 3 >src/small
ln src/large src/name-of-large
ln -s small src/link
truncate -s 3M src/sparse
fill 100000 4 >>src/sparse
truncate -s 5M src/sparse
if holds_xattrs src; then
	setfattr -n user.k -v value src/small src/d
else
	diag 'left out: attributes'
fi
find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
on_faultfs src from

# through WAY [FLAG]...: from becomes dst; $status is the highest of the halves.
through() {
	rm -rf dst
	through_way=$1
	shift
	context="$what, $through_way"
	case $through_way in
	copy) tarpipe "$@" from dst ;;
	read) tarpipe "$@" --reflink=never -m 256k from dst ;;
	stream)
		launch sh -c '{ "$0" -c "$1"; echo $? >rc-c; } | "$0" -x dst; echo $? >rc-x' \
			"$TARPIPE" from
		status=$(sort -n rc-c rc-x | tail -n 1)
		rc_x=$(cat rc-x)
		;;
	esac
	faults_hit=$(cat "$hits")
	faults
}

# but NAME...: all the rest is there, as it shall be; nothing is left over.
but() {
	assert_well_formed
	rm -rf want && cp -a src want
	for but_name; do
		rm -rf "want/$but_name"
		[ ! -d want/d ] || touch -r src/d want/d
	done
	touch -r src want
	assert_same_tree --extra --except links,blocks want dst
	assert_nothing_left dst
	ok 'it came to that' test -n "$faults_hit"
}

# told: one message, or in a stream one at each end.
told() {
	if [ "$through_way" = stream ]; then
		is "$(wc -l <"$err")" 2 'says once at each end'
	else
		assert_told_once .
	fi
}

for way in copy read stream; do
	what='EIO in a file'
	faults 'read larger at=3000000 EIO'
	through $way
	assert_status 2
	assert_message '.*larger: .*at byte (29[0-9]{5}|3000000).*: Input/output error'
	told
	assert_missing dst/larger
	but larger

	what='EIO at the first byte'
	faults 'read small EIO' 'read *large EIO'
	through $way
	assert_status 2
	assert_message '.*small: .*at byte 0.*: Input/output error'
	assert_message '.*(large|name-of-large): .*at byte 0.*: Input/output error'
	assert_missing dst/small dst/large dst/name-of-large
	but small large name-of-large

	what='EIO in a sparse file'
	faults 'read sparse at=3200000 EIO'
	through $way
	assert_status 2
	assert_message '.*sparse: .*at byte 3[0-9]{6}.*: Input/output error'
	but sparse

	what='a file that can not be opened'
	faults 'open small EIO' 'open d/f3 EACCES' 'open larger ESTALE'
	through $way
	assert_status 2
	assert_message '.*small: .*: Input/output error'
	assert_message '.*d/f3: .*: Permission denied'
	assert_message '.*larger: .*: Stale file handle'
	assert_missing dst/small dst/d/f3 dst/larger
	but small d/f3 larger

	what='a directory that can not be opened'
	faults 'opendir d EIO'
	through $way
	assert_status 2
	assert_message '.*d: .*: Input/output error'
	assert_told_once .
	but d

	what='a listing that breaks off'
	faults 'readdir d after=4 EIO'
	through $way
	assert_status 2
	assert_message '.*d: .*: Input/output error'
	assert_told_once .
	but d/f1 d/f2 d/f3 d/f4 d/f5 d/f6 d/f7 d/f8 d/below

	what='a link that can not be read'
	faults 'readlink link EIO'
	through $way
	assert_status 2
	assert_message '.*link: .*: Input/output error'
	but link

	if holds_xattrs src; then
		for call in listxattr getxattr; do
			what="$call fails"
			faults "$call small EIO" "$call d EIO"
			through $way
			assert_status 2
			assert_message '.*small: .*attribute.*: Input/output error'
			assert_message '.*d: .*attribute.*: Input/output error'
			assert_same_tree --except xattr,links,blocks src dst
		done
	fi

	# ---- it changes ----

	what='a file grows'
	cp -p src/larger src/larger.kept
	faults 'read larger at=3000000 times=1 grow'
	through $way
	assert_status 1
	assert_message '.*larger: .*(grew|changed)'
	assert_told_once .
	if [ $way = stream ]; then
		is "$rc_x" 0 'the unpacker has a whole stream'
	fi
	ok 'a true beginning' cmp -n 5000000 src/larger.kept dst/larger
	cp -p src/larger.kept src/larger && touch -r src/d src/larger src

	what='a file shrinks'
	faults 'read larger at=2400000 times=1 shrink'
	through $way
	assert_status 1
	assert_message '.*larger: .*(shrank|changed)'
	told
	assert_size 2500000 dst/larger
	ok 'a true beginning' cmp -n 2400000 src/larger.kept dst/larger
	ok 'the next file is whole' cmp src/small dst/small
	cp -p src/larger.kept src/larger && touch -r src/d src/larger src

	what='a file vanishes'
	faults 'getattr d/f5 vanish'
	through $way
	case $status in
	0) pass 'it was opened before' ;;
	*)
		assert_status 1
		assert_told_once 'd/f5: '
		assert_missing dst/d/f5
		;;
	esac
	echo 5 >src/d/f5
	rm -f src/larger.kept
	find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
done

what='short reads'
umount from && on_faultfs src from --direct
for way in copy read stream; do
	faults 'read * short'
	through $way
	assert_status 0
	assert_silent
	assert_same_tree --except blocks,links src dst
done

what='a server that goes away'
for way in copy stream; do
	faults 'read larger at=1000000 times=1 hang'
	server=$(pgrep -f "^$faultfs --direct .* from\$" | head -n 1)
	if [ -z "$server" ]; then
		skip 'pgrep is not installed'
		continue
	fi
	{ wait_for test -s "$hits" && kill -KILL "$server"; } &
	through $way
	wait
	assert_status 2
	assert_message '.*larger: .*at byte [0-9]+.*: (Transport endpoint is not connected|Software caused connection abort)'
	assert_missing dst/larger
	assert_nothing_left dst
	umount -l from
	on_faultfs src from --direct
done
done_testing
