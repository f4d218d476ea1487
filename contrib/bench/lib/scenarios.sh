# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# scenarios: the table of what is measured under which conditions.

slow_scenarios='cold slow-source slow-requests slow-net slow-dest'
quick_scenarios="include source small big flat million $slow_scenarios big-same pipe gzip"
all_scenarios="include source small big sizes:1 sizes:10 sizes:100 sizes:1000 flat million huge \
sparse links music $slow_scenarios big-same pipe gzip memory \
marks-source marks-dest marks-both methods post"

# The limits: those of the founding measurements.
slow_bytes=25600000 slow_rate=600

# describe_scenario NAME sets
#     tree         what is copied, see maketree.c
#     quick_part   --quick copies this part of it
#     names        about how many names it has
#     need_mb      memory for file systems and caches
#     source       warm (in the cache), cold (on a disk), limited (its device is), net, or
#                  same (on the destination's file system)
#     from_limits, to_limits   of the devices
#     team, floor, extra       who takes part (pick_team)
#     quick_peers  with --quick only these
#     dests, quick_dests       file systems when --dest does not say
#     slow         yes: no trial round, and at most 3 rounds (quick: 2)
#     S, H         letters that make peers look for holes, and for hard links
describe_scenario() {
	tree=$1 quick_part=1 names=16384 need_mb=1500 source=warm from_limits='' to_limits=''
	team=copy floor=floor2 extra='' quick_peers='floor1 tar tar-buffer tar-mbuffer bsdtar rsync cpio cp star xcp'
	dests=ext4 quick_dests=ext4 slow=no S='' H=''
	case $1 in
	include) dests='ext4 xfs btrfs tmpfs' quick_dests='ext4 xfs tmpfs' ;;
	source)
		dests='ext4 xfs btrfs tmpfs' names=70000 need_mb=4000 quick_part=4
		quick_peers='tar tar-buffer rsync cp star'
		;;
	small) ;;
	big) extra=loop dests='ext4 xfs' quick_peers='floor1 tar tar-buffer tar-mbuffer rsync cp star' ;;
	sizes:1000) need_mb=5500 ;;
	sizes:*) ;;
	flat) dests='ext4 xfs tmpfs' names=110000 need_mb=2500 quick_part=4 quick_peers='tar rsync cp star' ;;
	million) names=1010000 need_mb=4500 quick_part=20 quick_peers='tar rsync cp star' ;;
	huge) extra=loop need_mb=13000 ;;
	sparse) S=S dests='ext4 xfs' need_mb=6000 ;;
	# floor would make a file of each name.
	links) H=H floor='' ;;
	music) names=50000 ;;
	cold)
		tree=include source=cold extra='read8 read1' slow=yes
		quick_peers='tar tar-buffer rsync cp star'
		;;
	slow-source)
		tree=include source=limited from_limits="rbps=$slow_bytes" extra='read8' slow=yes
		quick_part=2 quick_peers='tar tar-buffer cp'
		;;
	slow-requests)
		tree=include source=limited from_limits="riops=$slow_rate" extra='read8' slow=yes
		quick_part=8 quick_peers='tar tar-buffer cp'
		;;
	slow-net) tree=include source=net extra='read8' slow=yes quick_part=24 quick_peers='tar cp' ;;
	slow-dest)
		tree=include to_limits="wbps=$slow_bytes" slow=yes
		quick_part=2 quick_peers='tar tar-buffer cp'
		;;
	big-same) tree=big source=same dests='ext4 xfs btrfs' quick_dests='ext4 xfs btrfs' quick_peers='cp' ;;
	pipe) tree=include team=pipe quick_peers='tar tar-buffer' ;;
	gzip) tree=include team=pack quick_peers='tar-pigz tar-gzip' ;;
	marks-source) tree=include source=limited from_limits="rbps=$slow_bytes" team=marks slow=yes ;;
	marks-dest) tree=include to_limits="wbps=$slow_bytes" team=marks slow=yes ;;
	marks-both)
		tree=include source=same team=marks slow=yes
		to_limits="rbps=$slow_bytes wbps=$slow_bytes"
		;;
	esac
}

# can_run NAME: else $why says why not.
can_run() {
	why="it wants $need_mb MB of free memory; --part makes trees smaller"
	have_memory $((need_mb / tree_part + 300)) || return 1
	case $source in
	cold)
		why="$disk is no disk (--disk names another directory)"
		is_on_disk "$disk" || return 1
		;;
	net)
		why='slowfs needs libfuse3-dev, pkg-config and fuse3'
		{ [ -x "$scratch/bin/slowfs" ] || build_program slowfs 2>/dev/null; } || return 1
		why='no /dev/fuse'
		[ -c /dev/fuse ] || return 1
		;;
	esac
	[ -z "$from_limits$to_limits" ] || join_group || return 1
	why='the kernel has no bound on dirty pages of a device (Linux 6.2)'
	[ -z "$to_limits" ] || can_bound_dirty
}

# ---- peak memory ----

# One copy of the tree of $1 empty files by $2, with a ring of $3.
memory_run() {
	fresh_fs "$scratch/dest" "$dest" "$1" || die "can't make a file system of type $dest"
	mkdir "$scratch/dest/copy"
	if ! timed "$2" -m "$3" "$scratch/source/tree" "$scratch/dest/copy"; then
		failed "tarpipe -m $3"
	elif [ "$(find "$scratch/dest/copy" -mindepth 1 -printf x | wc -c)" != "$1" ]; then
		say "tarpipe -m $3 did not copy all $1 files"
	else
		record "memory-$1" "tarpipe-m$3" "tarpipe -m $3" 1
	fi
}

# A million empty files, and a quarter of it to tell what each one costs.
memory() {
	dest=${dest_list%% *}
	dest=${dest:-ext4}
	if [ -z "$tarpipe" ]; then
		say 'skipped: scenario memory (it measures tarpipe alone)'
		return
	fi
	for names in $((250000 / tree_part)) $((1000000 / tree_part)); do
		say "memory on $dest: $names files"
		fresh_fs "$scratch/source" ext4 "$names" || die "can't make the source's file system"
		make_source "empty:$names" "$scratch/source" 1
		read_tree "$scratch/source/tree"
		for ring in 1m 64m; do
			memory_run "$names" "$tarpipe" "$ring"
		done
	done
	awk -f "$here/memory.awk" "$results"
}
