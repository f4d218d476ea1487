#!/bin/sh
# regress-race.sh: who may rename in DST or SRC meanwhile gains nothing by it.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tracing

# The attributes of what was just made wait while DST's owner puts another name
# of a file outside in its place.
cat >swap.pl <<'END'
my ($dir, $victim) = @ARGV;
opendir D, $dir or die "$dir: $!";
for (grep !/^\.\.?$/, readdir D) {
	next if -f "$dir/$_" && ! -l "$dir/$_";
	unlink "$dir/$_" or die "unlink $_: $!";
	link $victim, "$dir/$_" or die "link $_: $!";
}
END

# swapped KIND CALLS [WHEN]: root makes it in a directory of user 65534.
swapped() {
	context="a $1 swapped at $2"
	rm -rf dst src
	mkdir src dst
	if [ "$1" = FIFO ]; then
		mkfifo src/l && chown 5:5 src/l && chmod 6751 src/l
	else
		ln -s target src/l && chown -h 5:5 src/l
	fi
	touch -h -d '2001-02-03 04:05:06' src/l
	chown 65534 src dst
	before=$(stat -c %u:%g:%a:%Y victim)
	meanwhile "($(echo "$2" | tr -d "?" | tr , "|"))\\(" \
		setpriv --reuid 65534 --regid 65534 --clear-groups perl swap.pl dst victim
	traced -e trace="$2" -e inject="$2:delay_${3:-enter}=400000:when=1" tarpipe src dst
	wait
	is "$(stat -c %u:%g:%a:%Y victim)" "$before" 'nothing outside is changed'
	assert_content content victim
	if [ "$(stat -c %h victim)" -eq 1 ]; then
		diag 'there was no swap'
	fi
	# What he makes of his own directory afterwards is his affair.
	assert_well_formed
}

if am_root && have perl && have setpriv; then
	echo content >victim && chmod 666 victim && touch -d '2005-06-07' victim
	swapped 'symbolic link' fchownat,utimensat
	swapped 'symbolic link' utimensat
	swapped 'symbolic link' symlinkat exit
	swapped FIFO fchownat,fchmodat,?fchmodat2,fchmod,utimensat
	swapped FIFO fchmodat,?fchmodat2,fchmod,chmod
	swapped FIFO utimensat
	swapped FIFO mknodat exit
else
	skip 'needs root, perl and setpriv' 'names swapped in DST'
fi

readers=read,readv,pread64,preadv,preadv2

# ramfs has no holes to find and no fiemap; its files still shrink.
context='truncated on ramfs'
if on_filesystem ramfs fs; then
	mkdir fs/src
	fill 100000000 1 >fs/src/big
	cp fs/src/big big-before
	meanwhile '(read|pread)[a-z0-9]*\(' truncate -s 1000000 fs/src/big
	traced -P big -P "$work/fs/src/big" -e trace=$readers \
		-e inject=$readers:delay_enter=300000:when=3 \
		tarpipe --reflink=never fs/src fs/dst
	wait
	assert_status 1
	assert_message '.*big: '
	assert_told_once '.'
	ok 'a true beginning' cmp -n "$(stat -c %s fs/dst/big)" fs/dst/big big-before
	off_filesystem fs
	rm -f big-before
fi

context='replaced by rename'
rm -rf src dst
mkdir src
fill 30000000 1 >src/big
cp src/big big-before
fill 30000000 2 >new
meanwhile '(read|pread)[a-z0-9]*\(' mv new src/big
traced -P big -P "$work/src/big" -e trace=$readers \
	-e inject=$readers:delay_enter=400000:when=2 \
	tarpipe --reflink=never src dst
wait
assert_status 1
assert_message '.*big: '
assert_told_once '.'
assert_same_file big-before dst/big
done_testing
