#!/bin/sh
# names.sh: the bytes of names survive, and messages show them safely.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

odd=$(printf '\376')
escape=$(printf 'e\033]0;x\007')
mkdir src
(
	cd src || exit 99
	for name in "$odd" "$(printf '\377')" 'a
b' '
' 'back\slash' 'trailing ' ' leading' ' ' -rf -- --help - '*' '?' 'a=b' \
		"$(printf '\303\251')" "$(printf 'e\314\201')" "$escape" \
		"$(printf '\302\233')" "$(printf 'cr\r')" '..a' '...' 'C:' 'host:path' \
		"$(fill 255 1 | tr '\n' n)"; do
		echo "$name" >"./$name"
	done
	mkdir ./-d './-d/*' "$odd$odd" "dir
with newline" && echo in >"dir
with newline/in"
	# Paths, and targets of symbolic links, of exactly so many bytes.
	for length in 99 100 101 155 156 255 256 257 511 512 513 1000; do
		path=
		left=$length
		while [ "$left" -gt 101 ]; do
			path=$path$(fill 50 $length | tr '\n' d)/
			left=$((left - 51))
		done
		mkdir -p "./$path"
		path=$path$(fill "$left" $length | tr '\n' f)
		[ ${#path} -eq "$length" ] || echo wrong
		echo "$length" >"$path"
		ln -s "$path" "link-$length"
	done
)

for locale in C C.UTF-8; do
	context=$locale
	LC_ALL=$locale
	tarpipe src "dst-$locale"
	assert_status 0
	assert_silent
	LC_ALL=C
	find src -printf '%P\0%l\0' | sort -z >want
	find "dst-$locale" -printf '%P\0%l\0' | sort -z >got
	assert_same_file want got
	assert_same_tree src "dst-$locale"
done

context='verbose'
tarpipe -v src verbose
assert_status 0
is "$(tr -d '\n -~\200-\377' <"$out" | wc -c)" 0 'no control bytes in the list'
is "$(find src -mindepth 1 -printf x | wc -c)" \
	"$(grep -c -v -x -e '' -e '\./*' -e src -e src/ -e verbose -e verbose/ "$out")" \
	'one line for each name'
assert_output 'a\\nb' 'a newline is shown as \n'
assert_output 'dir\\nwith newline/in'

context='in messages'
if can_be_user; then
	mkdir closed
	(
		cd closed || exit 99
		echo x >"$escape" && echo x >'forged
tarpipe: all is well' && echo x >"$odd" && echo x >'back\n' && echo fine >fine
		chmod 000 "$escape" forged* "$odd" back*
	)
	mkdir home && chown $user_id:$user_id home
	as_user tarpipe closed home/dst
	assert_status 2
	assert_well_formed
	is "$(wc -l <"$err")" 4 'four files, four lines'
	assert_message '.*forged\\ntarpipe: all is well: '
	assert_message '.*e\\(e|033|x1[bB])\]0;x\\(a|007|x07): '
	assert_message '.*\\(376|xfe|xFE): '
	assert_message '.*back\\\\n: ' 'a backslash is escaped too'
	assert_names home/dst fine
else
	skip 'needs root and setpriv'
fi
done_testing
