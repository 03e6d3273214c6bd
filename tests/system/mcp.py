#!/usr/bin/python3
"""A client of the Model Context Protocol that tests `phasectl mcp`.

    mcp.py CHECK     runs the function of this name; PHASED_HOME names a home, phasectl is on
                     the path, and the current folder has the workflow files that the check names

A check fails with an assertion. No answer may take longer than DEADLINE_S.
"""
import json
import os
import subprocess
import sys
import threading
import time

DEADLINE_S = 240
NEWEST = '2025-06-18'
LINE_MAX = 4 << 20


class Client:
    def __init__(self, *words, revision=NEWEST, name='desktop'):
        self.process = subprocess.Popen(['phasectl', 'mcp', *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.timer = None
        self.number = 0
        if revision:
            self.hello = self.ask('initialize', protocolVersion=revision, capabilities={},
                                  clientInfo={'name': name, 'version': '1'})
            self.tell('notifications/initialized')

    def start_timer(self):
        if self.timer:
            self.timer.cancel()
        self.timer = threading.Timer(DEADLINE_S, self.process.kill)
        self.timer.daemon = True
        self.timer.start()

    def send(self, line):
        self.start_timer()
        self.process.stdin.write(line + b'\n')
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line.endswith(b'\n'), 'the server has ended'
        return json.loads(line)

    def tell(self, method, **params):
        self.send(json.dumps({'jsonrpc': '2.0', 'method': method, 'params': params}).encode())

    def reply(self, method, **params):
        """The whole answer to a request."""
        self.number += 1
        self.send(json.dumps({'jsonrpc': '2.0', 'id': self.number, 'method': method,
                              'params': params}).encode())
        answer = self.read()
        assert answer['jsonrpc'] == '2.0' and answer['id'] == self.number, answer
        return answer

    def ask(self, method, **params):
        answer = self.reply(method, **params)
        assert 'result' in answer, answer
        return answer['result']

    def error(self, method, **params):
        return self.reply(method, **params)['error']['code']

    def call(self, tool, **arguments):
        """The text and the structured content of a call that succeeds."""
        result = self.ask('tools/call', name=tool, arguments=arguments)
        assert result['isError'] is False, result
        return result['content'][0]['text'], result.get('structuredContent')

    def fail(self, tool, **arguments):
        """The text of a call that fails."""
        result = self.ask('tools/call', name=tool, arguments=arguments)
        assert result['isError'] is True, result
        return result['content'][0]['text']

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(DEADLINE_S) == 0
        assert self.process.stdout.read() == b''
        self.timer.cancel()


def contains(text, *parts):
    for part in parts:
        assert part in text, f'{part!r} is not in {text!r}'


def phasectl(*words):
    return subprocess.run(['phasectl', *words], check=True, capture_output=True, text=True).stdout


def wait_for(what):
    deadline = time.monotonic() + DEADLINE_S
    while not what():
        assert time.monotonic() < deadline, 'the deadline is over'
        time.sleep(0.1)


def come_to(address, state):
    wait_for(lambda: json.loads(phasectl('status', address, '--json'))['state'] == state)


def events(workflow):
    """The history of a workflow in one text."""
    socket = os.path.join(os.environ['PHASED_HOME'], 'phased.sock')
    said = subprocess.run(['curl', '-sf', '--unix-socket', socket,
                           f'http://phased/v1/events?after=0&workflow={workflow}'],
                          check=True, capture_output=True, text=True).stdout
    return '\n'.join(event['message'] for event in json.loads(said)['events'])


# --- The protocol ---------------------------------------------------------------------------------

def handshake():
    for asked, told in (('2024-11-05', '2024-11-05'), ('2025-03-26', '2024-11-05'),
                        (NEWEST, NEWEST), ('2031-01-01', NEWEST)):
        client = Client(revision=asked)
        assert client.hello['protocolVersion'] == told
        assert client.hello['capabilities'] == {'tools': {}}
        assert client.hello['serverInfo']['name'] == 'phased'
        assert client.ask('ping') == {}
        result = client.ask('tools/call', name='check', arguments={'file': 'good.yaml'})
        assert ('structuredContent' in result) == (told == NEWEST)
        client.end()
    client = Client(revision=None)
    assert client.ask('ping') == {}
    assert client.error('tools/list') == -32600
    assert client.error('initialize') == -32602
    client.end()


def tools():
    for words, may_submit in ((), False), (('--allow', 'submit'), True):
        client = Client(*words)
        found = {tool['name']: tool for tool in client.ask('tools/list')['tools']}
        assert set(found) == {'list', 'status', 'why', 'gate', 'metrics', 'logs', 'check', 'plan', 'submit',
                              'promote', 'hold', 'release', 'retry', 'cancel'}
        for name, tool in found.items():
            schema, hints = tool['inputSchema'], tool['annotations']
            assert schema['type'] == 'object' and set(schema['required']) <= set(schema['properties'])
            assert all(item['type'] and item['description'] for item in schema['properties'].values())
            assert len(tool['description']) > 40
            changes = name in ('promote', 'hold', 'release', 'retry', 'cancel')
            assert hints['readOnlyHint'] == (not changes and not (name == 'submit' and may_submit)), name
            assert hints['destructiveHint'] == (name in ('cancel', 'retry')), name
        client.end()


def wrong_messages():
    client = Client()

    def code(line):
        client.send(line)
        answer = client.read()
        return answer['error']['code'], answer['id']

    request = b'{"jsonrpc":"2.0","id":7,"method":'
    assert code(b'hello') == (-32700, None)
    assert code(b'{"a":') == (-32700, None)
    assert code(b'{"a":"\0"}') == (-32700, None)
    assert code(b'{"a":"\\u0000"}') == (-32700, None)
    assert code(b'{"a":"\xff"}') == (-32700, None)
    assert code(b'{"a":1,"a":2}') == (-32700, None)
    assert code(b'[' * 100000) == (-32700, None)
    assert code(b'7') == (-32700, None)
    assert code(b'x' * (LINE_MAX + 1)) == (-32600, None)
    assert code(b'"' + b'x' * (3 * LINE_MAX) + b'"') == (-32600, None)
    assert code(b'{}') == (-32600, None)
    assert code(b'{"id":7,"method":"ping"}') == (-32600, 7)
    assert code(b'{"jsonrpc":"2.0","id":7}') == (-32600, 7)
    assert code(b'{"jsonrpc":"2.0","id":null,"method":"ping"}') == (-32600, None)
    assert code(b'{"jsonrpc":"2.0","id":[1],"method":"ping"}') == (-32600, None)
    assert code(request + b'"ping","params":[]}') == (-32602, 7)
    assert code(request + b'"resources/list"}') == (-32601, 7)
    assert code(request + b'"tools/call"}') == (-32602, 7)
    assert code(b'[' + request + b'"ping"}]') == (-32600, None)
    # No answer comes to these, so the next answer is that to `ping`.
    for line in (b'', b' \r', b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                 b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"list"}}',
                 b'{"jsonrpc":"2.0","method":"unknown"}', b'{"jsonrpc":"2.0","id":1,"result":{}}'):
        client.send(line)
    assert client.ask('ping') == {}
    client.send(b'{"jsonrpc":"2.0","id":"a\\n\xc3\xa4","method":"ping"}\r')
    assert client.read()['id'] == 'a\nä'
    client.process.stdin.write(request + b'"ping"}') # the last line has no end
    client.process.stdin.close()
    assert client.read()['id'] == 7
    assert client.process.wait(DEADLINE_S) == 0


