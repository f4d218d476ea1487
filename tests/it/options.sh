#!/bin/sh
# options.sh: what each option keeps, leaves, says and refuses.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir src src/d
echo f >src/f && chmod 777 src/f
echo g >src/d/g && ln src/d/g src/g
truncate -s 4M src/hole
mkfifo src/fifo
ln -s f src/link
setfattr -n user.k -v v src/f src/d 2>/dev/null || diag 'left out: attributes'
setfacl -m u:1:r src/d/g 2>/dev/null || diag 'left out: ACLs'
if am_root; then
	echo s >src/setuid && chown 1000:1000 src/setuid && chmod 4755 src/setuid
	cp /bin/true src/cap && setcap cap_net_raw+ep src/cap 2>/dev/null
	chown 7:8 src/f src/d
fi
chmod 1777 src/d
touch -h -d '2001-02-03 04:05:06.123456789' src/* src/d/g src/d src

context='--preserve=all'
tarpipe --preserve=all src all
assert_status 0
assert_silent
assert_same_tree src all
tarpipe --preserve=mode,owner,times,links,holes,xattr,acl,special,root src each
assert_status 0
assert_same_tree src each

context='--no-preserve=mode'
umask 077
tarpipe --no-preserve=mode src no-mode
umask 022
assert_status 0
assert_silent
is "$(find no-mode ! -type l -perm /7077 ! -path no-mode/d/g ! -path no-mode/g)" '' \
	"the umask's modes, no setid or sticky bits"
assert_same_tree --except mode,acl,xattr src no-mode

context='--no-preserve=owner'
tarpipe --no-preserve=owner src no-owner
if am_root; then
	assert_status 2 # of what is kept, setuid can't be
	assert_told_once 'setuid'
else
	assert_status 0
fi
is "$(find no-owner ! -user "$(id -u)")" '' 'all is of who copied it'
assert_same_tree --except owner,mode src no-owner
is "$(find no-owner -perm /6000)" '' 'no setuid under another owner'

context='--no-preserve=times'
tarpipe --no-preserve=times src no-times
assert_status 0
is "$(find no-times ! -newermt '2020-01-01')" '' 'all times are new'
assert_same_tree --except mtime src no-times

context='--no-preserve=links'
tarpipe --no-preserve=links src no-links
assert_status 0
assert_links 1 no-links/g
assert_same_tree --except links,group src no-links

context='--no-preserve=holes'
tarpipe --no-preserve=holes --reflink=never src no-holes
assert_status 0
ok 'the hole is filled' test "$(stat -c %b no-holes/hole)" -ge 8192
assert_same_tree --except blocks src no-holes

context='--no-preserve=xattr'
tarpipe --no-preserve=xattr src no-xattr
assert_status 0
is "$(getfattr -h -R -d -m '^(user|trusted|security\.cap)' no-xattr)" '' 'no attributes'
assert_same_tree --except xattr,cap src no-xattr

context='--no-preserve=acl'
tarpipe --no-preserve=acl src no-acl
assert_status 0
is "$(getfacl -R -s -p no-acl)" '' 'no ACLs'
assert_xattr user.k v no-acl/f
assert_same_tree --except acl,xattr,mode src no-acl

context='--no-preserve=special'
tarpipe --no-preserve=special src no-special
assert_status 0
assert_missing no-special/fifo
assert_content f no-special/f

context='--no-preserve=all'
tarpipe --no-preserve=all src none
assert_status 0
is "$(find none ! -newermt '2020-01-01')" '' 'new times'
is "$(find none ! -user "$(id -u)")" '' 'own owner'
is "$(getfattr -h -R -d -m '^(user|trusted|security\.cap)' none; getfacl -R -s -p none)" '' 'no attributes'
is "$(find none -perm /7000)" '' 'no setid or sticky bits'
assert_content g none/d/g

context='the later one counts'
tarpipe --no-preserve=all --preserve=times src later
assert_status 0
assert_mtime 981173106.123456789 later/f
context='several at once'
tarpipe --no-preserve=times,owner src several
is "$(find several -newermt '2020-01-01' ! -user "$(id -u)")" '' 'both'
for list in modes '' 'mode,' 'mode owner' ','; do
	context="--preserve='$list'"
	tarpipe "--preserve=$list" src junk
	assert_status 64
	assert_missing junk
done

context='--names'
tarpipe --names src names
assert_status 0
assert_same_tree src names

context='-n'
before=$(snapshot src)
tarpipe -n src dry
assert_status 0
assert_missing dry
mkdir dry && echo old >dry/f && chmod 700 dry && touch -d '2001-01-01' dry
was=$(snapshot dry)
tarpipe -n src dry
assert_status 0
is "$(snapshot dry)" "$was" 'nothing is written'
is "$(snapshot src)" "$before" 'nor in the source'
tarpipe --dry-run -v src dry2
assert_status 0
assert_missing dry2
assert_output 'd/g' 'with -v it lists'
tarpipe -n nowhere dry2
assert_status 64

context='-v'
tarpipe -v src verbose
assert_status 0
assert_silent
for n in f d d/g g hole fifo link; do
	assert_output "(^|/)$n/?\$" "lists $n"
done
tarpipe src not-verbose
is "$(cat "$out")" '' 'without -v it prints nothing'

context='--stats'
tarpipe --stats src stats
assert_status 0
is "$(cat "$out")" '' 'not on standard output'
entries=$(find src | wc -l)
ok 'the entries' grep -E -w -i "($entries|$((entries - 1))) *entries|entries[: ]+($entries|$((entries - 1)))" "$err"
for word in '[0-9] ([KMGT]i)?B in' seconds '/s' empty full; do
	ok "says: $word" grep -E -i -e "$word" "$err"
done
ok 'who was slow' grep -i -E 'slow|waited|neither|source|destination' "$err"

context='-q'
mkdir sticky && chmod 1777 sticky
tarpipe -q src sticky
assert_status 0
assert_silent
tarpipe -q src
assert_status 64
ok 'refusals are told' test -s "$err"

context='several sources, one missing'
mkdir several-dst
tarpipe src/d nowhere src/f several-dst/
assert_status 2
assert_message '.*nowhere: .*: No such file or directory'
assert_content f several-dst/f
assert_content g several-dst/d/g

context='the ring'
for options in '-m 64k' '-m 64K' '-m 1m' '-m 65536' '-m 1MiB' '-m 128b' '-m 1%' '--memory=1m' \
	'-p 0' '-p 75' '-p 100' '--fill=50' '-p 75 --low=25' '--low=0' '-p 100 -m 64k' '-j 1' \
	'-j 2' '--jobs=16' '-p 100 --low=0 -m 64k -j 1'; do
	rm -rf ring
	# shellcheck disable=SC2086 # words
	tarpipe --reflink=never $options src ring
	sh "$tools/compare-trees" src ring >"$base/lib/said" 2>&1
	is "$status,$?" 0,0 "$options"
done

context='refused'
for options in --unknown -Z '-m' '-m junk' '-m 1x' '-m -1' '-m 1.5m' '-m 0' '-m 1k' '-m 101%' \
	'-m 99999999999999999999' '-p' '-p 101' '-p -1' '-p 5x' '-p 75%%' '-pf' '-j 0' '-j x' '-j -1' \
	'--low=101' '--low=' '--reflink=' '--memory=' '--stats=yes'; do
	# shellcheck disable=SC2086 # words
	tarpipe $options src refused
	assert_status 64 "$options"
	if ! [ -s "$err" ] || [ -e refused ]; then
		fail "$options: says why, writes nothing"
		rm -rf refused
	fi
done
tarpipe -pf src refused
assert_message '.*-p is the fill mark' 'what -p means here is told'

context='answers'
tarpipe --version
assert_status 0
assert_output '^tarpipe '
assert_silent
tarpipe --help
assert_status 0
assert_output '--no-preserve'
assert_silent

context='output that can not be written'
timeout 20 "$TARPIPE" -v src devfull >/dev/full 2>"$err"
status=$?
ok 'is no success' test "$status" -ne 0
timeout 20 "$TARPIPE" --help >/dev/full 2>"$err"
status=$?
ok 'nor is help' test "$status" -ne 0
done_testing
