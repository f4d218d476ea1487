# SPDX-License-Identifier: BSD-2-Clause
#
# chart: the results as an SVG bar chart of ratios, each peer's time as a multiple
# of tarpipe's, a group of bars for each scenario and destination.
#
#     awk -f stats.awk -f chart.awk [-v only="SCENARIO..."] [-v note=TEXT] \
#             [-v most=RATIO] results >FILE.svg
#
# only    the scenarios to show, in this order (default all that tarpipe is in)
# note    a line below the title (default: the machine and the day)
# most    where bars are cut off, with a gap and their number (default 8)
#
# Floors, the bare loop, tarpipe's own variants and rows without a timed run are left out.
# Everything is in the one file; it is as wide as a README, 800, and reads on
# light, on dark and in print: each bar has its name and number beside it.

# ---- text ----

# Control bytes have no place in XML at all.
function escape(text) {
	gsub(/[\001-\037\177]/, "?", text)
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	gsub(/"/, "\\&quot;", text)
	return text
}

# Cut to what its column has room for, before it is escaped.
function fit(text, letters) {
	text = plain(text)
	if (length(text) > letters)
		text = substr(text, 1, letters - 3) "..."
	return escape(text)
}

function put_text(class, x, y, text) {
	body = body sprintf("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, x, y, text)
}

# ---- what is shown ----

# Yardsticks aren't.
function is_peer(key) {
	return runs[key] > 0 && tool[key] !~ /^(floor|read|loop|tarpipe)/ &&
		beside(key, "tarpipe") != "" && median(beside(key, "tarpipe"), 7) > 0
}

function is_wanted(scenario,    i, n, list) {
	if (only == "")
		return 1
	n = split(only, list, /[ ,]+/)
	for (i = 1; i <= n; i++)
		if (list[i] == scenario)
			return 1
	return 0
}

# groups[1..count], each with bars[group, 1..bars_in[group]], the shortest first.
function collect(    i, key, group) {
	for (i = 1; i <= keys; i++) {
		key = row[i]
		if (!is_peer(key) || !is_wanted(scene[key]))
			continue
		group = scene[key] SUBSEP fs[key]
		if (!(group in bars_in))
			groups[++count] = group
		insert(group, key, median(key, 7) / median(beside(key, "tarpipe"), 7))
	}
}

function insert(group, key, times,    i) {
	for (i = ++bars_in[group]; i > 1 && factor[bars[group, i - 1]] > times; i--)
		bars[group, i] = bars[group, i - 1]
	bars[group, i] = key
	factor[key] = times
	if (times > longest)
		longest = times
}

# The order asked for; within it that of the first run.
function put_groups(    i, n, k, list) {
	n = only == "" ? 0 : split(only, list, /[ ,]+/)
	for (i = 1; i <= n; i++)
		for (k = 1; k <= count; k++)
			if (index(groups[k], list[i] SUBSEP) == 1)
				put_group(groups[k])
	for (k = 1; n == 0 && k <= count; k++)
		put_group(groups[k])
}

# ---- the drawing ----

function x_of(times) {
	return left + times * unit
}

function put_bar(key,    times, shown, end) {
	times = factor[key]
	shown = times > most ? most : times
	end = x_of(shown)
	put_text("name", left - 8, y + 12, fit(name[key], 34))
	body = body sprintf("<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\"/>\n",
		left, y + 2, end - left)
	if (times > most)
		body = body sprintf("<path class=\"gap\" d=\"M%.1f %.1fl6 -16M%.1f %.1fl6 -16\"/>\n",
			end - 22, y + 16, end - 17, y + 16)
	# Not across the line at 1.
	put_text("number", (shown < 1 ? x_of(1) : end) + 5, y + 12, sprintf("%.2f", times))
	y += 17
}

# tarpipe's own bar is the one that the others are multiples of.
function put_own(key) {
	put_text("name own", left - 8, y + 12, fit(name[key], 30))
	body = body sprintf("<rect class=\"mine\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\"/>\n",
		left, y + 2, unit)
	put_text("number", x_of(1) + 5, y + 12, sprintf("1 = %s s", seconds(median(key, 7))))
	y += 17
}

function seconds(time) {
	return time < 10 ? sprintf("%.2f", time) : sprintf("%.0f", time)
}

function put_group(group,    key, what, top, i) {
	key = bars[group, 1]
	what = tree[key]
	sub(/,? *digest [0-9a-f]+/, "", what)
	y += 20
	put_text("group", 16, y, fit(scene[key] ", " fs[key], 40))
	put_text("what", width - 16, y, fit(what, 64))
	y += 6
	top = y
	put_own(beside(key, "tarpipe"))
	for (i = 1; i <= bars_in[group]; i++)
		put_bar(bars[group, i])
	body = body sprintf("<path class=\"one\" d=\"M%.1f %.1fV%.1f\"/>\n", x_of(1), top, y)
	y += 8
}

function style() {
	return "text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:#1f2328}\n" \
		"svg{background:#fff}.page{fill:#fff}\n" \
		".title{font-size:16px;font-weight:600}.group{font-size:13px;font-weight:600}\n" \
		".note,.what{font-size:11px;fill:#57606a}.what{text-anchor:end}\n" \
		".name{text-anchor:end}.own{font-weight:600}\n" \
		".bar{fill:#9aa4b0}.mine{fill:#0a58ca}\n" \
		".one{stroke:#1f2328;stroke-dasharray:2 2}.gap{stroke:#fff;stroke-width:3;fill:none}\n" \
		"@media (prefers-color-scheme:dark){text{fill:#e6edf3}svg{background:#0d1117}.page{fill:#0d1117}\n" \
		".note,.what{fill:#9da7b3}.bar{fill:#6e7681}.mine{fill:#58a6ff}\n" \
		".one{stroke:#e6edf3}.gap{stroke:#0d1117}}\n" \
		"@media print{text,.note,.what{fill:#000}svg{background:#fff}.page{fill:#fff}.bar{fill:#aaa}\n" \
		".mine{fill:#000}.one{stroke:#000}.gap{stroke:#fff}}\n"
}

function put_page(    said) {
	said = "Bars: how many times as long as tarpipe each program took; longer is slower."
	print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" " \
		"viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t d\">\n", width, y, width, y
	printf "<title id=\"t\">Copying: time as a multiple of tarpipe's</title>\n<desc id=\"d\">%s</desc>\n", said
	printf "<style><![CDATA[\n%s]]></style>\n", style()
	printf "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n%s</svg>\n", width, y, body
}

END {
	width = 800
	left = 226
	most = most ? most + 0 : 8
	collect()
	if (longest < most)
		most = longest > 2 ? longest : 2
	unit = (width - left - 60) / most
	if (note == "" && cpus != "")
		note = cpus " CPUs (" cpu "), Linux " kernel ", " date
	put_text("title", 16, 28, "Time as a multiple of tarpipe's")
	put_text("note", 16, 46, "Longer is slower.  Medians" (note == "" ? "." : "; " escape(note)))
	y = 52
	if (count)
		put_groups()
	else
		put_text("note", 16, y += 20, "Nothing to compare with.")
	y += 8
	put_page()
}
