#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# methods.sh: what the founding measurements measured, on this machine.
#
#     contrib/bench/methods.sh [OPTION]...
#
# `run` calls it for its scenarios `methods` and `post`, and it stands on its own
# beside that.  It prints Markdown; progress goes to standard error.  The ways to
# copy are those of methods.c and are named as on its command line.
#
# Environment: TARPIPE, CC, TMPDIR, as for run, whose rooms in lib/ it uses.
#
# shellcheck disable=SC2015,SC2034,SC2154  # many variables are the rooms'

set -u

usage() {
	cat <<'TEXT'
usage: contrib/bench/methods.sh [OPTION]...
Copies by several ways in turn and prints medians and ratios as Markdown.  Needs
root (mounts).

  --part LIST     of warm cold advice post, or methods for the first two (default
                  methods,post); --scenario is the same
                  warm    small, big and sizes, from the cache to the same fresh
                          file system
                  cold    files of 200 MB, 1 GB and 2 GB that were put out of the
                          cache, on an ext4 on a disk, to the same
                  advice  reading these with and without sequential advice, by
                          buffer sizes, and in ranges by threads; and 40 MB
                          over a slow network (slowfs)
                  post    the five commands of the founding post, from a device
                          that gives 25.6 MB a second
  --quick         fewer and smaller trees and files, fewer rounds
  --rounds N      default 5, quick 3; of post 3 and 2
  --shrink N      trees and files of an N-th
  --peers LIST    only these ways; '_' stands for a space:
                  loop,loop_-p,cp_-r,tarpipe
  --dest TYPE     file system of warm: ext4, xfs or btrfs (default ext4)
  --disk DIR      where the image lies that is to be cold (default /var/tmp)
  --seed N        of the trees (default 1)
  --save FILE     the bare results (stats.awk tells the format)
  --help
TEXT
}

# ---- options ----

check_number() {
	case $2 in
	'' | 0 | *[!0-9]* | ??????*) refuse "$1 wants a number from 1 to 99999, not '$2'" ;;
	esac
}

check_words() {
	[ -n "$2" ] || refuse "$1 wants some of: $3"
	for word in $2; do
		is_one_of "$word" "$3" || refuse "$1: '$word' is none of: $3"
	done
}

set_option() {
	case $1 in
	--part | --scenario)
		parts=$(words "$2")
		check_words "$1" "$parts" 'methods warm cold advice post'
		;;
	--rounds) check_number "$1" "$2"; rounds=$2 ;;
	--shrink) check_number "$1" "$2"; shrink=$2 ;;
	--peers) peers=$(words "$2") ;;
	--dest) warm_dest=$2; check_words "$1" "$2" 'ext4 xfs btrfs' ;;
	--disk) disk=$2; [ -d "$2" ] && [ -w "$2" ] || refuse "--disk: '$2' is no directory that can be written to" ;;
	--seed) check_number "$1" "$2"; seed=$2 ;;
	--save) save=$2; [ -n "$2" ] || refuse '--save wants a file' ;;
	*) refuse "unknown option $1; --help lists them" ;;
	esac
}

parse_options() {
	parts='methods post' rounds='' peers='' warm_dest=ext4 disk=/var/tmp seed=1 quick=no shrink=1 save=''
	while [ $# -gt 0 ]; do
		case $1 in
		--help) usage; exit 0 ;;
		--quick) quick=yes; shift ;;
		--*=*) set_option "${1%%=*}" "${1#*=}"; shift ;;
		*)
			[ $# -ge 2 ] || set_option "$1" ''
			set_option "$1" "$2"
			shift 2
			;;
		esac
	done
	rounds_asked=${rounds:+yes}
	[ "$quick" = no ] || : "${rounds:=3}"
	: "${rounds:=5}"
	[ -z "$save" ] || (: >>"$save") 2>/dev/null || die "$save can't be written"
}

check_machine() {
	[ "$(id -u)" = 0 ] || die 'needs root: it mounts a fresh file system for every single copy'
	for program in unshare mount findmnt losetup mkfs.ext4 "mkfs.$warm_dest" "${CC:-cc}" diff awk; do
		have "$program" || die "needs $program, which is not installed"
	done
}

# ---- the ways ----

way_title() {
	case $1 in
	tarpipe) echo '**tarpipe**' ;;
	tar-buffer-p0) echo 'tar\|buffer -m 8m\|tar' ;;
	tar | tar-buffer | cpio) title "$1" ;;
	*) echo "$1" | tr _ ' ' ;;
	esac
}

# run_way WAY SRC DST: SRC is copied to DST, which isn't there yet.
run_way() {
	way_program=${1%%_*}
	way_options=$(echo "${1#"$way_program"}" | tr _ ' ')
	# shellcheck disable=SC2086 # words
	case $way_program in
	tar | tar-buffer | cpio) mkdir "$3" && run_tool "$@" ;;
	tar-buffer-p0)
		mkdir "$3" &&
			timed -C "$2" tar cf - . '|' buffer -m 8m '|' -C "$3" tar xpf -
		;;
	cp) timed cp $way_options "$2" "$3" ;;
	tarpipe) timed "$tarpipe" $way_options "$2" "$3" ;;
	read) timed "$scratch/bin/methods" read $way_options "$2" ;;
	*) timed "$scratch/bin/methods" "$way_program" $way_options "$2" "$3" ;;
	esac
}

