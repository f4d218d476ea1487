#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The integration scripts again: all that is read is fetched ahead, by helpers.

# shellcheck source=tests/join.sh
. "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}/tests/join.sh"
again --read-ahead=4 -j 4
