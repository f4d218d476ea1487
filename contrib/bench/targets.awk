# SPDX-License-Identifier: BSD-2-Clause
#
# targets: what was aimed at on two CPUs, and what the results say.  Needs stats.awk
# before it; targets whose scenario or peer did not run are left out.

function key_of(scenario, dest, who,    key) {
	key = scenario SUBSEP dest SUBSEP who
	return key in runs && runs[key] > 0 ? key : ""
}

# One line: `goal` in words, what was measured, and whether that is enough.
function verdict(place, goal, got, good) {
	if (!lines++)
		print "\n### Targets\n\n| scenario | target | measured | |\n|---|---|--:|---|"
	printf "| %s | %s | %s | %s |\n", place, goal, got, good ? "met" : "**missed**"
}

# Our time is at most `limit` of the other's.
function at_most(scenario, dest, who, limit,    ours, other, got) {
	ours = key_of(scenario, dest, "tarpipe")
	other = key_of(scenario, dest, who)
	if (ours == "" || other == "")
		return
	got = median(ours, 7) / median(other, 7)
	verdict(scenario ", " dest, sprintf("at most %.2f of %s", limit, name[other]),
		sprintf("%.2f", got), got <= limit)
}

# The other takes at least `times` as long as we.
function faster(scenario, dest, who, times,    ours, other, got) {
	ours = key_of(scenario, dest, "tarpipe")
	other = key_of(scenario, dest, who)
	if (ours == "" || other == "")
		return
	got = median(other, 7) / median(ours, 7)
	verdict(scenario ", " dest, sprintf("%.1f times faster than %s", times, name[other]),
		sprintf("%.2f", got), got >= times)
}

function is_peer(who) {
	return who !~ /^(floor|read|loop|tarpipe)/
}

# The fastest of the peers takes at least `times` as long as we.
function faster_than_all(scenario, dest, times,    i, k, best) {
	for (i = 1; i <= keys; i++) {
		k = row[i]
		if (scene[k] == scenario && fs[k] == dest && is_peer(tool[k]) && runs[k] > 0 &&
		    (best == "" || median(k, 7) < median(best, 7)))
			best = k
	}
	if (best != "")
		faster(scenario, dest, tool[best], times)
}

function small_files(scenario, dest) {
	at_most(scenario, dest, "floor2", dest == "tmpfs" ? 0.8 : 0.95)
	faster(scenario, dest, "tar", dest == "tmpfs" ? 2 : 1.7)
	faster(scenario, dest, "tar-buffer", 3)
	faster(scenario, dest, "cp", 5)
	faster(scenario, dest, "rsync", 4)
	faster(scenario, dest, "star", 1.5)
}

function memory_of(scenario, dest, limit,    ours, got) {
	ours = key_of(scenario, dest, "tarpipe")
	if (ours == "")
		return
	got = median(ours, 10) / 1024
	verdict(scenario ", " dest, "peak under " limit " MiB", sprintf("%.1f", got), got < limit)
}

function calls_of(scenario, dest, limit,    ours) {
	ours = key_of(scenario, dest, "tarpipe")
	if (ours != "" && calls[ours] != "")
		verdict(scenario ", " dest, "at most " limit " system calls a file", calls[ours],
			calls[ours] <= limit)
}

function of_place(scenario, dest) {
	if ((scenario == "include" || scenario == "source") && dest != "btrfs")
		small_files(scenario, dest)
	if (scenario == "small")
		calls_of(scenario, dest, 9)
	if (scenario == "flat")
		faster_than_all(scenario, dest, 1.3)
	if (scenario == "cold") {
		at_most(scenario, dest, "read8", 1.15)
		faster_than_all(scenario, dest, 2)
	}
	if (scenario == "slow-net") {
		faster(scenario, dest, "cp", 8)
		faster(scenario, dest, "tar", 8)
	}
	if (scenario == "slow-source")
		at_most(scenario, dest, "read8", 1.03)
	if (scenario == "big-same")
		at_most(scenario, dest, "cp", 1)
	if (scenario == "big" || scenario == "huge") {
		at_most(scenario, dest, "loop", 1 / 0.95)
		faster(scenario, dest, "tar", 1.5)
		faster(scenario, dest, "tar-buffer", 1.5)
		faster(scenario, dest, "tar-mbuffer", 1.5)
	}
	if (scenario == "million") {
		faster_than_all(scenario, dest, 1.5)
		memory_of(scenario, dest, 85)
	}
}

END {
	for (p = 1; p <= places; p++) {
		split(place[p], at, SUBSEP)
		of_place(at[1], at[2])
	}
}
