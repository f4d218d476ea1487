#!/bin/sh
# operands.sh: what the operands mean, and what is refused before anything is
# written: status 64, a line that says why and what to type instead.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

# fresh: the same small world again; new things are called n*.
fresh() {
	cd "$work" || exit 99
	chmod -R u+rwx . 2>/dev/null
	rm -rf ./*
	mkdir src src/sub full both empty
	echo a >src/a
	echo b >src/sub/b
	echo other >full/other
	echo old >both/a
	echo besides >both/besides
	echo file >file
	mkfifo pipe
	ln -s src dlink
	ln -s file flink
	ln -s nowhere dang
	ln -s empty elink
	chmod 750 src
	touch -d '2001-02-03 04:05:06.123456789' src/a src/sub src file
}

# state: a word that changes when any name, inode or change time does.
state() {
	find "$work" -printf '%C@ %i %y %p %l\n' | sort | sha256sum
}

# refused PATTERN ARG...: status 64, one line with PATTERN, nothing written.
refused() {
	refused_words=$1
	shift
	refused_before=$(state)
	tarpipe "$@"
	context="tarpipe $*"
	assert_status 64
	assert_message ".*$refused_words"
	assert_well_formed
	is "$(state)" "$refused_before" 'nothing is written'
	context=
}

# accepted ARG...: status 0, not a word.
accepted() {
	tarpipe "$@"
	context="tarpipe $*"
	assert_status 0
	assert_silent
	context=
}

# ---- SRC DST: DST becomes the copy of SRC ----

fresh
accepted src new
assert_same_tree src new
accepted src new
assert_same_tree src new
accepted src empty
assert_same_tree src empty
accepted src both
assert_same_tree --extra src both
assert_content besides both/besides
mkdir nlost nlost/lost+found
accepted src nlost
assert_mode 750 nlost

fresh
refused 'full: .*tarpipe src/ full;.* tarpipe src full/$' src full
mkdir full/lost+found src/lost+found
refused 'tarpipe src/ full' src full
mv src 'my src'
refused "tarpipe 'my src'/ full;.* tarpipe 'my src' full/\$" 'my src' full
cd 'my src' || exit 99
refused 'tarpipe ./ ../full$' . ../full

fresh
accepted dlink new
assert_same_tree src new
refused 'file: .*Not a directory' src file
refused 'pipe: .*Not a directory' src pipe
refused 'full/other: .*Not a directory' src full/other

# A file goes into a directory, or becomes DST.
accepted file full
assert_same_file file full/file
assert_mtime 981173106.123456789 full/file
accepted file new2
assert_same_file file new2
accepted file full/other
assert_same_file file full/other
accepted flink nlink
assert_target file nlink
accepted pipe empty
assert_type fifo empty/pipe
refused 'pipe: .*not written to' file pipe

# ---- SRC/ DST: its contents, beside what is there ----

fresh
accepted src/ full
assert_same_tree --extra src full
assert_content other full/other
accepted src// new/
assert_same_tree src new
accepted src/. empty
assert_same_tree src empty
accepted dlink/ new2
assert_same_tree src new2
refused 'file/: .*Not a directory' file/ full
refused 'flink/: .*Not a directory' flink/ new3
refused 'file/: .*Not a directory' file/ new3/
refused 'dang/: .*Not a directory' dang/ new3
refused 'Not a directory' src/ file

# ---- SRC... DIR/: each becomes DIR/basename ----

fresh
accepted src full/
assert_same_tree src full/src
assert_mode 755 full
accepted src/ file both/a dlink full/
assert_names full a dlink file other src
assert_target src full/dlink
accepted file new/
assert_same_file file new/file
assert_mode 755 new
umask 027
accepted src new2/
umask 022
assert_same_tree src new2/src
assert_mode 750 new2
accepted dlink/ file empty/
assert_target src empty/dlink

fresh
refused 'tarpipe SRC\.\.\. full/$' src file full
refused 'tarpipe SRC\.\.\. new/$' src file new
refused 'a: two sources' src/a both/a full/
refused 'src: two sources' src src/ full/
refused 'tarpipe \./ full$' . full/
refused 'tarpipe \.\./ full$' .. full/
refused 'tarpipe / full$' / src full/
refused 'tarpipe src/\./ full$' file src/. full/
refused 'file/: .*Not a directory' src file/
refused 'flink/: .*Not a directory' full flink/
refused 'file/: .*Not a directory' src full file/

# ---- What is missing or empty ----

fresh
refused 'nothere: stat: No such file or directory' nothere new
refused 'nothere/: stat: No such file' nothere/ full
refused 'nothere: stat: No such file' nothere full/
refused 'no source is there' nothere nowhere full/
refused 'operand SRC is empty' '' new
refused 'operand DST is empty' src ''
refused 'operand SRC is empty' src '' full/
refused 'usage: tarpipe .*SRC DST, SRC/ DST or SRC\.\.\. DIR/'
refused 'usage: tarpipe ' src
tarpipe nothere file src full/
context='one missing of several'
assert_status 2
assert_message 'nothere: stat: No such file or directory'
assert_told_once .
assert_same_file file full/file
assert_same_tree src full/src
context=

# ---- DST ----

fresh
accepted src elink
assert_same_tree src empty
assert_target empty elink
accepted src elink/new
assert_same_tree src empty/new
ln -s full/other olink
accepted file olink
assert_target full/other olink
assert_same_file file full/other
refused 'dang: is a symlink to what is not there' src dang
refused 'dang/: is a symlink' src dang/
refused 'dang: is a symlink' file dang
refused 'dang: .*No such file' src dang/new
refused 'nodir: .*only the last component' src nodir/new
refused 'nodir: .*only the last component' file nodir/new
refused 'nodir: .*only the last component' file src nodir/new/
refused 'file/x: stat: Not a directory' src file/x
ln -s loop loop
refused 'loop: stat: Too many levels' src loop
accepted -- src ./-new
assert_same_tree src ./-new
accepted -- -new new3
assert_same_tree src new3

# ---- Hosts ----

fresh
echo local >h:f
refused 'h:f: hosts are not reached yet' h:f new
refused 'h:f: hosts are not reached yet.*ssh h tar -C f -xpf -' file h:f
refused 'host:dst: hosts .*tar -C src -cf - \. \| ssh host tar -C dst -xpf -' \
	src host:dst
refused 'u@host:/s: .*ssh u@host tar -C /s -cf - \. \| tar -C full -xpf -' \
	u@host:/s full
refused 'tar -C \. -cf - src \| ssh host tar -C dst -xpf -' src file host:dst/
accepted ./h:f new
assert_content local new
accepted file ./h:g
assert_same_file file ./h:g

# The command in the message does what it says, once ssh is there.
mkdir bin far
cat >bin/ssh <<'END'
#!/bin/sh
shift
cd far && exec sh -c "$*"
END
chmod +x bin/ssh
mkdir "far/it's" && mv src 'my src'
tarpipe 'my src' "host:it's"
command=$(sed 's/.*; use: //; s/ (into a directory.*//' "$err")
ok "it works: $command" env PATH="$work/bin:$PATH" sh -c "$command"
assert_same_tree --except mtime 'my src' "far/it's"

# ---- Into itself ----

fresh
refused 'src: is the source src itself' src src
refused 'is the source src itself' src src/
refused 'is the source src/ itself' src/ src
refused 'is the source dlink itself' dlink src
refused 'is the source src itself' src dlink
refused 'lies within the source src' src src/new
refused 'lies within the source src' src "$work/src/sub/new"
refused 'lies within the source src' file src src/sub/
refused 'lies within the source \.' . new
refused 'lies within the source /' / new
ln -s src/sub slink
refused 'lies within the source src' src slink/new
refused 'file: would replace itself' file file
refused 'file: would replace itself' file flink
refused 'flink: would replace itself' flink file
refused 'file: would replace itself' file .
refused 'src: would replace itself' src ./
ln file hard
refused 'would replace itself' file hard
accepted src src2
assert_same_tree src src2
if am_root && mount --bind src empty 2>/dev/null; then
	will_unmount empty
	refused 'is the source src itself' src empty
	refused 'lies within the source src' src empty/sub/new
	off_filesystem empty
else
	skip 'bind mounts need root' 'through a bind mount'
fi

# ---- DST's own mode, owner and times ----

fresh
chmod 1777 both
tarpipe src both
context='a sticky DST'
assert_status 0
assert_told_once 'both: keeps its own .*sticky'
assert_told_once .
assert_mode 1777 both
context=
accepted -q src both
assert_mode 1777 both
accepted --no-preserve=root src both
assert_mode 1777 both
accepted src both/
assert_mode 1777 both
accepted --preserve=root src both
assert_mode 750 both
accepted --no-preserve=root src new
assert_mode 755 new

# ---- -n refuses the same, and makes nothing ----

fresh
refused 'tarpipe src/ full' -n src full
refused 'is the source' -n src src
tarpipe -n src new
assert_status 0
assert_missing new
tarpipe -n file new/
assert_status 0
assert_missing new

# ---- Ordinary users ----

fresh
if can_be_user; then
	mkdir closed closed/dir
	chmod 700 closed
	chmod 777 .
	as_user tarpipe both/a closed/dir
	assert_status 64
	assert_message 'closed/dir: stat: Permission denied'
	as_user tarpipe closed/dir new
	assert_status 64
	assert_message 'closed/dir: stat: Permission denied'
	as_user tarpipe both full/new
	assert_status 3
	assert_message 'full/new: mkdir: Permission denied'
else
	skip 'needs root and setpriv' 'as an ordinary user'
fi
done_testing
