# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
#
# lib.sh: the vocabulary of the integration tests.
#
# A test is one file, tests/it/NAME.sh, in plain POSIX sh (GNU find, stat and
# coreutils are taken for granted), that prints TAP:
#
#     #!/bin/sh
#     # links.sh: names of one inode stay names of one inode.
#     # again: yes
#     # shellcheck source=tests/lib.sh
#     . "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"
#
#     mkdir src && echo one >src/a && ln src/a src/b
#     tarpipe src dst
#     assert_status 0
#     assert_same_tree src dst
#     done_testing
#
# `# again: yes` has the suite run it again with other rings and one worker.
# Environment: TARPIPE (the program, an absolute path), TARPIPE_FLAGS (options
# put before every test's own), TOP_SRCDIR, TOP_BUILDDIR, TMPDIR.
#
# The test starts in an empty directory of its own, $work, which is gone
# afterwards with all that was mounted below it.  What can't run here is skipped
# and says why.  done_testing comes last: a test that ends without it has failed.

LC_ALL=C TZ=UTC0
export LC_ALL TZ
PATH=$PATH:/usr/sbin:/sbin
export PATH
umask 022

: "${TOP_SRCDIR:=$(dirname "$0")/../..}"
TOP_SRCDIR=$(cd "$TOP_SRCDIR" && pwd)
: "${TOP_BUILDDIR:=$TOP_SRCDIR}"
: "${TARPIPE:=$(cd "$TOP_BUILDDIR" && pwd)/tarpipe}"
: "${TARPIPE_FLAGS:=}"
tools=$TOP_SRCDIR/tests/tools

if ! [ -x "$TARPIPE" ]; then
	echo "Bail out! TARPIPE=$TARPIPE is no program"
	exit 99
fi

# An account is not needed: owners go by number.
user_id=61234

count=0		# tests told so far
context=	# words put before each description
status=		# exit status of the program's last run
limit=60	# seconds that one run may take

base=$(mktemp -d "${TMPDIR:-/tmp}/tarpipe-test.XXXXXX") || exit 99
base=$(cd "$base" && pwd -P)
work=$base/work
out=$base/lib/stdout	# of the last run
err=$base/lib/stderr
mkdir "$work" "$base/lib"
: >"$out"
: >"$err"
: >"$base/lib/mounts"
chmod 711 "$base"
cd "$work" || exit 99
TEST_BASE=$base		# by which its processes are known
export TEST_BASE

# A signal may find a subshell before it has put the shell's traps away, and bash then
# runs them there: the pid is asked of the system, as $$ is the shell's everywhere.
clean_up() {
	clean_rc=$?
	trap '' EXIT HUP INT TERM
	read -r clean_pid clean_rest </proc/self/stat
	: "$clean_rest"
	[ "$clean_pid" -eq $$ ] || exit "$clean_rc"
	cd /
	tac "$base/lib/mounts" | while read -r clean_dir; do
		umount "$clean_dir" 2>/dev/null || umount -l "$clean_dir"
	done
	[ "$(id -u)" -eq 0 ] || chmod -R u+rwX "$base" 2>/dev/null
	rm -rf --one-file-system "$base"
	exit "$clean_rc"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- TAP ----------------------------------------------------------------

# plan N: says beforehand how many tests there will be.
plan() {
	planned=$1
	echo "1..$1"
}

# done_testing: the last line of a test.
done_testing() {
	if [ -z "${planned:-}" ]; then
		echo "1..$count"
	fi
	exit 0
}

# skip_all WORDS: nothing of this test can run here.
skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# skip REASON [WORDS]: one test that can't run here.
skip() {
	count=$((count + 1))
	printf 'ok %s - %s # SKIP %s\n' "$count" "${context:+$context: }${2:-left out}" "$1"
}

# diag WORDS: a line for people.  Standard input, as such lines.
diag() {
	printf '# %s\n' "$*"
}
diag_lines() {
	head -n "${1:-30}" | cut -c 1-400 | sed 's/^/#   /'
}

pass() {
	count=$((count + 1))
	printf 'ok %s - %s\n' "$count" "${context:+$context: }$1"
}

# fail WORDS: also shows what the program said last.
fail() {
	count=$((count + 1))
	printf 'not ok %s - %s\n' "$count" "${context:+$context: }$1"
	if [ -n "$status" ]; then
		diag "the last run ended with status $status and said:"
		cat -v "$err" | diag_lines 8
	fi
}

# ok WORDS COMMAND...: the command succeeds.
ok() {
	ok_words=$1
	shift
	if "$@" >"$base/lib/said" 2>&1; then
		pass "$ok_words"
	else
		fail "$ok_words"
		diag "failed: $*"
		cat -v "$base/lib/said" | diag_lines
	fi
}

# is GOT WANT WORDS: the two strings are equal.
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		printf '%s\n' "$1" | cat -v | sed '1s/^/got:    /' | diag_lines
		printf '%s\n' "$2" | cat -v | sed '1s/^/wanted: /' | diag_lines
	fi
}

