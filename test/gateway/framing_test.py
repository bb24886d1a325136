"""HTTP: what is read, what is refused, and how every answer looks (GW01 to GW16)."""
import base64
import gzip
import json
import os
import re
import tempfile
import time
import zlib

from gateway import Gateway, crc, done, head, in_thread, is_, ok, post, until

LIST = post('ListTables', b'{}')
MAX_BODY = 16 * 1024 * 1024
NOT_FOUND = b'<UnknownOperationException/>\n'
SERIALIZATION = {'__type': 'com.amazon.coral.service#SerializationException'}
UNKNOWN = {'__type': 'com.amazon.coral.service#UnknownOperationException'}


def chunked(*pieces, trailer=b''):
    return b''.join(b'%x\r\n%s\r\n' % (len(p), p) for p in pieces) + b'0\r\n' + trailer + b'\r\n'


def preflight(origin):
    return head(['OPTIONS / HTTP/1.1', 'Host: localhost', f'Origin: {origin}', 'Access-Control-Request-Method: POST',
                 'Access-Control-Request-Headers: x-amz-target, content-type'])


def refused(c, a, status=400):
    """An answer ends its connection, and nothing behind is read as a request: ours, or the library's, which knows no ids and may begin twice."""
    if a is None or a.status != status:
        return False
    if 'x-amzn-requestid' in a.headers:
        return len(a.headers['x-amzn-requestid']) == 52 and c.at_end()
    return c.ends() and b'HTTP/1.1 200' not in c.buffer


def json_of_size(size):
    """A request of ListTables of just that size."""
    return b'{' + b' ' * (size - 2) + b'}'


