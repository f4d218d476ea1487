#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# methods.sh: what the founding measurements measured, on this machine.
#
#     contrib/bench/methods.sh [OPTION]...
#
# `run` calls it for its scenarios `methods` and `post`; it is a script of its
# own beside that.  It prints Markdown; progress goes to standard error.  The
# ways to copy are those of methods.c, and are named as its command lines.
# See README beside this file, and `--help`.
#
# Environment: TARPIPE, CC, TMPDIR, as for run.

set -u

usage() {
	cat <<'END'
usage: contrib/bench/methods.sh [OPTION]...
Copies by several ways in turn and prints medians and ratios as Markdown.  Needs
root (mounts).

  --part LIST     of warm cold advice post, or methods for the first two (default
                  methods,post):
                  warm    small, big and sizes, from the cache to the same fresh
                          file system
                  cold    files of 200 MB, 1 GB and 2 GB that were put out of the
                          cache, on the file system of --dir
                  advice  reading one of these with and without sequential
                          advice, by buffer sizes, and in ranges by threads
                  post    the five commands of the founding post, from a disk
                          that gives 25.6 MB a second
  --quick         fewer and smaller trees, and 3 rounds
  --rounds N      default 5
  --peers LIST    of the ways, to run no others; '_' stands for a space:
                  loop,loop_-p,cp_-r,tarpipe
  --dest TYPE     file system of warm: ext4, xfs or btrfs (default ext4)
  --dir DIR       for cold and advice: a directory on a disk (default $TMPDIR,
                  else /var/tmp)
  --seed N        of the trees (default 1)
  --results FILE  add each run to FILE (the format is told in stats.awk)
  --help
END
}

say() { echo "methods: $*" >&2; }
refuse() { say "$*"; exit 64; }
die() { say "$*"; exit 1; }

# ---- options ----

words() { echo "$1" | tr ',' ' '; }

is_one_of() {
	case " $2 " in *" $1 "*) return 0 ;; esac
	return 1
}

check_words() {
	for word in $2; do
		is_one_of "$word" "$3" || refuse "$1: '$word' is none of: $3"
	done
}

check_number() {
	case $2 in
	'' | 0 | *[!0-9]* | ??????*) refuse "$1 wants a number from 1 to 99999, not '$2'" ;;
	esac
}

set_option() {
	case $1 in
	--part | --scenario) parts=$(words "$2"); check_words "$1" "$parts" 'methods warm cold advice post' ;;
	--rounds) check_number "$1" "$2"; rounds=$2 ;;
	--peers) peers=$(words "$2") ;;
	--dest) dest=$2; check_words "$1" "$dest" 'ext4 xfs btrfs' ;;
	--dir) dir=$2; [ -d "$dir" ] || refuse "--dir: '$dir' is no directory" ;;
	--seed) check_number "$1" "$2"; seed=$2 ;;
	--results) kept_results=$2; [ -n "$2" ] || refuse '--results wants a file' ;;
	*) refuse "unknown option $1; --help lists them" ;;
	esac
}

parse_options() {
	parts='methods post' rounds='' peers='' dest=ext4 dir='' seed=1 quick=no kept_results=''
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
	[ "$quick" = no ] || : "${rounds:=3}"
	: "${rounds:=5}"
	[ -z "$kept_results" ] || (: >>"$kept_results") 2>/dev/null || die "$kept_results can't be written"
}

# ---- this machine ----

have() { command -v "$1" >/dev/null 2>&1; }

check_machine() {
	[ "$(id -u)" = 0 ] || die 'needs root: it mounts a fresh file system for every single copy'
	for program in unshare mount "${CC:-cc}" diff awk "mkfs.$dest" mkfs.ext4; do
		have "$program" || die "needs $program, which is not installed"
	done
	awk -v need="$need_mb" '/^MemAvailable/ && $2 < need * 1024 { exit 1 }' /proc/meminfo ||
		die "needs $need_mb MB of free memory for its file systems"
}

find_tarpipe() {
	tarpipe=${TARPIPE:-}
	[ -n "$tarpipe" ] || for tarpipe in ./build/tarpipe ./tarpipe "$here/../../build/tarpipe" \
		"$here/../../tarpipe" "$(command -v tarpipe)" ''; do
		[ -f "$tarpipe" ] && [ -x "$tarpipe" ] && break
	done
	[ -n "$tarpipe" ] || say 'skipped: tarpipe (not built and not installed; TARPIPE=path names one)'
}

