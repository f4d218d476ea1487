# SPDX-License-Identifier: BSD-2-Clause
#
# json: all results as one JSON object.  Needs stats.awk before it.

function quote(text) {
	text = plain(text)
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	return "\"" text "\""
}

# Median, spread and every single value of a column.
function column(key, label, field,    i, text) {
	text = sprintf("\"%s\": {\"median\": %.10g, \"min\": %.10g, \"max\": %.10g, \"all\": [", label,
		median(key, field), least(key, field), greatest(key, field))
	for (i = 1; i <= runs[key]; i++)
		text = text (i > 1 ? ", " : "") (value[key, field, i] + 0)
	return text "]}"
}

function print_result(key, last) {
	printf "    {\"scenario\": %s, \"dest\": %s, \"tree\": %s, \"tool\": %s, \"title\": %s,\n",
		quote(scene[key]), quote(fs[key]), quote(tree[key]), quote(tool[key]), quote(name[key])
	printf "     \"per_tarpipe\": %s, \"per_floor2\": %s, \"calls_per_file\": %s,\n",
		ratio(key, "tarpipe", "null"), ratio(key, "floor2", "null"),
		calls[key] == "" ? "null" : calls[key]
	printf "     %s,\n     %s,\n     %s,\n", column(key, "wall_s", 7),
		column(key, "user_s", 8), column(key, "system_s", 9)
	printf "     %s,\n     %s}%s\n", column(key, "peak_rss_sum_kib", 10),
		column(key, "peak_rss_max_kib", 11), last ? "" : ","
}

END {
	printf "{\n  \"machine\": {\"cpus\": %d, \"cpu\": %s, \"memory_gib\": %d, \"kernel\": %s},\n",
		cpus, quote(cpu), gib, quote(kernel)
	printf "  \"measured\": %s,\n  \"date\": %s,\n", quote(version), quote(date)
	printf "  \"rounds\": %d,\n  \"seed\": %d,\n  \"results\": [\n", rounds, seed
	for (i = 1; i <= keys; i++)
		if (runs[row[i]] > 0)
			last = i
	for (i = 1; i <= last; i++)
		if (runs[row[i]] > 0)
			print_result(row[i], i == last)
	print "  ]\n}"
}
