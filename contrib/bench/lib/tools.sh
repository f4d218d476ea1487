# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# tools: what is measured.  A tool has a line in each of title, programs and run_tool.

all_peers='floor1 floor4 tar tar-big tar-buffer tar-mbuffer bsdtar rsync cpio cp star xcp tar-pigz tar-gzip'

# Its name for Markdown.
title() {
	case $1 in
	floor*) echo "floor ${1#floor}" ;;
	read*) echo "floor ${1#read}, only reading" ;;
	loop) echo 'read/write loop, 256 KiB' ;;
	tarpipe) echo '**tarpipe**' ;;
	tarpipe-pipe) echo '**tarpipe -c\|tarpipe -x**' ;;
	tarpipe-gzip) echo '**tarpipe -c -z**' ;;
	tarpipe-old) echo 'tarpipe (old)' ;;
	tarpipe-m*-p*) echo "tarpipe $(mark_options "$1")" ;;
	tar) echo 'tar\|tar' ;;
	tar-big) echo 'tar -b 2048\|tar -b 2048' ;;
	tar-pigz) echo 'tar\|pigz -1' ;;
	tar-gzip) echo 'tar\|gzip -1' ;;
	tar-buffer) echo 'tar\|buffer -m 8m -p 75\|tar' ;;
	tar-mbuffer) echo 'tar\|mbuffer -m 8M\|tar' ;;
	bsdtar) echo 'bsdtar\|bsdtar' ;;
	rsync) echo 'rsync -a' ;;
	cpio) echo 'find\|cpio -pdm' ;;
	cp) echo 'cp -a' ;;
	star) echo 'star -copy -no-fsync' ;;
	xcp) echo 'xcp -r' ;;
	esac
}

# The installed programs that it is made of.
programs() {
	case $1 in
	floor* | read* | loop | tarpipe | tarpipe-*) ;;
	tar-big) echo tar ;;
	tar-*) echo "tar ${1#tar-}" ;;
	*) echo "$1" ;;
	esac
}

# tarpipe-m8m-p75 is tarpipe -m 8m -p 75.
mark_options() {
	echo "$1" | sed 's/^tarpipe-m\([^-]*\)-p\(.*\)/-m \1 -p \2/'
}

# Runs a pipeline under timeit; its cost goes to $scratch/cost, words to messages.
timed() {
	# shellcheck disable=SC2086  # $tracer is a command with options, or nothing
	attended $tracer "$scratch/bin/timeit" -o "$scratch/cost" "$@" \
		</dev/null >/dev/null 2>"$scratch/messages"
}

# run_tool NAME SRC DST: DST is an empty directory and becomes the copy of SRC.
run_tool() {
	case $1 in
	floor*) timed "$scratch/bin/floor" -j "${1#floor}" "$2" "$3" ;;
	read*) timed "$scratch/bin/floor" -r -j "${1#read}" "$2" "$3" ;;
	loop) timed "$scratch/bin/methods" loop -b 256k "$2/." "$3" ;;
	# shellcheck disable=SC2086 # a word, or none
	tarpipe) timed "$tarpipe" $traced_flags "$2" "$3" ;;
	tarpipe-old) timed "$TARPIPE_OLD" "$2" "$3" ;;
	tarpipe-pipe) timed "$tarpipe" -c "$2" '|' "$tarpipe" -x "$3" ;;
	tarpipe-gzip) timed "$tarpipe" -c -z -f "$3/$archive" "$2" ;;
	tarpipe-m*-p*)
		# shellcheck disable=SC2046  # options
		timed "$tarpipe" $(mark_options "$1") "$2" "$3"
		;;
	tar-pigz) timed -C "$2" tar cf - . '|' sh -c 'exec pigz -1 >"$1"' sh "$3/$archive" ;;
	tar-gzip) timed -C "$2" tar cf - . '|' sh -c 'exec gzip -1 >"$1"' sh "$3/$archive" ;;
	tar-big) timed -C "$2" tar -b 2048 "-c${S}f" - . '|' -C "$3" tar -b 2048 -xpf - ;;
	tar) timed -C "$2" tar "c${S}f" - . '|' -C "$3" tar xpf - ;;
	tar-buffer) timed -C "$2" tar "c${S}f" - . '|' buffer -m 8m -p 75 '|' -C "$3" tar xpf - ;;
	tar-mbuffer) timed -C "$2" tar "c${S}f" - . '|' mbuffer -q -m 8M '|' -C "$3" tar xpf - ;;
	bsdtar) timed -C "$2" bsdtar cf - . '|' -C "$3" bsdtar xpf - ;;
	rsync) timed rsync "-a${S}${H}" "$2/" "$3/" ;;
	cpio) timed -C "$2" find . -print0 '|' -C "$2" cpio -0pdm --quiet ${S:+--sparse} "$3" ;;
	cp) timed cp -a "$2/." "$3/" ;;
	star) timed star -copy -no-fsync -p -silent -C "$2" . "$3" ;;
	xcp) timed xcp -r "$2/." "$3" ;;
	esac
}

