#!/bin/sh
# roundtrip.sh: -c and -x make what a copy makes, whatever lies between them.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4
make_everything src
find src -type s -delete

# through WORDS COMMAND...: -c | COMMAND | -x
through() {
	context=$1
	shift
	rm -rf dst
	# shellcheck disable=SC2086 # words
	{ timeout "$limit" "$TARPIPE" $TARPIPE_FLAGS -c src 2>"$err"; echo $? >first; } | "$@" |
		timeout "$limit" "$TARPIPE" $TARPIPE_FLAGS -x dst 2>>"$err"
	status=$?
	is "$(cat first)" 0 'the packing end ends with 0'
	assert_status 0
	assert_silent
	assert_same_tree src dst
}

through 'a plain pipe' cat
through 'pieces of one byte at the start' sh -c 'dd bs=1 count=3000 status=none; cat'
through 'pieces of 511' dd bs=511 status=none
through 'pieces of 701' dd bs=701 status=none
through 'pieces of 65537' dd bs=65537 status=none
through 'blocks of 512 KiB' dd bs=512k iflag=fullblock status=none
if have mbuffer; then
	through mbuffer mbuffer -q -m 8M
else
	skip 'mbuffer is not installed'
fi
if have buffer; then
	through buffer buffer -m 8m -p 75
else
	skip 'buffer is not installed'
fi
through 'tarpipe --buffer' "$TARPIPE" --buffer -m 8m -p 75

context='a FIFO'
rm -rf dst
mkfifo fifo
# shellcheck disable=SC2086 # words
{ timeout "$limit" "$TARPIPE" $TARPIPE_FLAGS -c -f fifo src 2>"$err"; echo $? >first; } &
tarpipe -x -f fifo dst
wait $!
is "$(cat first)" 0 'the packing end ends with 0'
assert_status 0
assert_silent
assert_same_tree src dst

context='a socket'
if have perl; then
	rm -rf dst
	# Both ends are sockets, joined by two processes that only carry bytes.
	cat >join.pl <<'END'
use Socket;
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die;
my ($prog, $src, $dst) = @ARGV;
my $one = fork // die;
if (!$one) { close $b; open(STDOUT, ">&", $a) or die; close $a; exec $prog, "-c", $src; }
my $two = fork // die;
if (!$two) { close $a; open(STDIN, "<&", $b) or die; close $b; exec $prog, "-x", $dst; }
close $a; close $b;
waitpid $one, 0; my $s = $?; waitpid $two, 0; exit(($s | $?) ? 1 : 0);
END
	launch perl join.pl "$TARPIPE" src dst
	assert_status 0
	assert_silent
	assert_same_tree src dst
else
	skip 'perl is not installed'
fi

context='a file'
rm -rf dst
tarpipe -c -f s.tar src
assert_status 0
assert_silent
tarpipe -x -f s.tar dst
assert_status 0
assert_silent
assert_same_tree src dst
context='into a tree that is there'
tarpipe -x --preserve=root -f s.tar dst
assert_status 0
assert_silent
assert_same_tree src dst

for kind in gzip zstd xz=0 lz4 bzip2; do
	context=$kind
	rm -rf dst
	tarpipe -c "--$kind" -f s.z src
	assert_status 0
	assert_silent
	tarpipe -x -f s.z dst
	assert_status 0
	assert_silent
	assert_same_tree src dst
done

context='several operands'
rm -rf dst s.tar
tarpipe -c -f s.tar src/sizes src/links src/empty-file
assert_status 0
tarpipe -x -f s.tar dst
assert_status 0
is "$(cd dst && echo *)" 'empty-file links sizes' 'by their last components'
assert_same_tree src/sizes dst/sizes

context='-C'
rm -rf dst
tarpipe -c -C src -f s.tar sizes/1 links/two ./xattrs
assert_status 0
mkdir dst
tarpipe -x -f s.tar -C dst
assert_status 0
is "$(cd dst && echo * sizes/*)" 'links sizes xattrs sizes/1' 'by the names that were given'
assert_same_tree src/xattrs dst/xattrs
assert_same_tree --except links,group src/links/two dst/links/two
for outside in /etc sizes/../.. ..; do
	tarpipe -c -C src -f out.tar "$outside"
	assert_status 64
done
assert_missing out.tar
done_testing
