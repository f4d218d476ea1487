#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The integration scripts again: the smallest ring, so that everything wraps and waits.

# shellcheck source=tests/join.sh
. "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}/tests/join.sh"
again -m 64k
