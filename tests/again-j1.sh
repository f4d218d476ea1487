#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The integration scripts again: one restoring worker, the classic two-thread pipe.

# shellcheck source=tests/join.sh
. "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}/tests/join.sh"
again -j 1