# ---- What a test needs --------------------------------------------------

am_root() {
	[ "$(id -u)" -eq 0 ]
}

# need_root: the whole test is for root.
need_root() {
	am_root || skip_all 'needs root'
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# need_tool NAME...: the whole test needs these commands.
need_tool() {
	for need_name; do
		have "$need_name" || skip_all "$need_name is not installed"
	done
}

# need_tracing: the whole test makes system calls fail with strace.
need_tracing() {
	need_tool strace
	can_trace || skip_all 'strace may not trace here'
}
can_trace() {
	have strace && strace -o /dev/null true 2>/dev/null
}

# can_be_user: as_user works.
can_be_user() {
	am_root && setpriv --reuid "$user_id" --regid "$user_id" --clear-groups \
		true 2>/dev/null
}
need_user() {
	can_be_user || skip_all 'needs root and setpriv, to become another user'
}

# holds_xattrs DIR: the file system takes attributes of the namespace user.
holds_xattrs() {
	holds_probe=$(mktemp "$1/probe.XXXXXX") || return 1
	setfattr -n user.probe -v 1 "$holds_probe" 2>/dev/null
	holds_rc=$?
	rm -f "$holds_probe"
	return $holds_rc
}

# ---- File systems -------------------------------------------------------

# on_filesystem TYPE DIR [SIZE [OPTIONS]]: a fresh file system on ./DIR.  When
# it can't be had here a test is skipped, in words, and the status is not 0:
#
#     on_filesystem xfs fs || continue
on_filesystem() {
	if ! fs_why=$(mount_fresh "$1" "$work/$2" "${3:-}" "${4:-}"); then
		skip "$fs_why" "on $1"
		return 1
	fi
	echo "$work/$2" >>"$base/lib/mounts"
}

mount_fresh() {
	if ! am_root; then
		echo 'mounting needs root'
		return 1
	fi
	mkdir -p "$2" || return 1
	case $1 in
	tmpfs | ramfs) mount_memory "$@" ;;
	*) mount_image "$@" ;;
	esac
}

mount_memory() {
	if ! mount -t "$1" -o "${4:+$4,}${3:+size=$3,}mode=755" "$1" "$2" 2>/dev/null; then
		echo "$1 can't be mounted here"
		return 1
	fi
}

mount_image() {
	case $1 in
	ext4) mount_mkfs='mkfs.ext4 -q -F -b 4096 -I 256 -m 0 -E lazy_itable_init=1' ;;
	xfs) mount_mkfs='mkfs.xfs -q' ;;
	btrfs) mount_mkfs='mkfs.btrfs -q' ;;
	*) mount_mkfs=mkfs.$1 ;;
	esac
	if ! have "mkfs.$1"; then
		echo "mkfs.$1 is not installed"
		return 1
	fi
	mount_file=$base/lib/$(basename "$2").$1
	truncate -s "${3:-512M}" "$mount_file" || return 1
	# shellcheck disable=SC2086 # words
	if ! $mount_mkfs ${4:-} "$mount_file" >/dev/null 2>&1; then
		echo "mkfs.$1 failed"
		return 1
	fi
	if ! mount -o loop -t "$1" "$mount_file" "$2" 2>/dev/null; then
		echo "a $1 image can't be mounted here (no loop device or no $1)"
		return 1
	fi
}

# in_ext4: goes on in a file system that is known to hold everything, where mounting
# works, else where it is.
in_ext4() {
	if am_root && on_filesystem ext4 home; then
		cd home || exit 99
		work=$work/home
	fi
}