# Which of the ways in $* are asked for and can run here; the others are named.
choose() {
	for way; do
		[ -z "$peers" ] || is_one_of "$way" "$peers" || continue
		case $way in
		tarpipe*) [ -n "$tarpipe" ] && echo "$way" ;;
		tar-buffer-p0) check_tool tar-buffer && echo "$way" ;;
		tar* | cpio) check_tool "$way" && echo "$way" ;;
		*) echo "$way" ;;
		esac
	done
}

# ---- rounds ----

# Not where nobody looks at the figures.
touch_pages() { [ "$shrink" -gt 9 ] || "$scratch/bin/pages"; }

# The first copy by each way is compared with the source, which is not slow by then.
is_right() {
	case $1 in read*) return 0 ;; esac
	[ "$round" -gt 1 ] && return
	unlimit_devices
	diff -r -q --no-dereference "$from" "$to" >"$scratch/messages" 2>&1
}

# A way that fails is named and takes no further part.
run_once() {
	status=0
	"$ready" || die "$scenario: can't make ready for $1"
	if ! run_way "$1" "$from" "$to"; then
		say "skipped: $scenario: $1 (status $status): $(head -n 1 "$scratch/messages")"
	elif ! is_right "$1"; then
		say "skipped: $scenario: $1 (its copy differs): $(head -n 1 "$scratch/messages")"
	else
		record "$scenario" "$1" "$(way_title "$1")" "$round"
		return
	fi
	dropped="$dropped $1"
}

# measure SCENARIO READY WAY...: all in turn, on $dest; the function READY sets $from,
# $to and $summary before each.  $bytes is what a run moves, or 0.
measure() {
	scenario=$1 ready=$2
	shift 2
	ways=$(choose "$@" | paste -sd ' ' -) dropped=''
	[ -n "$ways" ] || { say "skipped: $scenario (none of its ways is left)"; return; }
	round=1
	while [ "$round" -le "$rounds" ]; do
		say "$scenario: round $round of $rounds"
		# shellcheck disable=SC2086
		for way in $(rotated "$round" $ways); do
			is_one_of "$way" "$dropped" || run_once "$way"
		done
		round=$((round + 1))
	done
	awk -v scenario="$scenario" -v ways="$ways" -v bytes="$bytes" \
		-f "$here/stats.awk" -f "$here/methods.awk" "$results"
}

# ---- warm ----

# The source is made anew as well: copy_file_range wants both on one file system.
ready_warm() {
	fresh_fs "$scratch/dest" "$dest" 16384 || return 1
	make_source "$tree" "$scratch/dest" "$shrink"
	from=$scratch/dest/tree to=$scratch/dest/copy
	touch_pages
}

part_warm() {
	trees='small big sizes:1 sizes:10 sizes:100 sizes:1000' dest=$warm_dest bytes=0
	[ "$quick" = no ] || trees='small big sizes:10'
	for tree in $trees; do
		if ! have_memory $((5500 / shrink + 300)); then
			say "skipped: methods-$tree (it wants 5500 MB of free memory)"
			continue
		fi
		measure "methods-$tree" ready_warm whole whole_-p loop loop_-p loop_-a loop_-ap \
			splice splice_-p range range_-p sendfile cp_-r cp_-rp tarpipe
	done
}

# ---- cold ----

# An ext4 on a disk at $scratch/source, not cached a second time below; not 0, and
# said, where there is none.
start_disk() {
	dest=ext4
	mountpoint -q "$scratch/source" && return
	why=''
	is_on_disk "$disk" || why="$disk is no disk"
	[ "$(df --output=avail -m "$disk" | tail -n 1)" -gt $((image_mb + 200)) ] ||
		why="no $image_mb MB left on $disk"
	if [ -n "$why" ]; then
		say "skipped: $part ($why; --disk names another directory)"
		return 1
	fi
	make_image "$disk_image" ext4 1000 &&
		mount_image "$disk_image" ext4 "$scratch/source" || die "can't make an image on $disk"
	losetup --direct-io=on "$(findmnt -n -o SOURCE -M "$scratch/source")" 2>/dev/null ||
		say "no direct reads from $disk: what is cold may be in the cache below"
	ahead=$(cat "/sys/class/bdi/$(mountpoint -d "$scratch/source")/read_ahead_kb")
	# Not zeros: a file system could leave them out.
	"$scratch/bin/maketree" big "$seed" "$scratch/big" >/dev/null
}

