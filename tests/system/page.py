#!/usr/bin/python3
"""The page in Chromium, as a person uses it. Prints TAP.

    page.py prepare       submits what the checks look at, and waits until it is there: PHASED_HOME
                          names a home whose daemon answers, and phasectl is on the path
    page.py check URL     http://127.0.0.1:PORT/#TOKEN, of that home; promotes what is held

Each check can run alone only after those before it. A check waits for what it wants to see, up to a
deadline, and fails with what it saw last.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

DEADLINE_S = 30
NARROW = 390

TWO = """
name: two
price: {per_node_hour: 98}
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    progress: {step: step, total: 300}
    run: |
      for i in $(seq 1 300); do echo "step=$i loss=$(( 900 - i )).5 speed=$(( i % 7 )).25"; done
      echo "the last <b>line</b> of first"
    gate:
      low:   {value: last(loss), at_most: 700}
      quick: {value: mean(speed), over: 70 steps, at_least: 1, else: warn}
      falls: last(loss) < first(loss)
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    preflight: off
    run: echo step=1 loss=2
"""

HELD = """
name: held
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    run: echo step=1 loss=4; echo step=2 loss=5
    gate: {falls: {value: last(loss), below: 1, advice: "<i>train</i> longer"}}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    preflight: off
    run: echo step=1 loss=3
    gate: {falls: {value: last(loss), below: 1}}
"""

AGAIN = """
name: again
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    checkpoint: {path: "$PHASED_OUT/step_{step}.ckpt", save_time: 1s}
    run: |
      for i in $(seq $(( ${PHASED_RESUME_STEP:-0} + 1 )) 80); do
        echo "step=$i loss=$(( 100 - i ))"
        [ $i -ne 20 ] || echo saved >"$PHASED_OUT/step_20.ckpt"
        sleep 0.1
      done
"""

SWEEP = """
name: sweep
phases:
  ladder:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    matrix: {width: [16, 64, 32]}
    run: for i in 1 2 3 4 5; do echo step=$i loss=$(( 100 - width - i )); done
    best: {min: last(loss)}
"""


def wait_for(what, seconds=DEADLINE_S):
    """Returns the first true answer of `what`, or its last answer at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        answer = what()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(0.05)


# --- Preparing the home --------------------------------------------------------------------------

def phasectl(*words):
    return subprocess.run(['phasectl', *words], check=True, capture_output=True, text=True).stdout


def status(address):
    return json.loads(phasectl('status', address, '--json'))


def submit(folder, name, spec):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(spec)
    return re.search(r'workflow (\d+)', phasectl('submit', path))[1]


def come_to(address, state, seconds=120):
    if not wait_for(lambda: status(address)['state'] == state, seconds):
        sys.exit(f"{address} is {status(address)['state']}, not {state}")


def prepare():
    with tempfile.TemporaryDirectory() as folder:
        again = submit(folder, 'again.yaml', AGAIN)
        two = submit(folder, 'two.yaml', TWO)
        sweep = submit(folder, 'sweep.yaml', SWEEP)
        held = submit(folder, '<b>held<b>.yaml', HELD)
        stage = lambda: status(f'{again}/train')
        if not wait_for(lambda: stage()['checkpoint_step'] == 20 and stage()['step'] >= 30, 60):
            sys.exit('again/train does not come to step 30 with a checkpoint of step 20')
        phasectl('hold', f'{again}/train')
        come_to(f'{again}/train', 'held')
        phasectl('release', f'{again}/train')
        come_to(held, 'held')
        for workflow in (two, sweep, again):
            come_to(workflow, 'succeeded')


# --- What the API says ---------------------------------------------------------------------------

