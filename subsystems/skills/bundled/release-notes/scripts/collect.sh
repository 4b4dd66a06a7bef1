#!/bin/sh
# Prints what changed between two points of a git history, for release notes.
# usage: collect.sh [FROM [TO]]    FROM: the last tag before TO, or the beginning; TO: HEAD
# Reads only. Exit code 0 with the report, 1 with one line about what is wrong.
set -eu

fail() {
	echo "collect: $*" >&2
	exit 1
}

command -v git >/dev/null 2>&1 || fail "git is not installed"
git rev-parse --git-dir >/dev/null 2>&1 || fail "this directory is in no git repository"
to=${2:-HEAD}
git rev-parse --verify --quiet --end-of-options "$to^{commit}" >/dev/null || fail "there is no commit $to"
from=${1:-}
if [ -z "$from" ]; then
	# A tag on TO itself is the release to be described, so look before it.
	from=$(git describe --tags --abbrev=0 "$to^" 2>/dev/null || true)
fi
if [ -n "$from" ]; then
	git rev-parse --verify --quiet --end-of-options "$from^{commit}" >/dev/null || fail "there is no commit $from"
	range=$from..$to
else
	range=$to
fi

count=$(git rev-list --count --no-merges "$range")
echo "range: ${from:-the beginning}..$to"
echo "date: $(git log -1 --format=%cs "$to")"
echo "commits: $count"
[ "$count" -gt 0 ] || exit 0

echo
echo "== commits, newest first: hash, date, subject, author"
git log --no-merges --max-count=500 --format='%h %cs %s (%an)' "$range"
[ "$count" -le 500 ] || echo "... $((count - 500)) more"

echo
echo "== marked as breaking"
git log --no-merges --extended-regexp --grep='^BREAKING[ -]CHANGE' --grep='^[a-z]+(\([^)]*\))?!:' --format='%h %s' "$range"

echo
echo "== merges"
git log --merges --max-count=200 --format='%h %s' "$range"

echo
echo "== contributors: commits, name"
git log --no-merges --format='%an' "$range" | sort | uniq -c | sort -rn

echo
echo "== most changed files: lines, path"
git log --no-merges --numstat --format= "$range" |
	awk -F '\t' '$1 != "-" && NF == 3 { n[$3] += $1 + $2 } END { for (f in n) print n[f] "\t" f }' |
	sort -rn | head -20
