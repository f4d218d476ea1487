#!/bin/sh
# swap.sh: names that change their type all the time never make it hang, nor
# read what lies outside the source.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tool perl
limit=20

mkdir src src/d outside spare
echo secret >outside/f
echo 'no secret' >src/d/f
fill 30000 1 >src/ok
cat >swap.pl <<'END'
use strict;
my ($what, $n) = (shift, 0);
until (-e "stop") {
	if ($what eq "fifo") {
		rename "src/f", "spare/file"; rename "spare/fifo", "src/f";
		rename "src/f", "spare/fifo"; rename "spare/file", "src/f";
	} else {
		rename "src/d", "spare/dir"; rename "spare/link", "src/d";
		rename "src/d", "spare/link"; rename "spare/dir", "src/d";
	}
}
END

# copies WHAT: many copies while things are swapped.
copies() {
	rm -f stop
	perl swap.pl "$1" &
	swapper=$!
	worst=0
	for n in $(seq 60); do
		tarpipe src "dst/$n"
		case $status in
		0 | 1) ;;
		*) worst=$status; diag "status $status"; diag_lines 3 <"$err" ;;
		esac
	done
	touch stop
	wait $swapper
	is $worst 0 'each run ends with status 0 or 1'
}

mkdir dst
context='a file and a FIFO'
echo content >src/f && mkfifo spare/fifo
copies fifo
is "$(find dst -path '*/f' -type f ! -path '*/d/f' -exec cat {} + | sort -u)" content \
	'the file is whole wherever it is'
is "$(for n in dst/*; do cmp src/ok "$n/ok"; done 2>&1)" '' 'the others are whole'

context='a directory and a symbolic link to outside'
rm -rf dst && mkdir dst
ln -s ../outside spare/link
copies dir
is "$(grep -r secret dst | grep -v 'no secret')" '' 'nothing from outside is there'
is "$(for n in dst/*; do cmp src/ok "$n/ok"; done 2>&1)" '' 'the others are whole'
done_testing
