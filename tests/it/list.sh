#!/bin/sh
# list.sh: -t and --to-stdout: what a stream holds, as lines or as bytes.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -p src/dir/sub
(
	cd src || exit 99
	echo one >dir/one && ln dir/one dir/two && ln -s ../one dir/sub/link
	fill 300000 7 >dir/large && mkfifo dir/fifo && : >dir/empty
	chmod 4711 dir/one && chmod 1777 dir && chmod 2750 dir/sub && chmod 7444 dir/empty
	echo x >'dir/new
line' && echo x >"$(printf 'dir/\377')" && echo x >"$(printf 'dir/e\314\201')"
	truncate -s 1M dir/holes && printf x | dd of=dir/holes bs=1 seek=500000 conv=notrunc status=none
	touch -d '1960-01-02 03:04:05.25' dir/one
)

# The names that tar lists, escaped as it does.
tar -C src --format=posix -cf s.tar dir || exit 99
# Only here does tar leave UTF-8 alone.
utf8_tar() {
	LC_ALL=C.UTF-8 tar "$@"
}

context='names'
utf8_tar -tf s.tar >names
tarpipe -t -f s.tar
assert_status 0
assert_silent
assert_same_file "$out" names

context='lines'
utf8_tar -tvf s.tar >lines
tarpipe -tv -f s.tar
assert_status 0
assert_silent
assert_same_file "$out" lines
utf8_tar -tv --numeric-owner -f s.tar >lines
tarpipe -tv --numeric-owner -f s.tar
assert_same_file "$out" lines
TZ=Asia/Tokyo
utf8_tar -tvf s.tar >lines
tarpipe -tv -f s.tar
assert_same_file "$out" lines
TZ=UTC0

context='by standard input'
status=0
"$TARPIPE" -t <s.tar >got 2>said || status=$?
is "$status" 0 'status 0'
assert_same_file got names
status=0
cat s.tar | "$TARPIPE" -t >got 2>said || status=$?
is "$status" 0 'status 0 from a pipe'
assert_same_file got names

# ---- choosing ----

context='choosing'
tarpipe -t -f s.tar dir/one 'dir/sub'
assert_status 0
is "$(sort "$out" | tr '\n' ' ')" 'dir/one dir/sub/ dir/sub/link ' 'a file, and all of a directory'
tarpipe -t -f s.tar dir/one nosuch 'no*'
assert_status 2
is "$(cat "$out")" dir/one 'what is there is listed'
assert_message 'nosuch: no member of the stream matches'
assert_message 'no\*: no member of the stream matches'
tarpipe -t -f s.tar --exclude=sub --exclude='*e'
assert_status 0
assert_silent
is "$(grep -c -e sub -e 'e$' "$out")" 0 'excluded ones are not listed'
ok 'others are' grep -q '^dir/two$' "$out"
printf 'dir/one\ndir/two\n' >list
tarpipe -t -f s.tar -T list
assert_status 0
is "$(sort "$out" | tr '\n' ' ')" 'dir/one dir/two ' 'a list of names'
printf 'dir/new\nline\0dir/two\0' >list
tarpipe -t -f s.tar --null -T list
assert_status 0
is "$(wc -l <"$out")" 2 'a list with NULs'
tarpipe -t -f s.tar --strip-components=1
assert_status 0
is "$(sed 's,^dir/,,; /^$/d' names)" "$(cat "$out")" 'components are cut off'

# ---- bytes ----

context='bytes'
for file in one large holes empty; do
	tarpipe -x --to-stdout -f s.tar "dir/$file"
	assert_status 0
	assert_silent
	if [ "$file" = one ]; then
		# tar has the first name that it met as the file.
		ok 'one' test -s "$out" -o -n "$(tar -tvf s.tar dir/one | grep '^h')"
	else
		assert_same_file "$out" "src/dir/$file"
	fi
done
for version in 0.0 0.1 1.0; do
	tar -C src --format=posix -S --sparse-version=$version -cf sparse.tar dir/holes
	tarpipe -x --to-stdout -f sparse.tar
	assert_status 0
	assert_same_file "$out" src/dir/holes
	tarpipe -tv -f sparse.tar
	assert_output ' 1048576 .* dir/holes$'
