# SPDX-License-Identifier: BSD-2-Clause
#
# stats: reads the results of `run` and gives the other awk programs medians.
#
# A line of the results is a run, separated by tabs:
#     scenario dest tree tool title round wall user system rss-sum rss-max
#
# Afterwards `keys` rows are there, row[1..keys] each the index of one scenario
# and tool, in the order in which they first ran.

BEGIN { FS = "\t" }

{
	key = $1 SUBSEP $4
	if (!(key in runs)) {
		row[++keys] = key
		scene[key] = $1; fs[key] = $2; tree[key] = $3
		tool[key] = $4; name[key] = $5
	}
	n = ++runs[key]
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

# The row's median wall time as a multiple of another tool's in its scenario;
# `none` where that did not run.
function ratio(key, other, none,    base) {
	base = scene[key] SUBSEP other
	if (!(base in runs))		# where only packing is compared
		base = base "-" scene[key]
	if (!(base in runs) || median(base, 7) == 0)
		return none
	return sprintf("%.2f", median(key, 7) / median(base, 7))
}
