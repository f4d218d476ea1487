#!/bin/sh
# deep.sh: trees deeper than a path can be long, with few descriptors and a
# small stack.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool perl

mkdir src
perl -e '
	chdir "src" or die;
	open my $t, ">", "top" or die; print $t "top\n"; close $t;
	my $name = "n" x 255;
	for (1..20) { mkdir $name or die; chdir $name or die }
	open my $f, ">", "file" or die; print $f "bottom\n"; close $f;
	symlink "file", "symlink" or die;
	link "../" x 20 . "top", "top" or die' || skip_all 'no such tree can be made here'
mkdir src/z && echo z >src/z/z

# The tools of the comparer that need paths can't go there.
assert_same_deep() {
	assert_same_tree --except sha256,xattr,acl,cap "$1" "$2"
}

tarpipe src dst
assert_status 0
assert_silent
assert_same_deep src dst
assert_links 2 dst/top
is "$(perl -e 'chdir "dst"; chdir "n" x 255 for 1..20; print `cat file symlink top`')" \
	"bottom
bottom
top" 'what is at the bottom is right'

context='again'
tarpipe src dst
assert_status 0
assert_same_deep src dst

# Paths of so many levels are long: depth and last name say enough.
assert_same_levels() {
	for levels_dir in "$1" "$2"; do
		(cd "$levels_dir" && find . \( -type d -printf '%d %y %m %U:%G %T@ %f\n' \) \
			-o -printf '%d %y %m %U:%G %T@ %n %s %f %l\n' | sort) >"list-$levels_dir"
	done
	assert_same_file "list-$1" "list-$2"
}

context='3000 levels'
mkdir levels
perl -e 'chdir "levels" or die;
	for (1..3000) { mkdir "d" or die; chdir "d" or die;
		if ($_ % 500 == 0) { open my $f, ">", "f$_"; print $f $_; close $f } }'
under sh -c 'ulimit -n 64; ulimit -s 256; exec "$@"' sh tarpipe levels levels-copy
assert_status 0
assert_silent
assert_same_levels levels levels-copy

context='3000 levels, back up to a broad one'
perl -e 'chdir "levels/d/d" or die;
	for (1..300) { mkdir "z$_" or die; mkdir "z$_/below"; open my $f, ">", "z$_/below/f"; print $f $_ }'
under sh -c 'ulimit -n 64; ulimit -s 256; exec "$@"' sh tarpipe levels levels-copy
assert_status 0
assert_silent
assert_same_levels levels levels-copy
done_testing
