# Sourced by the scripts in test/ and bench/: who runs what, and where things are.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Where Debian has its servers, each in a folder with its major's name.
debian_servers=/usr/lib/postgresql

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

# The version of a package that is installed, or nothing.
version_of()
{
	dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii //p'
}

# Those of the Debian packages that are not installed.
missing_packages()
{
	local p
	for p in "$@"; do
		[ -n "$(version_of "$p")" ] || echo "$p"
	done
}

# What apt-get is told to install for the packages named.  An upgrade of a server would restart its
# clusters, which are none of ours, so each stays at its version, and gets the development files of
# that version: newer headers may name functions that it lacks.  Where the archive has these no
# longer, the server is upgraded with them if none of its clusters runs.
apt_arguments()
{
	local p major version servers dev=" $* "
	servers=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 'postgresql-[0-9]*' 2>/dev/null |
		sed -nE 's/^ii +postgresql-([0-9]+)$/\1/p')
	for p in "$@"; do
		[[ $p == postgresql-server-dev-* ]] && grep -qxF "${p##*-}" <<<"$servers" || echo "$p"
	done
	for major in $servers; do
		version=$(version_of "postgresql-$major")
		p=postgresql-server-dev-$major
		if [[ $dev != *" $p "* ]]; then
			echo "postgresql-$major=$version"
		elif apt-cache madison "$p" | grep -qF "| $version |"; then
			echo "postgresql-$major=$version $p=$version"
		elif ! grep -qsz "^$debian_servers/$major/bin/postgres" /proc/[0-9]*/cmdline; then
			echo "postgresql-$major $p"
		else
			die "$p is not to be had in version $version, that of the server. As root, and as its clusters will be restarted:
  apt-get install postgresql-$major $p"
		fi
	done
}

# What the parts of the tests need.
tap_packages=(perl libipc-run-perl python3)
python_packages=(python3 python3-psycopg2)
gateway_packages=(pkg-config libmicrohttpd-dev libpq-dev libssl-dev zlib1g-dev)
fuzz_packages=(clang libclang-rt-dev python3)
client_packages=(libpq-dev libpostgresql-jdbc-java "${python_packages[@]}")
command -v javac >/dev/null || client_packages+=(default-jdk-headless)
node_packages=()
command -v node >/dev/null || node_packages+=(nodejs)
command -v npm >/dev/null || node_packages+=(npm)
client_packages+=("${node_packages[@]}")
# What the programs in examples need besides.
language_packages=(python3-psycopg python3-sqlalchemy golang-go golang-github-jackc-pgx-v4-dev)
gateway_test_packages=(python3 pgbouncer python3-botocore)
gateway_client_packages=(python3-boto3 python3-pytest awscli chromium "${node_packages[@]}")

# Whether as_root works without more than a password.
may_be_root()
{
	[ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -v 2>/dev/null; }
}

# apt-get, by one script at a time: servers are built while tests run.  A service that a package starts does not
# inherit the lock.
apt_get()
{
	as_root env DEBIAN_FRONTEND=noninteractive flock --close /var/lib/apt apt-get "$@" >/dev/null
}

# Run a command during which no cluster of Debian's is made or started: a package of a server makes one, and starts those
# that are stopped.  What is running is left alone.  Settings of the machine's own are not changed; what this adds is gone
# with its process.
without_clusters()
{
	settings=/etc/postgresql-common/createcluster.d policy=/usr/sbin/policy-rc.d made=
	[ ! -e "$policy" ] || policy=
	[ -d "$settings" ] || made=$settings
	trap 'rm -f "$settings/zz-dynamo_table.conf" $policy
		[ -z "$made" ] || rmdir -p --ignore-fail-on-non-empty "$made"' EXIT
	mkdir -p "$settings"
	echo 'create_main_cluster = false' >"$settings/zz-dynamo_table.conf"
	if [ -n "$policy" ]; then
		printf '#!/bin/sh\ncase $1 in postgresql* | pgbouncer*) exit 101 ;; esac\n' >"$policy"
		chmod +x "$policy"
	fi
	"$@"
}

# Install packages by apt-get's arguments, and tell before what comes along and how large that is.
apt_install()
{
	local arguments
	arguments=(install -y -q --no-install-recommends $(apt_arguments "$@")) || return 1
	LC_ALL=C apt-get "${arguments[@]}" --print-uris 2>/dev/null |
		sed -nE '/^[0-9]+ upgraded|^Need to get|^After this operation/s/^/  /p' >&2
	as_root env DEBIAN_FRONTEND=noninteractive flock --close /var/lib/apt \
		bash -c "$(declare -f without_clusters); without_clusters apt-get \"\$@\"" bash "${arguments[@]}" >/dev/null
}

