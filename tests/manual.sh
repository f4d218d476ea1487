#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What --help says and what the man page says must be the same set of options:
# each option of either, long and short, is to be found in the other.  In the man
# page an option is documented by an `.It Fl` line.

: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${TARPIPE:=$TOP_SRCDIR/build/tarpipe}"
page=$TOP_SRCDIR/man/tarpipe.1

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' HUP INT TERM

echo 1..7

# empty NUMBER DESCRIPTION FILE: passes when FILE is empty
empty() {
	if [ -s "$3" ]; then
		echo "not ok $1 - $2"
		sed 's/^/#   /' "$3"
	else
		echo "ok $1 - $2"
	fi
}

# An option is at the head of an indented line, before the two spaces that begin
# its text: `  -m, --memory=SIZE   ring size`.
options_printed() {
	sed -n 's/^[ 	]\{1,\}\(-.*\)/\1/p' |
		sed 's/  .*//; s/	.*//' |
		tr -s ' ,|' '[\n*]' |
		sed -n 's/^\(-[A-Za-z0-9]\)$/\1/p; s/^\(--[a-z0-9][a-z0-9-]*\).*/\1/p' |
		LC_ALL=C sort -u
}

# `.It Fl m , Fl -memory Ns = Ns Ar SIZE`
options_documented() {
	sed -n 's/^\.It \(Fl .*\)/\1/p' |
		awk '{ for (i = 1; i < NF; i++) if ($i == "Fl") print "-" $(i + 1) }' |
		sed 's/=.*//' |
		LC_ALL=C sort -u
}

LC_ALL=C "$TARPIPE" --help >"$tmp/help.txt" </dev/null
status=$?
options_printed <"$tmp/help.txt" >"$tmp/help"

# The buffering stage has options, and a section, of its own.
sed '/^\.Sh BUFFERING ALONE/,/^\.Sh MESSAGES/d' "$page" |
	options_documented >"$tmp/man"

if [ "$status" = 0 ] && [ -s "$tmp/help" ]; then
	echo "ok 1 - --help names $(wc -l <"$tmp/help") options, with status 0"
else
	echo "not ok 1 - --help names no option, or its status is not 0: $status"
fi

LC_ALL=C comm -23 "$tmp/help" "$tmp/man" >"$tmp/diff"
empty 2 'each option in --help is in the man page' "$tmp/diff"

LC_ALL=C comm -13 "$tmp/help" "$tmp/man" >"$tmp/diff"
empty 3 'each option in the man page is in --help' "$tmp/diff"

if command -v mandoc >/dev/null; then
	mandoc -T lint -W warning "$page" >"$tmp/diff" 2>&1
	empty 4 'mandoc has nothing to say about the man page' "$tmp/diff"
else
	echo 'ok 4 - the man page is clean # SKIP no mandoc'
fi

LC_ALL=C "$TARPIPE" --buffer --help >"$tmp/help.txt" </dev/null
status=$?
options_printed <"$tmp/help.txt" >"$tmp/help"
sed -n '/^\.Sh BUFFERING ALONE/,/^\.Sh MESSAGES/p' "$page" |
	options_documented >"$tmp/man"

if [ "$status" = 0 ] && [ -s "$tmp/help" ]; then
	echo "ok 5 - --buffer --help names $(wc -l <"$tmp/help") options, with status 0"
else
	echo "not ok 5 - --buffer --help names no option, or its status is not 0: $status"
fi

LC_ALL=C comm -23 "$tmp/help" "$tmp/man" >"$tmp/diff"
empty 6 'each option in --buffer --help is in the man page' "$tmp/diff"

LC_ALL=C comm -13 "$tmp/help" "$tmp/man" >"$tmp/diff"
empty 7 'each option of the buffer in the man page is in --buffer --help' "$tmp/diff"
