#!/usr/bin/python3
"""The page in Chromium, as a person uses it. Prints TAP.

    page.py prepare       submits what the checks look at, and waits until it is there: PHASED_HOME
                          names a home whose daemon answers, and phasectl is on the path
    page.py check URL     what phasectl open prints for that home; promotes what is held
    page.py many URL      the same of a home with 3,000 workflows that ended and one that is held

Each check can run alone only after those before it. A check waits for what it wants to see, up to a
deadline, and fails with what it saw last.
"""
import datetime
import json
import re
import sys

from page_away import check_away, check_tab
from page_browser import ROWS, Api, Page, Tap, wait_for
from page_charts import (check_axis, check_compare, check_compare_many, check_heat, check_infinite, check_marks,
                         check_parts, check_strange, check_zoom)
from page_home import prepare
from page_runs import (check_budget, check_earlier, check_line, check_rest, check_resume, check_rotated,
                       check_set_aside, check_verbs)
from page_states import (check_figures, check_held_row, check_loading, check_other_branch, check_read_back,
                         check_waiting)

NARROW = 390


# --- The checks ----------------------------------------------------------------------------------

def check_list(page, api, tap):
    wanted = [str(item['workflow']) for item in api.workflows()]
    ids = lambda: page.texts(ROWS + ' td:first-child')
    tap.same(ids, wanted, 'the list has the workflows in the order of the API')
    tap.same(page.fragment, '#/workflows', 'the token is no longer in the address')
    held = [str(api.named(name)['workflow']) for name in ('spent', 'near', 'held')]
    tap.same(lambda: page.texts('#main tbody tr')[:1], ['Waiting for you 3'], 'what waits for a person comes first')
    tap.same(lambda: page.texts('#main tr.needs td:first-child'), held, 'these are the workflows that are held')
    row = f'#main tr[data-key="{api.named("two")["workflow"]}"]'
    tap.same(lambda: page.texts(row + ' .state'), ['✓succeeded'], 'a state is a sign and a word')
    row = f'#main tr[data-key="{api.named("again")["workflow"]}"]'
    tap.same(lambda: page.texts(row + ' td.metric'), ['loss 20'], 'the newest metric has a column')
    tap.same(lambda: page.texts(row + ' td.note'), ['no gate'], 'so has the note')


def check_filter(page, api, tap):
    page.find('#filter').send_keys('Two.y') # of the file's name, which no folder for tests has
    tap.same(lambda: page.texts(ROWS + ' a'), ['two'], 'the filter leaves what fits, whatever the case')
    tap.same(page.fragment, '#/workflows?filter=Two.y', 'the filter stands in the address')
    page.browser.refresh()
    tap.same(lambda: (page.texts(ROWS + ' a'), page.js('return document.querySelector("#filter")?.value')),
             (['two'], 'Two.y'), 'after a reload the filter is the same')
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
             ['low: last at most 700=700', 'under: last below 650=650'], 'plain checks give lines to draw')
    bounds = lambda *checks: run('m.boundsOf("a", {x: %s}).map((b) => b.text)' % ', x: '.join(checks))
    for check, wanted in (('"last(a) < 3"', 'last below 3'), ('{condition: "(0.1 <= mean(a))"}', 'mean at least 0.1'),
                          ('"b > 1 and a > -1e-3"', 'last above -0.001')):
        tap.same(lambda: bounds(check), ['x: ' + wanted], f'the condition {check} gives a line to draw')
    for check in ('{value: "last(a) / 2", below: 1}', '"last(a) < first(a)"', '"last(a) < 3 or b > 1"',
                  '"not (a < 3)"', '"last(a) / 2 < 1"', '"last(b) < 1"'):
        tap.same(lambda: bounds(check), [], f'the check {check} gives no line')
    page.go(f'#/w/{number}/first')
    tap.same(lambda: page.attribute('.chart', 'data-bounds'), 'low: last at most 700; under: last below 650',
             'the chart has both lines')
    bare = 'resume: null, first_step: null, steps: [], times: [], values: []'
    more = 'resume: null, first_step: null, steps: [1], times: [60], values: [2]'
    tap.same(lambda: run(f'm.stitch([{{attempt: 1, started: 10, {bare}}}, {{attempt: 2, started: 50, {more}}}]).begin'),
             10, 'a curve begins with its first attempt, although the attempt has no points')
    tap.same(lambda: run('m.smooth([1, 1, 4].map((value) => ({value})), 0.5).map((p) => p.value.toFixed(3))'),
             ['1.000', '1.000', '2.714'], 'smoothing does not pull the first values to 0')
    kept = page.browser.execute_async_script(
        'const done = arguments[0]; import("/api.js").then(({keep}) => { const map = new Map();'
        '[1, 2, 3, 1, 4].forEach((n) => keep(map, n, n, 3)); done([...map.keys()]); }, (e) => done(String(e)))')
    tap.say(kept == [3, 1, 4], 'the answers that are kept are bounded', kept)


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
    causes = {row['cause'] for row in api.ask(f'/costs?workflow={number}')['costs']}
    tap.say('held' in causes and 'cancelled' not in causes, 'the time of a run that was held is not called cancelled',
            causes)
    page.go(f'#/w/{number}')
    tap.true(lambda: '#1 stopped' in page.texts('.lane .piece.idle'), 'nor is its training shown as held',
             lambda: page.texts('.lane .piece'))


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


