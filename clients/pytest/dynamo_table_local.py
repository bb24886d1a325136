"""A DynamoDB endpoint for pytest: dynamo_gateway with a PostgreSQL server of its own, in a folder that goes with it."""
import contextlib
import os
import secrets
import subprocess
import tempfile

import pytest

# It ends the gateway and removes the folder when its standard input ends, as it does when this process ends, however that is.
SCRIPT = """"$0" --embedded "$@" & exec >&-; read -r _; kill $! 2>/dev/null
wait $!; status=$?; [ $status = 0 ] || tail -n 20 "$1/log" >&2 2>/dev/null
rm -rf "$1"; exit $status"""


@contextlib.contextmanager
def start(program=os.environ.get("DYNAMO_GATEWAY", "dynamo_gateway"), **settings):
    """A server with no tables, as what boto3.client("dynamodb", **…) takes.  Its standard error is ours."""
    folder = os.path.join(tempfile.gettempdir(), "dynamo-table-" + secrets.token_hex(8))
    flags = [f"--{n}={v}" for n, v in {"listen": "127.0.0.1:0", "log_level": "error", **settings}.items()]
    with subprocess.Popen(["/bin/sh", "-c", SCRIPT, program, folder, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          start_new_session=True, text=True) as shell:
        told = dict(line.split("=", 1) for line in shell.stdout.read().splitlines())
        if told:
            yield {"endpoint_url": told["AWS_ENDPOINT_URL"], "region_name": told["AWS_REGION"],
                   "aws_access_key_id": told["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": told["AWS_SECRET_ACCESS_KEY"]}
    if not told:
        raise RuntimeError(f'"{program}" is not found or did not start: standard error says why')


@pytest.fixture(scope="session")
def dynamo_table():
    with start() as server:
        yield server


@pytest.fixture(scope="session")
def dynamodb(dynamo_table):
    import boto3
    return boto3.client("dynamodb", **dynamo_table)
