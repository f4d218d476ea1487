#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The rules of the house, each a search through the sources.  What is found where
# it must not be is shown as FILE:LINE, and the rule is one `not ok`.  Comments
# and strings are blanked before the search, so that prose breaks no rule.
#
# By hand: sh tests/lint.sh

: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/.." && pwd)}"
cd "$TOP_SRCDIR" || exit 1

# ---- The tables --------------------------------------------------------------
# A room is a .c with its .h in src/, named without suffix.

# From the ground up, one floor a line; a file includes its own floor and below.
floors='
mounts diag size text ustar path parts thread hash opts bytes rate sha256 met
ring pace signals fskind crew slab dirlist
record meta extent owner temp end_fd end_tape output pass names seal flaw select below nameset cache twin differ samefile sync stamp sums
filter gzip tar tarwrite tarread taracl filterin gunzip frames feed tarframe tarpax paxhead tarsparse
route walk walking walkdir walkmount walkscout scout links gate instream intake outlet newfile gating gatemake have
inodes apply pool order fetch attrs alias mtree mtreename verify
ahead manifest manifesting listwriter
pack packing packfile packhave packattr packtar restore object regular there hardlink untar untaring untardir untarfile packread packout packlist handover packsums
unpack
listing stats host spec specself specpack planning budget options specdst cliset
sink
job cli buffer create extract list compare comparing comparefind comparelist comparestream comparetree
bufcli
main
'

# The two halves, which must not know of each other.
source_half='route walk walking walkdir walkmount walkscout scout dirlist fetch ahead links packing pack packfile packattr packtar packread packout packlist manifest manifesting listwriter have packhave packsums'
sink_half='temp gate inodes apply object regular hardlink restore unpack pool untar sink gating gatemake below order untaring untardir untarfile temp there handover verify'

# HEADER: the rooms that may include it.
headers='
pthread.h: ring pool thread
stdatomic.h: ring pool thread
archive.h: tar tarwrite tarread taracl filter filterin select
archive_entry.h: tar tarwrite tarread taracl filter filterin select
xxhash.h: hash frames have met sums
nettle/sha2.h: sha256
zlib.h: hash gzip gunzip
'

# What ring may include beside system headers.
ring_includes='ring thread'

# The rooms that may call each of these; `-` is none.
calls='
exit: main
_exit: main
_Exit quick_exit: -

printf fprintf vprintf vfprintf dprintf vdprintf puts fputs putchar putc fputc perror psignal fwrite: diag options cli bufcli stats main thread list

openat openat2 mkdirat unlinkat renameat renameat2 linkat symlinkat mknodat mkfifoat fchownat fchmodat utimensat fstatat statx readlinkat faccessat: temp gate apply object regular hardlink restore walk walkdir scout dirlist fetch pack spec specself specpack outlet newfile gatemake below specdst twin compare comparefind comparetree packfile packtar packread sync mounts there have

open creat mkdir rmdir chmod chown lchown unlink remove rename symlink link mknod mkfifo truncate utimes utime stat lstat readlink access opendir chdir: cache spec specself owner buffer main intake output outlet newfile names create extract specdst verify

fopen: size meta names mounts
'

# Words that only these rooms may have.
words='
stderr STDERR_FILENO: diag cli stats main thread
'

max_function=100
max_file=700

# ---- The machinery -----------------------------------------------------------

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' HUP INT TERM
mkdir "$tmp/src"

count=0

# verdict DESCRIPTION: the rule holds when $tmp/bad is empty.
verdict() {
	count=$((count + 1))
	if [ -s "$tmp/bad" ]; then
		echo "not ok $count - $1"
		sort -u "$tmp/bad" | sed 's/^/#   /'
	else
		echo "ok $count - $1"
	fi
	: >"$tmp/bad"
}

# room FILE: its room
room() {
	room_name=${1##*/}
	echo "${room_name%.[ch]}"
}

# has WORD LIST...
has() {
	has_word=$1
	shift
	case " $* " in
	*" $has_word "*) return 0 ;;
	esac
	return 1
}

