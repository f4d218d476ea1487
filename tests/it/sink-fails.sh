#!/bin/sh
# sink-fails.sh: one side fails while the other waits, on one processor, round after round:
# it ends within two seconds, says why once, and never with status 0.
# ROUNDS (a few of each kind, or as `make stress` says; of all kinds together).
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
need_tool taskset prlimit
: "${ROUNDS:=42}"
limit=20
taskset -c 0 true 2>/dev/null || skip_all 'processor 0 is not for us'

mkdir src many
fill 30000 1 >src/a
fill 3000000 2 >src/large
fill 30000 3 >src/z
for n in $(seq 200); do
	: >"many/$n"
done
fill 200000 4 >small
tar -C src --format=posix -cf src.tar .
head -c 1000000 src.tar >cut.tar
on_filesystem tmpfs full 64k || done_testing
on_filesystem tmpfs inodes 1m nr_inodes=64 || done_testing

# pinned ARG...: the program on one processor.
pinned() {
	under taskset -c 0 tarpipe "$@"
}

# run_round KIND OPTION...: $want is the status that is due, $said the reason.
run_round() {
	round_kind=$1
	shift
	rm -rf full/* inodes/* dst
	want=3 said='No space left on device'
	case $round_kind in
	full) pinned --reflink=never "$@" src full/dst ;;
	stream) pinned -x -f src.tar "$@" full/dst ;;
	mark) pinned "$@" small full/one ;;
	inodes) pinned "$@" many inodes/dst ;;
	out) pinned -c -f /dev/full "$@" src ;;
	fsize)
		want=2 said='File too large'
		under prlimit --fsize=100000 taskset -c 0 tarpipe --reflink=never "$@" src dst
		;;
	cut)
		said='cut off at byte'
		pinned -x -f cut.tar "$@" dst
		;;
	esac
}

# half_done: a file with a final name that is not the source's.
half_done() {
	for half_dir in full/dst dst; do
		for half_name in a large z; do
			[ ! -e "$half_dir/$half_name" ] ||
				cmp -s "src/$half_name" "$half_dir/$half_name" || echo "$half_dir/$half_name"
		done
	done
	[ ! -e full/one ] || cmp -s small full/one || echo full/one
	find full inodes dst -name '.tarpipe-*' 2>/dev/null
}

for kind in full stream mark inodes out fsize cut; do
	context=$kind
	wrong=
	slowest=0
	round=0
	while [ $round -lt $(((ROUNDS + 6) / 7)) ]; do
		round=$((round + 1))
		case $((round % 4)) in
		0) set -- ;;
		1) set -- -p 75 ;;
		2) set -- -m 64k ;;
		3) set -- -p 100 -m 64k ;;
		esac
		started=$(date +%s%N)
		run_round $kind "$@"
		took=$((($(date +%s%N) - started) / 1000000))
		[ $took -le $slowest ] || slowest=$took
		[ "$status" -eq $want ] || wrong="$wrong $round($*):status-$status"
		[ "$(grep -c "$said" "$err")" = 1 ] && [ "$(wc -l <"$err")" = 1 ] ||
			wrong="$wrong $round($*):$(wc -l <"$err")-lines"
		half=$(half_done)
		[ -z "$half" ] || wrong="$wrong $round($*):$half"
	done
	is "$wrong" '' "$round rounds"
	ok "each within two seconds ($slowest ms)" test $slowest -lt 2000
done
assert_nothing_left full inodes
done_testing
