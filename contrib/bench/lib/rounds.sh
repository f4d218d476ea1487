# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# rounds: one run, and rounds of them.

# record SCENARIO TOOL TITLE ROUND: adds what the last run cost (stats.awk).
record() {
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$dest" "$summary" "$2" "$3" "$4" \
		"$(tr ' ' '\t' <"$scratch/cost")" >>"$results"
}

# The tree of the scenario, once for all its destinations.
ready_source() {
	[ "$source" != same ] || return 0
	source_image=$scratch/source.img
	if [ "$source" = cold ]; then
		unmount "$scratch/source"
		source_image=$disk_image
		make_image "$source_image" ext4 "$names" &&
			mount_image "$source_image" ext4 "$scratch/source"
	else
		fresh_fs "$scratch/source" ext4 "$names"
	fi || die "can't make the source's file system"
	make_source "$tree" "$scratch/source"
	read_tree "$scratch/source/tree"
}

# Readies source, destination and memory for one run.  Sets $from, the source as the
# tool sees it, $original, a way to it that isn't slow, and $to.
prepare() {
	unlimit_devices
	fresh_fs "$scratch/dest" "$dest" "$names" || die "can't make a file system of type $dest"
	from=$scratch/source/tree to=$scratch/dest/copy
	if [ "$source" = same ]; then
		make_source "$tree" "$scratch/dest"
		from=$scratch/dest/tree
		# A limited device must have something to read.
		if [ -n "$to_limits" ]; then
			unmount "$scratch/dest"
			mount_image "$scratch/dest.img" "$dest" "$scratch/dest"
		else
			read_tree "$from"
		fi
	fi
	original=$from
	mkdir "$to"
	[ "$tree_part" -gt 9 ] || "$scratch/bin/pages"
	case $source in
	cold | limited) cold_mount ;;
	net) net_mount && from=$scratch/net ;;
	esac
}

# The programs themselves are in the cache; devices are slow from here on.
ready_tool() {
	if [ "$slow" = yes ]; then
		rm -rf "$scratch/empty"
		mkdir -p "$scratch/empty/from" "$scratch/empty/to"
		run_tool "$1" "$scratch/empty/from" "$scratch/empty/to"
	fi
	# shellcheck disable=SC2086  # lists
	if [ -n "$from_limits" ]; then
		limit_device "$scratch/source" $from_limits || die "can't limit the source's device"
	fi
	# shellcheck disable=SC2086
	if [ -n "$to_limits" ]; then
		limit_device "$scratch/dest" $to_limits && bound_dirty "$scratch/dest" ||
			die "can't limit the destination's device"
	fi
}

# Some tools only pack: their archive is unpacked to be compared.
open_archive() {
	[ -f "$to/$archive" ] || return 0
	tar -C "$to" -xzpf "$to/$archive" 2>"$scratch/messages" && rm "$to/$archive"
}

failed() {
	say "$1 failed with status $status; it said:"
	head -n 5 "$scratch/messages" >&2
}

# Is what the tool made a copy?  Who only reads makes none.
check_copy() {
	case $1 in read*) return 0 ;; esac
	unlimit_devices
	open_archive && same_trees "$original" "$to" && return 0
	say "skipped: $1 (its copy differs)"
	head -n 5 "$scratch/messages" >&2
	return 1
}

# The round that does not count: it warms the programs, and shows whether a
# tool copies at all.  Those that don't are left out.
trial_round() {
	kept=''
	for tool in $tools; do
		prepare
		ready_tool "$tool"
		if ! run_tool "$tool" "$from" "$to"; then
			failed "$tool"
		elif check_copy "$tool"; then
			kept="$kept $tool"
		fi
	done
}

# Slow scenarios have no trial round: what the first one made is looked at.
counted_round() {
	# shellcheck disable=SC2086
	for tool in $(rotated "$1" $kept); do
		prepare
		ready_tool "$tool"
		if ! run_tool "$tool" "$from" "$to"; then
			failed "$tool"
			continue
		fi
		cp "$scratch/cost" "$scratch/cost1"
		[ "$slow$1" != yes1 ] || check_copy "$tool" || continue
		mv "$scratch/cost1" "$scratch/cost"
		record "$scenario" "$tool" "$(title "$tool")" "$1"
	done
}

# System calls a file, without those for starting up: what an empty tree takes.
calls_round() {
	have strace || { say 'skipped: counting system calls (not installed: strace)'; return; }
	files=${summary##*: }
	files=${files%% *}
	for tool in $kept; do
		prepare
		say "$scenario: counting system calls of $tool"
		mkdir "$scratch/dest/empty" "$scratch/dest/none"
		base=$(count_calls "$tool" "$scratch/dest/none" "$scratch/dest/empty") &&
			all=$(count_calls "$tool" "$from" "$to") || { failed "$tool"; continue; }
		awk -v all="$all" -v base="$base" -v files="$files" \
			'BEGIN { printf "%.1f 0 0 0 0\n", (all - base) / files }' >"$scratch/cost"
		record "$scenario" "$tool" "$(title "$tool")" calls
	done
}

count_rounds() {
	number=$rounds
	if [ -z "$number" ]; then
		number=5
		[ "$quick" = no ] || number=3
		[ "$slow" = no ] || number=$((number / 2 + 1))
	fi
}

# All tools in turn, on each file system.
compare() {
	count_rounds
	pick_team
	ready_source
	counting=$calls
	case $slow$team-$scenario in
	yes* | no*-huge | nopack* | nopipe*) counting=no ;;
	*-small) counting=yes ;;
	esac
	for dest in $scenario_dests; do
		kept=$tools
		if [ "$slow" = no ]; then
			say "$scenario on $dest: the trial round"
			trial_round
		fi
		[ -n "$kept" ] || { say "skipped: $scenario on $dest (no tool is left)"; continue; }
		round=1
		while [ "$round" -le "$number" ]; do
			say "$scenario on $dest: round $round of $number"
			counted_round "$round"
			round=$((round + 1))
		done
		[ "$counting" = no ] || calls_round
		counting=no
		print_table
	done
	unlimit_devices
	unmount "$scratch/net"
}
