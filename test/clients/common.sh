# Sourced by the scripts in this folder: node-pg, and a cluster to connect to.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

out=$top/build/clients

# node-pg, at the version of examples/node/package-lock.json, in $out.
install_node_pg()
{
	mkdir -p "$out"
	cp "$top"/examples/node/package*.json "$out/"
	if ! cmp -s "$out/package-lock.json" "$out/node_modules/.installed"; then
		(cd "$out" && npm ci --no-audit --no-fund --loglevel=error) >&2
		cp "$out/package-lock.json" "$out/node_modules/.installed"
	fi
}

# A cluster, with these arguments of test/cluster besides.  It has TCP for JDBC, which has nothing else.
start_cluster()
{
	cluster=$(private_dir)
	trap '"$top/test/cluster" stop "$cluster"' EXIT
	cd "$top"
	PGPORT=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')
	export PGPORT
	eval "$(test/cluster start "$@" --set listen_addresses=127.0.0.1 --set port="$PGPORT" --initdb --auth-host=scram-sha-256 "$cluster" |
		sed 's/ PGPORT=[0-9]*//')"
	psql=("$PG_BIN/psql" -qX -v ON_ERROR_STOP=1 -v password="$password")
	"${psql[@]}" <<<"ALTER ROLE postgres PASSWORD :'password'"
}

# The URL of a database for JDBC, as a role with the cluster's password.
jdbc_url()
{
	echo "jdbc:postgresql://127.0.0.1:$PGPORT/$1?user=$2&password=$password"
}