def check_live(page, api, tap):
    number = api.named('live')['workflow']
    page.go(f'#/w/{number}/ladder')
    tap.same(lambda: page.texts('#s-members tbody td:first-child'), ['ladder.2', 'ladder.3', 'ladder.1'],
             'members that run are ranked by their values so far')
    tap.same(lambda: page.texts('#s-members td[data-label=value]'), ['33', '65', '81'], 'they have these values')
    colours = page.js('return [...document.querySelectorAll("#s-members .swatch")]'
                      '.map((e) => getComputedStyle(e).borderTopColor)')
    tap.say(len(set(colours)) == 3, 'and colours of their own', colours)
    for width in (1024, 1280, 1440):
        page.width(width)
        page.go(f'#/w/{number}')
        wait_for(lambda: page.count('#s-phases td.verbs button') == 4)
        heights = page.js('return [...document.querySelectorAll("#s-phases td.verbs button")]'
                          '.map((e) => e.getBoundingClientRect().height)')
        tap.say(len(heights) == 4 and max(heights) < 24, f'at {width} pixels, buttons are one line high', heights)
        page.go('#/workflows')
        tap.same(lambda: page.js('return document.documentElement.scrollWidth <= innerWidth'), True,
                 f'at {width} pixels, the list is not wider than the page')
    page.width(1440)
    page.go(f'#/w/{number}')
    wait_for(lambda: page.count('#s-phases td.verbs button') == 4)
    page.press('j')
    for key, verb in (('c', 'Cancel'), ('h', 'Hold')):
        page.press(key)
        tap.true(lambda: page.shows('dialog[open]', f'{verb} {number}/ladder?'),
                 f'{key} decides about the row, and asks')
        page.press(page.keys.ESCAPE)
        wait_for(lambda: page.count('dialog[open]') == 0)
    page.press('p')
    tap.say(page.count('dialog[open]') == 0, 'p does nothing where nothing can be promoted')


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
    events = api.ask(f'/events?workflow={number}&wait=0')['events']
    user = api.ask('/ping')['user']
    tap.true(lambda: any(f'{user} in the browser' in event['message'] for event in events),
             'the record has who decided', lambda: [event['message'] for event in events])
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


def check_nodes(page, api, tap):
    """From here on, a node is left out."""
    page.go('#/workflows')
    page.find('header a[href="#/nodes"]').click()
    tap.true(lambda: page.shows('#s-left-out .empty', 'No node is left out'), 'a link leads to the nodes that are left out')
    at_work = lambda: sorted([node, run['address']] for run in api.ask('/runs?at_work=1')['runs'] for node in run['nodes'])
    tap.true(lambda: at_work() and at_work() == sorted(
        map(list, zip(page.texts('#s-used td[data-label=node]'), page.texts('#s-used td[data-label=run]')))),
             'each node in use has its runs', lambda: (at_work(), page.texts('#s-used tr')))
    node = api.ask(f"/workflows/{api.named('two')['workflow']}/phases/first")['run']['nodes'][0]
    api.ask('/nodes/' + node, {'message': 'fan <b>noise</b>'})
    page.press(page.keys.ESCAPE)
    tap.same(page.fragment, '#/workflows', 'Escape leads from there to the workflows')
    page.go('#/nodes')
    tap.same(lambda: [page.texts(f'#s-left-out td[data-label={name}]') for name in ('node', 'cause', 'until', 'message')],
             [[node], ['wanted'], ['cleared'], ['fan <b>noise</b>']], 'a node has its cause, its message and its end')


def check_costs(page, api, tap):
    page.go('#/workflows')
    page.find('header a[href="#/costs"]').click()
    month = datetime.datetime.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    numbers = {str(row['workflow']) for row in api.ask(f'/costs?since={month.timestamp():.0f}')['costs']}
    tap.same(lambda: set(page.texts('#s-workflows td[data-label=workflow]')), numbers,
             'each workflow that began a run this month has its costs')
    page.go('#/costs?month=all')  # the month may have ended since
    costs = api.ask('/costs')['costs']
    numbers = {str(row['workflow']) for row in costs}
    causes = {row['cause'].replace('_', ' ') for row in costs} | {'total'}
    tap.same(lambda: set(page.texts('#s-causes td[data-label="spent on"]')), causes,
             'the costs are summed by what they were spent on')
    tap.same(lambda: page.texts('#s-causes td[data-label=share]')[-1:], ['100 %'], 'the last row is the total')
    page.go('#/costs?month=2020-02')
    tap.true(lambda: page.shows('h1', 'Costs of 2020-02') and page.shows('#main .empty', 'No run began'),
             'a month without runs says so', page.text)
    page.find('a[href="#/costs?month=all"]').click()
    tap.same(lambda: set(page.texts('#s-workflows td[data-label=workflow]')), numbers, 'a link leads to all time')