class Api:
    def __init__(self, origin, token):
        self.origin, self.token = origin, token

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {'Authorization': 'Bearer ' + self.token, 'Content-Type': 'application/json'}
        request = urllib.request.Request(self.origin + '/v1' + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def workflows(self):
        return self.ask('/workflows')['workflows']

    def named(self, name):
        return next(item for item in self.workflows() if item['name'] == name)

    def metric(self, workflow, phase, attempt, name):
        table = self.ask(f'/workflows/{workflow}/phases/{phase}/runs/{attempt}/metrics?name={name}')
        return dict(zip(table['steps'], table['series'][name]))


# --- The browser ---------------------------------------------------------------------------------

class Page:
    def __init__(self, url):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys
        options = webdriver.ChromeOptions()
        options.binary_location = '/usr/bin/chromium'
        for word in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                     '--window-size=1440,1000', '--disable-background-networking'):
            options.add_argument(word)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.browser = webdriver.Chrome(options=options, service=Service('/usr/bin/chromedriver'))
        self.browser.set_script_timeout(DEADLINE_S)
        self.keys, self.chain, self.origin = Keys, ActionChains, url.split('/#')[0]
        self.width(1440)

    def cdp(self, command, **arguments):
        return self.browser.execute_cdp_cmd(command, arguments)

    def width(self, pixels):
        self.cdp('Emulation.setDeviceMetricsOverride', width=pixels, height=1000, deviceScaleFactor=1,
                 mobile=False)

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def go(self, fragment):
        self.js('location.hash = arguments[0]', fragment)

    def fragment(self):
        return self.js('return location.hash')

    def text(self, selector='main'):
        """The text of an element that can be seen."""
        return self.js('const e = document.querySelector(arguments[0]);'
                       'return e && e.checkVisibility() ? e.textContent : ""', selector)

    def texts(self, selector):
        return self.js('return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.trim())',
                       selector)

    def count(self, selector):
        return self.js('return document.querySelectorAll(arguments[0]).length', selector)

    def attribute(self, selector, name):
        return self.js('const e = document.querySelector(arguments[0]); return e && e.getAttribute(arguments[1])',
                       selector, name)

    def find(self, selector):
        return self.browser.find_element('css selector', selector)

    def press(self, *keys):
        """Types to whatever has the focus."""
        self.chain(self.browser).send_keys(*keys).perform()

    def shows(self, selector, words):
        """Waits until an element has the words; returns whether it does."""
        return bool(wait_for(lambda: words in self.text(selector)))


class Tap:
    def __init__(self):
        self.number = self.failed = 0

    def say(self, is_right, name, saw=None):
        self.number += 1
        print(f"{'ok' if is_right else 'not ok'} {self.number} - {name}", flush=True)
        if not is_right:
            self.failed += 1
            print('# saw: ' + str(saw)[:600].replace('\n', ' '), flush=True)

    def same(self, what, wanted, name):
        """Waits until what() is what is wanted."""
        wait_for(lambda: what() == wanted)
        self.say(what() == wanted, name, f'{what()!r}, wanted {wanted!r}')

    def true(self, what, name, saw=lambda: ''):
        is_right = bool(wait_for(what))
        self.say(is_right, name, saw() if not is_right else '')


# --- The checks ----------------------------------------------------------------------------------

ROWS = '#main tr[data-row]'


def check_list(page, api, tap):
    wanted = [str(item['workflow']) for item in api.workflows()]
    ids = lambda: page.texts(ROWS + ' td:first-child')
    tap.same(ids, wanted, 'the list has the workflows in the order of the API')
    tap.same(page.fragment, '#/workflows', 'the token is no longer in the address')
    held = api.named('held')
    tap.same(lambda: page.texts('#main tbody tr')[0], 'Waiting for you 1', 'what waits for a person comes first')
    tap.same(lambda: page.texts(ROWS + ':first-of-type, #main tr.needs td:first-child'), [str(held['workflow'])],
             'it is the workflow that is held')
    row = f'#main tr[data-key="{api.named("two")["workflow"]}"]'
    tap.same(lambda: page.texts(row + ' .state'), ['✓succeeded'], 'a state is a sign and a word')
    row = f'#main tr[data-key="{api.named("again")["workflow"]}"]'
    tap.same(lambda: page.texts(row + ' td.metric'), ['loss 20'], 'the newest metric has a column')
    tap.same(lambda: page.texts(row + ' td.note'), ['its run succeeded; it has no gate'], 'so has the note')


def check_filter(page, api, tap):
    page.find('#filter').send_keys('Tw')
    tap.same(lambda: page.texts(ROWS + ' a'), ['two'], 'the filter leaves what fits, whatever the case')
    tap.same(page.fragment, '#/workflows?filter=Tw', 'the filter stands in the address')
    page.browser.refresh()
    tap.same(lambda: (page.texts(ROWS + ' a'), page.js('return document.querySelector("#filter")?.value')),
             (['two'], 'Tw'), 'after a reload the filter is the same')
    page.go('#/workflows?state=succeeded')
    wanted = [item['name'] for item in api.workflows() if item['state'] == 'succeeded']
    tap.same(lambda: page.texts(ROWS + ' a'), wanted, 'the state leaves what is in it')
    page.go('#/workflows?filter=nothing-like-it')
    tap.true(lambda: page.shows('.empty', 'No workflow fits'), 'a filter that fits nothing says so')
    page.go('#/workflows')


