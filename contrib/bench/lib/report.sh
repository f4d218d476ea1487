# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# report: what is printed and written.

# The first line of the results: where they come from.
note_machine() {
	measured=''
	[ -z "$tarpipe" ] || measured=$("$tarpipe" --version 2>/dev/null | head -n 1)
	printf '#\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(nproc)" "$(cpu_model)" "$(memory_gib)" \
		"$(uname -r | sed 's/[^0-9.].*//')" "$measured" "$seed" "$(date -u +%Y-%m-%d)" >>"$results"
}

print_heading() {
	awk -F '\t' '/^#/ {
		printf "tarpipe benchmark: %s CPUs (%s), %s GiB, Linux %s; seed %s, %s.\n", $2, $3, $4, $5, $7, $8
		if ($6 != "")
			print "Measured: " $6
	}' "$results"
}

print_table() {
	awk -v scenario="$scenario" -v dest="$dest" -f "$here/stats.awk" -f "$here/table.awk" "$results"
}

# Those of all scenarios at once, from saved results.
print_tables() {
	awk -f "$here/stats.awk" -f "$here/table.awk" "$results"
	awk -f "$here/memory.awk" "$results"
}

print_summary() {
	grep -q '	tarpipe	' "$results" || return 0
	printf '\n### Summary: times as multiples of ours\n\n'
	awk -f "$here/stats.awk" -f "$here/summary.awk" "$results"
	awk -f "$here/stats.awk" -f "$here/targets.awk" "$results"
}

write_json() {
	awk -f "$here/stats.awk" -f "$here/json.awk" "$results" >"$json" || die "can't write $json"
}

write_chart() {
	awk -f "$here/stats.awk" -f "$here/chart.awk" "$results" >"$chart" || die "can't write $chart"
}

# What stands in the README between the two lines.
readme_table() {
	awk -F '\t' '/^#/ { printf "%s CPUs (%s), Linux %s, %s:\n\n", $2, $3, $5, $8 }' "$results"
	awk -v style=text -f "$here/stats.awk" -f "$here/summary.awk" "$results"
}

readme_begin='[contrib/bench/run --readme writes what follows]'
readme_end='[contrib/bench/run --readme wrote what precedes]'

# Puts the table between them, in place.
write_readme() {
	readme=$here/../../README
	grep -qFx "$readme_begin" "$readme" && grep -qFx "$readme_end" "$readme" ||
		die "$readme lacks a line $readme_begin or $readme_end"
	readme_table >"$results.text"
	awk -v begin="$readme_begin" -v end="$readme_end" -v text="$results.text" '
		$0 == end { inside = 0; print "" }
		!inside { print }
		$0 == begin {
			inside = 1
			print ""
			while ((getline line <text) > 0)
				print line
		}' "$readme" >"$results.readme" && cat "$results.readme" >"$readme" ||
		die "can't write $readme"
	rm -f "$results.text" "$results.readme"
}

# All that comes after the last scenario.
report() {
	print_summary
	[ -z "$json" ] || write_json
	[ -z "$chart" ] || write_chart
	[ -z "$save" ] || cp "$results" "$save" || die "can't write $save"
	[ "$write_readme" = no ] || write_readme
}
