#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# methods.sh: the benchmark's own programs do what they say: methods copies by each of
# its ways, slowfs shows a directory and takes its time, the chart is an SVG.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

bench=$TOP_SRCDIR/contrib/bench
need_tool "${CC:-cc}" diff

# build NAME [FLAG]...: ./NAME from the benchmark's source
build() {
	build_name=$1
	shift
	"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -pthread -o "$work/$build_name" \
		"$bench/$build_name.c" "$@" 2>"$base/lib/said"
}

# A tree with all that methods copies: sizes around its buffers, links, odd modes.
make_tree() {
	mkdir -p src/sub/deep src/empty
	: >src/none
	for size in 1 4095 4096 262144 262145; do
		fill "$size" "$size" >"src/sub/f$size"
	done
	fill 5000000 7 >src/large
	chmod 640 src/sub/f1
	chmod 2750 src/empty
	ln -s sub/f1 src/link
	ln -s nowhere src/dangling
	touch -d '2001-02-03 04:05:06.789' src/large src/sub/deep src/sub
}

# ---- methods ----

build methods || {
	diag_lines <"$base/lib/said"
	skip_all "${CC:-cc} can't build contrib/bench/methods.c"
}
make_tree

for way in whole loop splice range sendfile; do
	for options in '' -a -p '-ap -b 4k' '-b 1m'; do
		context="$way $options"
		rm -rf dst
		# shellcheck disable=SC2086 # words
		launch ./methods $way $options src dst
		case $way$status$(cat "$err") in
		range1*'copy_file_range: '*) skip "$(cat "$err")" 'a copy'; continue ;;
		esac
		assert_status 0
		ok 'a copy' diff -r --no-dereference src dst
		assert_output '^[0-9.]+ 5532481 7$' 'says how much it moved'
		case $options in *p*)
			ok 'with modes, owners and times' \
				sh "$tools/compare-trees" --except atime,blocks src dst
			;;
		esac
	done
done

for way in loop range; do
	context="$way by threads"
	rm -rf dst
	launch ./methods $way -j 3 src/ dst
	case $way$status$(cat "$err") in
	range1*'copy_file_range: '*) skip "$(cat "$err")" 'a copy'; continue ;;
	esac
	assert_status 0
	ok 'a copy' diff -r --no-dereference src dst
done

context='a single file'
launch ./methods splice src/large dst/one
assert_status 0
assert_same_file src/large dst/one
launch ./methods loop src/large dst/one
assert_status 1 'an existing file is refused'
ok 'and named' grep -q '^methods: dst/one: open: File exists' "$err"

context='only reading'
launch ./methods read -j 2 src
assert_output '^[0-9.]+ 5532481 7$'

context='what it can not copy'
mkfifo src/pipe
rm -rf dst
launch ./methods loop src dst
assert_status 1
ok 'is named' grep -q '^methods: src/pipe: ' "$err"
ok 'the rest is copied' diff -r --no-dereference -x pipe src dst
rm src/pipe
launch ./methods loop nowhere dst
assert_status 1
ok 'a source that is not there is named' grep -q '^methods: nowhere: ' "$err"

context=usage
for words in '' 'loop src' 'read src dst' 'splice -j 2 src dst' 'loop -b 0 src dst' \
	'loop -b 99999999999g src dst' 'loop -j 65 src dst' 'nothing src dst'; do
	# shellcheck disable=SC2086 # words
	launch ./methods $words
	assert_status 64 "methods $words"
done

# ---- slowfs ----

# milliseconds COMMAND...: how long it takes
milliseconds() {
	from=$(date +%s%N)
	"$@" >"$base/lib/said" 2>&1
	echo $((($(date +%s%N) - from) / 1000000))
}

mount_slow() {
	mkdir -p slow && ./slowfs "$@" src slow && will_unmount slow
}

# The process behind it ends on its own.
gone() {
	! ps -e -o args | grep -q "^./slowfs --delay=20 src slow\$"
}

