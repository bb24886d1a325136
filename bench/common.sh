# Sourced by the scripts in bench/: what each needs installed, its cluster, and how results are shown.
. "$(dirname "${BASH_SOURCE[0]}")/../test/common.sh"

# Install the extension and start a cluster with these options of test/cluster, which ends with the script.  $psql then
# talks to it, and files named "$cluster.…" are removed with it.  With $one_core, all that the script runs from then on shares one core.
start_cluster()
{
	need_server
	cd "$top"
	test/install
	if [ -n "${one_core:-}" ]; then
		taskset -cp "$(taskset -cp $$ | sed 's/.*[ ,-]//')" $$ >/dev/null
	fi
	cluster=$(private_dir)
	trap 'rm -f "$cluster".*; test/cluster stop "$cluster"' EXIT
	eval "$(test/cluster start --pg-config "$PG_CONFIG" --set jit=off "$@" "$cluster")"
	psql=("$PG_BIN/psql" -qX -v ON_ERROR_STOP=1)
}

# What all benchmarks need besides a server and what the gateway is built with.
bench_packages=(bc libfuse3-dev pkg-config python3 valgrind)

# The output plugin wal2json, Debian's, also where the server is another of the same major version.
need_wal2json()
{
	local major own
	[ ! -f "$("$PG_CONFIG" --pkglibdir)/wal2json.so" ] || return 0
	major=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	need_packages "postgresql-$major-wal2json"
	own=$debian_servers/$major/lib/wal2json.so
	[ -f "$("$PG_CONFIG" --pkglibdir)/wal2json.so" ] || as_root cp "$own" "$("$PG_CONFIG" --pkglibdir)/"
}

# What writers are measured with: no flush, and nothing that runs in between of itself.
writer_settings=(--set synchronous_commit=off --set autovacuum=off --set max_wal_size=16GB --set checkpoint_timeout=1h --set max_parallel_workers_per_gather=0)

# A view as a Markdown table.
print_table()
{
	"${psql[@]}" -F ' | ' --pset footer=off -A -c "SELECT * FROM $1" | awk -F ' [|] ' '
		{ print "| " $0 " |" }
		NR == 1 { printf "|"; for (i = 1; i <= NF; i++) printf "---|"; print "" }'
}
