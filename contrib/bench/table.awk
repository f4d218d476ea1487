# SPDX-License-Identifier: BSD-2-Clause
#
# table: one scenario of the results, on one destination, as a Markdown table; all of
# them without -v scenario=NAME -v dest=TYPE.  Needs stats.awk before it.

function heading(key) {
	printf "\n### %s, %s\n\n%s; %d %s\n\n", scene[key], fs[key], tree[key], runs[key],
		(runs[key] > 1 ? "rounds, medians" : "round")
	printf "| tool | wall s | min..max | / tarpipe | / floor 2 | user s | system s | peak MiB |"
	print counted ? " calls / file |" : ""
	printf "|---|--:|--:|--:|--:|--:|--:|--:|"
	print counted ? "--:|" : ""
}

function print_row(key) {
	printf "| %s | %.3f | %.3f..%.3f | %s | %s | %.3f | %.3f | %.1f |", name[key],
		median(key, 7), least(key, 7), greatest(key, 7),
		ratio(key, "tarpipe", "-"), ratio(key, "floor2", "-"),
		median(key, 8), median(key, 9), median(key, 10) / 1024
	if (counted)
		printf " %s |", calls[key] == "" ? "-" : calls[key]
	print ""
}

# The next row of the scenario by time, among those not printed yet.
function fastest(    i, best) {
	for (i = 1; i <= keys; i++)
		if (scene[row[i]] == scenario && fs[row[i]] == dest && runs[row[i]] > 0 &&
		    !(row[i] in printed) &&
		    (best == "" || median(row[i], 7) < median(best, 7)))
			best = row[i]
	return best
}

function print_place(    key, lines) {
	counted = (scenario, dest) in has_calls
	while ((key = fastest()) != "") {
		if (!lines++)
			heading(key)
		print_row(key)
		printed[key] = 1
	}
}

END {
	if (scenario != "") {
		print_place()
		exit
	}
	for (p = 1; p <= places; p++) {
		split(place[p], at, SUBSEP)
		scenario = at[1]; dest = at[2]
		if (scenario !~ /^memory-/)
			print_place()
	}
}