try_slowfs() {
	context=slowfs
	have pkg-config && pkg-config --atleast-version=3.12 fuse3 ||
		{ skip 'fuse3 3.12 is not installed for building'; return; }
	# shellcheck disable=SC2046 # words
	build slowfs $(pkg-config --cflags --libs fuse3) || { fail 'it can be built'; diag_lines <"$base/lib/said"; return; }
	am_root || { skip 'mounting needs root'; return; }
	[ -c /dev/fuse ] || { skip 'there is no /dev/fuse'; return; }
	ln src/large src/again
	mkfifo src/pipe
	setfattr -n user.colour -v green src/large 2>/dev/null
	setfacl -m u:1234:r src/large 2>/dev/null
	mount_slow --delay=20 || { skip 'no FUSE file system can be mounted here'; return; }
	assert_same_tree --except blocks src slow
	ok 'nothing can be written' sh -c '! echo >slow/new 2>/dev/null && ! echo >>slow/none 2>/dev/null'
	took=$(milliseconds cat slow/sub/f1 slow/sub/f4095 slow/sub/f4096)
	# Three opens and three reads.
	ok "three files take 120 ms at least (they took $took)" test "$took" -ge 120
	off_filesystem slow
	ok 'it ends when it is unmounted' wait_for gone

	context='slowfs --dirs --stat'
	mount_slow --delay=20 --dirs --stat || { fail 'it is mounted'; return; }
	took=$(milliseconds ls -l slow)
	# The directory is opened and read, and it and its seven names are looked at.
	ok "a listing takes 60 ms at least (it took $took)" test "$took" -ge 60
	off_filesystem slow

	context='slowfs usage'
	for words in '' src 'src slow x' '--delay=x src slow' '--delay=-1 src slow' '--nothing src slow'; do
		# shellcheck disable=SC2086 # words
		launch ./slowfs $words
		assert_status 64 "slowfs $words"
	done
	launch ./slowfs nowhere slow
	assert_status 1 'a directory that is not there'
}
try_slowfs

# ---- methods.sh ----

# rows SCENARIO: how many rows its table has, one a line with the scenario's name
rows() {
	awk -v name="### $1," 'index($0, "###") == 1 { inside = index($0, name) == 1 }
		inside && /^\| / && !/^\| way / { n++ } END { print n + 0 }' "$out"
}

# measure PART WAYS: the script on a hundredth of its trees
measure() {
	launch env TMPDIR="$work" sh "$bench/methods.sh" --quick --rounds 1 --shrink 100 \
		--part "$1" --peers "$2" --disk "$base"
	assert_status 0
}

try_measuring() {
	context=methods.sh
	am_root || { skip 'mounting needs root'; return; }
	have losetup && have findmnt && have mkfs.ext4 ||
		{ skip 'losetup, findmnt or mkfs.ext4 is not installed'; return; }
	on_filesystem ext4 probe || return
	off_filesystem probe
	measure warm loop,loop_-p,cp_-r,tarpipe
	for tree in small big sizes:10; do
		is "$(rows "methods-$tree")" 4 "a row for each way on $tree"
	done
	measure post read,cp_-a,tarpipe
	if grep -q '^bench: skipped: post' "$err"; then
		skip "$(grep skipped: "$err" | head -n 1)" 'the founding post'
	else
		is "$(rows post)" 3 'a row for each command of the founding post'
	fi
	is "$(find "$work" "$base" -maxdepth 1 -name 'tarpipe-bench*')" '' 'nothing is left behind'
}
try_measuring

# ---- chart ----

# run SCENARIO TOOL TITLE SECONDS: a line of results
run() {
	printf '%s\text4\t<8 & "9" files>, 1 MB, digest abc\t%s\t%s\t1\t%s\t0\t0\t0\t0\n' "$@"
}
{
	printf '#\t2\tSome <CPU>\t24\t6.18\ttarpipe 1\t1\t2001-02-03\n'
	run include tarpipe '**tarpipe**' 0.5
	run include floor2 'floor 2' 0.4
	run include tar-buffer 'tar\|buffer -p 75\|tar' 1.25
	run include cp 'cp <&> "a"' 50
	run gzip tarpipe-gzip '**tarpipe -c -z**' 1
	run gzip tar-pigz 'tar\|pigz -1' 0.75
	run lonely cp 'cp -a' 1
} >results

chart() {
	awk "$@" -f "$bench/stats.awk" -f "$bench/chart.awk" results >"$out"
}

# well_formed: standard output is XML
well_formed() {
	if have xmllint; then
		ok 'well-formed XML' xmllint --noout "$out"
	elif have python3; then
		ok 'well-formed XML' python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$out"
	else
		skip 'neither xmllint nor python3 is installed' 'well-formed XML'
	fi
}

context=chart
ok 'it is made' chart
well_formed
assert_output '>tar\|buffer -p 75\|tar</text>' 'a peer is named without Markdown'
assert_output '>2\.50</text>' 'with its ratio'
assert_output '>100\.00</text>' 'also where the bar is cut off'
assert_output 'class="gap"' 'and shows that it is'
assert_output '>0\.75</text>' 'packing is compared with packing'
assert_output '>cp &lt;&amp;&gt; &quot;a&quot;</text>' 'text is escaped'
is "$(grep -c 'class="bar"' "$out")" 3 'floors, and scenarios without tarpipe, have no bar'

context='chart of one scenario'
ok 'it is made' chart -v only=gzip
well_formed
is "$(grep -c 'class="bar"' "$out")" 1 'nothing else is on it'

context='chart of nothing'
: >results
ok 'it is made' chart
well_formed
done_testing
