#!/bin/sh
# swap.sh: names that change their type, are replaced or change their size all the time
# never make it hang, nor read what lies outside the source, nor spoil another file.
# SWAPS: copies of each kind (a few, or as `make stress` says).
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool perl
limit=20
: "${SWAPS:=30}"

mkdir src src/d outside spare dst
echo secret-canary >outside/f
echo harmless >src/d/f
fill 30000 1 >src/ok
fill 200000 2 >src/z

# until_stop WHAT: changes something under src, until there is a file `stop`.
# A directory is exchanged by renameat2, so that its name is always there.
cat >swap.pl <<'END'
use strict;
my ($what, $number) = @ARGV;
my ($old, $new) = ("src/d\0", "spare/link\0");
sub write_log { my ($name, $size) = @_; open my $f, ">", $name or die; print $f "l" x $size }
sub turn {
	if ($what eq "fifo") {
		rename "src/f", "spare/file"; rename "spare/fifo", "src/f";
		rename "src/f", "spare/fifo"; rename "spare/file", "src/f";
	} elsif ($what eq "link") {
		syscall(0 + $number, -100, $old, -100, $new, 2) == 0 or die "renameat2: $!";
	} elsif ($what eq "grows") {
		truncate "src/log", 100000 if -s "src/log" > 20000000;
		open my $f, ">>", "src/log" or die; print $f "l" x 5000;
	} elsif ($what eq "shrinks") {
		truncate "src/log", $_ for 10, 0, 3000000;
	} elsif ($what eq "replaced") {
		write_log("spare/log", 100000); rename "spare/log", "src/log";
	} else {
		for my $n (1 .. 20) { unlink "src/n$n"; write_log("src/n$n", 100) if rand() < 0.7 }
	}
}
turn() until -e "stop";
# As it was, whichever turn was the last.
turn() if $what eq "link" && -l "src/d";
END

# copies WHAT WORDS: many copies while things change; each is looked at and removed.
copies() {
	context=$2
	rm -f stop
	perl swap.pl "$1" "${renameat2:-}" &
	swapper=$!
	wrong=
	n=0
	while [ $n -lt "$SWAPS" ]; do
		n=$((n + 1))
		case $((n % 3)) in
		0) tarpipe --reflink=never src dst/new ;;
		1) tarpipe src dst/new ;;
		2)
			launch sh -c '{ "$0" -c src; echo $? >rc-c; } | "$0" -x dst/new; echo $? >rc-x' "$TARPIPE"
			status=$(cat rc-c)
			# -x cuts what shrank, and says so.
			case $status,$(cat rc-x) in
			[01],0 | 1,1) ;;
			*) wrong="$wrong $n:statuses-$status-and-$(cat rc-x)" ;;
			esac
			;;
		esac
		case $status in
		0 | 1) ;;
		*) wrong="$wrong $n:status-$status" && diag_lines 3 <"$err" ;;
		esac
		# A change is told, and what is told is a change.
		case $status,$(wc -l <"$err") in
		0,0 | 1,[1-9]*) ;;
		*) wrong="$wrong $n:status-$status-and-$(wc -l <"$err")-lines" ;;
		esac
		grep -rq secret-canary dst && wrong="$wrong $n:bytes-from-outside"
		cmp -s src/ok dst/new/ok && cmp -s src/z dst/new/z || wrong="$wrong $n:another-file"
		[ "$1" = fifo ] && [ -f dst/new/f ] && ! grep -qx content dst/new/f &&
			wrong="$wrong $n:a-stand-in"
		[ -z "$(find dst -name '.tarpipe-*')" ] || wrong="$wrong $n:temporary-names"
		rm -rf dst/new
	done
	touch stop
	wait $swapper
	is $? 0 'things changed to the end'
	is "$wrong" '' "$SWAPS copies are as they shall be"
}

echo content >src/f && mkfifo spare/fifo
copies fifo 'a file and a FIFO'
ln -s ../outside spare/link
case $(uname -m) in
x86_64) renameat2=316 ;;
aarch64 | riscv64) renameat2=276 ;;
*) renameat2= ;;
esac
if [ -n "$renameat2" ]; then
	copies link 'a directory and a symbolic link to outside'
else
	skip 'the number of renameat2 is not known here' 'a directory and a symbolic link'
fi
fill 100000 3 >src/log
copies grows 'a log that grows'
copies shrinks 'a file that shrinks'
copies replaced 'a file that is replaced'
rm -f src/log
copies vanishes 'files that come and go'
assert_nothing_left dst
done_testing