def check_keys(page, api, tap):
    wanted = [item['name'] for item in api.workflows()]
    tap.same(lambda: len(page.texts(ROWS)), len(wanted), 'all workflows are there again')
    focus = lambda: page.js('return document.activeElement.id || document.activeElement.textContent')
    page.press('/')
    tap.same(focus, 'filter', '/ goes to the filter')
    page.press(page.keys.ESCAPE)
    page.press('j')
    tap.same(focus, wanted[0], 'j goes to the first row')
    page.press('j')
    page.press(page.keys.ARROW_DOWN)
    page.press('k')
    tap.same(focus, wanted[1], 'j, the arrow and k move by one row')
    page.press(page.keys.ENTER)
    tap.same(page.fragment, f"#/w/{api.named(wanted[1])['workflow']}", 'Enter opens the row')
    page.press(page.keys.ESCAPE)
    tap.same(page.fragment, '#/workflows', 'Escape goes back')
    page.press('?')
    tap.true(lambda: page.count('dialog[open] kbd') > 4, '? lists the keys')
    page.press(page.keys.ESCAPE)
    tap.same(lambda: page.count('dialog[open]'), 0, 'Escape closes the list')


def verdicts(gate):
    return [(check['name'], 'warned' if check['warn'] and check['outcome'] != 'passed' else check['outcome'])
            for check in gate['checks']]


def check_tab(page, api, tap):
    number, first = api.named('two')['workflow'], page.browser.current_window_handle
    page.chain(page.browser).key_down(page.keys.CONTROL).click(
        page.find(f'#main tr[data-key="{number}"] a')).key_up(page.keys.CONTROL).perform()
    wait_for(lambda: len(page.browser.window_handles) == 2)
    page.browser.switch_to.window(page.browser.window_handles[-1])
    tap.same(lambda: page.texts('#s-phases td.tree'), ['first', '└ second'],
             'a link that is opened in a new tab finds the token')
    page.browser.close()
    page.browser.switch_to.window(first)


def check_workflow(page, api, tap):
    number = api.named('two')['workflow']
    page.go(f'#/w/{number}')
    tap.same(lambda: page.texts('#s-phases tr[data-row] td.tree'), ['first', '└ second'],
             'a workflow shows its phases as a tree')
    tap.same(lambda: page.texts('#s-phases .state'), ['✓succeeded'] * 2, 'the phases have their states')
    wanted = verdicts(api.ask(f'/workflows/{number}/phases/first/gate'))
    table = f'[data-key="gate-{number}/first"] tbody tr'
    shown = lambda: list(zip(page.texts(table + ' td:first-child'),
                             [re.sub(r'^\W+', '', word) for word in page.texts(table + ' .state')]))
    tap.same(shown, wanted, 'the gate has each check with its verdict')
    tap.true(lambda: '600.5' in page.text(f'[data-key="gate-{number}/first"]'), 'a check has its value',
             lambda: page.text(f'[data-key="gate-{number}/first"]'))
    runs = api.ask(f'/runs?workflow={number}')['runs']
    pieces = lambda: [text for text in page.texts('.lane .piece') if text.startswith('#')]
    tap.same(pieces, ['#1 succeeded'] * len(runs), 'the line of time has each attempt')
    page.js('[...document.querySelectorAll(".piece")].at(-1).focus()')
    tap.true(lambda: f'{number}/second#1 succeeded' in page.text('.tip'), 'an attempt tells about itself on focus',
             lambda: page.text('.tip'))
    tap.true(lambda: '$' in page.text('.facts'), 'a workflow says what it cost', lambda: page.text('.facts'))


