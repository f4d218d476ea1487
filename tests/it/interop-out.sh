#!/bin/sh
# interop-out.sh: what -c writes, other tars unpack equal, without a word.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

in_ext4
make_everything src
find src -type s -delete

pack() {
	tarpipe -c -f s.tar src
	assert_status 0
	assert_silent
}

# read_by WORDS EXCEPT COMMAND...: it unpacks into ./dst from standard input.
read_by() {
	context=$1
	read_except=$2
	shift 2
	if ! have "$1"; then
		skip "$1 is not installed"
		return
	fi
	rm -rf dst
	mkdir dst
	status=
	"$@" <s.tar >"$base/lib/said" 2>&1
	is "$?" 0 'its status is 0'
	is "$(grep -v -e 'implausibly old' -e 'in the future' "$base/lib/said" | head -c 1000 | cat -v)" '' \
		'it says nothing'
	assert_same_tree --except "$read_except" src dst
}

# Only GNU tar can take all of it, with a word about times it doubts, and about names
# that are no UTF-8 and too long for a field.
pack
read_by 'GNU tar, everything' none sh -c '
	tar --xattrs --xattrs-include="*" --acls --numeric-owner -xpf - -C dst 2>said
	grep -v -e hdrcharset said >&2; :'

# What others misread: times before 1970 with fractions, large ids in ACLs, a = in an
# attribute's name, names that are no UTF-8 in headers of their own.
find src -depth ! -newermt '1970-01-01 00:00:01' -exec touch -h -d '1980-01-01' {} +
setfacl -b src/acls/mask 2>/dev/null
setfattr -x 'user.odd = "name"' src/xattrs/file 2>/dev/null
find src/names -name "*$(printf '[\376\377]')*" -exec rm -rf {} + 2>/dev/null
find src -depth -type d -exec touch -d '1980-01-01' {} +
pack
read_by 'GNU tar' none tar --xattrs '--xattrs-include=*' --acls --numeric-owner -xpf - -C dst
# (It takes ./ for its own directory, and leaves that one's time alone.)
read_by bsdtar none sh -c 'bsdtar --numeric-owner --xattrs --acls -xpf - -C dst && touch -r src dst'
read_by Python xattr,acl,cap,mtime,blocks,mode python3 -c '
import sys, tarfile
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|", encoding="utf-8", errors="surrogateescape") as t:
	t.extractall("dst", numeric_owner=True)'

# busybox has neither holes nor attributes, and no times of directories,
# no owners and times of links.
find src/owners -type l -delete
rm -rf src/holes src/links/hole src/links/one/hole src/xattrs src/acls src/caps src/links/one/caps
find src -depth -exec touch -h -d '2001-02-03 04:05:06' {} +
pack
read_by 'busybox tar' xattr,acl,cap,mtime busybox tar -xpf - -C dst

tarpipe -c -f s.tar src
for kind in gzip zstd xz lz4 bzip2; do
	context=$kind
	tarpipe -c "--$kind=1" -f s.z src
	if ! have "$kind"; then
		skip "$kind is not installed"
		continue
	fi
	status=
	ok "$kind takes it back" sh -c '"$1" -dc <s.z 2>said | cmp - s.tar' sh "$kind"
	is "$(cat said)" '' 'it says nothing'
done

for format in gnu ustar; do
	context="--format=$format"
	tarpipe -c "--format=$format" -f s.tar src/sizes
	assert_status_in 0 2
	rm -rf dst
	mkdir dst
	ok 'GNU tar unpacks it' tar -xpf s.tar -C dst
	assert_same_tree --except xattr,acl,cap,mtime src/sizes dst
done
context='losses of an old format'
mkdir with
echo a >with/a
if setfattr -n user.a -v a with/a 2>/dev/null; then
	tarpipe -c --format=ustar -f s.tar with
	assert_status 2
	assert_message '.*attribute'
fi
done_testing