def check_looks(page, api, tap):
    workflows = api.workflows()
    places = ['#/workflows', '#/nodes', '#/costs',
              '#/compare?with=' + ','.join(str(item['workflow']) for item in workflows)]
    for item in workflows:
        places += [f"#/w/{item['workflow']}"]
        places += [f"#/w/{item['workflow']}/{phase['phase']}" for phase in item['phases']]
    page.width(NARROW)
    wide, late = [], []
    for place in places:
        page.go(place)
        title = place.removeprefix('#/').removeprefix('w/')
        if not wait_for(lambda: page.js('return document.title.startsWith(arguments[0]) &&'
                                        'document.querySelectorAll("h1").length === 1', title.split('/')[0][:6])):
            late += [(place, page.js('return document.title'), page.text()[:100])]
        size = page.js('return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame('
                       '() => go(document.documentElement.scrollWidth))))')
        wide += [(place, size)] if size > NARROW else []
    tap.say(not wide and not late, f'{len(places)} places fit {NARROW} pixels', (wide, late))
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
    for place in ('#/workflows', '#/nodes', '#/costs', f"#/w/{api.named('two')['workflow']}",
                  f"#/w/{api.named('two')['workflow']}/first"):
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
    tap.say(len(sent) > 20 and not elsewhere, f'{len(sent)} requests went to the daemon, and no request elsewhere',
            elsewhere or len(sent))
    tap.say(not [url for url in sent if token in url.split('#')[0]], 'the token is in the address of no request')
    errors = [entry['message'] for entry in page.browser.get_log('browser') if entry['level'] == 'SEVERE' and
              ' 409 ' not in entry['message'] and  # the conflict that check_decisions makes
              not re.search(r'/logs?\b.* 500 ', entry['message'])]  # the logs of check_set_aside
    tap.say(not errors, 'the console has no errors', errors)


def check_many(page, api, tap):
    tap.same(lambda: (page.count(ROWS), page.text('#count')), (100, 'the first 100 of 3001 workflows'),
             'a long list begins with 100 workflows')
    page.js('window.scrollTo(0, document.body.scrollHeight)')
    tap.same(lambda: (page.count(ROWS), page.fragment()), (200, '#/workflows?rows=200'),
             'at its end it goes on, and the address has how far')
    page.js('window.scrollTo(0, 0); document.querySelector("#more button").click()')
    tap.same(lambda: page.count(ROWS), 300, 'a button does the same')
    wanted = [str(item['workflow']) for item in api.ask('/workflows?all=1&limit=300')['workflows']]
    tap.same(lambda: page.texts(ROWS + ' td:first-child')[:300], wanted, 'the rows are in the order of the API')
    page.js('window.true_fetch = window.fetch; window.fetch = async (path, options) => {'
            'const reply = await window.true_fetch(path, options);'
            'if (!path.includes("/workflows?")) return reply;'
            'const json = await reply.json(); json.total = 300; return new Response(JSON.stringify(json)); }')
    page.go('#/nodes')
    page.go('#/workflows?rows=300')
    tap.same(lambda: (page.count(ROWS), page.count('#more')), (300, 0), 'there is no button if no workflow is left to show')
    page.browser.refresh()
    tap.true(lambda: page.count(ROWS) >= 300, 'after a reload they are there again', lambda: page.count(ROWS))
    page.find('#filter').send_keys('NEEDLE')
    tap.same(lambda: (page.texts(ROWS + ' a'), page.fragment()), (['needle'], '#/workflows?filter=NEEDLE'),
             'the search finds a workflow that no row had')
    page.find('#filter').clear()
    page.go('#/workflows?state=held')
    tap.same(lambda: page.count(ROWS), 1, 'so does the state')


PARTS = (check_list, check_filter, check_keys, check_tab, check_workflow, check_curve, check_metric,
         check_rewound, check_line, check_log, check_earlier, check_sweep, check_live, check_infinite, check_rest,
         check_rotated, check_set_aside, check_compare, check_axis, check_zoom, check_strange, check_waiting,
         check_other_branch, check_held_row, check_loading, check_figures, check_read_back, check_markup,
         check_decisions, check_marks, check_verbs, check_resume, check_budget, check_nodes, check_costs,
         check_looks, check_names)
MANY = (check_many, check_compare_many, check_heat, check_parts)


def check(url, parts):
    origin, token = url.split('/#')
    api, tap = Api(origin, token), Tap()
    page = Page(url)
    try:
        page.browser.get(url)
        for part in parts:
            try:
                part(page, api, tap)
            except Exception as error:  # an element that is not there fails this part alone
                tap.say(False, part.__name__, error)
        check_network(page, tap, token)
        if parts is PARTS:
            check_away(page, api, tap)
    finally:
        page.browser.quit()
    print(f'1..{tap.number}')
    return 1 if tap.failed else 0


if __name__ == '__main__':
    if sys.argv[1:] == ['prepare']:
        prepare()
    elif len(sys.argv) == 3 and sys.argv[1] in ('check', 'many'):
        sys.exit(check(sys.argv[2], PARTS if sys.argv[1] == 'check' else MANY))
    else:
        sys.exit(__doc__)
