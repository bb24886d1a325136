# Sourced by the scripts in test/ and bench/: who runs what, and where things are.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

# Run a command as root: directly, or through sudo.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root or sudo: $*"
	fi
}

# PostgreSQL refuses to run as root, so root hands over to an unprivileged user.
server_user()
{
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# Run a command as that user.
as_server()
{
	if [ "$(id -u)" = 0 ]; then
		runuser -u "$(server_user)" -- "$@"
	else
		"$@"
	fi
}

# Install the Debian packages that are missing.
need_packages()
{
	local missing=() p
	for p in "$@"; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' || missing+=("$p")
	done
	[ ${#missing[@]} = 0 ] && return 0
	echo "installing: ${missing[*]}"
	as_root apt-get update -q >/dev/null
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
}

# A new folder that the server's user owns and nobody else may enter.
private_dir()
{
	local d
	d=$(mktemp -d "${TMPDIR:-/tmp}/dynamo_table.XXXXXX")
	[ "$(id -u)" = 0 ] && chown "$(server_user):" "$d"
	echo "$d"
}

# The tools to build with, and the server in $PG_CONFIG or, without it, the system's or Debian's.
need_server()
{
	need_packages make gcc libc6-dev flex bison
	if [ -z "${PG_CONFIG:-}" ]; then
		if ! [ -f "$(pg_config --pgxs 2>/dev/null)" ] || ! [ -x "$(pg_config --bindir)/postgres" ]; then
			need_packages postgresql postgresql-server-dev-all
		fi
		PG_CONFIG=$(command -v pg_config)
	fi
	export PG_CONFIG
}

parts_passed=0 parts_failed=0

# Run a part of the suite; its last line says "name: N passed, N failed", or without the name.
run_part()
{
	local out line
	out=$(mktemp)
	echo "== $*"
	"$@" 2>&1 | tee "$out" || true
	line=$(grep -E '^([a-z]+: )?[0-9]+ passed, [0-9]+ failed$' "$out" | tail -1)
	rm -f "$out"
	if [ -z "$line" ]; then
		echo "$*: ended without a result"
		line="0 passed, 1 failed"
	fi
	line=${line#*: }
	parts_passed=$((parts_passed + ${line%% passed*}))
	line=${line#*, }
	parts_failed=$((parts_failed + ${line%% failed*}))
}

report_parts()
{
	echo "$parts_passed passed, $parts_failed failed"
	[ "$parts_failed" = 0 ]
}
