#!/bin/sh
# bench.sh: contrib/bench/run measures each of its scenarios, and leaves nothing behind.
# Trees of a few files: the figures mean nothing here, only that there are some.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# Not to time it: a machine may be busy.
limit=900

# A copy: one option writes into the tree.
mkdir tree tmp disk bin
cp -r "$TOP_SRCDIR/contrib" "$TOP_SRCDIR/README" tree
run=$work/tree/contrib/bench/run
: "${CC:=cc}"

# bench ARG...: some parts of a tree, one round
bench() {
	launch env TARPIPE="$TARPIPE" TMPDIR="$work/tmp" PATH="$work/bin:$PATH" \
		sh "$run" --disk "$work/disk" --rounds 1 --part 400 --save "$work/results" "$@"
}

# ---- what needs no root ----

bench --scenario nonsense
assert_status 64
bench --rounds 0
assert_status 64
bench --peers ''
assert_status 64
bench --help
assert_status 0
ok '--help names every option' sh -c '
	for option in $(sed -n "s/^	--\([a-z]*\)).*/\1/p" "$1"); do
		grep -q -e "--$option" "$2" || { echo "$option"; exit 1; }
	done' sh "$run" "$out"

if ! am_root; then
	bench --scenario small
	assert_status 1
	ok 'who is not root is told' grep -q 'needs root' "$err"
	skip 'needs root' 'measuring'
	done_testing
fi
have "$CC" || skip_all "no compiler ($CC)"
on_filesystem ext4 probe || done_testing
off_filesystem probe

# ---- every scenario ----

# said SCENARIO: it ran, or it says why not
said() {
	if grep -q "skipped: scenario $1 (" "$err"; then
		skip "$(sed -n "s/.*skipped: scenario $1 (\(.*\))/\1/p" "$err")" "$1"
	else
		ok "$1 was measured" awk -F '\t' -v name="$1" -v first="$2" '
			$1 ~ "^" name && $4 ~ "^" first && $7 > 0 { found = 1 }
			END { exit !found }' results
	fi
}

for scenario in include source small big sizes:1000 flat million huge sparse links music \
	cold slow-source slow-requests slow-net slow-dest big-same; do
	scenarios="${scenarios:+$scenarios,}$scenario"
done
bench --scenario "$scenarios,pipe,gzip,memory,marks" --peers none --dest ext4 \
	--json figures.json
assert_status 0
ok 'none failed and no copy differs' sh -c '! grep -E "failed|differs|left behind" "$1"' sh "$err"
for scenario in $(echo "$scenarios" | tr ',' ' ') marks-source marks-dest marks-both; do
	said "$scenario" tarpipe
done
said pipe tarpipe-pipe
said gzip tarpipe-gzip
said memory tarpipe-m
said cold read8
if have python3; then
	ok 'the JSON has a row for each' python3 -c '
import json
found = json.load(open("figures.json"))["results"]
assert len({row["scenario"] for row in found}) > 15
assert all(row["wall_s"]["median"] > 0 for row in found)'
else
	skip 'python3 is not installed' 'JSON'
fi
ok 'the summary shows them' grep -q '^| include | [0-9.]* |' "$out"

# ---- peers, file systems, the README ----

# One that says that it copied.
printf '#!/bin/sh\nexit 0\n' >bin/xcp
chmod +x bin/xcp
bench --scenario small --dest ext4,xfs,btrfs,tmpfs --seed 7 --readme
assert_status 0
ok 'who does not copy is left out' grep -q 'skipped: xcp (its copy differs)' "$err"
rm bin/xcp
for dest in ext4 xfs btrfs tmpfs; do
	if grep -q "skipped: small on $dest" "$err"; then
		skip "$(sed -n "s/.*skipped: small on $dest (\(.*\))/\1/p" "$err")" "$dest"
	else
		ok "cp was measured on $dest" grep -q "^small	$dest	.*	cp	" results
	fi
done
if have strace; then
	ok 'system calls are counted' awk -F '\t' '
		$4 == "tarpipe" && $6 == "calls" && $7 > 1 { found = 1 }
		END { exit !found }' results
else
	skip 'strace is not installed' 'system calls'
fi
ok 'the README has the table' grep -q '^    small, ext4  *[0-9.]* ' tree/README
ok 'and nothing else changed' sh -c '
	cut() { sed "/^.contrib.bench.run --readme writes/,/^.contrib.bench.run --readme wrote/d" "$1"; }
	cut "$1" >a; cut "$2" >b; cmp a b' sh tree/README "$TOP_SRCDIR/README"
cp results kept
bench --from kept
assert_status 0
ok '--from reports without measuring' grep -q '^| small, ext4 | ' "$out"
cp tree/README before
bench --readme --from /dev/null
assert_status 1
bench --readme --from nothing
assert_status 1
ok 'what holds no results leaves the README alone' cmp before tree/README

digests() { sed -n 's/.*digest \([0-9a-f]*\).*/\1/p' "$1" | sort -u; }
bench --scenario small --dest tmpfs --peers none --seed 7
is "$(digests results)" "$(digests kept)" 'the same seed makes the same tree'
bench --scenario small --dest tmpfs --peers none --seed 8
ok 'another one another' test "$(digests results)" != "$(digests kept)"

# ---- nothing stays ----

is_bare() { [ -z "$(find tmp disk -mindepth 1)" ]; }
ok 'no file is left' is_bare

wait_long() { wait_for "$@" || wait_for "$@" || wait_for "$@"; }

# leaves_nothing SIGNAL STATUS [-]: stopped while a device is limited; with - its
# whole process group is
leaves_nothing() {
	alone=$([ -z "${3:-}" ] || echo setsid)
	: >said
	$alone env TARPIPE="$TARPIPE" TMPDIR="$work/tmp" sh "$run" --disk "$work/disk" --part 40 \
		--rounds 99 --scenario slow-dest,slow-source,small --peers none >/dev/null 2>said &
	bench_pid=$!
	ok "$1: it runs" wait_long grep -q 'round 2' said
	kill -s "$1" -- "${3:-}$bench_pid"
	bench_status=0
	wait "$bench_pid" 2>/dev/null || bench_status=$?
	is "$bench_status" "$2" "$1: it dies of it"
	ok "$1: no file is left" wait_long is_bare
	ok "$1: no loop device is left" sh -c '! losetup -a | grep -F "$1"' sh "$work"
	ok "$1: no control group is left" wait_long sh -c '
		! find /sys/fs/cgroup -maxdepth 2 -name "tarpipe-bench.$1" | grep .' sh "$bench_pid"
}
leaves_nothing TERM 143
leaves_nothing KILL 137
leaves_nothing KILL 137 -
done_testing
