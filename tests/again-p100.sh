#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The integration scripts again: writing starts only when the ring is full.

# shellcheck source=tests/join.sh
. "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}/tests/join.sh"
again -p 100
