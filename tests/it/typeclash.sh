#!/bin/sh
# typeclash.sh: each type over each other type.
# again: yes
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir target target/dir
echo target >target/file
echo in >target/dir/in
chmod 640 target/file
chmod 750 target/dir
touch -d '2001-02-03 04:05:06.5' target/file target/dir/in target/dir
targets=$(snapshot target)

# make KIND NAME TEXT
make() {
	case $1 in
	file) echo "$3" >"$2" ;;
	empty-dir) mkdir "$2" ;;
	full-dir) mkdir "$2" && echo "$3" >"$2/in" && mkdir "$2/sub-$3" && echo "$3" >"$2/sub-$3/deep" ;;
	link-to-file) ln -s "$work/target/file" "$2" ;;
	link-to-dir) ln -s "$work/target/dir" "$2" ;;
	fifo) mkfifo "$2" ;;
	nothing) ;;
	esac
}

# what_is NAME: its type and what it holds, in a few words.
what_is() {
	if [ -L "$1" ]; then
		echo "link $(readlink "$1")"
	elif [ -d "$1" ]; then
		echo "directory $(cd "$1" && find . -type f -exec grep -H . {} + | sort | tr '\n' ' ')"
	elif [ -f "$1" ]; then
		echo "file $(cat "$1")"
	elif [ -p "$1" ]; then
		echo fifo
	elif ! [ -e "$1" ]; then
		echo nothing
	fi
}

# expect SRC-KIND DST-KIND: what must come of it:
# same (as the source), merged, kept (as it was, told), unasked (as it was).
expect() {
	case $1,$2 in
	nothing,*) echo unasked ;;
	*,nothing) echo same ;;
	*-dir,link-to-dir) [ "$1" = link-to-dir ] && echo same || echo kept ;;
	link-to-dir,full-dir) echo kept ;;
	link-to-dir,empty-dir) echo either ;;
	*-dir,full-dir | *-dir,empty-dir) echo merged ;;
	*,full-dir) echo kept ;;
	*,empty-dir) echo either ;;
	link-to-dir,*) echo same ;;
	*-dir,*) echo either ;;
	*) echo same ;;
	esac
}

kinds='file empty-dir full-dir link-to-file link-to-dir fifo nothing'
for from in $kinds; do
	for to in $kinds; do
		context="$from over $to"
		rm -rf src dst
		mkdir src dst
		echo before >src/a
		echo after >src/z
		echo besides >dst/besides
		make "$from" src/name new
		make "$to" dst/name old
		wanted=$(what_is src/name)
		was=$(what_is dst/name)
		tarpipe src/ dst
		now=$(what_is dst/name)
		outcome=$(expect "$from" "$to")
		if [ "$outcome" = either ]; then
			outcome=same
			[ "$status" -eq 0 ] || outcome=kept
		fi
		case $outcome in
		same)
			is "$status,$now" "0,$wanted" 'has become the source'
			assert_silent
			;;
		unasked)
			is "$status,$now" "0,$was" 'is as it was'
			assert_silent
			;;
		kept)
			is "$status,$now" "2,$was" 'is as it was, status 2'
			assert_message '.*name: '
			assert_well_formed
			;;
		merged)
			is "$status" 0 'status 0'
			sh "$tools/compare-trees" --extra src dst >"$base/lib/said" 2>&1
			is $? 0 'all of the source is there'
			if [ "$to" = full-dir ]; then
				assert_content old dst/name/sub-old/deep
			fi
			;;
		esac
		is "$(cat dst/a dst/z dst/besides)" "before
after
besides" 'the rest is there'
		is "$(find dst -mindepth 1 -maxdepth 1 | sort | grep -v -x dst/name | tr '\n' ' ')" \
			'dst/a dst/besides dst/z ' 'and nothing else'
		is "$(snapshot target)" "$targets" 'targets of links are untouched'
	done
done

context='--keep-directory-symlink'
rm -rf src dst
mkdir src dst elsewhere
make full-dir src/name new
ln -s "$work/elsewhere" dst/name
tarpipe --keep-directory-symlink src dst
assert_status 0
assert_target "$work/elsewhere" dst/name
assert_content new elsewhere/in
assert_content new elsewhere/sub-new/deep
done_testing
