"""The files of the console: what is served, how, and to whom.  What they do in a browser is tested by clients/console.js."""
import os
import shutil
import tempfile

from gateway import Gateway, done, head, is_, ok, post, run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../gateway/console')
folder = tempfile.mkdtemp()
FLAGS = ['--console', '--console-files', folder]


def ask(gateway, path, method='GET', host='localhost', body=None):
    with gateway.connect() as c:
        c.send(head([f'{method} {path} HTTP/1.1', f'Host: {host}'], body) + (body or b''))
        return c.read(method)


def is_page(answer, name, what):
    with open(f'{folder}/{name}', 'rb') as f:
        is_((answer.status, answer.body), (200, f.read()), what)


try:
    for name in os.listdir(SOURCE):
        shutil.copy(f'{SOURCE}/{name}', folder)
    os.chmod(folder, 0o755)
    with open(folder + '/secret.txt', 'w') as f:
        f.write('not served\n')
    with Gateway() as g:
        is_([ask(g, path).status for path in ('/console', '/console/', '/console/console.js')], [404, 404, 404], 'it is off')
    with Gateway(*FLAGS) as g:
        ok('console=/console/' in g.log(), 'the log says that it is on', g.log())
        page = ask(g, '/console/')
        is_page(page, 'index.html', 'the page')
        for name, kind in ('index.html', 'text/html; charset=utf-8'), ('console.js', 'text/javascript; charset=utf-8'), (
                'console.css', 'text/css; charset=utf-8'), ('icon.svg', 'image/svg+xml'):
            a = ask(g, '/console/' + name)
            is_page(a, name, name)
            is_(a.headers['content-type'], kind, f'the type of {name}')
            policy = a.headers['content-security-policy'].split('; ')
            ok(policy[0] == "default-src 'none'" and {"script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
                                                      "frame-ancestors 'none'"} < set(policy) and 'unsafe' not in str(policy), f'the policy of {name}', policy)
            is_([a.headers.get(field) for field in ('x-content-type-options', 'referrer-policy', 'cache-control')], ['nosniff', 'no-referrer', 'no-cache'],
                f'the header of {name}')
        a = ask(g, '/console')
        is_((a.status, a.headers['location']), (301, '/console/'), 'without the slash it leads to the page')
        a = ask(g, '/console/?a=b')
        is_page(a, 'index.html', 'with a query')
        a = ask(g, '/console/', 'HEAD')
        is_((a.status, a.headers['content-length'], a.headers['content-type']), (200, str(len(page.body)), page.headers['content-type']), 'HEAD')
        is_page(ask(g, '/console/', body=b'x'), 'index.html', 'a body is ignored')
        for method in 'POST', 'PUT', 'DELETE', 'OPTIONS':
            is_(ask(g, '/console/', method, body=b'').status, 404, f'{method} is refused')
        for path in ('/console/secret.txt', '/console/package.json', '/console/README.md', '/console/../console/index.html', '/console/%69ndex.html',
                     '/console/..%2fconsole/index.html', '/console//index.html', '/console/./index.html', '/console/index.html/', '/console/../../etc/passwd',
                     '/console/%2e%2e/%2e%2e/etc/passwd', '//console/', '/Console/', '/consol', '/console/INDEX.html', f'/console/{folder}/index.html'):
            is_(ask(g, path).status, 404, f'{path} is not there')
        with open(folder + '/late.js', 'w') as f:
            f.write('// not there at the start\n')
        is_(ask(g, '/console/late.js').status, 404, 'files are read at the start')
        for host, status in ('evil.example', 400), ('127.0.0.1', 200), ('localhost:8000', 200), ('a.localhost', 200):
            is_(ask(g, '/console/', host=host).status, status, f'without keys: {host}')
        is_((ask(g, '/console/', host='evil.example').type.split('#')[1], 'content-security-policy' in ask(g, '/console/', host='evil.example').headers),
            ('AccessDeniedException', False), 'a foreign name gets an error')
        is_(ask(g, '/').headers.get('content-security-policy'), None, 'other answers are as they were')
        is_(g.send(post('ListTables', b'{}', {'Origin': 'http://localhost'})).status, 200, 'the page may ask')
    with Gateway(*FLAGS, '--hosts', 'evil.example') as g:
        is_(ask(g, '/console/', host='evil.example').status, 200, 'a name that is set')
    with Gateway(*FLAGS, '--health-listen', '127.0.0.1:0') as g:
        is_page(ask(g, '/console/'), 'index.html', 'with another address of health')
        with g.connect(g.health_address()) as c:
            c.send(head(['GET /console/ HTTP/1.1', 'Host: x']))
            is_(c.read().status, 404, 'which does not have it')

    # it does not start with what is not the console
    base = ['--listen', '127.0.0.1:0', '--auth', 'none', '--auth-role', 'app', '--console']
    empty = folder + '/empty'
    os.mkdir(empty)
    for files, message in (empty, f'there is no "{empty}/index.html"'), (
            folder + '/nowhere', f'there is no "{folder}/nowhere/index.html"'):
        status, output = run(*base, '--console-files', files)
        ok(status == 1 and message in output.replace('\\', ''), 'it does not start in a folder without the page', output)
    with open(empty + '/index.html', 'w') as f:
        f.truncate(300 * 1024)
    status, output = run(*base, '--console-files', empty)
    ok(status == 1 and 'is no file of the console' in output, 'a file that is too large', output)
    os.remove(empty + '/index.html')
    os.mkdir(empty + '/index.html')
    status, output = run(*base, '--console-files', empty)
    ok(status == 1 and 'is no file of the console' in output, 'a folder', output)
    os.rmdir(empty + '/index.html')
    for n in range(33):
        shutil.copy(folder + '/icon.svg', f'{empty}/{n}.svg')
    status, output = run(*base, '--console-files', empty)
    ok(status == 1 and 'is no file of the console' in output, 'too many files', output)
finally:
    shutil.rmtree(folder)
done()