# Everything but the files of `cold` is on one tmpfs in a mount namespace of ours.
start_scratch() {
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/tarpipe-methods.XXXXXX") || die 'no scratch directory'
	running='' store='' group=''
	trap 'end_scratch' EXIT
	trap 'stop_by INT' INT
	trap 'stop_by TERM' TERM
	trap 'stop_by HUP' HUP
	mount -t tmpfs -o "size=${store_mb}m,nr_inodes=0,mode=700" tarpipe-bench "$scratch" ||
		die "can't mount a tmpfs (a container without the right to mount?)"
	mkdir "$scratch/bin" "$scratch/source" "$scratch/dest"
	results=$scratch/results
	: >"$results"
}

end_scratch() {
	trap - EXIT
	if [ -n "$running" ]; then
		kill "$running" 2>/dev/null
		wait "$running" 2>/dev/null
	fi
	[ -z "$store" ] || rm -rf "$store"
	unmount "$scratch/dest"
	unmount "$scratch/source"
	[ -z "$group" ] || rmdir "$group" 2>/dev/null || { sleep 1; rmdir "$group"; }
	unmount "$scratch"
	rmdir "$scratch" || say "left behind: $scratch"
}

stop_by() {
	trap '' INT TERM HUP
	end_scratch
	trap - "$1"
	kill -s "$1" $$
}

build_programs() {
	for program in maketree methods timeit pages; do
		"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -pthread \
			-o "$scratch/bin/$program" "$here/$program.c" || die "can't build $program"
	done
}

unmount() {
	if mountpoint -q "$1"; then
		umount "$1" || umount -l "$1"
	fi
}

# fresh_fs MOUNTPOINT TYPE: a new, empty file system there, on an image in memory.
fresh_fs() {
	unmount "$1"
	rm -f "$1.img"
	truncate -s "${image_mb}m" "$1.img" || return 1
	case $2 in
	ext4) mkfs.ext4 -q -F -m 0 -N 131072 -E lazy_itable_init=1,nodiscard "$1.img" ;;
	xfs) mkfs.xfs -q -f -K "$1.img" ;;
	btrfs) mkfs.btrfs -q -f -K "$1.img" ;;
	esac || return 1
	case $2 in
	ext4) mount -t ext4 -o loop,noinit_itable "$1.img" "$1" ;;
	*) mount -t "$2" -o loop "$1.img" "$1" ;;
	esac
}

# ---- one run, and rounds of them ----

# timed COMMAND...: a pipeline under timeit, in the slow disk's group if there is one.
timed() {
	# shellcheck disable=SC2016 # for the inner shell
	sh -c '[ -z "$0" ] || echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" \
		"$scratch/bin/timeit" -o "$scratch/cost" "$@" \
		</dev/null >/dev/null 2>"$scratch/messages" &
	running=$!
	status=0
	wait "$running" || status=$?
	running=''
	return "$status"
}

# run_way WAY SRC DST: SRC is copied to DST, which isn't there yet.
run_way() {
	case $1 in
	cp_* | tarpipe*)
		program=${1%%_*} flags=${1#"$program"}
		[ "$program" = cp ] || program=$tarpipe
		# shellcheck disable=SC2046 # words
		timed "$program" $(echo "$flags" | tr _ ' ') "$2" "$3"
		;;
	read*)
		# shellcheck disable=SC2046
		timed "$scratch/bin/methods" $(echo "$1" | tr _ ' ') "$2"
		;;
	*)
		# shellcheck disable=SC2046
		timed "$scratch/bin/methods" $(echo "$1" | tr _ ' ') "$2" "$3"
		;;
	esac
}

# The commands of the founding post unpack in a directory that is there.
run_command() {
	case $1 in
	tar*) mkdir "$3" ;;
	esac
	case $1 in
	tar) timed -C "$2" tar cf - . '|' -C "$3" tar xpf - ;;
	tar-buffer) timed -C "$2" tar cf - . '|' buffer -m 8m '|' -C "$3" tar xpf - ;;
	tar-buffer-p75) timed -C "$2" tar cf - . '|' buffer -m 8m -p 75 '|' -C "$3" tar xpf - ;;
	cpio) timed -C "$2" find . -print0 '|' -C "$2" cpio -0pdm --quiet "$3" ;;
	*) run_way "$@" ;;
	esac
}

title() {
	case $1 in
	tarpipe) echo '**tarpipe**' ;;
	tar) echo 'tar\|tar' ;;
	tar-buffer) echo 'tar\|buffer -m 8m\|tar' ;;
	tar-buffer-p75) echo 'tar\|buffer -m 8m -p 75\|tar' ;;
	cpio) echo 'find\|cpio -0pdm' ;;
	*) echo "$1" | tr _ ' ' ;;
	esac
}

