#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The fuzz targets over their corpus, and over spoilt copies of it: none crashes, hangs
# or takes more memory than `ulimit -v` gives.

: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${TOP_BUILDDIR:=$TOP_SRCDIR}"
# shellcheck source=tests/join.sh
. "$TOP_SRCDIR/tests/join.sh"

targets='record tar'

join_begin
for target in $targets; do
	program=$TOP_BUILDDIR/tests/fuzz/fuzz_$target
	# Sanitizers want more address space than there is.
	join "$target" sh -c '
		nm "$1" 2>/dev/null | grep -q "__[at]san_init" || ulimit -v 1000000
		exec timeout 300 "$@"' sh "$program" "$TOP_SRCDIR/tests/fuzz/corpus/$target"/*
done
join_end
