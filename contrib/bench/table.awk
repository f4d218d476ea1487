# SPDX-License-Identifier: BSD-2-Clause
#
# table: one scenario of the results as a Markdown table.  Needs stats.awk before
# it and -v scenario=NAME.

function heading(key) {
	printf "\n### %s, %s\n\n%s\n\n", scene[key], fs[key], tree[key]
	print "| tool | wall s | min..max | / tarpipe | / floor 2 | user s | system s | peak MiB |"
	print "|---|--:|--:|--:|--:|--:|--:|--:|"
}

function print_row(key) {
	printf "| %s | %.3f | %.3f..%.3f | %s | %s | %.3f | %.3f | %.1f |\n", name[key],
		median(key, 7), least(key, 7), greatest(key, 7),
		ratio(key, "tarpipe", "-"), ratio(key, "floor2", "-"),
		median(key, 8), median(key, 9), median(key, 10) / 1024
}

# The next row of the scenario by time, among those not printed yet.
function fastest(    i, best) {
	for (i = 1; i <= keys; i++)
		if (scene[row[i]] == scenario && !(row[i] in printed) &&
		    (best == "" || median(row[i], 7) < median(best, 7)))
			best = row[i]
	return best
}

END {
	while ((key = fastest()) != "") {
		if (!lines++)
			heading(key)
		print_row(key)
		printed[key] = 1
	}
}
