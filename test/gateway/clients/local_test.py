"""The fixtures for pytest, by pytest."""
import os
import signal
import subprocess
import sys
import tempfile
import time

import boto3
import pytest
from botocore.exceptions import ClientError
from dynamo_table_local import start

pytest_plugins = ["dynamo_table_local"]
TABLE = {"TableName": "Music", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
         "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}


@pytest.fixture
def temporary(tmp_path_factory, monkeypatch):
    """Where servers have their folders in a test; the gateway may be another user."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield folder


def read(path, how=lambda path: open(path).read()):
    try:
        return how(path)
    except OSError:
        return ""


def traces(folder):
    """Processes of servers whose folders are there, and these."""
    processes = [p for p in os.listdir("/proc") if p.isdigit() and (folder in read(f"/proc/{p}/cmdline") or folder in read(f"/proc/{p}/cwd", os.readlink))]
    return processes + os.listdir(folder)


def program(code):
    return subprocess.Popen([sys.executable, "-c", "import time; from dynamo_table_local import start; " + code], stdout=subprocess.PIPE)


def until(done):
    end = time.time() + 600
    while not done():
        assert time.time() < end
        time.sleep(0.1)


def test_put_and_get(dynamodb):
    dynamodb.create_table(**TABLE)
    dynamodb.put_item(TableName="Music", Item={"pk": {"S": "a"}})
    assert dynamodb.get_item(TableName="Music", Key={"pk": {"S": "a"}})["Item"] == {"pk": {"S": "a"}}


def test_the_server_is_one(dynamo_table):
    assert boto3.client("dynamodb", **dynamo_table).list_tables()["TableNames"] == ["Music"]


def test_several(temporary):
    with start() as one:
        with start(region="eu-west-1") as other:
            assert other["region_name"] == "eu-west-1"
            assert boto3.client("dynamodb", **other).list_tables()["TableNames"] == []
            with pytest.raises(ClientError, match="UnrecognizedClientException"):
                boto3.client("dynamodb", **{**other, "aws_access_key_id": one["aws_access_key_id"]}).list_tables()
            assert len(os.listdir(temporary)) == 2
        assert len(os.listdir(temporary)) == 1
        boto3.client("dynamodb", **one).create_table(**TABLE)
    assert traces(temporary) == []


def test_nothing_is_left_when_the_parent_is_killed(temporary):
    with program("server = start(); print(server.__enter__(), flush=True); time.sleep(600)") as parent:
        assert b"endpoint_url" in parent.stdout.readline()
        assert len(traces(temporary)) > 3
        parent.send_signal(signal.SIGKILL)
        until(lambda: traces(temporary) == [])


def test_errors(temporary, capfd):
    with pytest.raises(RuntimeError, match='"/nowhere/dynamo_gateway" is not found or did not start'):
        with start("/nowhere/dynamo_gateway"):
            pass
    assert "/nowhere/dynamo_gateway: not found" in capfd.readouterr().err
    with pytest.raises(RuntimeError, match="did not start"):
        with start(postgres="/nowhere"):
            pass
    assert '"/nowhere" has no programs of PostgreSQL' in capfd.readouterr().err
    assert traces(temporary) == []
