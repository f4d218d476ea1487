# SPDX-License-Identifier: BSD-2-Clause
#
# methods: one scenario of methods.sh as a Markdown table.  Needs stats.awk before
# it, -v scenario=NAME, -v ways="WAY..." (the rows in order) and -v bytes=N (what
# each run moves, or 0).

# What the second ratio is to: cp, and where that does not take part the first way.
function pick_peer(    i) {
	for (i = count; i > 0; i--)
		if (way[i] in key_of && !(peer ~ /^cp_-[ar]$/))
			peer = way[i]
}

function heading(key) {
	printf "\n### %s, %s\n\n%s\n\n", scene[key], fs[key], tree[key]
	printf "| way | wall s | min..max | / tarpipe | / %s | MB/s | user s | system s | peak MiB |\n",
		name[key_of[peer]]
	print "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
}

function rate(seconds) {
	return bytes && seconds ? sprintf("%.0f", bytes / seconds / 1e6) : "-"
}

function print_row(key) {
	printf "| %s | %.3f | %.3f..%.3f | %s | %s | %s | %.3f | %.3f | %.1f |\n", name[key],
		median(key, 7), least(key, 7), greatest(key, 7),
		ratio(key, "tarpipe", "-"), ratio(key, peer, "-"), rate(median(key, 7)),
		median(key, 8), median(key, 9), median(key, 10) / 1024
}

END {
	for (i = 1; i <= keys; i++)
		if (scene[row[i]] == scenario)
			key_of[tool[row[i]]] = row[i]
	count = split(ways, way, " ")
	pick_peer()
	for (i = 1; i <= count; i++) {
		if (!(way[i] in key_of))
			continue
		if (!lines++)
			heading(key_of[way[i]])
		print_row(key_of[way[i]])
	}
}
