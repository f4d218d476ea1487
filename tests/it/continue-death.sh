#!/bin/sh
# continue-death.sh: copies that are killed at random moments are completed by --continue,
# which leaves alone what was complete and nothing else.
# ROUNDS (a few, or as `make stress` says) and SEED may be set.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
: "${ROUNDS:=10}"
: "${SEED:=$(date +%s)}"
diag "$ROUNDS rounds, SEED=$SEED"
in_ext4

mkdir src
deep=src/deep
for d in $(seq 30); do
	deep=$deep/d$d
done
mkdir -p "$deep" src/a src/b
(cd src/a && seq 200 | split -l 1 -a 3 - f)
(cd src/b && seq 200 | split -l 1 -a 3 - g)
fill 3000 1 >"$deep/bottom"
fill 3000000 1 >src/large
fill 2000000 2 >src/b/larger
truncate -s 8M src/sparse && fill 400000 3 >>src/sparse
truncate -s 3M src/b/sparser && fill 100000 3 | dd of=src/b/sparser bs=64k seek=20 conv=notrunc 2>/dev/null
for i in 1 2 3 4 5; do
	fill $((i * 20000)) "$i" >src/a/group$i
	ln src/a/group$i src/b/group$i
	ln src/a/group$i src/link$i
	ln -s a/group$i src/symlink$i
done
mkfifo src/fifo
chmod 4711 src/a/faaa
chmod 400 src/a/faab
if holds_xattrs src; then
	for f in src/b/g*a; do
		setfattr -n user.kept -v "$f" "$f"
	done
	setfacl -m u:4321:rw src/a/faac 2>/dev/null
fi
find src -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
# What was modified a moment ago, and has its size at once, is most easily taken for
# complete where times are whole seconds.
mkdir fresh
for i in 1 2 3 4 5 6; do
	truncate -s 20M fresh/sparse$i && fill $((i * 900000)) "$i" >>fresh/sparse$i
done
coarse=
on_filesystem ext4 coarse 400M '-I 128' && coarse=coarse

first=$(date +%s%N)
tarpipe --reflink=never src dst
span=$(($(date +%s%N) - first))
assert_status 0
sh "$tools/list-tree" --except atime src src >want.src 2>&1
wrong='' alone=0

# note WORDS: what went wrong in this round.
note() {
	wrong="$wrong $round($how):$*"
	diag "round $round, $how: $*"
}

round=0
while [ "$round" -lt "$ROUNDS" ]; do
	round=$((round + 1))
	# shellcheck disable=SC2046 # two words
	set -- $(awk -v s="$SEED" -v r="$round" -v span="$span" 'BEGIN {
		srand(s * 10007 + r); rand()
		printf "%.4f %.4f\n", rand() * span * 1.1 / 1e9, rand() * span / 1e9 }')
	from=src dst=dst except=atime flags=--reflink=never
	case $((round % 5)) in
	0) how=plain ;;
	1) how=references flags= ;;
	2) how=small flags='--reflink=never -m 64k -j 4' ;;
	3)
		how=fresh from=fresh except=atime,mtime
		dst=${coarse:+coarse/}dst
		find fresh -exec touch -h -d now {} +
		;;
	4) how=ahead flags='--reflink=never --read-ahead=4' ;;
	esac
	rm -rf dst coarse/dst
	for moment; do
		# shellcheck disable=SC2086 # words
		"$TARPIPE" $flags --continue $from $dst >"$out" 2>"$err" </dev/null &
		victim=$!
		sleep "$moment"
		kill -KILL $victim 2>/dev/null
		wait $victim 2>/dev/null
	done
	# shellcheck disable=SC2086 # words
	"$TARPIPE" $flags --continue --stats $from $dst >"$out" 2>"$err" </dev/null ||
		note "--continue ends with $?"
	grep -q 'left alone' "$err" && alone=$((alone + 1))
	if [ $from = src ]; then
		cp want.src want
	else
		sh "$tools/list-tree" --except $except src $from >want 2>&1
	fi
	sh "$tools/list-tree" --except $except src $dst >got 2>&1
	cmp -s want got || note "there is a difference: $(diff want got | head -n 3)"
	diff -r --no-dereference -q -x fifo $from $dst >said 2>&1 || note "$(head -n 1 said)"
	[ -z "$(find $dst -name '.tarpipe-*')" ] || note 'a temporary name is left'
done
is "$wrong" '' "$ROUNDS rounds"
diag "$alone of them left something alone"
assert_nothing_left dst
done_testing