# Install the Debian packages that are missing.
need_packages()
{
	local missing
	command -v dpkg-query >/dev/null ||
		die "this machine is not Debian: install what these packages have, and use make as README.md says: $*"
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	may_be_root || die "packages are missing, and installing them needs root or sudo. As root:
  apt-get install --no-install-recommends $missing"
	echo "installing: $missing" >&2
	apt_get update -q || die "apt-get update failed"
	apt_install $missing || die "these packages could not be installed: $missing"
}

# What some tests run beside, for Debian's servers: $PG_CONFIG's.
neighbour_packages()
{
	"$PG_CONFIG" --bindir | sed -nE "s|^$debian_servers/([0-9]+)/bin\$|postgresql-\1-pgaudit|p"
}

# Install those of the Debian packages that are missing and can be had.  The tests that need the
# others are skipped.
want_packages()
{
	local missing
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if may_be_root; then
		echo "installing: $missing" >&2
		apt_get update -q && apt_install $missing && return
	fi
	echo "not installed, so some tests are skipped: $missing" >&2
}

# Where test/build-server and test/debian-server keep what they make.
servers_folder()
{
	echo "${DYNAMO_TABLE_SERVERS:-/var/tmp/dynamo_table-servers-$(server_user)}"
}

# The mirror of Debian that this machine is configured to use, or nothing.
debian_mirror()
{
	apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(RELEASE)' 'Created-By: Packages' |
		awk '$2 == "main" && $3 ~ /^(bookworm|trixie|forky|sid)$/ { print $1; exit }'
}

# apt-get with source lists of our own in $apt_dir, beside the system's: the same mirror, the suite wanted.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
apt_own()
{
	local trusted=()
	[ -f "$keyring" ] && trusted=(-o "Dir::Etc::Trusted=$keyring")
	apt-get -q -o "Dir::Etc::SourceList=$apt_dir/sources.list" -o "Dir::Etc::SourceParts=$apt_dir/parts" \
		-o "Dir::State::Lists=$apt_dir/lists" -o "Dir::Cache=$apt_dir/cache" "${trusted[@]}" \
		-o APT::Sandbox::User= "$@"
}

# Set $apt_dir to a folder for that, which is removed with its process.
begin_apt()
{
	apt_dir=$(private_dir)
	trap 'rm -rf "$apt_dir"' EXIT
	mkdir -p "$apt_dir"/{lists/partial,cache/archives/partial,parts,src}
}

# apt_source MIRROR SUITE PACKAGE: the source of a package, in $apt_dir/src
apt_source()
{
	echo "deb-src $1 $2 main" >"$apt_dir/sources.list"
	apt_own update >&2
	(cd "$apt_dir/src" && apt_own source --download-only --tar-only "$3" >&2)
}

# pgvector for $PG_CONFIG's server, which the tests of vector indexes need; without it they are skipped.
want_pgvector()
{
	"$top/test/pgvector" >/dev/null || echo "pgvector is not installed, so the tests of vector indexes are skipped" >&2
}

# What apt prefers where packages of a major's server are in experimental: these, and no other package of it.
prefer_experimental()
{
	printf '%s\n' "Package: /postgresql-.*$1/ /^libpq/" "Pin: release a=experimental" "Pin-Priority: 600"
}

# The pg_config of a server of that major: $PG_CONFIG_16 and so on if it is set, or one that test/build-server builds.
server_config()
{
	local given=PG_CONFIG_$1
	if [ -n "${!given:-}" ]; then
		echo "${!given}"
	else
		"$top/test/build-server" "$1"
	fi
}

# Whether Debian serves a major as packages without their source, so that test/build-server cannot build it and
# test/debian-server has it.
without_source()
{
	local given=PG_CONFIG_$1
	[ "$1" = 19 ] && [ -z "${!given:-}" ]
}

# on_server MAJOR COMMAND…: with $PG_CONFIG set to that of a server of the major
on_server()
{
	local config
	if without_source "$1"; then
		"$top/test/debian-server" "$@"
	else
		config=$(server_config "$1") && PG_CONFIG=$config "${@:2}"
	fi
}

skip()
{
	echo "skipped: $*"
	exit 0
}