# Copies a C file with comments and the text of strings taken out, line by line.
# shellcheck disable=SC2016  # awk's dollars
blank='
{
	line = $0
	out = ""
	while (line != "") {
		if (comment) {
			at = index(line, "*/")
			if (!at)
				break
			line = substr(line, at + 2)
			comment = 0
			out = out " "
			continue
		}
		if (!match(line, /\/\*|\/\/|"|\047/)) {
			out = out line
			break
		}
		out = out substr(line, 1, RSTART - 1)
		mark = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (mark == "//")
			break
		if (mark == "/*") {
			comment = 1
			continue
		}
		# Keep the name of an included header.
		if (mark == "\"" && out ~ /^[ \t]*#[ \t]*include[ \t]*$/) {
			out = out mark line
			break
		}
		if (mark == "\"")
			match(line, /^([^"\\]|\\.)*"/)
		else
			match(line, /^([^\047\\]|\\.)*\047/)
		if (RSTART)
			line = substr(line, RLENGTH + 1)
		out = out mark mark
	}
	print out
}'

for file in src/*.[ch]; do
	awk "$blank" "$file" >"$tmp/$file"
done
all=$(echo src/*.[ch])

# includes FILE: lines NUMBER:NAME, for <name> and "name" alike
includes() {
	sed -n 's/^[ 	]*#[ 	]*include[ 	]*[<"]\([^>"]*\)[>"].*/\1/;T;=;p' "$tmp/$1" |
		paste -d: - -
}

# complain PATTERN ROOMS: lines with PATTERN outside the rooms
complain() {
	for file in $all; do
		# shellcheck disable=SC2086  # a list
		has "$(room "$file")" $2 ||
			grep -nE "$1" "$tmp/$file" /dev/null | sed "s|^$tmp/||"
	done >>"$tmp/bad"
}

# ---- The rules ---------------------------------------------------------------

# The opening comment may come after a line of its own with the licence.
awk '{ print } /\*\// && !/SPDX/ { exit }' src/main.c >"$tmp/map"
for file in src/*.c; do
	name=$(room "$file")
	# Either with its suffix, or as the first word of a line of the comment.
	[ "$name" = main ] || grep -qE \
		-e "(^|[^A-Za-z0-9_])$name\\.(c|\\[ch\\])" \
		-e "^[ 	*]*$name([^A-Za-z0-9_]|\$)" "$tmp/map" ||
		echo "$file is not on the map"
done >"$tmp/bad"
verdict 'the map in src/main.c names every file'

for file in $all; do
	grep -qE "(^|[[:space:]])$file([[:space:]]|\$)" Makefile.am ||
		echo "$file is not in Makefile.am"
done >"$tmp/bad"
for file in tests/*.sh tests/it/*.sh tests/tools/*; do
	[ ! -e "$file" ] ||
		grep -qE "(^|[[:space:]])$file([[:space:]]|\$)" Makefile.am ||
		echo "$file is not in Makefile.am"
done >>"$tmp/bad"
for file in tests/unit/test_*.c; do
	[ ! -e "$file" ] ||
		grep -qE "(^|[[:space:]])${file%.c}([[:space:]]|\$)" Makefile.am ||
		echo "$file is not in Makefile.am"
done >>"$tmp/bad"
verdict 'every source and every test is in Makefile.am'

# Floors: FILE is on floor N, what it includes on N or below.
floor_of() {
	echo "$floors" | awk -v room="$1" '
		NF { n++; for (i = 1; i <= NF; i++) if ($i == room) { print n; exit } }'
}
for file in $all; do
	own=$(floor_of "$(room "$file")")
	if [ -z "$own" ]; then
		echo "$file: its room has no floor in tests/lint.sh"
		continue
	fi
	includes "$file" | while IFS=: read -r number name; do
		[ -e "src/$name" ] || continue
		other=$(floor_of "$(room "$name")")
		[ "${other:-0}" -le "$own" ] ||
			echo "$file:$number: includes $name, which is on a higher floor"
	done
done >"$tmp/bad"
verdict 'includes go downward only'

# half OWN OTHER
half() {
	for file in $all; do
		# shellcheck disable=SC2086
		has "$(room "$file")" $1 || continue
		includes "$file" | while IFS=: read -r number name; do
			# shellcheck disable=SC2086
			! has "${name%.h}" $2 ||
				echo "$file:$number: includes $name, of the other half"
		done
	done
}
{
	half "$source_half" "$sink_half"
	half "$sink_half" "$source_half"
} >"$tmp/bad"
verdict 'the source half and the sink half do not know each other'

echo "$headers" | while IFS=: read -r header rooms; do
	[ -n "$header" ] || continue
	complain "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]${header}[>\"]" "$rooms"
done
verdict 'pthread.h, stdatomic.h and archive.h stay in their rooms'

for file in src/ring.[ch]; do
	[ -e "$file" ] || continue
	includes "$file" | while IFS=: read -r number name; do
		# shellcheck disable=SC2086
		[ ! -e "src/$name" ] || has "${name%.h}" $ring_includes ||
			echo "$file:$number: includes $name"
	done
done >"$tmp/bad"
verdict "ring includes nothing but $ring_includes and system headers"

# A call: the name as a word of its own, no member of a struct, and `(`.
check_calls() {
	echo "$calls" | grep -E "$1" | while IFS=: read -r names rooms; do
		# shellcheck disable=SC2086
		pattern=$(echo $names | tr ' ' '|')
		complain "(^|[^A-Za-z0-9_.>])($pattern)[[:space:]]*\\(" "$rooms"
	done
}
check_calls 'exit'
verdict 'nothing below main exits'

check_calls 'printf'
echo "$words" | while IFS=: read -r names rooms; do
	[ -n "$names" ] || continue
	# shellcheck disable=SC2086
	complain "(^|[^A-Za-z0-9_])($(echo $names | tr ' ' '|'))([^A-Za-z0-9_]|\$)" "$rooms"
done
verdict 'only the edge prints'

check_calls 'openat'
verdict 'calls that take a name and a directory stay in their rooms'

check_calls '(^| )(open|fopen)[ :]'
verdict 'calls that take a path stay in their rooms'

# A body begins with `{` alone or with a line that ends in `) {`, and ends with
# `}`, all in the first column.
for file in $all; do
	awk -v file="$file" -v max="$max_function" '
		/^\{/ || /^[A-Za-z_].*\)[ \t]*\{[ \t]*$/ { start = FNR; head = before }
		/^[A-Za-z_].*\)/ { before = $0; if (start == FNR) head = $0 }
		/^\}/ && start {
			if (FNR - start + 1 > max)
				print file ":" start ": " FNR - start + 1 " lines: " head
			start = 0
		}' "$tmp/$file"
done >"$tmp/bad"
verdict "no function has more than $max_function lines"

for file in $all; do
	lines=$(wc -l <"$file")
	[ "$lines" -le "$max_file" ] || echo "$file: $((lines)) lines"
done >"$tmp/bad"
verdict "no file has more than $max_file lines"

for file in contrib/quickstart contrib/bench/run contrib/bench/*.sh contrib/bench/lib/*.sh .ci/run tests/*.sh tests/it/*.sh; do
	[ -e "$file" ] || continue
	shell='sh'
	! head -n 1 "$file" | grep -q bash || shell='bash'
	! command -v "$shell" >/dev/null || "$shell" -n "$file" 2>&1
done >"$tmp/bad"
verdict 'every script can be parsed'

echo "1..$count"
