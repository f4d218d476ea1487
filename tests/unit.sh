#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs one unit test program and makes clean TAP of what cmocka prints: several
# groups become one stream, and a crash becomes a failed test.

if [ $# -eq 0 ]; then
	echo '1..0 # SKIP unit tests not built: configure found no cmocka'
	exit
fi

# shellcheck source=tests/join.sh
. "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}/tests/join.sh"

CMOCKA_MESSAGE_OUTPUT=TAP
export CMOCKA_MESSAGE_OUTPUT

join_begin
join '' "$@"
join_end