# will_unmount DIR: remembers what a test mounted by itself.
will_unmount() {
	echo "$work/$1" >>"$base/lib/mounts"
}

# need_faultfs: the whole test needs the file system that fails on command.
need_faultfs() {
	faultfs=$TOP_BUILDDIR/tests/tools/faultfs
	[ -x "$faultfs" ] || skip_all 'tests/tools/faultfs is not built: fuse3 was not found'
	mkdir "$base/lib/probe" "$base/lib/probe-fs"
	faults_read=$base/lib/faults
	: >"$faults_read"
	"$faultfs" "$faults_read" "$base/lib/probe" "$base/lib/probe-fs" 2>/dev/null ||
		skip_all 'FUSE can not be mounted here'
	umount "$base/lib/probe-fs"
}

# on_faultfs BACKING DIR [--direct]: ./DIR shows ./BACKING, and fails as `faults` says.
on_faultfs() {
	mkdir -p "$1" "$2"
	# shellcheck disable=SC2086 # words
	"$faultfs" ${3:-} "$faults_read" "$1" "$2" || exit 99
	echo "$work/$2" >>"$base/lib/mounts"
}

# faults [RULE]...: what fails from now on, as tests/tools/faultfs.c tells; $hits
# becomes the file that says what did.
faults() {
	printf '%s\n' "$@" >"$faults_read.new"
	hits=$faults_read.log
	: >"$hits"
	mv "$faults_read.new" "$faults_read"
}

# off_filesystem DIR: it isn't needed any more.
off_filesystem() {
	umount "$work/$1" && rm -f "$base/lib/$(basename "$1")".*
	grep -vxF "$work/$1" "$base/lib/mounts" >"$base/lib/mounts.new"
	mv "$base/lib/mounts.new" "$base/lib/mounts"
}

# ---- Running the program ------------------------------------------------

# launch COMMAND...: runs it under a time limit; keeps $status, $out and $err.
launch() {
	status=0
	timeout -k 5 "$limit" "$@" >"$out" 2>"$err" </dev/null || status=$?
	if [ "$status" -eq 124 ]; then
		diag "stopped after $limit seconds: $*"
	fi
}

# tarpipe ARG...: the program under test.
tarpipe() {
	# shellcheck disable=SC2086 # words
	launch "$TARPIPE" $TARPIPE_FLAGS "$@"
}

# under COMMAND... tarpipe ARG...: the same below another command, as in
# `under unshare -Ur tarpipe src dst`.
under() {
	under_left=$# under_found=
	while [ "$under_left" -gt 0 ]; do
		under_word=$1
		under_left=$((under_left - 1))
		shift
		if [ -z "$under_found" ] && [ "$under_word" = tarpipe ]; then
			under_found=yes
			# shellcheck disable=SC2086 # words
			set -- "$@" "$TARPIPE" $TARPIPE_FLAGS
		else
			set -- "$@" "$under_word"
		fi
	done
	launch "$@"
}

# as_user COMMAND...: as an ordinary user who owns nothing and has no account.
# With `tarpipe` as its first word it is a run of the program.
as_user() {
	if [ "$1" = tarpipe ]; then
		reach_program
		under setpriv --reuid "$user_id" --regid "$user_id" --clear-groups "$@"
	else
		setpriv --reuid "$user_id" --regid "$user_id" --clear-groups "$@"
	fi
}

# The build may stand where only its owner can go.
reach_program() {
	if ! as_user test -x "$TARPIPE"; then
		cp "$TARPIPE" "$base/tarpipe"
		TARPIPE=$base/tarpipe
	fi
}

# traced STRACE-OPTION... tarpipe ARG...: with system calls made to fail.
# (-P looks at names as the program gives them, so give both `f` and its path.)
traced() {
	under env ASAN_OPTIONS=detect_leaks=0 \
		strace -f -qq -o "$base/lib/trace" "$@"
}

# meanwhile PATTERN COMMAND...: in the background, as soon as the trace of the
# coming traced run shows PATTERN; a call that waits (delay_enter) shows at once.
meanwhile() {
	meanwhile_pattern=$1
	shift
	: >"$base/lib/trace"
	{ wait_for grep -E -e "$meanwhile_pattern" "$base/lib/trace" && "$@"; } &
}

