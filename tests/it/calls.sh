#!/bin/sh
# calls.sh: what a small file costs in system calls, both sides together.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_tracing

# What a run asks of the kernel for itself goes away in the difference of two trees
# that differ in their files alone.
few=1000 many=3000

for n in $few $many; do
	mkdir -p src-$n/a src-$n/b
	i=0
	while [ "$i" -lt "$n" ]; do
		echo "file $i" >src-$n/a/$i
		echo "file $i" >src-$n/b/$i
		i=$((i + 2))
	done
done

# count_calls: those that the last trace counted, without futex, in $calls.
count_calls() {
	calls=$(awk '$1 ~ /^[0-9]/ && $NF != "total" && $NF != "futex" { n += $4 }
		END { print n + 0 }' "$base/lib/trace")
}

for n in $few $many; do
	context="$n files"
	# A traced call sleeps, as one that waits for a disk does.
	traced -c -- tarpipe --read-ahead=off src-$n dst-$n
	assert_status 0
	assert_same_tree src-$n dst-$n
	count_calls
	eval "calls_$n=\$calls"
done
context=
# shellcheck disable=SC2154 # set by eval
each=$(((calls_3000 - calls_1000) * 100 / (many - few)))
diag "a file took $each hundredths of a call"
# The listing of the larger directories makes for some hundredths.
ok 'at most nine calls a file' test "$each" -le 905
ok '... and these were counted' test "$each" -ge 850

# Traced alone, by a filter in the kernel, the rest runs at its own speed.
if strace --seccomp-bpf -f -o /dev/null -e trace=futex true 2>/dev/null; then
	context='look-ahead'
	traced --seccomp-bpf -e trace=getrusage,clone3,clone -- tarpipe -j 2 src-$many warm
	ok 'a warm cache costs next to no call to see whether it is one' \
		test "$(grep -c getrusage "$base/lib/trace")" -lt $((many / 10))
	ok '... and no thread' test "$(grep -c clone "$base/lib/trace")" -le 3
	for jobs in 1 2 8; do
		context="-j $jobs"
		traced --seccomp-bpf -e trace=futex -- tarpipe -j $jobs src-$many futex-$jobs
		assert_status 0
		waits=$(grep -c futex "$base/lib/trace")
		diag "$waits calls of futex for $many files"
		ok 'no call a file to wait or to wake' test "$waits" -lt $((many / 2))
	done
else
	skip 'strace has no --seccomp-bpf here' 'calls of futex'
fi
done_testing
