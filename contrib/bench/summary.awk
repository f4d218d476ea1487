# SPDX-License-Identifier: BSD-2-Clause
#
# summary: all scenarios in one table: our seconds, and what the others took as
# multiples of them.  Needs stats.awk before it.  -v style=text is for the README,
# else it is Markdown.

BEGIN {
	split("floor2 tar tar-buffer tar-mbuffer bsdtar cpio rsync cp star xcp", tools, " ")
	split("floor2,tar,buffer,mbuffer,bsdtar,cpio,rsync,cp -a,star,xcp", heads, ",")
}

# A column is there when somebody ran.
function find_columns(    i, k) {
	for (i = 1; i in tools; i++)
		for (k = 1; k <= keys; k++)
			if (tool[row[k]] == tools[i] && is_shown(row[k]))
				shown[i] = 1
}

function is_shown(key) {
	return runs[key] > 0 && beside(key, "tarpipe") != ""
}

function cells(key,    i, text) {
	for (i = 1; i in tools; i++)
		if (i in shown)
			text = text cell(i, ratio(scene[key] SUBSEP fs[key] SUBSEP tools[i], "tarpipe", "-"))
	return text
}

# Column i as wide as its head, and wide enough for 15.11.
function cell(i, text,    width) {
	if (style != "text")
		return " " text " |"
	width = length(heads[i]) + 1
	return sprintf("%" (width < 6 ? 6 : width) "s", text)
}

# The file system is named where there are several.
function place_name(scenario, dest,    p, at) {
	for (p = 1; p <= places; p++) {
		split(place[p], at, SUBSEP)
		if (at[1] == scenario && at[2] != dest)
			return scenario ", " dest
	}
	return scenario
}

function heading(    i, text, rule) {
	for (i = 1; i in tools; i++)
		if (i in shown) {
			text = text cell(i, heads[i])
			rule = rule "--:|"
		}
	if (style == "text")
		return sprintf("    %-15s%8s%s", "", "tarpipe", text)
	return "| scenario | tarpipe, s |" text "\n|---|--:|" rule
}

# Those who have no column: in gzip, and readers.
function others(key,    i, text, k) {
	for (i = 1; i <= keys; i++) {
		k = row[i]
		if (scene[k] == scene[key] && fs[k] == fs[key] && runs[k] > 0 &&
		    (tool[k] ~ /^read/ || tool[k] == "loop" || scene[k] == "gzip") && k != key)
			text = join(text, tool_words(k) " " ratio(k, "tarpipe", "-"))
	}
	return text
}

# The title, without a comma.
function tool_words(key,    text) {
	text = plain(name[key])
	sub(/, only reading/, " only reading", text)
	sub(/, 256 KiB/, " of 256 KiB", text)
	return text
}

# A list under the table, in lines that fit; "" is none.
function note(title, list,    n, i, item, line, text) {
	n = split(list, item, /, /)
	line = (style == "text" ? "    " : "* ") title ":"
	for (i = 1; i <= n; i++) {
		if (length(line " " item[i]) > 78) {
			text = text line "\n"
			line = style == "text" ? "       " : " "
		}
		line = line " " item[i] (i < n ? "," : "")
	}
	if (n)
		notes = notes text line "\n"
}

function join(list, item) {
	return list (list == "" ? "" : ", ") item
}

# Scenarios that copied a part of their tree.
function parts(    p, key, at, list) {
	for (p = 1; p <= places; p++) {
		split(place[p], at, SUBSEP)
		key = of_place(at[1], at[2])
		if (key != "" && match(tree[key], /^1\/[0-9]+/))
			list = join(list, place_name(at[1], at[2]) " " substr(tree[key], 1, RLENGTH))
	}
	return list
}

function calls_words(key) {
	return plain(name[key]) " " calls[key]
}

# Our own first.
function all_calls(    i, k, list) {
	for (i = 1; i <= keys; i++)
		if (scene[row[i]] == "small" && calls[row[i]] != "" && tool[row[i]] == "tarpipe")
			list = calls_words(row[i])
	for (i = 1; i <= keys; i++) {
		k = row[i]
		if (scene[k] == "small" && calls[k] != "" && tool[k] !~ /^floor[13-9]|^tarpipe$/)
			list = join(list, calls_words(k))
	}
	return list
}

END {
	find_columns()
	print heading()
	for (p = 1; p <= places; p++) {
		split(place[p], at, SUBSEP)
		key = of_place(at[1], at[2])
		if (key == "")
			continue
		title = place_name(at[1], at[2])
		if (style == "text")
			printf "    %-15s%8.3f%s\n", title, median(key, 7), cells(key)
		else
			printf "| %s | %.3f |%s\n", title, median(key, 7), cells(key)
		note(title, others(key))
	}
	note("parts of their trees", parts())
	note("system calls a file in small", all_calls())
	if (notes != "")
		printf "\n%s", notes
}

# Our own row there.
function of_place(scenario, dest,    i) {
	for (i = 1; i <= keys; i++)
		if (scene[row[i]] == scenario && fs[row[i]] == dest)
			return beside(row[i], "tarpipe")
	return ""
}