# start ARG...: the program in the background, its process in $pid.
start() {
	# shellcheck disable=SC2086 # words
	env --default-signal=INT,QUIT,HUP,TERM,PIPE \
		"$TARPIPE" $TARPIPE_FLAGS "$@" >"$out" 2>"$err" </dev/null &
	# shellcheck disable=SC2034 # for the test
	pid=$!
}

# wait_for COMMAND...: until it succeeds, ten seconds at most.
wait_for() {
	wait_tries=0
	until "$@" >/dev/null 2>&1; do
		wait_tries=$((wait_tries + 1))
		if [ "$wait_tries" -gt 500 ]; then
			diag "waited in vain for: $*"
			return 1
		fi
		sleep 0.02
	done
}

# ---- Assertions about the run -------------------------------------------

# assert_status N
assert_status() {
	is "$status" "$1" "${2:-status $1}"
}

# assert_status_in N N...
assert_status_in() {
	case " $* " in
	*" $status "*) pass "status is one of $*" ;;
	*) fail "status is one of $*" ;;
	esac
}

# assert_message PATTERN [WORDS]: a line `tarpipe: PATTERN...` (an extended
# regular expression) was said.
assert_message() {
	ok "${2:-says: $1}" grep -E -e "^tarpipe: $1" "$err"
}

assert_no_message() {
	if grep -E -e "$1" "$err" >/dev/null; then
		fail "${2:-does not say: $1}"
	else
		pass "${2:-does not say: $1}"
	fi
}

# assert_silent: nothing on standard error.
assert_silent() {
	is "$(head -c 2000 "$err" | cat -v)" '' 'nothing to complain about'
}

# assert_well_formed: every line is `tarpipe: ...`, with no control bytes.
assert_well_formed() {
	is "$(grep -v -a '^tarpipe: ' "$err" | cat -v)" '' 'each message is a line of its own'
	is "$(tr -d '\n -~\200-\377' <"$err" | wc -c)" 0 'no control bytes in messages'
}

# assert_told_once PATTERN: exactly one line has it.
assert_told_once() {
	is "$(grep -c -E -e "$1" "$err")" 1 "${2:-says once: $1}"
}

# assert_output PATTERN [WORDS]: a line of standard output has it.
assert_output() {
	ok "${2:-prints: $1}" grep -E -e "$1" "$out"
}

# of_ours: the processes of the program that this test started.
of_ours() {
	find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$TARPIPE" 2>/dev/null |
		while read -r ours_exe; do
			cat "${ours_exe%/exe}/environ" 2>/dev/null | tr '\0' '\n' |
				grep -qxF "TEST_BASE=$base" && echo "$ours_exe"
		done
}

# shared_memory: what there is of it on this machine.
shared_memory() {
	ls /dev/shm 2>/dev/null
	ipcs -m 2>/dev/null
}

# assert_nothing_left [DIR]...: no process, no shared memory, nothing temporary in DIR.
# (Others may use such memory meanwhile, so it is looked at for a while.)
assert_nothing_left() {
	is "$(of_ours)" '' 'no process is left'
	ok 'no shared memory is left' wait_for same_shared_memory
	for left_dir; do
		is "$(find "$left_dir" -name '.tarpipe-*' 2>/dev/null)" '' \
			"nothing temporary is left in $left_dir"
	done
}
same_shared_memory() {
	[ "$(shared_memory)" = "$shared_before" ]
}

# assert_faults_hit PATTERN: a rule of `faults` applied: `OPERATION PATH ACTION`.
assert_faults_hit() {
	ok "it came to that: $1" grep -E -e "$1" "$hits"
}

# ---- Assertions about trees ---------------------------------------------

# assert_same_tree [--except ASPECT,...] [--extra] SRC DST: see compare-trees.
assert_same_tree() {
	ok "same tree: $*" sh "$tools/compare-trees" "$@"
}

# assert_rsync_agrees SRC DST: rsync, asked to make DST like SRC, would do nothing.
assert_rsync_agrees() {
	if have rsync; then
		is "$(rsync -aHAXn --checksum --modify-window=-1 --delete \
			--filter='-x trusted.SGI_ACL_*' --itemize-changes "$1/" "$2/" 2>&1 | cat -v)" '' \
			"rsync agrees: $1 $2"
	else
		skip 'rsync is not installed' "rsync agrees: $1 $2"
	fi
}