in_namespaces()
{
	unshare --mount --pid --fork --kill-child --mount-proc --propagation private "$@"
}

# Go on in namespaces, which hold the mounts, the processes, and the files in $work: they end with the test however it ends.
# The test is skipped where this cannot be, or where packages of $tools are not to be had.  Arguments are the script's.
enter_namespaces()
{
	local missing
	if [ -n "${in_namespaces:-}" ]; then
		# in memory: a package manager waits for each file that it writes to a disk
		mount -t tmpfs -o mode=755 tmpfs "$work"
		return
	fi
	[ "$(id -u)" = 0 ] || skip "a chroot needs root"
	in_namespaces mount -t tmpfs tmpfs /mnt 2>/dev/null || skip "root may not mount on this machine"
	git rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "this is no git repository"
	[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt 4000000 ] || skip "this needs 4 GB of memory"
	want_packages "${tools[@]}"
	missing=$(missing_packages "${tools[@]}" | tr '\n' ' ')
	[ -z "$missing" ] || skip "these packages cannot be had: $missing"
	work=$(mktemp -d "${TMPDIR:-/tmp}/dynamo_table.XXXXXX")
	trap 'rmdir "$work"' EXIT
	in_namespaces=1 work=$work in_namespaces "$0" "$@"
	exit
}

# The folder in which the extension is built for the server of a pg_config.
build_folder()
{
	echo "$top/build/$("$1" --version | tr -dc 'A-Za-z0-9.')-$("$1" --bindir | cksum | cut -d' ' -f1)"
}

# A new folder that the server's user owns and nobody else may enter.
private_dir()
{
	local d
	d=$(mktemp -d "${TMPDIR:-/tmp}/dynamo_table.XXXXXX")
	[ "$(id -u)" = 0 ] && chown "$(server_user):" "$d"
	echo "$d"
}