# check_tool NAME: can it run here?  Says why not, once.
check_tool() {
	case $1 in
	tarpipe | tarpipe-pipe | tarpipe-gzip | tarpipe-m*) [ -n "$tarpipe" ] || return 1 ;;
	tarpipe-old) [ -n "${TARPIPE_OLD:-}" ] || return 1 ;;
	loop) [ -x "$scratch/bin/methods" ] || return 1 ;;
	esac
	missing=''
	for program in $(programs "$1"); do
		have "$program" || missing="$missing $program"
	done
	[ -n "$missing" ] || return 0
	is_one_of "$1" "$told" || say "skipped: $1 (not installed:$missing)"
	told="$told $1"
	return 1
}

# Packing is compared with packing, copying with copying.
takes_part() {
	case $1 in
	*-gzip | *-pigz) [ "$team" = pack ] ;;
	floor*) [ "$team" = copy ] && [ -n "$floor" ] ;;
	tarpipe-old | loop) [ "$team" = copy ] ;;
	*) [ "$team" = copy ] || { [ "$team" = pipe ] && is_one_of "$1" "$pipe_team"; } ;;
	esac
}

# The tools of the team of this scenario, without those that aren't there.
pick_team() {
	case $team in
	copy) wanted="tarpipe tarpipe-old $floor $extra" ;;
	pack) wanted='tarpipe-gzip' ;;
	pipe) wanted='tarpipe-pipe tarpipe' ;;
	marks)
		wanted=''
		for ring in 8m 64m 1g; do
			for mark in 0 50 75 100; do
				wanted="$wanted tarpipe-m$ring-p$mark"
			done
		done
		;;
	esac
	for tool in $peers; do
		[ "$tool" != none ] && takes_part "$tool" && wanted="$wanted $tool"
	done
	tools=''
	for tool in $wanted; do
		is_one_of "$tool" "$tools" || ! check_tool "$tool" || tools="$tools $tool"
	done
}
pipe_team='tar tar-big tar-buffer tar-mbuffer bsdtar'

# ---- system calls ----

# count_calls TOOL SRC DST: prints how many it makes, but for those of threads that wait for
# each other: how often they do is the tracer's work.  Slow: not for timing.
count_calls() {
	tracer="strace -f -c -o $scratch/trace"
	# A traced call sleeps, as on a slow disk, and would be looked ahead of.
	traced_flags=--read-ahead=off
	run_tool "$1" "$2" "$3" || { tracer='' traced_flags=''; return 1; }
	tracer='' traced_flags=''
	awk '$4 ~ /^[0-9]+$/ && $NF != "total" && $NF != "futex" { n += $4 } END { print n + 0 }' "$scratch/trace"
}