# make_file MEGABYTES: a file of that size, written out.
make_file() {
	file=$scratch/source/file bytes=$(($1 * 1000000 / shrink))
	summary="one file of $((bytes / 1000)) KB; the device reads $ahead KiB ahead"
	: >"$file"
	while [ "$(stat -c %s "$file")" -lt "$bytes" ]; do
		cat "$scratch"/big/big? >>"$file" || die "can't make a file of $1 MB on $disk"
	done
	truncate -s "$bytes" "$file" && sync -f "$file"
}

# On a virtual machine a run may meet memory that the host has yet to back: system time
# tells, and more rounds or the least of them.
ready_cold() {
	from=$file to=$scratch/source/copy
	rm -rf "$to"
	sync -f "$scratch/source"
	"$scratch/bin/methods" drop "$from" >/dev/null
}

ready_cached() {
	from=$file to=''
	"$scratch/bin/methods" read "$from" >/dev/null
}

# with_files FUNCTION: it is called with MEGABYTES for each size.
with_files() {
	start_disk || return 0
	sizes='200 1000 2000'
	[ "$quick" = no ] || sizes=200
	for size in $sizes; do
		make_file "$size"
		"$1" "$size"
	done
	rm -rf "$scratch/source/copy"
}

cold_file() {
	measure "cold-$1" ready_cold read read_-a whole loop loop_-a splice range sendfile cp_-r tarpipe
}

part_cold() { with_files cold_file; }

advice_file() {
	measure "advice-$1" ready_cold read_-b_64k read_-a_-b_64k read_-b_128k read_-a_-b_128k \
		read_-b_256k read_-a_-b_256k read_-b_512k read_-a_-b_512k read_-b_1m read_-a_-b_1m
	measure "threads-cold-$1" ready_cold read_-j_1 read_-j_2 read_-j_4 read_-a_-j_1 read_-a_-j_2 read_-a_-j_4
	measure "threads-warm-$1" ready_cached read_-j_1 read_-j_2 read_-j_4
}

# Each mount begins with an empty cache.
ready_net() {
	unmount "$scratch/net"
	"$scratch/bin/slowfs" "$scratch/source/net" "$scratch/net" 9>&- || return 1
	from=$scratch/net/file to=''
}

# 40 MB over a network that takes 5 ms for each read.
advice_net() {
	if ! [ -c /dev/fuse ] || ! build_program slowfs 2>/dev/null; then
		say 'skipped: advice-net (it wants /dev/fuse, libfuse3-dev 3.12, pkg-config)'
		return
	fi
	make_file 40
	mkdir -p "$scratch/source/net" && mv "$file" "$scratch/source/net/file"
	measure advice-net ready_net read_-b_256k read_-a_-b_256k read_-b_1m read_-a_-b_1m \
		read_-j_2 read_-j_4 read_-j_8 read_-a_-j_8
	unmount "$scratch/net"
}

part_advice() {
	with_files advice_file
	mountpoint -q "$scratch/source" && advice_net
}

# ---- post ----

# Mounted anew, nothing of the source is in the cache; slow from here on.
ready_post() {
	unlimit_devices
	cold_mount
	fresh_fs "$scratch/dest" ext4 70000 || return 1
	from=$scratch/source/tree to=$scratch/dest/copy
	touch_pages
	limit_device "$scratch/source" rbps=25600000
}

# Half of the tree `source` comes near the 260 MB of the post.
part_post() {
	dest=ext4 bytes=0 post_part=$((2 * shrink))
	[ "$quick" = no ] || post_part=$((8 * shrink))
	[ "$rounds_asked" = yes ] || rounds=$((rounds / 2 + 1))
	join_group || { say "skipped: post ($why)"; return; }
	source_image=$scratch/source.img
	fresh_fs "$scratch/source" ext4 70000 || die "can't make the source's file system"
	make_source source "$scratch/source" "$post_part"
	measure post ready_post read cp_-a tar cpio tar-buffer-p0 tar-buffer tarpipe tarpipe_-m_8m_-p_75
	unlimit_devices
}

# ---- main ----

here=$(cd "$(dirname "$0")" && pwd) || exit 1
for room in base scratch limits disks tools rounds report; do
	# shellcheck source=/dev/null
	. "$here/lib/$room.sh"
done
S='' H='' tracer='' told='' group='' summary=''
# The limit of the scratch tmpfs and the size of each image (all sparse).
store_mb=10240 image_mb=5120

parse_options "$@"
if [ "${TARPIPE_BENCH_INSIDE:-}" != yes ]; then
	check_machine
	TARPIPE_BENCH_INSIDE=yes exec unshare --mount --ipc --propagation private -- \
		sh "$here/methods.sh" "$@"
fi
find_tarpipe
start_scratch
for program in maketree methods timeit pages; do
	build_program "$program" || die "can't build $program"
done
note_machine
print_heading
for part in $parts; do
	case $part in
	methods) part_warm; part_cold ;;
	*) "part_$part" ;;
	esac
done
[ -z "$save" ] || cp "$results" "$save" || die "can't write $save"