# Whether a pg_config is that of a server, of a major that the extension is for.
is_our_server()
{
	local major
	[ -x "$("$1" --bindir 2>/dev/null)/postgres" ] || return 1
	major=$("$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
	[ "$major" -ge 15 ] && [ "$major" -le 19 ]
}

# Set $PG_CONFIG, unless it is set, to that of a server on this machine: the one in the PATH, or
# the newest of Debian's.  pg_config alone proves nothing, since clients have it too.
find_server()
{
	local candidate
	[ -z "${PG_CONFIG:-}" ] || return 0
	while read -r candidate; do
		if [ -n "$candidate" ] && is_our_server "$candidate"; then
			PG_CONFIG=$candidate
			return 0
		fi
	done < <(command -v pg_config || true; printf '%s\n' "$debian_servers"/*/bin/pg_config | sort -rV)
	return 1
}

# The major version of the release's own server, if the extension is for it and apt-cache knows it.
default_major()
{
	apt-cache depends postgresql 2>/dev/null | sed -nE 's/^ *Depends: postgresql-(1[5-9])$/\1/p'
}

# Packages that are missing where one builds for the server of $PG_CONFIG, if there is one.
server_packages()
{
	local major
	if ! find_server; then
		major=$(default_major)
		# a new machine has no lists of packages
		[ -n "$major" ] || ! may_be_root || major=$(apt_get update -q && default_major) || true
		echo "postgresql${major:+-$major} postgresql-server-dev-${major:-all}"
	elif ! [ -f "$("$PG_CONFIG" --includedir-server)/postgres.h" ]; then
		"$PG_CONFIG" --bindir | sed -nE "s|^$debian_servers/([0-9]+)/bin\$|postgresql-server-dev-\1|p"
	fi
}

# The tools to build with, the packages named, and the server in $PG_CONFIG or, without it, one
# that is installed or Debian's.
need_server()
{
	mkdir -p "$top/build" 2>/dev/null && [ -w "$top/build" ] ||
		die "cannot write to \"$top\": build from a copy of this folder that you may write to"
	need_packages make gcc libc6-dev flex bison "$@" $(server_packages)
	find_server || die "no server of PostgreSQL 15 to 19 is installed: set PG_CONFIG to its pg_config"
	is_our_server "$PG_CONFIG" || die "$PG_CONFIG is not of a server of PostgreSQL 15 to 19"
	[ -f "$("$PG_CONFIG" --includedir-server)/postgres.h" ] && [ -f "$("$PG_CONFIG" --pgxs)" ] ||
		die "the server of $PG_CONFIG has no development files"
	export PG_CONFIG
}

# Build the gateway, in build/gateway.
build_gateway()
{
	make -q -C "$top" gateway >/dev/null 2>&1 || echo "compiling the gateway" >&2
	make -s -j"$(nproc)" -C "$top" gateway >&2
}

# check NAME COMMAND…: counts in passed and failed whether a command fails, and shows what it prints then.
check()
{
	local name=$1 out
	shift
	out=$(mktemp)
	if "$@" >"$out" 2>&1; then
		passed=$((passed + 1))
		echo "ok - $name"
	else
		failed=$((failed + 1))
		echo "not ok - $name"
		tail -n 100 "$out" | sed 's/^/    /'
	fi
	rm -f "$out"
}

parts_passed=0 parts_failed=0

# How the tests tell of a failure, each its own way: prove, pg_regress, test/docs and the others.
failure_line='^ *not ok|^[A-Za-z.]+(Error|Exception): |^test .*FAILED|^# +Failed test|^Dubious|^Bail out|[(]Wstat: |'
failure_line+='^error running SQL|^diff -|^[^ ]+:[0-9]+: (failed|prints|should fail|not reached)|: error: |: \*\*\* '

# Run a part of the suite; its last line says "name: N passed, N failed", or without the name, or
# "skipped: " and why.  $REPORT, a folder of the first script of those that call each other, collects
# what failed and how long each part took, which its report_parts tells at the end.
run_part()
{
	local out line started=${PART_STARTED:-$SECONDS} name=${PART_NAME:-$*} told status=0
	begin_report
	told=$(wc -l <"$REPORT/failures")
	out=$(mktemp)
	echo "== $name"
	PART_DEPTH="${PART_DEPTH:-}  " "$@" 2>&1 | tee "$out" || status=$?
	printf '%6d s%s  %s\n' $((SECONDS - started)) "${PART_DEPTH:-}" "$name" | tee -a "$REPORT/times" | sed 's/^ */-- /'
	if [ "$status" = 0 ] && [[ $(tail -1 "$out") == "skipped: "* ]]; then
		rm -f "$out"
		return
	fi
	line=$(grep -E '^([a-z]+: )?[0-9]+ passed, [0-9]+ failed$' "$out" | tail -1) || true
	if [ -z "$line" ]; then
		echo "$name: ended without a result" | tee -a "$out"
		line="0 passed, 1 failed"
	elif [ "$status" != 0 ] && [[ $line == *", 0 failed" ]]; then
		echo "$name: ended with status $status" | tee -a "$out"
		line="${line%0 failed}1 failed"
	fi
	line=${line#*: }
	parts_passed=$((parts_passed + ${line%% passed*}))
	line=${line#*, }
	line=${line%% failed*}
	parts_failed=$((parts_failed + line))
	# a part of parts has told of them by itself
	if [ "$line" != 0 ] && [ "$told" = "$(wc -l <"$REPORT/failures")" ]; then
		{
			echo "== $name: $line failed"
			grep -aE -A 6 "$failure_line" "$out" >"$out.failures" || tail -n 20 "$out" >"$out.failures"
			head -n 60 "$out.failures"
		} >>"$REPORT/failures"
	fi
	rm -f "$out" "$out.failures"
}

# Run parts side by side, a word each, and tell of them one after the other.
run_parts()
{
	local n told=() running=() status started=$SECONDS
	begin_report
	for n; do
		told+=("$(mktemp)")
		# shellcheck disable=SC2086 # a command and its arguments
		PART_DEPTH="${PART_DEPTH:-}  " $n >"${told[-1]}" 2>&1 &
		running+=($!)
	done
	for n in "${!running[@]}"; do
		status=0
		wait "${running[n]}" || status=$?
		PART_NAME=${*:n+1:1} PART_STARTED=$started run_part tell "$status" "${told[n]}"
		rm -f "${told[n]}"
	done
}

# What a command has told, of which the status is left.
tell()
{
	cat "$2"
	return "$1"
}

begin_report()
{
	[ -n "${REPORT:-}" ] || { REPORT=$(mktemp -d) && export REPORT && owns_report=1 && touch "$REPORT/failures" "$REPORT/times"; }
}

report_parts()
{
	if [ -n "${owns_report:-}" ]; then
		echo "how long each part took:"
		cat "$REPORT/times"
		[ ! -s "$REPORT/failures" ] || { echo "what failed:" && cat "$REPORT/failures"; }
		rm -rf "$REPORT"
	fi
	echo "$parts_passed passed, $parts_failed failed"
	[ "$parts_failed" = 0 ]
}
