# SPDX-License-Identifier: BSD-2-Clause
# Joins the TAP output of several programs into one TAP stream.  To be sourced:
#
#	join_begin
#	join NAME COMMAND [ARGUMENT]...		(any number of times)
#	join_end
#
# Tests are numbered anew, and NAME (may be empty) stands before each
# description.  A command that fails without a failed test, dies of a signal,
# prints no plan or other tests than planned, adds one `not ok` of its own: what
# comes out can be judged by the TAP alone, and the status stays 0.

# shellcheck shell=sh

join_begin() {
	join_count=0
	join_dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$join_dir"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

join() {
	join_name=$1
	shift
	# The status is on disk before awk sees the end of its input.
	{
		"$@" </dev/null
		echo $? >"$join_dir/status"
	} | awk -v name="$join_name" -v number="$join_count" \
		-v dir="$join_dir" "$join_awk"
	join_count=$(cat "$join_dir/count")
}

join_end() {
	echo "1..$join_count"
}

# shellcheck disable=SC2016  # awk's dollars
join_awk='
BEGIN {
	prefix = name == "" ? "" : name ": "
}

function result(how, what) {
	print how, ++number, "-", prefix what
	fflush()
}

# A plan; cmocka prints one for each group.
/^1\.\.[0-9]+/ {
	planned += substr($1, 4)
	plans++
	if ($1 == "1..0") {
		reason = $0
		sub(/^1\.\.0[ \t]*(#[ \t]*[Ss][Kk][Ii][Pp][^ \t]*)?[ \t]*/, "", reason)
		result("ok", "all # SKIP " reason)
	}
	next
}

/^(not )?ok([ \t]|$)/ {
	how = $1 == "not" ? "not ok" : "ok"
	what = $0
	sub(/^(not )?ok[ \t]*[0-9]*[ \t]*(-[ \t]+)?/, "", what)
	# cmocka 1.1 says `not ok 3 # SKIP name`, and has no place for a reason:
	# the last comment before it is taken for that.
	if (how == "not ok" && what ~ /^# SKIP /) {
		how = "ok"
		what = substr(what, 8) " # SKIP " comment
	}
	if (how == "not ok" && what !~ /# *TODO/)
		failed++
	seen++
	comment = ""
	result(how, what)
	next
}

/^Bail out!/ {
	failed++
	result("not ok", $0)
	next
}

/^#/ {
	print
	# cmocka: the end of a group.
	if ($0 !~ /^# (not )?ok - /)
		comment = substr($0, 3)
	next
}

# Anything else must not be taken for TAP.
{ print "# " $0 }

END {
	status = 1
	getline status <(dir "/status")
	if (status > 128)
		result("not ok", "died of signal " (status - 128))
	else if (status > 0 && !failed)
		result("not ok", "ended with status " status " and no failed test")
	else if (!plans && !failed)
		result("not ok", "printed no plan")
	else if (planned != seen && !failed)
		result("not ok", "planned " planned " tests, ran " (seen + 0))
	print number + 0 >(dir "/count")
}
'

# again FLAG...: every integration script that is marked for it, run with these
# flags in TARPIPE_FLAGS, as one TAP stream.
again() {
	TARPIPE_FLAGS=$*
	export TARPIPE_FLAGS TOP_SRCDIR
	join_begin
	for join_script in "$TOP_SRCDIR"/tests/it/*.sh; do
		grep -qx '# again: yes' "$join_script" || continue
		join "$(basename "$join_script" .sh)" sh "$join_script"
	done
	if [ "$join_count" = 0 ]; then
		echo "1..0 # SKIP no script in tests/it is marked \`# again: yes'"
	else
		join_end
	fi
}
