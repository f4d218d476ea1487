#!/bin/sh
# dsttop.sh: the mode, owner, times and ACL of the destination itself.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir -m 700 src
echo f >src/f && mkdir src/d
am_root && chown 1000:1001 src
touch -d '2001-02-03 04:05:06.123456789' src
acls=no
setfacl -m u:7:rx src 2>/dev/null && acls=yes

# old_dst DIR MODE
old_dst() {
	mkdir "$1"
	echo besides >"$1/besides"
	echo old >"$1/f"
	[ $acls = no ] || setfacl -d -m u:1:rx "$1"
	am_root && chown 5:5 "$1"
	chmod "$2" "$1"
}
# keeps_own DIR MODE
keeps_own() {
	assert_mode "$2" "$1"
	if am_root; then
		assert_owner 5:5 "$1"
	fi
	if [ $acls = yes ]; then
		ok 'its default ACL is its own' sh -c "getfacl -n $1 | grep default:user:1:r-x"
		ok 'its ACL too' sh -c "! getfacl -n $1 | grep ^user:7"
	fi
	assert_content f "$1/f"
	assert_content besides "$1/besides"
	is "$(getfacl -n -p -s "$1/f" "$1/d")" '' 'nothing is inherited'
}

context='a new one'
tarpipe src new
assert_status 0
assert_silent
assert_same_tree src new

context='one that was there'
old_dst dst 2755
tarpipe src dst
assert_status 0
assert_silent
assert_same_tree --extra src dst
tarpipe src/ dst
assert_status 0
assert_same_tree --extra src dst

context='a sticky one'
old_dst sticky 1777
tarpipe src sticky
assert_status 0
assert_told_once '.'
assert_message '.*sticky' 'a line says so'
keeps_own sticky 1777
tarpipe -q src sticky
assert_status 0
assert_silent
tarpipe --preserve=root src sticky
assert_status 0
assert_same_tree --extra src sticky

context='--no-preserve=root'
old_dst keeps 2755
tarpipe --no-preserve=root src keeps
assert_status 0
assert_silent
keeps_own keeps 2755
umask 027
tarpipe --no-preserve=root src new-plain
umask 022
assert_status 0
assert_mode 750 new-plain
assert_owner "$(id -u):$(id -g)" new-plain
assert_same_tree --except mode,owner,acl,xattr,mtime src new-plain

context='the DIR/ form'
old_dst into 2755
tarpipe src into/
assert_status 0
keeps_own_mode=$(stat -c %a into)
is "$keeps_own_mode" 2755 'into keeps its mode'
assert_content old into/f
assert_same_tree src into/src

context='a file over there'
old_dst file-into 2755
tarpipe src/f file-into
assert_status 0
keeps=$(stat -c %a file-into)
is "$keeps" 2755 'file-into keeps its mode'
assert_content f file-into/f

context='through a symbolic link'
old_dst real 755
ln -s real link
tarpipe src link
assert_status 0
assert_target real link
assert_same_tree --extra src real

context='a mounted one'
if on_filesystem ext4 fs 64M; then
	tarpipe src fs
	assert_status 0
	assert_silent
	assert_same_tree --extra src fs
	ok 'lost+found is still there' test -d fs/lost+found
fi

# The root directory, in a small world of its own.
context='/'
world() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -ec '
		mount -t tmpfs tmpfs "$1"
		for d in bin sbin lib lib32 lib64 libx32; do
			if [ -L /$d ]; then cp -P /$d "$1/$d"
			elif [ -d /$d ]; then mkdir "$1/$d" && mount --rbind /$d "$1/$d"; fi
		done
		mkdir "$1/usr" "$1/proc" "$1/dev" "$1/src" && mount --rbind /usr "$1/usr"
		mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev"
		cp "$2" "$1/program" && cp -a src/f src/d "$1/src" && chmod 700 "$1/src"
		chmod 755 "$1" && shift 2
		exec chroot "$@"' sh world "$TARPIPE" world sh -c "$1"
}
mkdir world
if am_root && [ "$(world 'echo fine' 2>/dev/null)" = fine ]; then
	world '/program /src/ / 2>&1; echo "status $?"; stat -c %a /; cat /f; stat -c %F /d' >"$out" 2>&1
	is "$(grep -c '^tarpipe: ' "$out")" 1 'one line says so'
	is "$(grep -v '^tarpipe: ' "$out")" "status 0
755
f
directory" 'it keeps its own mode'
else
	skip 'needs root and mount namespaces'
fi
done_testing
