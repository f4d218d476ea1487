# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# scratch: where everything lies, and how all of it goes again.
#
# $scratch is one tmpfs with images, mount points, programs and results.  A guard,
# a process of its own that no signal but KILL reaches, waits until `run` has ended
# in whatever way, and only it cleans up: limits of devices, control group, mounts,
# the image on a disk, the directory.  It learns of the end by a pipe that `run`
# alone holds open (descriptor 9; every long-lived child closes its own).  It has a
# session of its own: `timeout -k` and terminals send KILL and HUP to a whole group.

start_scratch() {
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/tarpipe-bench.XXXXXX") || die 'no scratch directory'
	if ! mount -t tmpfs -o "size=${store_mb}m,nr_inodes=0,mode=700" tarpipe-bench "$scratch"; then
		rmdir "$scratch"
		die "can't mount a tmpfs (a container without the right to mount?)"
	fi
	mkdir "$scratch/bin" "$scratch/source" "$scratch/dest" "$scratch/net" "$scratch/empty"
	mkfifo "$scratch/alive"
	disk_image=$disk/tarpipe-bench.$$.img
	results=$scratch/results
	: >"$results"
	: >"$scratch/limited"
	running=''
	export here scratch disk_image
	setsid sh -c '
		for room in base scratch limits; do
			. "$here/lib/$room.sh"
		done
		run_pid=$1 group=""
		guard' sh $$ &
	guard_pid=$!
	exec 9>"$scratch/alive"
	trap 'end_scratch' EXIT
	trap 'stop_by INT' INT
	trap 'stop_by TERM' TERM
	trap 'stop_by HUP' HUP
}

guard() {
	trap '' INT TERM HUP
	# Nobody writes: it returns when the last holder of descriptor 9 is gone.
	read -r _ <"$scratch/alive"
	unmount "$scratch/net"
	unlimit_devices
	unmount "$scratch/dest"
	unmount "$scratch/source"
	rm -f "$disk_image"
	unmount "$scratch"
	rmdir "$scratch" || say "left behind: $scratch"
	remove_group
}

end_scratch() {
	trap - EXIT
	if [ -n "$running" ]; then
		kill "$running" 2>/dev/null
		wait "$running" 2>/dev/null
	fi
	leave_group
	exec 9>&-
	wait "$guard_pid"
}

# Cleans up, then dies of the signal, so that the caller sees it.
stop_by() {
	trap '' INT TERM HUP
	end_scratch
	trap - "$1"
	kill -s "$1" $$
}

unmount() {
	if mountpoint -q "$1"; then
		umount "$1" 2>/dev/null || umount -l "$1"
	fi
}

# attended COMMAND...: runs it in the background, for a trap to get through.
attended() {
	"$@" 9>&- &
	running=$!
	status=0
	wait "$running" || status=$?
	running=''
	return "$status"
}
