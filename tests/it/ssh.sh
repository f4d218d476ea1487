#!/bin/sh
# ssh.sh: the pipe that people type, through a real sshd, with either end being tar.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
need_root
need_tool ssh ssh-keygen sshd tar

sshd=$(command -v sshd)
keys=$base/lib
ssh-keygen -q -t ed25519 -N '' -f "$keys/host" && ssh-keygen -q -t ed25519 -N '' -f "$keys/user" ||
	skip_all 'ssh-keygen makes no keys here'
mkdir -p /run/sshd
port=$((20000 + $$ % 20000))
cat >"$keys/config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $keys/host
AuthorizedKeysFile $keys/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
END
"$sshd" -D -f "$keys/config" -E "$keys/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null; clean_up' EXIT

# far COMMAND: on the other host, which is this one.
far() {
	ssh -F none -p "$port" -i "$keys/user" -o IdentitiesOnly=yes -o BatchMode=yes \
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
		root@127.0.0.1 "$@"
}
wait_for far true || skip_all 'no login by ssh on this machine'

make_everything src
find src -type s -delete
# What GNU tar has a word about, or packs in another way (see interop-out.sh).
find src -depth ! -newermt '1970-01-01 00:00:01' -exec touch -h -d '1980-01-01' {} +
find src -depth -newermt '2030-01-01' -exec touch -h -d '1980-01-01' {} +
find src \( -type p -o -type c -o -type b \) -links +1 -delete
find src/names -name "*$(printf '[\376\377]')*" -exec rm -rf {} + 2>/dev/null
find src -depth -type d -exec touch -d '1980-01-01' {} +
# piped WORDS FILE: what the pipe said, and the statuses of its ends (in FILE).
piped() {
	is "$(cat "$2")" '0 0' 'both ends end with 0'
	is "$(cat said)" '' 'nothing to complain about'
	: >said
	assert_same_tree src "$1"
	rm -rf "$1"
}

context='tarpipe to tarpipe'
mkdir there
{ "$TARPIPE" -c src 2>said; echo $? >first; } | far "cd '$work' && '$TARPIPE' -x there/new" 2>>said
echo "$(cat first) $?" >both
piped there/new both

context='tarpipe to tar'
mkdir there/new
{ "$TARPIPE" -c src 2>said; echo $? >first; } |
	far "tar --xattrs --xattrs-include='*' --acls --numeric-owner -xpf - -C '$work/there/new'" 2>>said
echo "$(cat first) $?" >both
is "$(cat both)" '0 0' 'both ends end with 0'
is "$(cat said)" '' 'nothing to complain about'
assert_same_tree src there/new
rm -rf there/new

context='tar to tarpipe'
{ far "tar --format=posix -S --xattrs --xattrs-include='*' --acls -C '$work/src' -cf - ." 2>said; echo $? >first; } |
	"$TARPIPE" -x there/new 2>>said
echo "$(cat first) $?" >both
is "$(cat both)" '0 0' 'both ends end with 0'
is "$(cat said)" '' 'nothing to complain about'
assert_same_tree src there/new
rm -rf there/new

context='compressed'
{ "$TARPIPE" -cz src 2>said; echo $? >first; } | far "cd '$work' && '$TARPIPE' -x there/new" 2>>said
echo "$(cat first) $?" >both
piped there/new both

context='the far end is killed'
head -c 100000000 /dev/urandom >src/large
{ timeout 20 "$TARPIPE" -c src 2>said; echo $? >first; } | far "head -c 100000 >/dev/null; exit 7"
case $(cat first) in
3 | 141) pass 'the near end stops with 3, or dies of SIGPIPE' ;;
*) fail "the near end stops with 3, or dies of SIGPIPE, not $(cat first)" ;;
esac
context='the near end is killed'
{ timeout -s KILL 0.3 "$TARPIPE" -c src --write-rate=10m; } 2>/dev/null |
	far "cd '$work' && timeout 20 '$TARPIPE' -x there/cut" 2>said
is $? 3 'the far end ends with 3'
ok 'and says why' grep -q -e 'cut off' -e 'empty: no archive' said
done_testing
