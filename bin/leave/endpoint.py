"""DynamoDB's operations at an endpoint, by boto3, and at our own tables, by dyn_request.  Items are in DynamoDB JSON with binary values as
base64, as they are in lines."""
import base64
import datetime
import json
import random
import threading
import time

import boto3
import botocore.config
import botocore.exceptions
import botocore.parsers
import psycopg

from .common import Failure, Stopped, say

STREAM_OPERATIONS = 'DescribeStream', 'GetShardIterator', 'GetRecords'
PASSING = {'ProvisionedThroughputExceededException', 'ThrottlingException', 'Throttling', 'RequestLimitExceeded', 'LimitExceededException', 'InternalServerError',
           'InternalFailure', 'ServiceUnavailable', 'ServiceUnavailableException', 'TransactionConflictException', 'RequestTimeout'}


class Refusal(Exception):
    """An operation that is answered by an error, which is not one that passes."""

    def __init__(self, code, message):
        super().__init__(f'{code}: {message}')
        self.code, self.message = code, message


def from_boto(value):
    if isinstance(value, dict):
        return {name: from_boto(v) for name, v in value.items()}
    if isinstance(value, list):
        return [from_boto(v) for v in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    return value


def value_to_boto(value):
    (code, payload), = value.items()
    if code == 'B':
        return {code: base64.b64decode(payload)}
    if code == 'BS':
        return {code: [base64.b64decode(v) for v in payload]}
    if code == 'L':
        return {code: [value_to_boto(v) for v in payload]}
    if code == 'M':
        return {code: item_to_boto(payload)}
    return value


def item_to_boto(item):
    return {name: value_to_boto(v) for name, v in item.items()}


class Endpoint:
    """A DynamoDB endpoint.  What passes is tried again until it works, but for the first answer."""

    def __init__(self, source, streams_source=None, region=None, connections=10):
        url = source if '://' in source else None
        region = region or (source if url is None else None)
        settings = botocore.config.Config(retries={'total_max_attempts': 1, 'mode': 'standard'}, max_pool_connections=connections, connect_timeout=10,
                                          read_timeout=60, parameter_validation=False)
        try:
            session = boto3.session.Session(region_name=region)
            if session.region_name is None:
                session = boto3.session.Session(region_name='us-east-1')
            self.items = session.client('dynamodb', endpoint_url=url, config=settings)
            self.streams = session.client('dynamodbstreams', endpoint_url=streams_source or url, config=settings)
        except (botocore.exceptions.BotoCoreError, ValueError) as error:
            raise Failure(error)
        self.name = source
        self.answered = False
        self.stopped = threading.Event()

    @staticmethod
    def native(item):
        return item_to_boto(item)

    def call(self, operation, **parameters):
        client = self.streams if operation in STREAM_OPERATIONS else self.items
        method = getattr(client, botocore.xform_name(operation))
        tries = 0
        while True:
            if self.stopped.is_set():
                raise Stopped('stopped')
            try:
                answer = method(**parameters)
                length = answer.pop('ResponseMetadata')['HTTPHeaders'].get('content-length', '0')
                # the library takes an answer whose body never came for an empty one
                if not answer and int(length) > len('{}'):
                    raise botocore.exceptions.ConnectionClosedError(endpoint_url=self.name)
                self.answered = True
                return from_boto(answer)
            except botocore.exceptions.ClientError as error:
                code, message = (error.response.get('Error', {}).get(name, '') for name in ('Code', 'Message'))
                # without a body the code is the status
                came = message or not code.isdigit()
                if came and code not in PASSING and error.response.get('ResponseMetadata', {}).get('HTTPStatusCode', 0) < 500:
                    raise Refusal(code, message)
                problem = error
            except (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError, botocore.parsers.ResponseParserError) as error:
                problem = error
            except botocore.exceptions.BotoCoreError as error:
                # no credentials, for instance
                raise Failure(f'{self.name}: {error}')
            tries += 1
            if not self.answered and tries >= 8:
                raise Failure(f'{self.name} does not answer: {problem}')
            if tries % 10 == 0:
                say(f'{self.name}: {problem}; {operation} is tried again')
            if self.stopped.wait(random.uniform(0.5, 1) * min(0.05 * 2 ** min(tries, 10), 10)):
                raise Stopped('stopped')


class Own:
    """Our own tables.  An error of a request is what a gateway would make of it."""

    CODES = {'YD001': 'ValidationException', 'YD008': 'ResourceNotFoundException', 'YD011': 'TrimmedDataAccessException', 'YD012': 'ExpiredIteratorException'}

    def __init__(self, database):
        self.database = database
        self.name = 'this database'
        self.local = threading.local()
        self.stopped = threading.Event()

    @staticmethod
    def native(item):
        return item

    def call(self, operation, **parameters):
        while True:
            try:
                if getattr(self.local, 'connection', None) is None:
                    self.local.connection = self.database.connect()
                return self.local.connection.call('dyn_request(%s::pg_catalog.text, %s::pg_catalog.text)', operation, json.dumps(parameters))[0]
            except psycopg.Error as error:
                if self.database.passes(error):
                    self.local.connection = None
                    if self.stopped.wait(0.5):
                        raise Stopped('stopped')
                else:
                    raise Refusal(self.CODES.get(error.sqlstate, error.sqlstate), str(error).split('\n')[0])


class Units:
    """Read units a second, paid after they were used."""

    def __init__(self, rate):
        self.rate, self.paid, self.lock, self.total = rate, time.monotonic(), threading.Lock(), 0.0

    def pay(self, units):
        with self.lock:
            self.total += units
            if not self.rate:
                return
            self.paid = max(self.paid, time.monotonic() - 1) + units / self.rate
            pause = self.paid - time.monotonic()
        if pause > 0:
            time.sleep(pause)
