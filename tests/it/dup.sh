#!/bin/sh
# dup.sh: a stream with the same name several times: the last one counts, whoever of
# several workers comes first.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

need_tool python3
make_tar() { "$tools/make-tar" "$@"; }

# wrong DIR N TEXT: whether not each of f1 .. fN holds TEXT and its number.
wrong() {
	seq -f "f%.0f" 1 "$2" | (cd "$1" && xargs cat) >got 2>&1
	seq -f "$3%.0f" 1 "$2" | cmp -s - got
	echo $?
}

# Neighbours, and with everything else between.
make_tar 'seq:f|f%d|old%d\n;f|f%d|new%d\n|1|700' >near.tar
make_tar 'seq:f|f%d|old%d\n|1|700' 'seq:f|f%d|new%d\n|1|700' >far.tar
for form in near far; do
	for round in 1 2 3 4; do
		rm -rf dst
		tarpipe -x -j 4 -f $form.tar dst
		[ "$status" = 0 ] || break
		bad=$(wrong dst 700 new)
		[ "$bad" = 0 ] || break
	done
	context="$form, round $round"
	assert_status 0
	assert_silent
	is "$bad" 0 'every name holds what came last'
	is "$(ls -A dst | wc -l)" 700 'nothing else is there'
done

# Types that change, both ways, and back.
context='a file, then a symlink, then a file'
make_tar 'seq:f|f%d|old%d\n|1|350' 'seq:s|f%d|/etc/passwd|1|350' \
	'seq:f|f%d|new%d\n|1|350' >types.tar
cp /etc/passwd passwd.before
for round in 1 2; do
	rm -rf dst
	tarpipe -x -j 4 -f types.tar dst
	bad=$(wrong dst 350 new)
	[ "$status$bad" = 00 ] || break
done
assert_status 0
is "$bad" 0 'the last type and content'
assert_same_file /etc/passwd passwd.before

context='an empty directory, then a file, then a directory'
make_tar 'seq:d|n%d||1|200' 'seq:f|n%d|in between|1|200' 'seq:d|n%d||1|200' \
	'seq:f|n%d/in|end|1|200' >dirs.tar
rm -rf dst
tarpipe -x -j 4 -f dirs.tar dst
assert_status 0
is "$(find dst -name in | wc -l)" 200 'all are directories again, with what is in them'

# Links see the file that had the name when they came.
context='links between two files of a name'
make_tar 'seq:f|f%d|old%d\n|1|350' 'seq:h|h%d|f%d|1|350' 'seq:f|f%d|new%d\n|1|350' >links.tar
for round in 1 2; do
	rm -rf dst
	tarpipe -x -j 4 -f links.tar dst
	bad=$(wrong dst 350 new)
	for i in 1 77 250 349 350; do
		[ "$(cat "dst/h$i")" = "old$i" ] || bad=$((bad + 1))
	done
	[ "$status$bad" = 00 ] || break
done
assert_status 0
is "$bad" 0 'links keep the old file, names get the new'
is "$(find dst -links 1 | grep -c .)" 700 'no link is left between them'

context='links to a file of long ago, which is replaced then'
for n in 60 150 230; do
	rm -rf dst
	python3 - "$n" >plan <<-'EOF'
	import sys
	n = int(sys.argv[1])
	print('seq:f|f%d|old%d\\n|1|20')
	print('seq:f|early%d|x|1|2000')
	for k in range(1, 21):
	    print('seq:f|pad%d.%%d|y*3000|1|%d' % (k, n))
	    print('seq:h|h%d.%%d|f%d|1|60' % (k, k))
	    print('f|f%d|new%d\\n' % (k, k))
	EOF
	tr '\n' '\0' <plan | xargs -0 "$tools/make-tar" >long.tar
	tarpipe -x -j 4 -f long.tar dst
	bad=$(wrong dst 20 new)
	[ "$status$bad" = 00 ] || break
	bad=$(cat dst/h* | grep -c new)
	[ "$bad" = 0 ] || break
done
assert_status 0
is "$bad" 0 'all of them lead to the old ones'

# The end of a directory in one batch, what is in it in the one before.
context='a directory, and a file of its name'
for n in 200 215 228 229 230 231 232 233 234; do
	rm -rf dst
	python3 - "$n" >plan <<-'EOF'
	import sys
	for k in range(1, 31):
	    print('seq:f|pad%d.%%d|y*3000|1|%s' % (k, sys.argv[1]))
	    print('d|d%d|' % k)
	    print('seq:f|d%d/f%%d|z*3000|1|20' % k)
	    print('f|d%d|no' % k)
	EOF
	tr '\n' '\0' <plan | xargs -0 "$tools/make-tar" >long.tar
	tarpipe -x -j 4 -f long.tar dst
	[ "$(grep -c 'a directory is in its place' "$err")" = 30 ] || break
done
assert_status 2
is "$(grep -c 'a directory is in its place' "$err")" 30 'each is told'
is "$(find dst -path '*/d*/f*' | wc -l)" 600 'nothing in them is lost'

context='a file under two paths, by a link that is followed'
make_tar 's|s|.' 'seq:f|f%d|old%d\n*100|1|700' 'seq:f|s/f%d|new%d\n|1|700' >alias.tar
for round in 1 2 3 4; do
	rm -rf dst
	tarpipe -x -j 4 --keep-directory-symlink -f alias.tar dst
	bad=$(wrong dst 700 new)
	[ "$status$bad" = 00 ] || break
done
assert_status 0
is "$bad" 0 'what came last'

# Directories left and entered again at every step.
context='to and fro between directories'
make_tar 'd|a|' 'd|b|' \
	'seq:f|a/f%d|old%d\n;f|b/f%d|old%d\n;f|a/f%d|new%d\n;f|b/f%d|new%d\n|1|200' >fro.tar
rm -rf dst
tarpipe -x -j 4 -f fro.tar dst
assert_status 0
is "$(wrong dst/a 200 new)" 0 'a holds what came last'
is "$(wrong dst/b 200 new)" 0 'b too'
assert_mtime 1.000000000 dst/a
assert_mtime 1.000000000 dst/b

done_testing