# Which of the ways in $* are asked for and can run here; the others are named.
choose() {
	for way; do
		missing=''
		case $way in
		tarpipe*) [ -n "$tarpipe" ] || continue ;;
		tar-buffer*) have buffer || missing=buffer ;;
		cpio) have cpio || missing=cpio ;;
		esac
		if [ -n "$missing" ]; then
			say "skipped: $way (not installed: $missing)"
		elif [ -z "$peers" ] || is_one_of "$way" "$peers"; then
			echo "$way"
		fi
	done
}

# Prints its words from number $1 on, then those before.
rotated() {
	turns=$(($1 % ($# - 1)))
	shift
	while [ "$turns" -gt 0 ]; do
		first=$1
		shift
		set -- "$@" "$first"
		turns=$((turns - 1))
	done
	echo "$@"
}

record() {
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$scenario" "$type" "$tree" "$1" "$(title "$1")" \
		"$round" "$(tr ' ' '\t' <"$scratch/cost")" >>"$results"
}

# The first copy by each way is compared with the source.
is_right() {
	case $1 in read*) return 0 ;; esac
	[ "$round" -gt 1 ] ||
		diff -r -q --no-dereference "$from" "$to" >"$scratch/messages" 2>&1
}

# A way that fails is named and takes no further part.
run_once() {
	status=0
	"$prepare" || die "$scenario: can't make ready for $1"
	if ! "$runner" "$1" "$from" "$to"; then
		say "skipped: $scenario: $1 (status $status): $(head -n 1 "$scratch/messages")"
	elif ! is_right "$1"; then
		say "skipped: $scenario: $1 (its copy differs): $(head -n 1 "$scratch/messages")"
	else
		record "$1"
		return
	fi
	dropped="$dropped $1"
}

# measure WAY...: all in turn; $scenario, $tree, $type, $prepare and $runner say how.
measure() {
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
	awk -v scenario="$scenario" -v ways="$ways" -v bytes="$bytes" -f "$here/stats.awk" -f "$here/methods.awk" "$results"
}

# ---- warm ----

# The source is made anew as well: copy_file_range wants both on one file system.
prepare_warm() {
	fresh_fs "$scratch/dest" "$dest" || return 1
	from=$scratch/dest/tree to=$scratch/dest/copy
	tree=$("$scratch/bin/maketree" "$kind" "$seed" "$from") && sync -f "$from" || return 1
	"$scratch/bin/pages"
}

measure_warm() {
	for kind; do
		scenario=methods-$kind type=$dest tree='' bytes=0 prepare=prepare_warm runner=run_way
		measure whole whole_-p loop loop_-p loop_-a loop_-ap splice splice_-p range range_-p \
			sendfile cp_-r cp_-rp tarpipe
	done
}

part_warm() {
	if [ "$quick" = yes ]; then
		measure_warm small big sizes:10
	else
		measure_warm small big sizes:1 sizes:10 sizes:100 sizes:1000
	fi
}

# ---- cold ----

# A directory on a disk, with room for the largest file twice; not 0 where there is none.
find_store() {
	[ -n "$store" ] && return
	place=${dir:-${TMPDIR:-/var/tmp}}
	case $(stat -f -c %T "$place") in
	tmpfs | ramfs)
		say "skipped: $part ($place is in memory; --dir names a directory on a disk)"
		return 1
		;;
	esac
	if [ "$(df --output=avail -m "$place" | tail -n 1)" -lt 5000 ]; then
		say "skipped: $part ($place has no 5 GB left)"
		return 1
	fi
	store=$(mktemp -d "$place/tarpipe-methods.XXXXXX") || return 1
	# Not zeros: a file system could leave them out.
	"$scratch/bin/maketree" big "$seed" "$scratch/big" >/dev/null &&
		cat "$scratch"/big/big? >"$store/piece" && rm -r "$scratch/big"
}

# make_file MEGABYTES: $store/file of that size, written out.
make_file() {
	type=$(stat -f -c %T "$store") tree="one file of $1 MB" bytes=$(($1 * 1000000))
	: >"$store/file"
	while [ "$(stat -c %s "$store/file")" -lt "$bytes" ]; do
		cat "$store/piece" >>"$store/file" || return 1
	done
	truncate -s "$bytes" "$store/file" && sync -f "$store/file"
}

prepare_cold() {
	from=$store/file to=$store/copy
	rm -rf "$to"
	sync -f "$store"
	"$scratch/bin/methods" drop "$from" >/dev/null
}

prepare_cached() {
	from=$store/file to=''
	"$scratch/bin/methods" read "$from" >/dev/null
}

part_cold() {
	find_store || return 0
	sizes='200 1000 2000'
	[ "$quick" = no ] || sizes=200
	for size in $sizes; do
		make_file "$size" || die "can't make a file of $size MB in $store"
		scenario=cold-$size prepare=prepare_cold runner=run_way
		measure read read_-a whole loop loop_-a splice range sendfile cp_-r tarpipe
	done
	rm -rf "$store/copy"
}

# ---- advice ----

# by_buffer NAME PREPARE: with and without advice, by the size of each read
by_buffer() {
	scenario=$1 prepare=$2 runner=run_way
	measure read_-b_64k read_-a_-b_64k read_-b_128k read_-a_-b_128k read_-b_256k \
		read_-a_-b_256k read_-b_512k read_-a_-b_512k read_-b_1m read_-a_-b_1m
}

by_threads() {
	scenario=$1 prepare=$2 runner=run_way
	measure read_-j_1 read_-j_2 read_-j_4 read_-a_-j_1 read_-a_-j_2 read_-a_-j_4
}

part_advice() {
	find_store || return 0
	sizes='200 1000 2000'
	[ "$quick" = no ] || sizes=200
	for size in $sizes; do
		make_file "$size" || die "can't make a file of $size MB in $store"
		by_buffer "advice-cold-$size" prepare_cold
		by_threads "threads-cold-$size" prepare_cold
		by_threads "threads-warm-$size" prepare_cached
	done
}

# ---- post ----

# A group whose processes get 25.6 MB a second from the source's disk: the blkio
# controller of either version; not 0, and said, where there is none.
start_group() {
	v1=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,blkio,/ { print $2; exit }' /proc/mounts)
	v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -n "$v1" ] && [ -w "$v1/blkio.throttle.read_bps_device" ]; then
		group=$v1/tarpipe-methods.$$ limit=blkio.throttle.read_bps_device value='' none=0
	elif [ -n "$v2" ] && grep -qw io "$v2/cgroup.controllers" &&
		echo +io >"$v2/cgroup.subtree_control"; then
		group=$v2/tarpipe-methods.$$ limit=io.max value=rbps= none=max
	else
		say "skipped: post (no blkio or io controller that limits a disk)"
		return 1
	fi 2>/dev/null
	mkdir "$group" 2>/dev/null || { group=''; say "skipped: post (can't make a control group)"; return 1; }
}

