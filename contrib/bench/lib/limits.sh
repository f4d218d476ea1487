# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# limits: slow devices, by the block I/O controller of the control groups.
#
# Version 1: tools run in a group of their own and are limited there when they
# read; what the kernel writes back for them later counts for the group at the
# top, so that the limit is set there, too, for this one device.  Version 2
# charges what is written back to the group that made it dirty (with ext4, btrfs and
# xfs).  Where there is neither, scenarios that need it are skipped.
#
# A limited destination also gets a bound on dirty pages (8 MiB): otherwise the
# cache would take the whole copy and no tool would meet the device.

dirty_bound=8388608

# Sets $top and $version of the hierarchy that has the controller.
find_hierarchy() {
	top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)blkio(,|$)/ { print $2; exit }' /proc/mounts)
	version=1
	[ -z "$top" ] || return 0
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	version=2
	[ -n "$top" ] && grep -qw io "$top/cgroup.controllers"
}

# Makes our control group and moves us in, once.  Else 1, and $why says why.
join_group() {
	[ -z "$group" ] || return 0
	why='no block I/O controller (cgroup v1 blkio or v2 io)'
	find_hierarchy || return 1
	why="no right to make a control group in $top"
	# shellcheck disable=SC2320
	{
		[ "$version" = 1 ] || echo '+io +memory' >"$top/cgroup.subtree_control"
	} 2>/dev/null || return 1
	mkdir "$(group_name)" 2>/dev/null || return 1
	if ! { echo $$ >"$(group_name)/cgroup.procs"; } 2>/dev/null; then
		rmdir "$(group_name)"
		return 1
	fi
	group=$(group_name)
}

# The guard is another process than the one that it is named after.
group_name() { echo "$top/tarpipe-bench.${run_pid:-$$}"; }

leave_group() {
	[ -z "$group" ] || echo $$ >"$top/cgroup.procs"
}

# By the guard, which does not know whether there was one.
remove_group() {
	find_hierarchy || return 0
	tries=0
	while [ -d "$(group_name)" ] && ! rmdir "$(group_name)" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -lt 50 ] || { say "left behind: $(group_name)"; return; }
		sleep 0.1
	done
}

# The number MAJOR:MINOR of the loop device mounted at $1.
device_of() {
	cat "/sys/block/$(basename "$(findmnt -n -o SOURCE -M "$1")")/dev"
}

# set_limit MAJOR:MINOR rbps|riops|wbps|wiops VALUE; 0 means none.
set_limit() {
	if [ "$version" = 2 ]; then
		case $3 in
		0) echo "$1 $2=max" ;;
		*) echo "$1 $2=$3" ;;
		esac >"$group/io.max"
		return
	fi
	case $2 in
	rbps) file=read_bps_device ;;
	riops) file=read_iops_device ;;
	wbps) file=write_bps_device ;;
	wiops) file=write_iops_device ;;
	esac
	echo "$1 $3" >"$top/blkio.throttle.$file" && echo "$1 $3" >"$group/blkio.throttle.$file"
}

# limit_device MOUNTPOINT LIMIT=VALUE...: until unlimit_devices.
limit_device() {
	device=$(device_of "$1") || return 1
	shift
	echo "$device" >>"$scratch/limited"
	for limit; do
		set_limit "$device" "${limit%%=*}" "${limit#*=}" || return 1
	done
}

# bound_dirty MOUNTPOINT: few dirty pages for its device.
bound_dirty() {
	bdi=/sys/class/bdi/$(device_of "$1")
	echo 1 >"$bdi/strict_limit" && echo "$dirty_bound" >"$bdi/max_bytes"
}

# Has the kernel (6.2) such a bound?
can_bound_dirty() {
	set -- /sys/class/bdi/*/max_bytes
	[ -e "$1" ]
}

# Takes back what limit_device and bound_dirty did; before anything is unmounted.
unlimit_devices() {
	[ -s "$scratch/limited" ] || return 0
	find_hierarchy
	[ -n "$group" ] || group=$(group_name)
	while read -r device; do
		for limit in rbps riops wbps wiops; do
			set_limit "$device" "$limit" 0
		done
		bdi=/sys/class/bdi/$device
		if [ -e "$bdi/max_bytes" ]; then
			echo 100 >"$bdi/max_ratio"
			echo 0 >"$bdi/strict_limit"
		fi
	done <"$scratch/limited" 2>/dev/null
	: >"$scratch/limited"
}