def check_curve(page, api, tap):
    number = api.named('two')['workflow']
    page.go(f'#/w/{number}/first')
    points = len(api.metric(number, 'first', 1, 'loss'))
    tap.same(lambda: page.attribute('.chart', 'data-points'), str(points), f'the curve has {points} points')
    ink = ('const c = document.querySelector(".chart canvas"); if (!c) return 0;'
           'const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;'
           'let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n > 500')
    tap.true(lambda: page.js(ink), 'the curve is drawn')
    tap.true(lambda: '300' in (page.attribute('.chart .plot', 'aria-label') or ''), 'the curve is told in words')
    page.js('const s = document.querySelector("input[data-set=smooth]"); s.value = 0.9;'
            's.dispatchEvent(new Event("input", {bubbles: true}))')
    page.find('.chip[data-name=speed]').click()
    wanted = f'#/w/{number}/first?smooth=0.9&metric=loss,speed'
    tap.same(page.fragment, wanted, 'smoothing and metrics stand in the address')
    page.browser.refresh()
    tap.same(lambda: page.count('.chart[data-points="300"]'), 2, 'after a reload both curves are there')
    tap.same(lambda: page.text('.slider output'), '0.90', 'after a reload they are as smooth')
    page.find('input[data-set=table]').click()
    tap.true(lambda: page.count('.numbers tbody tr') == 400, 'the numbers can be read in tables',
             lambda: page.count('.numbers tbody tr'))
    page.go(wanted)
    tap.same(lambda: (page.count('.chart'), page.js('return document.querySelector("[data-set=table]").checked')),
             (2, False), 'another address sets the boxes')


def check_metric(page, api, tap):
    """The functions behind the curve."""
    run = lambda code: page.browser.execute_async_script(
        'const done = arguments[arguments.length - 1];'
        f'import("/metric.js").then((m) => done({code}), (error) => done(String(error)))')
    number = api.named('two')['workflow']
    criteria = json.dumps(api.ask(f'/workflows/{number}/phases/first/gate')['criteria'])
    tap.same(lambda: run(f'm.boundsOf("loss", {criteria}).map((b) => b.text + "=" + b.value)'),
             ['low: last at most 700=700'], 'a plain check gives a line to draw')
    tap.same(lambda: run('m.boundsOf("a", {x: {value: "last(a) / 2", below: 1}, y: {condition: "last(a) < 1"}})'), [],
             'a check that is not plain gives no line')
    tap.same(lambda: run('m.smooth([1, 1, 4].map((value) => ({value})), 0.5).map((p) => p.value.toFixed(3))'),
             ['1.000', '1.000', '2.714'], 'smoothing does not pull the first values to 0')


def check_rewound(page, api, tap):
    number = api.named('again')['workflow']
    first, second = (api.metric(number, 'train', attempt, 'loss') for attempt in (1, 2))
    lost = [step for step in first if step >= min(second)]
    kept = set(first) | set(second)
    page.go(f'#/w/{number}/train')
    counts = lambda: tuple(page.attribute('.chart', 'data-' + name) for name in ('points', 'rewound'))
    tap.same(counts, (str(len(kept)), str(len(lost))), 'later attempts win, and rewound steps are set apart')
    tap.say(len(lost) > 0 and min(second) == 21, 'there are steps that were rewound', (min(second), lost))
    outcomes = [run['outcome'] for run in api.ask(f'/workflows/{number}/phases/train')['runs']]
    tap.same(lambda: [re.sub(r'^\W+', '', word) for word in page.texts('#s-attempts .state')], outcomes,
             'the attempts have their outcomes')


def check_log(page, api, tap):
    number = api.named('two')['workflow']
    page.go(f'#/w/{number}/first')
    tap.true(lambda: 'the last <b>line</b> of first' in page.text('#log'), 'the log shows its last line as it is',
             lambda: page.text('#log')[-200:])
    path = api.ask(f'/workflows/{number}/phases/first/runs/1/logs')['logs'][0]['path']
    with open(path, encoding='utf-8') as file:
        lines = file.read().splitlines()
    tap.same(lambda: page.count('#log .line'), len(lines), 'the log has all its lines')
    found = sum('step=10' in line for line in lines)
    page.find('#find').send_keys('step=10')
    tap.same(lambda: page.count('#log .hit'), found, f'the search finds {found} lines')
    tap.true(lambda: page.shows('#log-says', f'{found} of {len(lines)} lines'), 'the search counts them',
             lambda: page.text('#log-says'))
    page.press(page.keys.ENTER)
    tap.true(lambda: page.count('#log .hit.now') == 1 and 'step=100' in page.text('#log .hit.now'),
             'Enter goes to the next line', lambda: page.text('#log .hit.now'))