# Mounted anew, nothing of the source is in the cache.
prepare_post() {
	[ -z "$limited" ] || echo "$limited $value$none" >"$group/$limit"
	limited=''
	unmount "$scratch/source"
	mount -o loop "$scratch/source.img" "$scratch/source" || return 1
	limited=$(mountpoint -d "$scratch/source") && echo "$limited ${value}25600000" >"$group/$limit" || return 1
	fresh_fs "$scratch/dest" ext4 || return 1
	from=$scratch/source/tree to=$scratch/dest/copy
	"$scratch/bin/pages"
}

part_post() {
	start_group || return 0
	fresh_fs "$scratch/source" ext4 || die "can't make the source's file system"
	small=''
	[ "$quick" = no ] || small='-d 4'
	# shellcheck disable=SC2086
	tree=$("$scratch/bin/maketree" $small source "$seed" "$scratch/source/tree") || die "can't make the tree"
	scenario=post type=ext4 bytes=0 limited='' prepare=prepare_post runner=run_command
	measure read cp_-a tar cpio tar-buffer tar-buffer-p75 tarpipe tarpipe_-m_8m_-p_75
	unmount "$scratch/source"
	rmdir "$group"
	group=''
}

# ---- main ----

here=$(cd "$(dirname "$0")" && pwd) || exit 1
PATH=$PATH:/usr/sbin:/sbin
export PATH LC_ALL=C
# The limit of the scratch tmpfs and the size of each image in it (both sparse), and what of it
# is filled at most.
store_mb=8192 image_mb=3072 need_mb=5120

parse_options "$@"
if [ "${TARPIPE_BENCH_INSIDE:-}" != yes ]; then
	check_machine
	TARPIPE_BENCH_INSIDE=yes exec unshare --mount --ipc --propagation private -- \
		sh "$here/methods.sh" "$@"
fi
find_tarpipe
start_scratch
build_programs
for part in $parts; do
	case $part in
	methods) part_warm; part_cold ;;
	*) "part_$part" ;;
	esac
done
[ -z "$kept_results" ] || cat "$results" >>"$kept_results"
