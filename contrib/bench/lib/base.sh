# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# base: what all parts of the benchmark use.  It wants $here, the directory of
# contrib/bench; what builds programs wants $scratch, a directory with bin/.

PATH=$PATH:/usr/sbin:/sbin
export PATH LC_ALL=C

say() { echo "bench: $*" >&2; }

# Wrong usage ends with 64, everything else that stops us with 1.
refuse() { say "$*"; exit 64; }
die() { say "$*"; exit 1; }

have() { command -v "$1" >/dev/null 2>&1; }

words() { echo "$1" | tr ',' ' '; }

# Is $1 one of the words in $2?
is_one_of() {
	case " $2 " in *" $1 "*) return 0 ;; esac
	return 1
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

# ---- this machine ----

cpu_model() {
	awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo | tr '\t' ' '
}

memory_gib() { awk '/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo; }

# Are there $1 MB of memory to be had?
have_memory() {
	awk -v need="$1" '/^MemAvailable/ && $2 < need * 1024 { exit 1 }' /proc/meminfo
}

# ---- programs of the benchmark's own ----

# build_program NAME: $scratch/bin/NAME from NAME.c.
build_program() {
	build_with=''
	case $1 in
	maketree) build_with=$here/maker.c ;;
	slowfs)
		build_with=$(pkg-config --cflags --libs fuse3 2>/dev/null) || return 1
		;;
	esac
	# shellcheck disable=SC2086  # words for the compiler
	"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -pthread \
		-o "$scratch/bin/$1" "$here/$1.c" $build_with
}

check_binary() { [ -z "$1" ] || { [ -f "$1" ] && [ -x "$1" ]; }; }

# Sets $tarpipe to the binary to measure: $TARPIPE, else the tree's own build,
# else that on the PATH, else nothing.
find_tarpipe() {
	tarpipe=${TARPIPE:-}
	[ -n "$tarpipe" ] || for tarpipe in ./build/src/tarpipe ./build/tarpipe ./src/tarpipe ./tarpipe \
		"$here/../../build/src/tarpipe" "$here/../../build/tarpipe" \
		"$here/../../src/tarpipe" "$here/../../tarpipe" "$(command -v tarpipe)" ''; do
		[ -f "$tarpipe" ] && [ -x "$tarpipe" ] && break
	done
	check_binary "$tarpipe" || die "TARPIPE: $tarpipe is no program"
	check_binary "${TARPIPE_OLD:-}" || die "TARPIPE_OLD: $TARPIPE_OLD is no program"
	[ -n "$tarpipe" ] || say 'skipped: tarpipe (not built and not installed; TARPIPE=path names one)'
}