def check_sweep(page, api, tap):
    number = api.named('sweep')['workflow']
    page.go(f'#/w/{number}/ladder')
    tap.same(lambda: page.texts('#s-members tbody td:first-child'), ['ladder.2', 'ladder.3', 'ladder.1'],
             'a sweep has its members, the best first')
    tap.same(lambda: page.texts('#s-members td[data-label=width]'), ['64', '32', '16'], 'members have their params')
    tap.same(lambda: page.texts('#s-members td[data-label=value]'), ['31', '63', '79'], 'members have their values')
    tap.same(lambda: page.texts('#s-members tbody tr:first-child td[data-label=standing]'), ['★best'],
             'the best member is named')
    tap.same(lambda: page.attribute('.chart', 'data-points'), '15', 'one chart has the curves of the 3 members')
    tap.true(lambda: 'ladder.2 31' in (page.attribute('.chart .plot', 'aria-label') or ''),
             'and says how the best member ended', lambda: page.attribute('.chart .plot', 'aria-label'))


def check_markup(page, api, tap):
    number = api.named('held')['workflow']
    page.go(f'#/w/{number}')
    tap.true(lambda: '<b>held<b>.yaml' in page.text('.facts'), 'a name with <b> stays text',
             lambda: page.text('.facts'))
    tap.true(lambda: '<i>train</i> longer' in page.text('#s-held'), 'advice with <i> stays text',
             lambda: page.text('#s-held'))
    tap.same(lambda: page.count('main b, main i, main script'), 0, 'nothing from outside became markup')


def check_decisions(page, api, tap):
    number = api.named('held')['workflow']
    button = f'#s-held button[data-verb=promote][data-address="{number}/first"]'
    state = lambda name: api.ask(f'/workflows/{number}/phases/{name}')['state']
    page.find(button).click()
    tap.true(lambda: page.shows('dialog[open]', f'Promote {number}/first?'), 'promote asks first')
    page.find('dialog button[data-act=close]').click()
    tap.say(state('first') == 'held' and page.count('dialog[open]') == 0, 'back changes nothing', state('first'))
    page.find(button).click()
    page.find('dialog button[type=submit]').click()
    tap.same(lambda: state('first'), 'succeeded', 'the dialog promotes')
    tap.true(lambda: page.shows('#said', f'{number}/second is held: gate failed'), 'and says so, also aloud',
             lambda: page.text('#said'))
    tap.same(lambda: page.texts('#s-phases .state'), ['✓succeeded', '❚❚held'],
             'the page follows by itself: the next phase runs, and is held')
    gate = api.ask(f'/workflows/{number}/phases/first/gate')
    tap.say(gate['decided_by'] == 'user', 'the record says that a person decided', gate['decided_by'])
    page.js('window.fetch = ((ask) => (path, options) => options.method === "POST" ? new Promise((go) => '
            '{ window.sendNow = () => go(ask(path, options)); }) : ask(path, options))(window.fetch)')
    page.find(f'#s-held button[data-verb=promote][data-address="{number}/second"]').click()
    page.find('dialog button[type=submit]').click()
    api.ask(f'/workflows/{number}/phases/second/cancel', {'who': 'another'})
    page.js('window.sendNow()')
    tap.true(lambda: page.shows('dialog [role=alert]', f'cannot promote {number}/second'),
             "what the server has against it stands in the dialog", lambda: page.text('dialog'))
    page.press(page.keys.ESCAPE)
    tap.same(lambda: page.texts('#s-phases tr[data-key=second] .state'), ['·cancelled'],
             'what another person did is shown')


def check_looks(page, api, tap):
    places = ['#/workflows'] + [f"#/w/{item['workflow']}" for item in api.workflows()] + [
        f"#/w/{item['workflow']}/{phase['phase']}" for item in api.workflows() for phase in item['phases']]
    page.width(NARROW)
    wide, ready = [], 0
    for place in places:
        page.go(place)
        title = place.removeprefix('#/').removeprefix('w/')
        ready += bool(wait_for(lambda: page.js('return document.title').startswith(title.split('/')[0]) and
                               page.count('h1') == 1, 10))
        page.js('return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))')
        size = page.js('return document.documentElement.scrollWidth')
        wide += [(place, size)] if size > NARROW else []
    tap.say(not wide and ready == len(places), f'{len(places)} places fit {NARROW} pixels', (wide, ready))
    page.width(1440)
    light = {}
    for scheme in ('dark', 'light'):
        page.cdp('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        light[scheme] = sum(map(int, re.findall(r'\d+', page.js(
            'return getComputedStyle(document.body).backgroundColor'))[:3]))
    tap.say(light['dark'] < 150 and light['light'] > 600, 'the page is dark or light, as the person has it', light)


