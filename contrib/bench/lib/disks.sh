# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# disks: file systems, always new ones, on images on loop devices.  mount attaches
# the loop devices, so that they go when the mounts do, with whatever ends us.

# A new image $1 of type $2; $3 names are expected in it.
make_image() {
	rm -f "$1"
	truncate -s "${image_mb}m" "$1" || return 1
	case $2 in
	# ext4 alone has a fixed number of inodes.
	ext4)
		mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1,nodiscard -N $(($3 + 65536)) "$1"
		;;
	xfs) mkfs.xfs -q -f -K "$1" ;;
	btrfs) mkfs.btrfs -q -f -K "$1" ;;
	esac >/dev/null
}

# mount_image IMAGE TYPE MOUNTPOINT
mount_image() {
	# The thread that zeroes ext4's inode tables would run beside the tools.
	case $2 in
	ext4) mount -t ext4 -o loop,noinit_itable "$1" "$3" ;;
	*) mount -t "$2" -o loop "$1" "$3" ;;
	esac || die "can't mount $2 on a loop device"
}

# fresh_fs MOUNTPOINT TYPE NAMES: a new, empty file system there.
fresh_fs() {
	unmount "$1"
	rm -f "$1.img"
	if [ "$2" = tmpfs ]; then
		mount -t tmpfs -o "size=${image_mb}m,nr_inodes=0" tarpipe-bench "$1"
		return
	fi
	make_image "$1.img" "$2" "$3" && mount_image "$1.img" "$2" "$1"
}

# Is the directory for images that must be cold on a disk?
is_on_disk() {
	case $(stat -f -c %T "$1") in
	tmpfs | ramfs) return 1 ;;
	esac
}

# Mounts the source anew: nothing of it is in the cache.  Reads of an image on a disk
# go past the cache of the file system below.
cold_mount() {
	unmount "$scratch/source"
	mount_image "$source_image" ext4 "$scratch/source"
	[ "$source_image" = "$disk_image" ] || return 0
	losetup --direct-io=on "$(findmnt -n -o SOURCE -M "$scratch/source")" 2>/dev/null ||
		say "no direct reads from $disk: what the tools find cold may be in the cache below"
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

# Shows the source at $scratch/net as over a slow network; nothing is cached.
net_mount() {
	unmount "$scratch/net"
	"$scratch/bin/slowfs" "$scratch/source/tree" "$scratch/net" 9>&- ||
		die "can't mount slowfs"
}

# ---- trees ----

# make_source TREE MOUNTPOINT [PART]: a part of the tree (default $tree_part), written
# out.  Sets $summary.
make_source() {
	made_part=${3:-$tree_part}
	attended "$scratch/bin/maketree" -d "$made_part" "$1" "$seed" "$2/tree" >"$scratch/summary" ||
		die "can't make the tree $1"
	summary=$(cat "$scratch/summary")
	[ "$made_part" = 1 ] || summary="1/$made_part of \`$1\`: $summary"
	sync -f "$2"
}

# Reads all of a tree, for it to be in the cache.
read_tree() {
	(cd "$1" && find . -type f -size +0 -exec cat {} + && find . -printf '%l%s') >/dev/null
}

# What two equal trees agree on, times and owners aside.
list_tree() {
	(cd "$1" && find . \( -type f -printf '%P %y %s %n\n' -o -printf '%P %y %l\n' \) | sort)
}

# Is $2 a copy of $1?  Differences go to $scratch/messages.
same_trees() {
	list_tree "$1" >"$scratch/list1"
	list_tree "$2" >"$scratch/list2"
	cmp "$scratch/list1" "$scratch/list2" >"$scratch/messages" 2>&1 || {
		diff "$scratch/list1" "$scratch/list2" >"$scratch/messages"
		return 1
	}
	# Empty files are equal by now.
	case $summary in
	*' MB'*) diff -r -q --no-dereference "$1" "$2" >"$scratch/messages" 2>&1 ;;
	esac
}
