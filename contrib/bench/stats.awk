# SPDX-License-Identifier: BSD-2-Clause
#
# stats: reads the results of `run` and gives the other awk programs medians.
#
# The results are lines of columns with tabs between.  The first says where they
# come from, each further one is a run:
#
#      # CPUS MODEL GIB KERNEL VERSION SEED DATE
#
#      1 scenario   include, cold, sizes:100, memory-250000, ...
#      2 dest       ext4, xfs, btrfs or tmpfs
#      3 tree       what was copied, for people
#      4 tool       tarpipe, floor2, tar-buffer, tarpipe-m8m-p75, ...
#      5 title      the tool for Markdown: \| is a bar, ** is around our own
#      6 round      1, 2, ..., or `calls` where 7 is system calls a file
#      7 wall       seconds
#      8 user       seconds
#      9 system     seconds
#     10 rss-sum    KiB, peaks of all stages added up
#     11 rss-max    KiB, that of the largest process
#
# Afterwards `keys` rows are there, row[1..keys] each the index of one scenario,
# destination and tool, in the order in which they first ran, with scene, fs, tree,
# tool, name (the title), runs (0 where only calls were counted) and calls ("" where
# they were not); and `places` scenarios with destinations, place[1..places].

BEGIN { FS = "\t" }

/^#/ {
	cpus = $2; cpu = $3; gib = $4; kernel = $5; version = $6; seed = $7; date = $8
	next
}

{
	key = $1 SUBSEP $2 SUBSEP $4
	if (!(key in runs)) {
		row[++keys] = key
		scene[key] = $1; fs[key] = $2; tree[key] = $3
		tool[key] = $4; name[key] = $5
		runs[key] = 0; calls[key] = ""
		if (!(($1, $2) in place_number)) {
			place[++places] = $1 SUBSEP $2
			place_number[$1, $2] = places
		}
	}
	if ($6 == "calls") {
		calls[key] = $7
		has_calls[$1, $2] = 1
		next
	}
	n = ++runs[key]
	if (n > rounds)
		rounds = n
	for (field = 7; field <= 11; field++)
		value[key, field, n] = $field
}

# Sorts the values of one column of a row into sorted[1..n]; returns n.
function sort_column(key, field,    n, i, j, v) {
	n = runs[key]
	for (i = 1; i <= n; i++) {
		v = value[key, field, i] + 0
		for (j = i - 1; j > 0 && sorted[j] > v; j--)
			sorted[j + 1] = sorted[j]
		sorted[j + 1] = v
	}
	return n
}

function median(key, field,    n) {
	n = sort_column(key, field)
	if (n % 2)
		return sorted[(n + 1) / 2]
	return (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function least(key, field) {
	sort_column(key, field)
	return sorted[1]
}

function greatest(key, field,    n) {
	n = sort_column(key, field)
	return sorted[n]
}

# The row of a tool in the scenario of another row; "" where it did not run.  Where
# our own is only a part (packing, a pipe) that part stands for it.
function beside(key, other,    base) {
	base = scene[key] SUBSEP fs[key] SUBSEP other
	if (other == "tarpipe" && (base "-" scene[key]) in runs)
		base = base "-" scene[key]
	return base in runs && runs[base] > 0 ? base : ""
}

# The row's median wall time as a multiple of another tool's in its scenario;
# `none` where one of them did not run.
function ratio(key, other, none,    base) {
	base = beside(key, other)
	if (base == "" || !runs[key] || median(base, 7) == 0)
		return none
	return sprintf("%.2f", median(key, 7) / median(base, 7))
}

# A title without marks of Markdown.
function plain(title) {
	gsub(/\\\|/, "|", title)
	gsub(/\*\*/, "", title)
	return title
}
