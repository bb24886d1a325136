# Sourced by the scripts that run a gateway: one in front of a private cluster.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# The program: one that is built already, for instance with other options, or the tree's.
gateway=${GATEWAY:-$top/build/gateway/dynamo_gateway}

# Build the gateway, and start a cluster with the extension and what streams need, which ends with the script.  $psql
# then talks to it, and $gateway_settings has what a gateway in front of it is started with.
start_database()
{
	need_server "${gateway_packages[@]}" "$@"
	cd "$top"
	[ -n "${GATEWAY:-}" ] || build_gateway
	test/install
	cluster=$(private_dir)
	trap 'stop_gateway; "$top/test/cluster" stop "$cluster"' EXIT
	eval "$(test/cluster start --pg-config "$PG_CONFIG" --preload --set wal_level=logical --set max_connections=200 "${cluster_settings[@]}" "$cluster")"
	psql=("$PG_BIN/psql" -qX -v ON_ERROR_STOP=1)
	"${psql[@]}" -c 'CREATE EXTENSION dynamo_table' -c 'CALL dyn_setup_streams()' -c 'CREATE ROLE gateway LOGIN' \
		-c 'GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway' \
		-c "ALTER ROLE gateway SET lock_timeout = '2s'" -c "ALTER ROLE gateway SET statement_timeout = '30s'"
	"$gateway" --create-key-file "$cluster/key"
	gateway_settings=(--listen 127.0.0.1:0 --database "host=$cluster user=gateway dbname=postgres" --key-file "$cluster/key" --region us-east-1)
}
cluster_settings=()

# start_gateway [SETTING…]: on a free port.  $gateway_pid is its process, $AWS_ENDPOINT_URL and so on tell clients where
# it is, and $cluster/gateway.log has what it says.
gateway_pid=
start_gateway()
{
	: >"$cluster/gateway.log"
	"$gateway" "${gateway_settings[@]}" "$@" >>"$cluster/gateway.log" 2>&1 &
	gateway_pid=$!
	local address=
	until address=$(sed -nE 's/.*listening.* address=([^ ]*).*/\1/p' "$cluster/gateway.log") && [ -n "$address" ]; do
		kill -0 "$gateway_pid" 2>/dev/null || { cat "$cluster/gateway.log" >&2; die "the gateway did not start"; }
		sleep 0.05
	done
	gateway_port=${address##*:}
	export AWS_ENDPOINT_URL=http://127.0.0.1:$gateway_port AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
}

# stop_gateway [SIGNAL]
stop_gateway()
{
	[ -n "$gateway_pid" ] || return 0
	kill "-${1:-TERM}" "$gateway_pid" 2>/dev/null || true
	wait "$gateway_pid" 2>/dev/null || true
	gateway_pid=
}

# create_key ROLE: prints the two lines of the shell that an SDK reads a key from.  The gateway's login may act for the role.
create_key()
{
	"${psql[@]}" -c "GRANT \"$1\" TO gateway"
	"$gateway" --create-key "$1" --key-file "$cluster/key" --database "host=$cluster user=postgres dbname=postgres"
}

# Node packages that the clients and benchmarks need, at the versions of package-lock.json, in $clients.
clients=$top/build/gateway-clients
install_clients()
{
	local source=$top/test/gateway/clients
	command -v npm >/dev/null || die "npm is missing"
	mkdir -p "$clients"
	cp "$source"/*.js* "$clients/"
	if ! cmp -s "$clients/package-lock.json" "$clients/node_modules/.installed"; then
		(cd "$clients" && npm ci --no-audit --no-fund --loglevel=error) >&2
		cp "$clients/package-lock.json" "$clients/node_modules/.installed"
	fi
}

# The generator of load, in $load.
build_load()
{
	load=$top/build/gateway_load
	gcc -O2 -Wall -Wextra -Werror -o "$load" "$top/test/gateway/load.c" -lcrypto -lz
}

# What the gateway has in memory, in kB.
gateway_memory()
{
	sed -nE 's/^VmRSS:[^0-9]*([0-9]+).*/\1/p' "/proc/$gateway_pid/status"
}

# The clients stop and start the server that the gateway is in front of by a script, $clients/server.
write_server_script()
{
	{
		echo '#!/usr/bin/env bash'
		declare -f as_server server_user
		echo "cd / && as_server '$PG_BIN/pg_ctl' -w -D '$cluster/data' -l '$cluster/server.log' \"\$@\""
	} >"$clients/server"
	chmod +x "$clients/server"
}