def check_names(page, api, tap):
    roles = {'button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'slider', 'table', 'image', 'img',
             'progressbar'}
    nameless, seen = [], 0
    for place in ('#/workflows', f"#/w/{api.named('two')['workflow']}", f"#/w/{api.named('two')['workflow']}/first"):
        page.go(place)
        title = place.split('/w/')[-1].removeprefix('#/').replace('/first', '/first ')
        wait_for(lambda: page.js('return document.title').startswith(title) and page.count('main table'))
        for node in page.cdp('Accessibility.getFullAXTree')['nodes']:
            role = node.get('role', {}).get('value')
            if role in roles and not node.get('ignored'):
                seen += 1
                if not node.get('name', {}).get('value'):
                    nameless.append((place, role))
    tap.say(not nameless and seen > 40, f'{seen} links, fields, buttons and tables have names', nameless)


def check_network(page, tap, token):
    sent = []
    for entry in page.browser.get_log('performance'):
        message = json.loads(entry['message'])['message']
        if message['method'] == 'Network.requestWillBeSent':
            sent.append(message['params']['request']['url'])
    sent = [url for url in sent if not url.startswith(('data:', 'chrome', 'about:'))]
    elsewhere = [url for url in sent if not url.startswith(page.origin + '/')]
    tap.say(len(sent) > 50 and not elsewhere, f'{len(sent)} requests went to the daemon, and no request elsewhere',
            elsewhere or len(sent))
    tap.say(not [url for url in sent if token in url.split('#')[0]], 'the token is in the address of no request')
    errors = [entry['message'] for entry in page.browser.get_log('browser') if entry['level'] == 'SEVERE' and
              ' 409 ' not in entry['message']]  # the conflict that check_decisions makes
    tap.say(not errors, 'the console has no errors', errors)


def check_away(page, api, tap):
    """From here on, the console has errors: the daemon is away."""
    page.go('#/workflows')
    tap.same(lambda: page.attribute('#banner', 'hidden'), '', 'while the daemon answers, no banner is shown')
    rows = len(api.workflows())
    tap.same(lambda: page.count(ROWS + ' td.note'), rows, 'the list is there again')
    page.cdp('Network.enable')
    page.cdp('Network.setBlockedURLs', urls=['*/v1/*'])
    tap.true(lambda: page.attribute('#banner', 'hidden') is None and 'has not answered since' in page.text('#banner'),
             'the page says that the daemon does not answer', lambda: page.text('#banner'))
    tap.say(page.count(ROWS + ' td.note') == rows, 'what is known stays', page.texts(ROWS))
    page.cdp('Network.setBlockedURLs', urls=[])
    tap.same(lambda: page.attribute('#banner', 'hidden'), '', 'the page takes the line back when the daemon answers')
    page.cdp('Network.setBlockedURLs', urls=['*/dygraph.js'])
    page.go(f"#/w/{api.named('two')['workflow']}/first")
    page.browser.refresh()
    tap.true(lambda: page.count('.numbers tbody tr') > 100 and 'without dygraphs' in page.text(),
             'without dygraphs the numbers stand in a table', page.text)
    page.cdp('Network.setBlockedURLs', urls=[])
    page.js('sessionStorage.clear(); location.reload()')
    tap.true(lambda: page.shows('main', 'no token'), 'a tab without a token says what to do', page.text)
    page.js('sessionStorage.setItem("phased-token", "0".repeat(64)); location.reload()')
    tap.true(lambda: page.shows('main', 'does not know the token'), 'a wrong token is told', page.text)


def check(url):
    origin, token = url.split('/#')
    api, tap = Api(origin, token), Tap()
    page = Page(url)
    try:
        page.browser.get(url)
        for part in (check_list, check_filter, check_keys, check_tab, check_workflow, check_curve, check_metric,
                     check_rewound, check_log, check_sweep, check_markup, check_decisions, check_looks,
                     check_names):
            try:
                part(page, api, tap)
            except Exception as error:  # an element that is not there fails this part alone
                tap.say(False, part.__name__, error)
        check_network(page, tap, token)
        check_away(page, api, tap)
    finally:
        page.browser.quit()
    print(f'1..{tap.number}')
    return 1 if tap.failed else 0


if __name__ == '__main__':
    if sys.argv[1:] == ['prepare']:
        prepare()
    elif len(sys.argv) == 3 and sys.argv[1] == 'check':
        sys.exit(check(sys.argv[2]))
    else:
        sys.exit(__doc__)
