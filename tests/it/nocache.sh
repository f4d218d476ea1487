#!/bin/sh
# nocache.sh: --no-cache leaves nothing in the page cache of what was read and
# written, and what was there before stays.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool fincore
need_root

# cached NAME...: how many pages of the files below it are cached.
cached() {
	find "$@" -type f -exec fincore -n -o PAGES {} + | awk '{ n += $1 } END { print n + 0 }'
}

# forget NAME...: drops them, as nobody uses them.
forget() {
	sync
	find "$@" -type f -exec dd if={} iflag=nocache count=0 status=none \;
}

# few NAME...: next to nothing is cached, once what is on its way has arrived.
few() {
	[ "$(cached "$@")" -le 20 ]
}
assert_few() {
	few_words=$1
	shift
	if wait_for few "$@"; then
		pass "$few_words"
	else
		fail "$few_words"
		diag "$(cached "$@") pages are cached"
	fi
}
assert_many() {
	ok "$1" test "$(cached "$2")" -ge 5000
}

make_source() {
	mkdir -p "$1/small"
	fill 20000123 1 >"$1/large"
	fill 5000000 2 >"$1/middle"
	n=0
	while [ $n -lt 300 ]; do
		n=$((n + 1))
		fill $((n * 7)) $n >"$1/small/$n"
	done
	(cd "$1" && fill 300000 3 >holes && truncate -s 8M holes && fill 5000 4 >>holes)
	ln "$1/large" "$1/small/linked"
}

for type in ext4 xfs btrfs; do
	context="$type"
	on_filesystem $type fs 600M || continue
	make_source fs/src
	forget fs/src
	[ "$(cached fs/src)" -eq 0 ] || diag "$(cached fs/src) pages can't be dropped"

	# This is what it is about.
	tarpipe --reflink=never fs/src fs/usual
	assert_many 'usually the source is cached' fs/src
	assert_many 'and the copy' fs/usual
	rm -rf fs/usual
	forget fs/src

	for how in --reflink=never --reflink=auto '--reflink=never -m 64k' '-j 1'; do
		context="$type $how"
		# shellcheck disable=SC2086 # words
		tarpipe --no-cache $how fs/src fs/dst
		assert_status 0
		assert_silent
		assert_few 'the source is not cached' fs/src
		assert_few 'nor is the copy' fs/dst
		assert_same_tree fs/src fs/dst
		rm -rf fs/dst
		forget fs/src
	done

	context="$type -c"
	tarpipe --no-cache -c -f fs/tar -C fs/src .
	assert_status 0
	assert_few 'the source is not cached' fs/src
	assert_few 'nor is the archive' fs/tar
	context="$type -c, to standard output"
	launch sh -c '"$0" --no-cache -c -C fs/src . >fs/tar2' "$TARPIPE"
	assert_status 0
	assert_few 'the source is not cached' fs/src
	assert_few 'nor is the archive' fs/tar2
	context="$type -x"
	tarpipe --no-cache -x -f fs/tar fs/out
	assert_status 0
	assert_few 'the archive is not cached' fs/tar
	assert_few 'nor is what was in it' fs/out
	assert_same_tree --except ids fs/src fs/out
	context="$type -x, from standard input"
	launch sh -c '"$0" --no-cache -x fs/out2 <fs/tar2' "$TARPIPE"
	assert_status 0
	assert_few 'the archive is not cached' fs/tar2
	assert_few 'nor is what was in it' fs/out2
	context="$type -t"
	tarpipe --no-cache -t -f fs/tar
	assert_status 0
	assert_few 'the archive is not cached' fs/tar

	context="$type, cached before"
	cat fs/src/large >/dev/null
	was=$(cached fs/src/large)
	tarpipe --no-cache --reflink=never fs/src fs/again
	assert_status 0
	ok 'what was cached before stays so' test "$(cached fs/src/large)" -ge "$was"
	forget fs/src
	off_filesystem fs
done

# Nothing can be dropped there, and nothing goes wrong.
context=tmpfs
if on_filesystem tmpfs fs 100m; then
	make_source fs/src
	tarpipe --no-cache fs/src fs/dst
	assert_status 0
	assert_silent
	assert_same_tree fs/src fs/dst
	off_filesystem fs
fi
done_testing
