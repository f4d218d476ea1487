#!/bin/sh
# stalehole.sh: no data is taken for a hole, whatever the file system says of
# what was just written, or however it fails to answer.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# write_files DIR ROUND: full ones and sparse ones, not synced.
write_files() {
	mkdir "$1"
	for n in 1 2 3 4 5 6 7 8; do
		fill 65536 $(($2 * 10 + n)) >"$1/full-$n"
		truncate -s 1M "$1/sparse-$n"
		fill 65536 $(($2 * 10 + n)) >>"$1/sparse-$n"
		truncate -s 3M "$1/sparse-$n"
		fill 500 $(($2 * 10 + n)) >"$1/tail-$n"
		truncate -s 100000 "$1/tail-$n"
	done
}

rounds() {
	wrong=
	for round in 1 2 3 4 5 6 7 8; do
		write_files "$1/src" $round
		tarpipe "$1/src" "$1/dst"
		sh "$tools/compare-trees" --except mtime,blocks "$1/src" "$1/dst" \
			>"$base/lib/differences" 2>&1 && [ "$status" -eq 0 ] || wrong="$wrong $round"
		rm -r "$1/src" "$1/dst"
	done
	is "$wrong" '' 'files copied as soon as they are written are whole'
}

context='here'
mkdir here && rounds here
for type in ext4 xfs btrfs tmpfs; do
	context=$type
	on_filesystem $type fs || continue
	rounds fs
	off_filesystem fs
done

context=
can_trace || { skip 'strace may not trace here' 'failing lseek'; done_testing; }
write_files src 1
: >src/zzz
for error in EINVAL EOPNOTSUPP ENXIO; do
	for name in full-1 sparse-1 tail-1; do
		context="lseek says $error of $name"
		traced -P $name -P "$work/src/$name" -e inject=lseek:error=$error:when=1 \
			tarpipe --reflink=never src dst
		assert_status 0
		assert_same_tree --except blocks src dst
		rm -rf dst
	done
done

# What is not synced can't be trusted.
for error in EIO EINVAL; do
	context="fdatasync says $error"
	traced -P sparse-1 -P "$work/src/sparse-1" -e inject=fdatasync,fsync:error=$error \
		tarpipe --reflink=never src dst
	assert_status 0
	assert_same_tree --except blocks src dst
	rm -rf dst
done

# Full files are not asked about.
context=
touch -d '2001-01-01' src/full-1
traced -P full-1 -P "$work/src/full-1" -e trace=lseek,fdatasync,fsync \
	tarpipe --reflink=never src dst
is "$(grep -c lseek "$base/lib/trace")" 0 'a full file is not asked for its holes'
done_testing