with Gateway('--log-level', 'debug') as g:
    # every answer
    a = g.send(LIST)
    is_(a.status, 200, 'an operation')
    ok(re.fullmatch('[A-Z0-9]{52}', a.headers['x-amzn-requestid']), 'the id of a request', a)
    is_(a.headers['x-amz-crc32'], crc(a.body), 'the checksum of an answer')
    is_(a.headers['content-type'], 'application/x-amz-json-1.0', 'the type of an answer')
    is_(a.headers['server'], 'dynamo_gateway', 'the name of the server')
    ok(re.fullmatch(r'\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT', a.headers['date']), 'the date of an answer', a)
    ok(g.send(LIST).headers['x-amzn-requestid'] != a.headers['x-amzn-requestid'], 'ids differ')
    a = g.send(post('GetItem', b'{}'))
    ok(a.status == 400 and a.headers['x-amz-crc32'] == crc(a.body) and len(a.headers['x-amzn-requestid']) == 52, 'an error has the same header', a)

    # types and targets
    a = g.send(post('ListTables', b'{}', {'Content-Type': 'application/json; charset=utf-8'}))
    is_((a.status, a.headers['content-type']), (200, 'application/json'), 'the other type, with a parameter')
    a = g.send(post('ListTables', b'{}', {'Content-Type': 'text/plain'}))
    is_((a.status, a.body), (404, NOT_FOUND), 'another type')
    a = g.send(post('ListTables', b'{}', {'Content-Type': None}))
    is_((a.status, a.body), (404, NOT_FOUND), 'a body without a type')
    a = g.send(post('ListTables', b'', {'Content-Type': None, 'X-Amz-Target': None}))
    is_((a.status, a.json), (400, UNKNOWN), 'neither a body nor a type')
    a = g.send(post('ListTables', b''))
    is_((a.status, a.json), (400, SERIALIZATION), 'an empty body')
    for body in b'{', b'{"a"}', b'{}{}', b'\x00', b'{"a":"\xff"}', b'[' * 100000:
        a = g.send(post('ListTables', body))
        is_((a.status, a.json), (400, SERIALIZATION), f'what is no JSON: {body[:20]}')
    for target in ('', 'ListTables', 'DynamoDB_20120810.', 'DynamoDB_20120810.Nothing', 'dynamodb_20120810.ListTables', 'DynamoDBStreams_20120810.ListTables',
                   'DynamoDB_20120810.ListStreams'):
        a = g.send(post('', b'{}', {'X-Amz-Target': target}))
        is_((a.status, a.json), (400, UNKNOWN), f'an unknown target: "{target}"')
    a = g.send(post('Nothing', b'{'))
    is_(a.json, SERIALIZATION, 'JSON is looked at before the target')
    a = g.send(post('', b'{}', {'X-Amz-Target': 'DynamoDBStreams_20120810.ListStreams'}))
    is_((a.status, a.json), (200, {'Streams': []}), 'streams, at the same port')
    a = g.call('DescribeEndpoints', {}, {'Host': 'localhost:8000'})
    is_(a.json, {'Endpoints': [{'Address': 'localhost:8000', 'CachePeriodInMinutes': 1440}]}, 'the endpoint is where the client is')

    # two operations answer nothing at all
    arn = g.call('DescribeTable', {'TableName': 'items'}).json['Table']['TableArn']
    for operation, rest, tags in ('TagResource', {'Tags': [{'Key': 'a', 'Value': 'b'}]}, [{'Key': 'a', 'Value': 'b'}]), ('UntagResource',
        {'TagKeys': ['a']}, []):
        a = g.call(operation, {'ResourceArn': arn, **rest})
        is_((a.status, a.body, a.headers['content-length'], a.headers['x-amz-crc32'], a.headers['content-type']),
            (200, b'', '0', '0', 'application/x-amz-json-1.0'), f'no body: {operation}')
        is_(g.call('ListTagsOfResource', {'ResourceArn': arn}).json, {'Tags': tags}, f'what was done: {operation}')
        is_(g.call(operation, {'ResourceArn': arn}).status, 400, f'an error has one: {operation}')

    # paths and methods
    for line in 'POST /x', 'POST //', 'POST /%2F', 'GET /x', 'HEAD /', 'PUT /', 'DELETE /', 'PATCH /', 'OPTIONS /', 'GET /healthz/':
        with g.connect() as c:
            c.send(head([f'{line} HTTP/1.1', 'Host: x', 'Content-Type: application/json'], b'{}') + b'{}')
            a = c.read(line.split()[0])
            is_((a.status, a.body), (404, b'' if line == 'HEAD /' else NOT_FOUND), line)
    is_(g.send(post('ListTables', b'{}', target='/?a=b')).status, 200, 'a query does not matter')
    a = g.send(head(['GET / HTTP/1.1', 'Host: x']))
    is_((a.status, a.body), (200, b'healthy: x '), 'GET / names who was asked')
    a = g.send(head(['GET / HTTP/1.1', 'Host: dynamodb.us-east-1.amazonaws.com']))
    is_((a.status, a.body, len(a.body)), (200, b'healthy: dynamodb.us-east-1.amazonaws.com ', 42), 'GET /')
    is_(a.headers['x-amz-crc32'], '3128867991', 'its checksum')

    # connections
    with g.connect() as c:
        for _ in range(3):
            c.send(LIST)
            is_(c.read().status, 200, 'one more request on a connection')
        c.send(LIST + post('GetItem', b'{}') + LIST)
        is_([c.read().status for _ in range(3)], [200, 400, 200], 'three requests in one segment')
        c.send(post('ListTables', b'{}', {'Connection': 'close'}))
        a = c.read()
        ok(a.status == 200 and c.at_end(), 'a client wants the connection to end', a)
    with g.connect() as c:
        c.send(LIST.replace(b'HTTP/1.1', b'HTTP/1.0'))
        a = c.read()
        ok(a.status == 200 and c.at_end(), 'HTTP/1.0', a)
    with g.connect() as c:
        for byte in LIST:
            c.send(bytes([byte]))
        is_(c.read().status, 200, 'a request byte by byte')

    # bodies
    def framed(*fields):
        return head(['POST / HTTP/1.1', 'Host: localhost', 'Content-Type: application/x-amz-json-1.0', 'X-Amz-Target: DynamoDB_20120810.ListTables', *fields])

    # what others take for the end of a piece, or of its extension, is not always what the library takes for it
    for name, body in {'pieces': chunked(b'{', b'"Limit":', b'3}'), 'pieces whose lines end with LF': b'2\n{}\n0\n\n',
                       'an extension with LF': b'2;x\n{}\r\n0\r\n\r\n', 'an extension with CR': b'2;x\ry\r\n{}\r\n0\r\n\r\n',
                       'an extension of the last piece': b'2\r\n{}\r\n0;x\n\r\n'}.items():
        with g.connect() as c:
            c.send(framed('Transfer-Encoding: chunked') + body + LIST)
            a = c.read()
            ok(a.status in ((200,) if name == 'pieces' else (200, 400)) and c.at_end(), f'{name}, and nothing behind is a request', a)
    for trailer in b'X-Amz-Target: DynamoDB_20120810.Nothing\r\n', b'X: y\r\n', b'X: a\rb\r\n', b'X: y\n':
        with g.connect() as c:
            c.send(framed('Transfer-Encoding: chunked') + chunked(b'{}', trailer=trailer) + LIST)
            a = c.read()
            ok(refused(c, a), f'a trailer: {trailer}', a)
    for name, fields in {'both lengths': ['Transfer-Encoding: chunked', 'Content-Length: 2'], 'two lengths': ['Content-Length: 2', 'Content-Length: 3'],
                         'an unknown coding': ['Transfer-Encoding: gzip'], 'two codings': ['Transfer-Encoding: gzip, chunked'],
                         'two targets': ['Content-Length: 2', 'X-Amz-Target: DynamoDB_20120810.Scan'], 'two hosts': ['Content-Length: 2', 'Host: y'],
                         'two encodings': ['Content-Length: 2', 'Content-Encoding: gzip', 'Content-Encoding: gzip'],
                         'a blank before the colon': ['Content-Length: 2', 'Transfer-Encoding : chunked'],
                         'a name with a blank': ['Content-Length: 2', 'X y: z'],
                         'a name with a quote': ['Content-Length: 2', 'X"y: z'],
                         'a name with bytes above 127': ['Content-Length: 2', 'X\xe9: z']}.items():
        with g.connect() as c:
            c.send(framed(*fields) + b'{}' + LIST)
            a = c.read()
            # libmicrohttpd 1.0 refuses codings itself
            ok(refused(c, a) or 'coding' in name and refused(c, a, 501), name, a)
    with g.connect() as c:
        c.send(framed('Transfer-Encoding: chunked').replace(b'HTTP/1.1', b'HTTP/1.0') + chunked(b'{}') + LIST)
        a = c.read()
        ok(refused(c, a), 'pieces in a version that has none', a)
    for length in '2x', '-1', '', '0x2', '2, 2':
        with g.connect() as c:
            c.send(framed(f'Content-Length: {length}') + b'{}' + LIST)
            a = c.read()
            ok(refused(c, a), f'a length that is none: "{length}"', a)
    with g.connect() as c:
        c.send(framed('Content-Length: 2', 'Expect: 100-continue'))
        is_(c.read().status, 100, 'a client waits for our consent')
        c.send(b'{}')
        is_(c.read().status, 200, 'and gets its answer')
        c.send(framed(f'Content-Length: {MAX_BODY + 1}', 'Expect: 100-continue'))
        a = c.read()
        ok(a.status == 413 and a.body == b'' and c.at_end(), 'we do not consent', a)
    with g.connect() as c:
        c.send(framed('Content-Length: 2', 'Expect: 100-continue').replace(b'POST /', b'POST /x'))
        a = c.read()
        ok(a.status == 404 and c.at_end(), 'what is wrong with the header is told before', a)
    is_(g.send(post('ListTables', json_of_size(MAX_BODY))).status, 200, '16 MB')
    with g.connect() as c:
        c.send(post('ListTables', json_of_size(MAX_BODY + 1)))
        a = c.read()
        ok(a.status == 413 and a.body == b'' and c.at_end(), '16 MB and a byte', a)
    with g.connect() as c:
        c.send(framed('Transfer-Encoding: chunked') + chunked(json_of_size(MAX_BODY), b' '))
        a = c.read()
        ok(a.status == 413 and a.body == b'' and c.at_end(), '16 MB and a byte in pieces', a)
    with g.connect() as c:
        c.send(framed('Content-Length: 99999999999'))
        a = c.read()
        ok(a.status == 413 and c.at_end(), 'a length beyond all bounds', a)
    with g.connect() as c:
        c.send(framed('Transfer-Encoding: chunked'))
        try:
            for _ in range(40):
                c.send(b'100000\r\n' + b' ' * 0x100000 + b'\r\n')
            ended = c.at_end()
        except (BrokenPipeError, ConnectionResetError):
            ended = True
        ok(ended, 'a body without end is cut')

    # headers
    a = g.send(post('ListTables', b'{}', {'X-Long': 'x' * 20000}))
    is_(a.status, 200, 'a long header')
    a = g.send(post('ListTables', b'{}', {'X-Long': 'x' * 33000}))
    is_(a.status, 431, 'a header above 32 KB')
    a = g.send(post('ListTables', b'{}', {'X-Long': 'x' * 200000}))
    is_(a.status, 431, 'a header beyond all bounds')
    a = g.send(post('ListTables', b'{}', {f'X-{i}': 'x' for i in range(200)}))
    is_(a.status, 431, 'two hundred fields')
    # a NUL, a CR or an LF alone: others on the way may take it for the end of a field, or not
    for name, data in (('in a name', LIST.replace(b'Host', b'X-%sHost')), ('in a field', framed('Content-Length: 2', 'X: a%sb') + b'{}'),
                       ('at the end of one', framed('Content-Length: 2', 'X: a%s') + b'{}'),
                       ('at the beginning of one', framed('Content-Length: 2', 'X: %sa') + b'{}'),
                       ('in the first field', LIST.replace(b'localhost', b'local%shost')),
                       ('in front of a blank', framed('Content-Length: 2', 'X: a%s b') + b'{}'), ('in the method', LIST.replace(b'POST', b'POST%sx')),
                       ('in the path', LIST.replace(b'POST /', b'POST /%sx')), ('in the query', LIST.replace(b'POST /', b'POST /?x%sx')),
                       ('in the version', LIST.replace(b'HTTP/1.1', b'HTTP/1.1%s'))):
        for byte, what in (b'\0', 'NUL'), (b'\r', 'CR'), (b'\n', 'LF'):
            with g.connect() as c:
                c.send(data.replace(b'%s', byte) + LIST)
                a = c.read()
                ok(a is None or refused(c, a) or refused(c, a, 505), f'a {what} {name}', a, c.buffer)
    with g.connect() as c:
        c.send(LIST.replace(b'\r\n', b'\n'))
        c.socket.shutdown(1)
        a = c.read()
        ok(a is None or refused(c, a), 'lines without CR', a)
    for field in 'X: \t a \t ', 'X:a', 'X:', 'X: \x01\x7f\xff':
        with g.connect() as c:
            c.send(framed(field, 'Content-Length: 2') + b'{}' + framed('Content-Length: 2', field) + b'{}')
            is_([c.read().status for _ in range(2)], [200, 200], f'a field that is none of these: {field!r}')
    is_(g.send(head(['GET /?a=b&c HTTP/1.0'])).status, 200, 'no field at all')
    for garbage in b'\0' * 100 + b'\r\n\r\n', b'POST\r\n\r\n', b'\r\n' * 10 + b'x\r\n\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', b'\x16\x03\x01\x02\0':
        with g.connect() as c:
            c.send(garbage)
            c.socket.shutdown(1)
            a = c.read()
            ok(a is None or a.status in (400, 404, 505), f'what is no HTTP: {garbage[:12]}', a)
    # what the library answers itself, or not at all: the connection ends, and nothing behind is read
    many = '&'.join(f'a{i}=b' for i in range(3000))
    for name, data, statuses in (('no name of a host', LIST.replace(b'Host: localhost\r\n', b''), (400,)),
                                 ('a field without a colon', framed('Content-Length: 2', 'x'), (400,)),
                                 ('a coding in a further line', framed('Content-Length: 2', 'Transfer-Encoding:\r\n chunked') + b'{}', (400,)),
                                 ('a coding in two lines', framed('Content-Length: 2', 'Transfer-Encoding: x\r\n\tchunked') + b'{}', (400,)),
                                 ('a length in a further line', framed('Content-Length: 2', 'content-length:\r\n 3') + b'{}', (400,)),
                                 ('a version of old', b'GET / HTTP/0.9\r\n\r\n', (505,)), ('a version to come', LIST.replace(b'HTTP/1.1', b'HTTP/2.0'), (505,)),
                                 ('a length beyond numbers', framed('Content-Length: 99999999999999999999999'), (413, 400)),
                                 ('a piece that has no length', framed('Transfer-Encoding: chunked') + b'x\r\n{}\r\n0\r\n\r\n', (400,)),
                                 ('a piece beyond numbers', framed('Transfer-Encoding: chunked') + b'f' * 20 + b'\r\n{}', (413,)),
                                 ('a piece that does not end', framed('Transfer-Encoding: chunked') + b'2\r\n{}x0\r\n\r\n', (400,)),
                                 ('a trailer beyond all bounds', framed('Transfer-Encoding: chunked') +
                                     chunked(b'{}', trailer=b'X: ' + b'x' * 100000 + b'\r\n'), (431,)),
                                 ('a path beyond all bounds', b'POST /' + b'x' * 100000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n', (414,)),
                                 ('a path with a blank', LIST.replace(b'POST /', b'POST /a b'), (400,)),
                                 ('thousands of parameters', LIST.replace(b'POST /', b'POST /?' + many.encode()), (431,))):
        with g.connect() as c:
            try:
                c.send(data + LIST)
                a = c.read()
                status = a and a.status
            except (BrokenPipeError, ConnectionResetError):
                status = None
            ok(status in (None, *statuses) and c.ends() and b'HTTP/1.1 200' not in c.buffer, name, status, c.buffer)
    # the header is not too large for us, and versions that can do with it read the request and the one behind
    with g.connect() as c:
        c.send(framed('Content-Length: 2', 'Cookie: ' + many.replace('&', ';')) + b'{}' + LIST)
        a = c.read()
        ok((a.status, c.read().status) == (200, 200) if a and a.status == 200 else a is None or refused(c, a, 413) or refused(c, a, 431),
            'thousands of cookies', a)
    is_(g.send(LIST).status, 200, 'and it goes on')

    # compressed bodies
    def zipped(data, encoding):
        return post('ListTables', data, {'Content-Encoding': encoding})

    is_(g.send(zipped(gzip.compress(b'{}'), 'gzip')).status, 200, 'gzip')
    is_(g.send(zipped(zlib.compress(b'{}'), 'deflate')).status, 200, 'deflate')
    is_(g.send(zipped(gzip.compress(json_of_size(MAX_BODY)), 'gzip')).status, 200, '16 MB out of a few')
    is_(g.send(zipped(gzip.compress(b'{}')[:-9], 'gzip')).json, SERIALIZATION, 'gzip that is cut')
    is_(g.send(zipped(b'{}', 'gzip')).json, SERIALIZATION, 'gzip that is none')
    is_(g.send(zipped(gzip.compress(b'{'), 'gzip')).json, SERIALIZATION, 'what is no JSON, compressed')
    is_(g.send(zipped(b'', 'gzip')).json, SERIALIZATION, 'nothing, compressed')
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b''.join([bomb.compress(b' ' * MAX_BODY) for _ in range(64)] + [bomb.flush()])
    with g.connect() as c:
        c.send(zipped(bomb, 'gzip'))
        a = c.read()
        ok(a.status == 413 and c.at_end(), 'a bomb', a)
    is_(g.send(zipped(b'{}', 'br')).status, 415, 'an encoding that we do not know')
    a = g.send(post('ListTables', b'{}', {'Accept-Encoding': 'gzip'}))
    ok('content-encoding' not in a.headers, 'answers are not compressed unasked', a)

    # browsers: without keys they get in by no page of a site
    for origin in 'http://example.org', 'http://localhost:3000', 'null', 'file:///x', 'file:':
        ok('access-control-allow-origin' not in g.send(post('ListTables', b'{}', {'Origin': origin})).headers, f'without keys no page reads anything: {origin}')
        is_(g.send(preflight(origin)).status, 404, 'or sends requests of operations')
    a = g.send(preflight('file://'))
    is_((a.status, a.headers.get('access-control-allow-origin')), (200, 'file://'), 'but for NoSQL Workbench')
    for kind in 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain; application/json':
        is_(g.send(post('ListTables', b'{}', {'Content-Type': kind, 'Origin': 'http://example.org'})).status, 404, f'what pages send unasked: {kind}')
    is_(g.send(post('', b'{}', {'X-Amz-Target': None, 'Origin': 'http://example.org'})).status, 400, 'without a target')

    # a name of a site that leads to this machine (DNS rebinding)
    for name in ('localhost', 'LOCALHOST:8000', 'a.localhost:1', '127.0.0.1', '127.0.0.1:8000', '[::1]:8000', '[2001:db8::1]', '192.0.2.1'):
        is_(g.send(post('ListTables', b'{}', {'Host': name})).status, 200, f'our name: {name}')
    is_(g.send(post('ListTables', b'{}', {'Host': None}).replace(b'HTTP/1.1', b'HTTP/1.0')).status, 200, 'no name')
    for name in ('example.org', 'example.org:8000', 'localhost.example.org', 'notlocalhost', '127.0.0.1.example.org', '127.0.0.1x', '[::1',
                 '[::1].example.org', '::1:x',
                 '[example.org]', 'localhost:8000.example.org', 'localhost, example.org', '.localhost', '', 'x' * 300):
        a = g.send(post('ListTables', b'{}', {'Host': name}))
        is_((a.status, a.json.get('__type')), (400, 'com.amazonaws.dynamodb.v20120810#AccessDeniedException'), f'not our name: {name[:40]}')
    until(lambda: 'error=AccessDeniedException reason=host' in g.log())
    ok(True, 'the log says why')

    # CBOR
    a = g.send(head(['POST /service/DynamoDB_20120810/operation/ListTables HTTP/1.1', 'Host: x', 'Smithy-Protocol: rpc-v2-cbor',
        'Content-Type: application/cbor'], b'\xa0') + b'\xa0')
    ok(a.status == 415 and 'application/x-amz-json-1.0' in a.json['message'], 'CBOR', a)
    g.send(post('ListTables', b'\xa0', {'Content-Type': 'application/cbor'}))
    until(lambda: 'CBOR' in g.log())
    is_(g.log().count('CBOR'), 1, 'it is logged once')

with Gateway('--header-time', '2s', '--body-time', '4s') as g:
    # slow clients
    slow = {'nothing': b'', 'half a line': b'POST / HT', 'half a header': LIST[:60], 'half a body': LIST[:-1]}
    for name, data in slow.items():
        with g.connect() as c:
            c.send(data)
            ok(c.at_end(), f'a client that sends {name} is sent away')
    with g.connect() as c:
        c.send(LIST[:20])
        try:
            for byte in LIST[20:]:
                c.socket.settimeout(0.2)
                try:
                    if c.socket.recv(1) == b'':
                        ended = True
                        break
                except TimeoutError:
                    c.send(bytes([byte]))
            else:
                ended = False
        except (BrokenPipeError, ConnectionResetError):
            ended = True
        ok(ended, 'a client that sends a byte now and then is sent away')
    is_(g.send(LIST).status, 200, 'and others are served')

    # a client that does not read its answer, which is larger than what the system keeps for it
    for n in range(40):
        g.call('PutItem', {'TableName': 'items', 'Item': {'pk': {'S': f'large{n}'}, 'v': {'S': 'x' * 390000}}})
    with g.connect() as c:
        c.send(post('BatchGetItem', json.dumps({'RequestItems': {'items': {'Keys': [{'pk': {'S': f'large{n}'}} for n in range(40)]}}}).encode()))
        until(lambda: g.metric('dynamo_response_bytes_sum{operation="BatchGetItem"}') > 15000000)
        until(lambda: g.metric('dynamo_inflight') == 1)
        try:
            cut = c.read() is None
        except (EOFError, ConnectionResetError):
            cut = True
        ok(cut, 'a client that does not read is sent away')

with Gateway('--compress-responses-above', '10', '--origins', 'https://a.example https://b.example') as g:
    a = g.send(post('GetItem', b'{}', {'Accept-Encoding': 'deflate, gzip'}))
    is_((a.status, a.headers.get('content-encoding'), a.headers['x-amz-crc32']), (400, 'gzip', crc(a.body)), 'an answer is compressed, and so is its checksum')
    is_(json.loads(gzip.decompress(a.body))['__type'], 'com.amazon.coral.validate#ValidationException', 'it can be inflated')
    ok('content-encoding' not in g.send(post('GetItem', b'{}')).headers, 'nobody asked for it')
    ok('content-encoding' not in g.send(post('GetItem', b'{}', {'Accept-Encoding': 'gzip;q=0'})).headers, 'somebody asked for none of it')
    for n in range(40):
        g.call('PutItem', {'TableName': 'items', 'Item': {'pk': {'S': f'large{n}'}, 'v': {'S': base64.b64encode(os.urandom(290000)).decode()}}})
    large = {'RequestItems': {'items': {'Keys': [{'pk': {'S': f'large{n}'}} for n in range(40)]}}}

    def encodings():
        many = [in_thread(g.call, 'BatchGetItem', large, {'Accept-Encoding': 'gzip'}) for _ in range(8)]
        return {m().headers.get('content-encoding') for m in many}
    until(lambda: encodings() == {'gzip', None}, 'answers that come while others are compressed')
    ok(True, 'answers are sent as they are where much has to be compressed already')
    a = g.send(post('ListTables', b'{}', {'Origin': 'https://b.example'}))
    is_((a.headers.get('access-control-allow-origin'), a.headers.get('vary')), ('https://b.example', 'Origin'), 'one of the origins')
    ok('access-control-allow-origin' not in g.send(post('ListTables', b'{}', {'Origin': 'https://c.example'})).headers, 'another origin')
    is_(g.send(preflight('https://c.example')).status, 404, 'another origin asks first')

with Gateway('--hosts', 'dynamo.example.org Host.docker.internal') as g:
    is_([g.send(post('ListTables', b'{}', {'Host': name})).status for name in ('dynamo.example.org:8000', 'host.docker.internal', 'localhost', 'example.org')],
        [200, 200, 200, 400], 'names that the gateway is told')
with Gateway('--hosts', '*', '--origins', '*') as g:
    a = g.call('DescribeEndpoints', {}, {'Host': 'a"\\b\xe9'})
    is_(a.json['Endpoints'][0]['Address'], 'a"\\b\ufffd', 'a hostile host')
    a = g.send(preflight('http://example.org'))
    is_((a.status, a.body, *(a.headers.get('access-control-' + n) for n in ('allow-origin', 'allow-methods', 'allow-headers', 'expose-headers', 'max-age'))),
        (200, b'', '*', 'POST', 'x-amz-target, content-type', 'x-amzn-RequestId, x-amz-crc32, Date', '172800'), 'a browser asks first')
    a = g.send(post('GetItem', b'{}', {'Origin': 'null'}))
    is_((a.status, a.headers.get('access-control-allow-origin')), (400, '*'), 'an error for a page')
    ok('access-control-allow-origin' not in g.send(LIST).headers, 'none for others')
with Gateway(listen='unix:' + tempfile.mkdtemp() + '/socket') as g:
    is_(g.send(post('ListTables', b'{}', {'Host': 'any'})).status, 200, 'no page comes by a Unix socket')
# a line of a piece that the library cannot keep, which it would look at without a pause until body_time is over
with Gateway('--body-time', '8s') as g, g.connect() as c:
    def used():
        with open(f'/proc/{g.process.pid}/stat') as stat:
            return sum(map(int, stat.read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')

    c.socket.setblocking(False)
    try:
        c.send(framed('Transfer-Encoding: chunked') + b'2;' + b'x' * 100000)
    except BlockingIOError:
        pass
    is_(g.send(LIST).status, 200, 'others are answered while a piece has a line without end')
    before = used()
    time.sleep(3)
    ok(used() - before < 0.4, 'and it costs no processor', used() - before)
    is_(g.send(LIST).status, 200, 'nor do others wait then')

done()