def wrong_arguments():
    client = Client('--allow', 'submit', '--allow', 'decide')
    for tool, arguments in (
            ('list', {'address': '1'}), ('list', {'all': 'yes'}), ('list', []), ('elephant', {}),
            ('status', {}), ('status', {'address': '--help'}), ('status', {'address': ''}), ('status', {'address': -5}),
            ('status', {'address': ['1']}), ('cancel', {'address': '-a'}), ('check', {}),
            ('check', {'file': 'good.yaml', 'spec': 'name: x'}), ('check', {'file': '--help'}),
            ('check', {'file': 'good.yaml', 'with': 'x'}), ('check', {'file': 'good.yaml', 'with': [1]}),
            ('check', {'file': 'good.yaml', 'set': ['a=1']}), ('submit', {'file': 'good.yaml', 'set': {'a': []}}),
            ('submit', {'file': 'good.yaml', 'watch': True}), ('logs', {'address': '1', 'tail': -1}),
            ('logs', {'address': '1', 'tail': 10001}), ('metrics', {'address': '1', 'last': 1.5}),
            ('metrics', {'address': '1', 'last': 0}), ('submit', {'file': 'good.yaml', 'after': 0})):
        assert client.error('tools/call', name=tool, arguments=arguments) == -32602, (tool, arguments)
    # Values are never read as options, nor by a shell.
    contains(client.fail('check', file='good.yaml', **{'with': ['--help']}), '--help')
    contains(client.fail('check', file='$(touch made); touch made'), 'cannot open $(touch made); touch made')
    assert not os.path.exists('made')
    contains(client.call('check', file='good.yaml', set=None)[0], 'is good')
    client.end()