# Each of these takes what is wanted, then a name.
assert_type() {
	is "$(stat -c %F -- "$2" 2>&1)" "$1" "$2 is a $1"
}
assert_mode() {
	is "$(stat -c %a -- "$2" 2>&1)" "$1" "$2 has mode $1"
}
assert_owner() {
	is "$(stat -c %u:%g -- "$2" 2>&1)" "$1" "$2 belongs to $1"
}
assert_mtime() {
	is "$(stat -c %.9Y -- "$2" 2>&1)" "$1" "$2 has mtime $1"
}
assert_size() {
	is "$(stat -c %s -- "$2" 2>&1)" "$1" "$2 has $1 bytes"
}
assert_links() {
	is "$(stat -c %h -- "$2" 2>&1)" "$1" "$2 has $1 names"
}
assert_target() {
	is "$(readlink -- "$2" 2>&1)" "$1" "$2 points to $1"
}
assert_content() {
	is "$(head -c 1000 -- "$2" 2>&1)" "$1" "$2 holds $1"
}
assert_device() {
	is "$(stat -c %t:%T -- "$2" 2>&1)" "$1" "$2 is device $1"
}
assert_cap() {
	is "$(getcap -- "$2" 2>&1)" "$2 $1" "$2 has capabilities $1"
}
assert_acl() {
	is "$(getfacl -n -p -c -- "$2" 2>&1 | tr '\n' ' ' | sed 's/ *$//')" "$1" "$2 has ACL $1"
}

# assert_xattr NAME VALUE FILE: VALUE as getfattr -e text shows it.
assert_xattr() {
	is "$(getfattr -h --only-values --absolute-names -n "$1" -- "$3" 2>&1)" "$2" "$3 has $1=$2"
}
assert_no_xattr() {
	is "$(getfattr -h -d -m - --absolute-names -- "$1" 2>&1)" '' "$1 has no attributes"
}

# assert_blocks_at_most N FILE: blocks of 512 bytes.
assert_blocks_at_most() {
	ok "$2 occupies at most $1 blocks" \
		test "$(stat -c %b -- "$2")" -le "$1"
}

assert_same_file() {
	ok "same bytes: $1 $2" cmp -- "$1" "$2"
}
assert_same_inode() {
	is "$(stat -c %d:%i -- "$2" 2>&1)" "$(stat -c %d:%i -- "$1")" "$1 and $2 are one inode"
}

# assert_missing NAME...: not even a dangling link.
assert_missing() {
	for missing_name; do
		if [ -e "$missing_name" ] || [ -L "$missing_name" ]; then
			fail "$missing_name is not there"
		else
			pass "$missing_name is not there"
		fi
	done
}

# assert_names DIR [NAME...]: exactly these, in order; so nothing temporary either.
assert_names() {
	names_dir=$1
	shift
	# shellcheck disable=SC2012 # the names here are plain
	is "$(ls -A -- "$names_dir" 2>&1 | tr '\n' ' ' | sed 's/ $//')" "$*" "$names_dir holds: $*"
}

# snapshot DIR: a word that changes when anything in the tree does.
snapshot() {
	{
		sh "$tools/list-tree" dst "$1"
		find "$1" -printf '%C@ %i %p\n' | sort
	} 2>&1 | sha256sum
}

# ---- Making trees -------------------------------------------------------

# fill SIZE SEED: that many bytes, none of them zero, the same every time.
fill() {
	seq "$2" 7 99999999 | head -c "$1"
}

# make_socket NAME: not 0 when it can't be made here.
make_socket() {
	perl -e 'use Socket; chdir $ARGV[0] or die;
		socket(S, PF_UNIX, SOCK_STREAM, 0) or die;
		bind(S, sockaddr_un($ARGV[1])) or die' \
		"$(dirname "$1")" "$(basename "$1")" 2>/dev/null
}

# can_make_nodes: mknod works (root in a container may not).
can_make_nodes() {
	mknod "$work/probe-node" c 1 3 2>/dev/null && rm "$work/probe-node"
}

# make_everything DIR: all that a tree can hold, as far as this user and this
# file system can make it; says what is left out.
make_everything() {
	sh "$tools/make-everything" "$1" 2>&1 | diag_lines 100
}

need_tool getfattr setfattr getfacl setfacl getcap sha256sum timeout
shared_before=$(shared_memory)
