"""What monitoring/ asks for exists: metrics of the gateway and their labels, and queries of the database.  And traces."""
import json
import os
import re
import subprocess

import yaml

from gateway import DATABASE, Gateway, Hold, done, in_thread, is_, ok, post, psql, put, run, until

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
ROLE = 'exporter'


def read(name):
    with open(os.path.join(TOP, 'monitoring', name)) as f:
        return f.read()


def labels_of(samples):
    return {label for sample in samples for label in re.findall(r'(\w+)="', sample)} | {'instance', 'job'}


# what the gateway has: families, and labels of those that have samples
with Gateway('--read-database', DATABASE) as g:
    put(g)
    g.call('Nothing', {})
    g.call('GetItem', {'TableName': 'items', 'Key': {}})
    text = g.send(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n').text
families = dict(re.findall(r'^# TYPE (\S+) (\S+)$', text, re.M))
labels = {}
for family, kind in families.items():
    samples = re.findall(f'^{family}(?:_bucket|_sum|_count)?(?:{{.*}})? .*$', text, re.M)
    labels[family] = labels_of(samples) if samples else None
    if kind in ('histogram', 'summary'):
        for suffix in ('_bucket', '_sum', '_count'):
            labels[family + suffix] = labels[family]
for name in 'process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_open_fds', 'process_max_fds', 'process_start_time_seconds':
    ok(float(re.search(f'^{name} (.*)$', text, re.M).group(1)) > 0, f'{name} is known')
ok(re.search(r'^dynamo_build_info{version="\d+\.\d+\.\d+",libpq="\d+\.\d+"} 1$', text, re.M), 'versions')

# From the release on, lines are added to this file, and none is changed or lost: docs/compatibility.md.
surface = re.findall(r'^  (?:dynamo_gateway )?(--\S+)', run('--help')[1], re.M)
surface += [' '.join([family, kind, *sorted((labels[family] or set()) - {'instance', 'job'})]) for family, kind in sorted(families.items())]
with open(os.path.join(TOP, 'test', 'gateway', 'surface.txt')) as f:
    stored = f.read().splitlines()
is_([line for line in stored if line not in surface], [], 'settings and metrics are what they were: programs and dashboards of users name them')
is_([line for line in surface if line not in stored], [], 'test/gateway/surface.txt has all of them')

# what the database has, for a role that is a member of pg_monitor and nothing else
psql(f'CREATE ROLE {ROLE} LOGIN; GRANT pg_monitor TO {ROLE}')
# jobs that are alike, and one that was interrupted
psql("""SELECT dyn_create_table('worked', 'pk S', 'sk S'); SELECT dyn_put('worked', '{"pk": {"S": "a"}, "sk": {"S": "a"}}')""")
for n in 1, 2:
    psql("CALL dyn_regroup('worked')")
psql("""CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
    CREATE TRIGGER wait BEFORE UPDATE ON worked FOR EACH ROW EXECUTE FUNCTION wait()""")
os.environ['PGOPTIONS'] = '-c statement_timeout=1s'
try:
    psql("""CALL dyn_backfill('worked', 'SET a = :a', NULL, vals => '{":a": {"S": "a"}}')""")
except subprocess.CalledProcessError as error:
    ok('statement timeout' in error.stderr, 'a backfill is interrupted', error.stderr)
del os.environ['PGOPTIONS']
is_(psql("SELECT string_agg(state, ',' ORDER BY state) FROM dyn_jobs WHERE relation = 'worked'::regclass"), 'finished,finished,interrupted', 'there are jobs')
for name, query in yaml.safe_load(read('queries.yaml')).items():
    columns = [next(iter(metric)) for metric in query['metrics']]
    usages = {column: metric[column]['usage'] for metric in query['metrics'] for column in metric}
    rows = psql(f"SELECT count(*) FROM ({query['query']}) AS q", user=ROLE)
    ok(rows != '0' or name != 'dynamo_operations', f'{name} has rows', rows)
    described = psql(f"CREATE TEMP VIEW described AS {query['query']}; SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute "
                     "WHERE attrelid = 'described'::regclass AND attnum > 0", user=ROLE)
    is_(described.split(','), columns, f'{name} has the columns')
    alike = ', '.join(column for column, usage in usages.items() if usage == 'LABEL')
    is_(psql(f"SELECT {alike} FROM ({query['query']}) AS q GROUP BY {alike} HAVING count(*) > 1", user=ROLE), '', f'{name} has each metric once')
    for column, usage in usages.items():
        if usage != 'LABEL':
            labels[f'{name}_{column}'] = {c for c, u in usages.items() if u == 'LABEL'} | {'instance', 'job'}
labels['up'] = {'instance', 'job'}
failed = yaml.safe_load(read('queries.yaml'))['dynamo_job']['query']
is_(psql(f"SELECT state, failed FROM ({failed}) AS q WHERE failed > 0", user=ROLE), 'interrupted|1', 'a job that was interrupted is told of')

# what is asked
expressions = [rule['expr'] for group in yaml.safe_load(read('alerts.yaml'))['groups'] for rule in group['rules']]
dashboard = json.loads(read('dashboard.json'))
expressions += [target['expr'] for panel in dashboard['panels'] for target in panel.get('targets', [])]
expressions += [re.sub(r'label_values\((\w+), (\w+)\)', r'sum by (\2) (\1)', v['query']) for v in dashboard['templating']['list'] if v['type'] == 'query']
ok(len(expressions) > 50, 'there are expressions', len(expressions))
for expression in expressions:
    names = re.findall(r'\b(?:up|(?:dynamo|process)_\w+)\b', re.sub(r'"[^"]*"', '""', expression))
    used = re.findall(r'(\w+)(?:=~|!=|!~|=)"', expression) + [label for group in re.findall(r'by \(([^)]*)\)', expression) for label in re.split(r', *', group)]
    known = [labels[name] for name in names if name in labels]
    ok(len(names) > 0 and len(known) == len(names) and all(here is None or set(used) <= here for here in known), f'all of it is there: {expression}', used)
alerts = [rule['alert'] for group in yaml.safe_load(read('alerts.yaml'))['groups'] for rule in group['rules']]
with open(os.path.join(TOP, 'docs', 'monitoring.md')) as f:
    page = f.read()
is_([alert for alert in alerts if f'`{alert}`' not in page], [], 'the page has all alerts')

# traces: in the log if they are some, and for Postgres if the client records them
TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-'
QUERY = "SELECT query FROM pg_stat_activity WHERE usename = 'gateway' AND query LIKE '%request_as(%' AND wait_event = 'advisory'"
with Gateway() as g:
    for flags, shown in ('01', True), ('00', False), ('03', True):
        with Hold():
            body = b'{"TableName": "raising", "Item": {"pk": {"S": "t"}, "hold": {"N": "1"}}}'
            waits = in_thread(g.send, post('PutItem', body, {'traceparent': TRACE + flags}))
            Hold.held()
            query = psql(QUERY)
            is_(f"/*traceparent='{TRACE}{flags}'*/" in query, shown, f'flags {flags}: Postgres {"knows" if shown else "does not know"} the trace')
        is_(waits().status, 200, f'flags {flags}: the answer')
        until(lambda: f'traceparent={TRACE}{flags}' in g.log(), 'the line')
    wrong = ['', 'x', TRACE + "0'", TRACE + '01-', TRACE.upper() + '01', 'ff' + TRACE[2:] + '01', '00-' + '0' * 32 + TRACE[35:] + '01',
             TRACE[:36] + '0' * 16 + '-01', TRACE + '01*/ DROP TABLE items']
    for header in wrong:
        before = g.log().count('event=request')
        is_(g.send(post('ListTables', b'{}', {'traceparent': header})).status, 200, f'no trace: {header[:60]}')
        until(lambda: g.log().count('event=request') > before, 'its line')
    is_(g.log().count('traceparent='), 3, 'which are not logged')
    g.send(post('ListTables', b'{}', {'traceparent': '01' + TRACE[2:] + '00-more'}))
    until(lambda: 'traceparent=01' in g.log(), 'the line of a later version')
    is_(g.send(post('ListTables', b'{}')).status, 200, 'the statement is the prepared one again')
done()