def no_daemon():
    client = Client('--allow', 'submit', '--allow', 'decide')
    contains(client.call('check', file='good.yaml')[0], 'good.yaml is good: 2 phases')
    for tool, arguments in (('list', {}), ('status', {'address': '1'}), ('plan', {'file': 'good.yaml'}),
                            ('submit', {'file': 'good.yaml'}), ('promote', {'address': '1'})):
        contains(client.fail(tool, **arguments), 'no daemon is running', 'phasectl daemon start')
    client.end()


def the_client_is_killed():
    read, write = os.pipe()
    server = subprocess.Popen(['phasectl', 'mcp'], stdin=read, stdout=subprocess.PIPE)
    os.close(read)
    client = subprocess.Popen(['sleep', '1000'], pass_fds=[write])
    os.close(write)
    client.kill()
    client.wait()
    assert server.wait(DEADLINE_S) == 0
    # A client that no longer reads ends the server as well.
    server = subprocess.Popen(['phasectl', 'mcp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server.stdout.close()
    server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    server.stdin.flush()
    server.wait(DEADLINE_S)


# --- The tools ------------------------------------------------------------------------------------

def reading():
    """1/first waits for a person, because its gate has failed."""
    client = Client()
    text, json_ = client.call('list')
    contains(text, 'two', 'held')
    assert [item['workflow'] for item in json_['workflows']] == [1]
    text, json_ = client.call('status', address=1)
    contains(text, 'first', 'held', 'second', 'blocked')
    assert json_['name'] == 'two'
    assert client.call('status', address='1/first#1')[1]['outcome'] == 'succeeded'
    text, json_ = client.call('why', address='1/first')
    contains(text, '1/first is held', 'falling', 'phasectl promote 1/first')
    assert json_['phase']['state'] == 'held'
    text, json_ = client.call('gate', address='1/first')
    contains(text, 'falling', 'failed')
    assert json_['checks'][0]['name'] == 'falling'
    text, json_ = client.call('metrics', address='1', name=['loss'], last=2)
    contains(text, 'loss', '7')
    assert json_['series'] == {'loss': [5, 7]} and json_['steps'] == [2, 3]
    text, json_ = client.call('logs', address='1/first', grep='^step', tail=2)
    contains(text, 'step=2', 'step=3')
    assert 'step=1' not in text and len(json_['items']) == 2
    text, json_ = client.call('logs', address='1/first', grep='^-', rank=0)
    contains(text, '-x ^[[31mred <FF>') # harmless on every terminal
    text, json_ = client.call('logs', address='1/first', tail=10000)
    contains(text, '[only the end of ', 'the last line')
    assert len(text) < 110000 and json_ is None
    text, json_ = client.call('plan', file='good.yaml')
    contains(text, 'first', 'second')
    assert json_['fits'] is True
    contains(client.fail('check', spec='name: x\nphases: 3\n'), '/dev/stdin:2:9: phases: ')
    contains(client.fail('plan', spec='name: x\nphases: 3\n'), 'phases: ')
    contains(client.fail('status', address='99'), 'no workflow 99')
    contains(client.fail('status', address='one'), "'one'")
    text, json_ = client.call('check', spec=open('good.yaml').read(), set={'count': 12})
    assert json_['workflow']['phases'][0]['params']['count'] in (12, '12'), json_
    client.end()


def submitting():
    """Nothing was submitted yet."""
    client = Client('--allow', 'decide')
    text, json_ = client.call('submit', file='good.yaml', hold=True)
    contains(text, 'good.yaml is good', 'Nothing was submitted', 'phasectl mcp --allow submit',
             'phasectl submit good.yaml --hold\n')
    assert json_['fits'] is True
    contains(client.fail('submit', spec='name: x\nphases: 3\n'), 'phases: ')
    assert client.call('list')[1]['total'] == 0
    client.end()
    client = Client('--allow', 'submit', name='the client\x1b[31m) by bob' + 'b' * 100)
    text, json_ = client.call('submit', file='good.yaml', set={'count': 2})
    contains(text, 'workflow 1 two')
    assert json_['workflows'][0]['workflow'] == 1
    text, json_ = client.call('submit', spec=open('good.yaml').read(), hold=True, after=1)
    contains(text, 'workflow 2 two')
    contains(client.fail('submit', file='good.yaml', set={'elephant': 1}), 'elephant')
    contains(client.fail('promote', address='1'), 'may not promote', '--allow decide')
    who = f"{os.environ['WHO']} by mcp (the client??31m? by bob"
    contains(events(1), f'submitted by {who}')
    contains(events(2), f'held at its submission by {who}')
    come_to('1/first', 'held')
    contains(client.call('logs', address='1/first')[0], 'asked by nobody')
    client.end()


def deciding():
    """1/first waits for a person, because its gate has failed."""
    client = Client()
    for tool in ('promote', 'hold', 'release', 'retry', 'cancel'):
        contains(client.fail(tool, address='1/first'), f'may not {tool}', 'phasectl mcp --allow decide',
                 f'phasectl {tool} 1/first\n')
    client.end()
    who = f"{os.environ['WHO']} by mcp (claude-desktop)"
    client = Client('--allow', 'decide', name='claude-desktop')
    contains(client.fail('release', address='1/first'), '1/first')
    contains(client.fail('promote', address='1/first#1'), 'not on a run')
    text, json_ = client.call('retry', address='1/first')
    contains(text, '1/first will be run again')
    contains(events(1), f'retried by {who}')
    come_to('1/first', 'held')
    text, json_ = client.call('promote', address='1/first')
    assert text == '1/first promoted\n' and json_['phases'] == ['1/first']
    contains(events(1), f'promoted by {who}')
    contains(client.call('why', address='1/first')[0], f'promoted by {who}')
    come_to('1/second', 'active')
    text, json_ = client.call('hold', address='1/second')
    contains(text, '1/second is being held')
    come_to('1/second', 'held')
    contains(client.call('release', address='1/second')[0], '1/second released')
    text, json_ = client.call('cancel', address='1')
    contains(text, '1/second')
    come_to('1', 'cancelled')
    contains(events(1), f'held by {who}', f'released by {who}', f'cancelled by {who}')
    client.end()


def main():
    globals()[sys.argv[1]]()


main()
