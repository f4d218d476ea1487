# SPDX-License-Identifier: BSD-2-Clause
#
# memory: the scenario `memory` of the results as a Markdown table.
#
# `a file` is what each file between the least and the most of the same ring
# added to the peak; it is what a bound of so many bytes a name is held against.

BEGIN {
	FS = "\t"
}

$1 ~ /^memory-/ {
	files = substr($1, length("memory-") + 1) + 0
	ring = substr($4, length("tarpipe-m") + 1)
	line[++lines] = ring
	count[lines] = files
	peak[lines] = $10
	wall[lines] = $7
	dest = $2
	if (!(ring in few)) {
		few[ring] = files
		base[ring] = $10
	}
}

function row(i,    ring, each) {
	ring = line[i]
	each = "-"
	if (count[i] > few[ring])
		each = sprintf("%.1f", (peak[i] - base[ring]) * 1024 / (count[i] - few[ring]))
	printf "| %d | %s | %.1f | %.1f | %s | %.2f |\n", count[i], ring, peak[i] / 1024,
		peak[i] / 1024 - (ring + 0), each, wall[i]
}

END {
	if (!lines)
		exit
	printf "\n### memory, %s: empty files in one directory, one run each\n\n", dest
	print "| files | ring (-m) | peak MiB | peak less ring, MiB | bytes a file | wall s |"
	print "|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i <= lines; i++)
		row(i)
}