done
tar -C src --format=gnu -S -cf sparse.tar dir/holes
tarpipe -x --to-stdout -f sparse.tar
assert_same_file "$out" src/dir/holes
assert_missing dir

# Many extents: blocks of the map behind the header.
i=0
: >many
while [ $i -lt 60 ]; do
	truncate -s $((i * 131072)) many
	echo "extent $i" >>many
	i=$((i + 1))
done
for format in gnu posix; do
	tar --format=$format -S -cf sparse.tar many
	tarpipe -x --to-stdout -f sparse.tar
	assert_status 0
	assert_same_file "$out" many
done

# ---- others' archives ----

touch src/dir/one

# listed WORDS TOOL COMMAND: s2.tar has the names of src.
(cd src && find dir) | LC_ALL=C sort >want
listed() {
	context=$1
	if ! have "$2"; then
		skip "$2 is not installed"
		return
	fi
	rm -f s2.tar
	(cd src && eval "$3") >"$base/lib/said" 2>&1 || diag_lines 5 <"$base/lib/said"
	tarpipe -t -f s2.tar
	assert_status 0
	assert_silent
	# Escapes are taken back.
	is "$(sed 's,/$,,' "$out" | while IFS= read -r name; do
		printf '%b\n' "$(printf '%s' "$name" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')"
	done | LC_ALL=C sort)" "$(cat want)" 'all names'
}
listed 'tar gnu' tar 'tar --format=gnu -cf ../s2.tar dir'
listed 'tar ustar' tar 'tar --format=ustar -cf ../s2.tar dir'
listed bsdtar bsdtar 'bsdtar -cf ../s2.tar dir'
listed 'bsdtar pax' bsdtar 'bsdtar --format=pax -cf ../s2.tar dir'
listed 'bsdtar gnutar' bsdtar 'bsdtar --format=gnutar -cf ../s2.tar dir'
listed python python3 "python3 -c '
import tarfile
for f in tarfile.open(\"../s2.tar\", \"w\", format=tarfile.PAX_FORMAT),:
    f.add(\"dir\")
    f.close()'"
listed cpio cpio 'find dir -print0 | cpio -0 --quiet -o -H ustar >../s2.tar'
listed pax pax 'pax -w -x ustar -f ../s2.tar dir'
listed busybox busybox 'busybox tar -cf ../s2.tar dir'
rm src/dir/fifo
(cd src && find dir) | LC_ALL=C sort >want
listed 'tar v7' tar 'tar --format=v7 -cf ../s2.tar dir'

# ---- output that breaks ----

context='full'
for option in -t '-x --to-stdout'; do
	status=0
	# shellcheck disable=SC2086 # words
	"$TARPIPE" $option -f s.tar >/dev/full 2>"$err" || status=$?
	is "$status" 3 "$option to a full device"
	assert_message 'writing to standard output, after 0 bytes: No space left'
	is "$(wc -l <"$err")" 1 'told once'
done
context='nobody reads'
i=0
while [ $i -lt 3000 ]; do
	echo "$i"
	i=$((i + 1))
done >numbers
mkdir names.d && (cd names.d && xargs touch <../numbers)
tar -cf many.tar names.d
sh -c 'trap "" PIPE; "$1" -t -f many.tar 2>said; echo $? >rc' - "$TARPIPE" | true
is "$(cat rc)" 3 'status 3 where SIGPIPE is ignored'
ok 'it is told' grep -q 'Broken pipe' said
(
	env --default-signal=PIPE "$TARPIPE" -t -f many.tar 2>said
	echo $? >rc
) | true
is "$(cat rc)" 141 'else it dies of SIGPIPE'

context='a signal'
mkfifo never
start -t -f never
exec 9>never
wait_for kill -0 "$pid"
sleep 0.2
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
exec 9>&-
is "$status" 143 'dies of it'

context='numbers'
tarpipe -t --stats -f s.tar
assert_status 0
assert_message "$(wc -l <names) entries, "
done_testing
