"""What page.py checks about curves side by side."""
import re

from page_browser import wait_for

ROWS = '#main tr[data-row]'


def check_compare(page, api, tap):
    two, again = (api.named(name)['workflow'] for name in ('two', 'again'))
    page.go('#/workflows')
    box = f'#main tr[data-key="{two}"] input[data-list=pick]'
    wait_for(lambda: page.count(box))
    page.find(box).click()
    tap.same(page.fragment, f'#/workflows?pick={two}', 'a box chooses a workflow, and the address has it')
    page.js(f'document.querySelector(\'#main tr[data-key="{again}"] a\').focus()')
    page.press('x')
    tap.same(lambda: (page.fragment(), page.text('#compare')),
             (f'#/workflows?pick={two},{again}', 'compare 2 workflows'), 'so does the key x')
    page.press('X')
    tap.same(page.fragment, f'#/compare?with={two},{again}', 'X opens the comparison')
    points = [len(api.metric(two, 'first', 1, 'loss')), len(api.metric(two, 'second', 1, 'loss')),
              len(set(api.metric(again, 'train', 1, 'loss')) | set(api.metric(again, 'train', 2, 'loss')))]
    tap.same(lambda: page.attribute('.chart', 'data-points'), str(sum(points)),
             'one chart has the points of all phases')
    names = [f'{two}/first', f'{two}/second', f'{again}/train']
    cells = lambda label: page.texts(f'#main tbody td[data-label={label}]')
    tap.same(lambda: cells('curve'), names, 'the legend names the curves')
    tap.same(lambda: (cells('last'), cells('lowest')),
             (['600.5', '2', '20'], ['600.5 at step 300', '2 at step 1', '20 at step 80']),
             'the table has the last and the lowest values')
    colours = page.js('return [...document.querySelectorAll(".swatch")].map((e) => getComputedStyle(e).borderTopColor)')
    tap.say(len(set(colours)) == 3, 'each curve has a colour of its own', colours)
    page.find(f'.chip[data-name="{two}/second"]').click()
    page.find('.chip[data-name=speed]').click()
    wanted = f'#/compare?with={two}/first,{again}/train&metric=loss,speed'
    tap.same(page.fragment, wanted, 'the curves and the metrics stand in the address')
    page.browser.refresh()
    tap.same(lambda: (page.count('.chart'), cells('curve')), (2, [names[0], names[2], names[0]]),
             'after a reload each metric has a chart with the curves that have it')
    page.press(page.keys.ESCAPE)
    tap.same(lambda: (page.fragment(), page.count(ROWS + ' input:checked')),
             (f'#/workflows?pick={two},{again}', 2), 'Escape goes back to what was chosen')
    page.go('#/workflows')


def check_compare_many(page, api, tap):
    """The home has a held workflow whose first attempt has metrics, and whose newest has no metrics."""
    held = api.ask('/workflows?state=held')['workflows'][0]['workflow']
    rows = lambda: page.texts('#main tbody td[data-label=curve]')
    page.go(f'#/compare?with={held}&metric=metric_3')
    tap.same(lambda: (rows(), page.attribute('.chart', 'data-points')), ([f'{held}/validate'], '20'),
             'a phase keeps its curve while its newest attempt has told nothing')
    tap.same(lambda: page.count('#dropped'), 0, 'a comparison of few workflows leaves out no workflow')
    page.go(f"#/compare?with={held},{','.join(map(str, range(1, 30)))}")
    tap.same(lambda: page.text('#dropped'), 'Only the first 24 of 30 workflows are compared.',
             'a comparison says that it leaves out workflows')


def choose(page, field, value):
    """Chooses in a field with a list."""
    page.js('const s = document.querySelector(`select[data-set=${arguments[0]}]`); s.value = arguments[1];'
            's.dispatchEvent(new Event("input", {bubbles: true}))', field, value)


def duration(seconds):
    """A time of less than an hour, as the page writes it."""
    if seconds < 9.95:
        return f'{seconds:.1f}s'
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return f'{minutes}m{rest:02}s' if minutes else f'{rest}s'


def check_axis(page, api, tap):
    number = api.named('again')['workflow']
    page.go(f'#/w/{number}/train?zoom=10-50')
    labels = lambda: page.texts('.dygraph-axis-label-x')
    tap.true(lambda: '40' in labels(), 'the axis has steps', labels)
    choose(page, 'x', 'wall')
    tap.same(page.fragment, f'#/w/{number}/train?x=wall', 'the address has the axis, and the zoom of the other ends')
    is_clock = lambda: labels() and all(re.fullmatch(r'\d\d:\d\d(:\d\d)?', text) for text in labels())
    tap.true(is_clock, 'the axis has the time of day', labels)
    page.browser.refresh()
    tap.true(is_clock, 'after a reload it has it again', labels)
    choose(page, 'x', 'relative')
    is_duration = lambda: any(re.fullmatch(r'(\d+m ?)?\d+(\.\d)?s', text) for text in labels())
    tap.true(is_duration, 'the axis has the time since the start', labels)
    table = api.ask(f'/workflows/{number}/phases/train/runs/2/metrics?name=loss')
    begin = min(run['started'] for run in api.ask(f'/workflows/{number}/phases/train')['runs'])
    page.find('input[data-set=table]').click()
    tap.same(lambda: page.texts('.numbers tbody tr:first-child td')[:2],
             ['80', f"+{duration(table['times'][-1] - begin)}"], 'the table has the time of each step')
    run = lambda code: page.browser.execute_async_script(
        'const done = arguments[arguments.length - 1];'
        f'import("/axis.js").then((m) => done({code}), (error) => done(String(error)))')
    tap.same(lambda: run('m.ticks("relative", 50, 3700, 400).map((t) => t.label)'),
             ['15m00s', '30m00s', '45m00s', '1h00m'], 'times have round labels')
    midnight = 'new Date(2026, 2, 1).getTime() / 1000'
    tap.same(lambda: run(f'm.ticks("wall", {midnight} - 9000, {midnight} + 9000, 400).map((t) => t.label)'),
             ['22:00', '23:00', '00:00', '01:00', '02:00'], 'times of day are those of the place')


def check_zoom(page, api, tap):
    number = api.named('long')['workflow']
    metrics = f'/workflows/{number}/phases/train/runs/1/metrics?name=loss&buckets=500'
    rough = api.ask(metrics)['steps']
    points = lambda: page.attribute('.chart', 'data-points')
    page.go(f'#/w/{number}/train')
    tap.same(points, str(len(rough)), f'a long curve has {len(rough)} of 6000 points')
    page.go(f'#/w/{number}/train?zoom=1000-1200')
    low, high = max(step for step in rough if step < 1000), min(step for step in rough if step > 1200)
    rest = sum(step < low or step > high for step in rough)
    tap.same(points, str(rest + high - low + 1), 'a part that is zoomed has all its points')
    times = api.ask(metrics)['times']
    page.go(f'#/w/{number}/train?x=wall&zoom={times[200]}-{times[210]}')
    tap.true(lambda: int(points() or 0) > len(rough), 'so has a part of a time of day', points)
    wide = page.find('.chart canvas').rect
    for bad in ('10000000000000000-10000000000000002', '9-3', '1.2.3-4'):
        page.go(f'#/w/{number}/train?x=relative&zoom={bad}')
        tap.same(lambda: (points(), page.count('button[data-name=zoom]')), (str(len(rough)), 0),
                 f'the zoom {bad} is not a zoom')
    page.go(f'#/w/{number}/train')
    tap.same(points, str(len(rough)), 'without the zoom it has the few again')
    plot = page.find('.chart .plot')
    page.chain(page.browser).move_to_element_with_offset(plot, -int(wide['width'] / 8), 0).click_and_hold() \
        .move_by_offset(int(wide['width'] / 8), 0).release().perform()
    tap.true(lambda: 'zoom=' in page.fragment() and int(points() or 0) > len(rough),
             'a person zooms with the mouse', lambda: (page.fragment(), points()))


def check_marks(page, api, tap):
    """After check_decisions: a person has promoted held/first, whose gate had failed."""
    told = lambda: page.attribute('.chart .plot', 'aria-label') or ''
    # How many pixels of the chart have the colour of a mark.
    ink = lambda name: page.js(
        'const probe = document.createElement("canvas").getContext("2d"), c = document.querySelector(".chart canvas");'
        'probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--" + arguments[0]).trim();'
        'probe.fillRect(0, 0, 1, 1); const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;'
        'const d = c ? c.getContext("2d").getImageData(0, 0, c.width, c.height).data : []; let n = 0;'
        'for (let i = 0; i < d.length; i += 4) n += d[i] === r && d[i + 1] === g && d[i + 2] === b && d[i + 3] === 255;'
        'return n', name)
    two, held, again = (api.named(name)['workflow'] for name in ('two', 'held', 'again'))
    for place, words, colours, legend in (
            (f'{two}/first', ['gate passed: 4 checks at step 300', 'promoted by its gate: second goes on in '],
             ('good', 'promotion'), ('◆ gate', '▶ promotion')),
            (f'{held}/first', ['gate failed: falls at step 2', f"promoted by {api.ask('/ping')['user']} in the browser"],
             ('bad', 'promotion'), ('◆ gate', '▶ promotion')),
            (f'{again}/train', ['1 checkpoint, the last at step 20', 'attempt #2 begins at step 2'],
             ('good', 'dim'), ('▲ checkpoint', 'dotted: an attempt begins'))):
        page.go(f'#/w/{place}')
        tap.true(lambda: all(word in told() for word in words), f'the marks of {place} are told in words', told)
        tap.true(lambda: all(ink(name) > 4 for name in colours), f'and drawn, each in its colour',
                 lambda: [(name, ink(name)) for name in colours])
        tap.same(lambda: [sign in page.text('.legend') for sign in legend], [True] * 2,
                 f'and the legend has their signs: {", ".join(legend)}')
    signs = page.browser.execute_async_script(
        'const done = arguments[0]; import("/marks.js").then((m) => done(Object.values(m.SIGNS)), (e) => done([String(e)]))')
    tap.say(len(set(text[0] for text in signs)) == 4, 'each kind of mark has a sign of its own', signs)


def check_parts(page, api, tap):
    """The held workflow has a metric of 120,000 rows, whose lowest is -5 at step 70,001."""
    held = api.ask('/workflows?state=held')['workflows'][0]['workflow']
    path = f'/workflows/{held}/phases/validate/runs/1/metrics?name=deep&buckets=500'
    reply = api.ask(path)
    tap.say(reply['steps'][0] == 1 and reply['steps'][-1] < reply.get('next', 0) < 60000,
            'an answer has a bounded number of rows, and says where to go on', (reply['steps'][-1], reply.get('next')))
    page.go(f'#/w/{held}/validate?metric=deep')
    points = lambda: int(page.attribute('.chart', 'data-points') or 0)
    tap.true(lambda: 900 < points() < 1010, 'the page reads all parts, and draws two points for each bucket', points)
    tap.true(lambda: '2 at step 120000' in page.attribute('.chart .plot', 'aria-label'), 'the curve has its end',
             lambda: page.attribute('.chart .plot', 'aria-label'))
    page.go(f'#/w/{held}/validate?metric=deep&zoom=70000-70002')
    tap.true(lambda: points() > 1010 or page.text('.chart .says'), 'a zoom into a later part is drawn', points)
    run = lambda code: page.browser.execute_async_script(
        'const done = arguments[arguments.length - 1];'
        f'Promise.all([import("/curves.js"), import("/metric.js")]).then(([c, m]) => {code}).then(done, (e) => done(String(e)))')
    live = ('(async () => { const asked = []; const ask = (run, path) => { asked.push(path.replace(/.*buckets=500/, ""));'
            'return Promise.resolve(path.includes("from=") ? {steps: [50, 51], times: [5, 6], series: {a: [7, 8]}}'
            ': {steps: [1, 2], times: [1, 2], series: {a: [3, 4]}, next: 50}); };'
            'const runs = [{address: "9/x#" + performance.now(), attempt: 1, state: "running", started: 1}];'
            'await c.curve(runs, "a", ask, new URLSearchParams());'
            'const found = await c.curve(runs, "a", ask, new URLSearchParams());'
            'return [asked, found.line.map(({step}) => step)]; })()')
    tap.same(lambda: run(live), [['', '&from=50', '&from=50'], [1, 2, 50, 51]],
             'a run that goes on is asked for its newest part alone')
    tap.same(lambda: run('m.thin({steps: [0, 1, 2, 3, 4, 5, 6], times: [0, 1, 2, 3, 4, 5, 6], '
                         'values: [5, 9, 1, "nan", 4, "inf", 3]}, 2).steps'), [0, 1, 2, 3, 5, 6],
             'a series is made thinner by the rule of the API')


def check_strange(page, api, tap):
    """The last loss of strange/train and of strange/ladder.2 is NaN."""
    number, two, held = (api.named(name)['workflow'] for name in ('strange', 'two', 'held'))
    told = lambda: page.attribute('.chart .plot', 'aria-label') or ''
    last = lambda: (page.texts('#log .line') or [''])[-1]
    page.go(f'#/w/{two}/first')
    tap.true(lambda: '300 points' in told() and 'line' in last(), 'a phase has its curve and its log', told)
    page.go(f'#/w/{number}/train')
    wanted = 'loss: 6 points, 4.1 at step 1, nan at step 6; 1 not a number, first at step 6'
    tap.true(lambda: wanted in told() and last().endswith('step=6 loss=nan') and not page.text('#banner'),
             'so has a phase whose last loss is NaN', lambda: (told(), last(), page.text('#banner')))
    page.go(f'#/w/{number}/train?table=1')
    tap.same(lambda: page.texts('.numbers tbody tr:first-child td'), ['6', 'nan', '#1'], 'a table has it too')
    page.go(f'#/w/{number}/ladder')
    tap.true(lambda: 'ladder.2 nan' in told() and page.text('#banner') == '', 'and the curves of a sweep', told)
    page.go(f'#/compare?with={number}/train,{two}/first')
    tap.same(lambda: page.texts('#main tbody td[data-label=last]'), ['nan', '600.5'], 'and a comparison')
    run = lambda code: page.browser.execute_async_script(
        'const done = arguments[0]; Promise.all([import("/metric.js"), import("/format.js")])'
        f'.then(([m, f]) => done({code}), (error) => done(String(error)))')
    run_of = '{attempt: 1, started: 0, steps: [1, 2, 3, 4], times: [1, 2, 3, 4], values: [1, "inf", "-inf", "nan"]}'
    tap.same(lambda: run(f'm.smooth(m.stitch([{run_of}]).line, 0.5).map((p) => f.number(p.value))'),
             ['1', 'inf', '-inf', 'nan'], 'infinities stay infinities')
    page.go(f'#/w/{two}/first')
    tap.true(lambda: 'line' in last(), 'the log is there again', last)
    page.js('window.Dygraph.prototype.updateOptions = () => { throw new Error("no chart"); };'
            'window.Dygraph = Object.assign(function () { throw new Error("no chart"); }, window.Dygraph)')
    page.go(f'#/w/{held}/first')
    tap.same(lambda: (page.text('#banner'), page.text('#s-log h2'), page.texts('#log .line'), page.count('.chart canvas')),
             ('no chart. The page tries again.', f'Log of {held}/first#1', [], 0),
             'a page that cannot be drawn shows nothing of the page before')
    page.browser.refresh()


def check_infinite(page, api, tap):
    """The values of members may be infinite, while they run and when the best is chosen."""
    order = lambda phase: page.browser.execute_async_script(
        'const [phase, done] = arguments; import("/members.js").then((m) => done(m.sortMembers(phase).map('
        '({phase, isBest}) => phase + (isBest ? "*" : ""))), (e) => done(String(e)))', phase)
    values = {'a': None, 'b': 'inf', 'c': 5, 'd': '-inf', 'e': 7}
    rows = [{'phase': name, 'number': i, 'value': value} for i, (name, value) in enumerate(values.items())]
    far = {name: value for name, value in values.items() if value is not None}
    tap.same(lambda: order({'members': rows, 'so_far': {'goal': 'min', 'values': far}}), ['d*', 'c', 'e', 'b', 'a'],
             'a member with an infinite value so far has its place before one without a value')
    tap.same(lambda: order({'members': rows, 'so_far': {'goal': 'max', 'values': far}}), ['b*', 'e', 'c', 'd', 'a'],
             'and wins if the highest value wins')
    chosen = [dict(row, standing='best' if row['phase'] == 'b' else 'left') for row in rows]
    tap.same(lambda: order({'members': chosen}), ['b*', 'c', 'd', 'e', 'a'], 'an infinite value may be the best')


def check_heat(page, api, tap):
    """The home has samples of 8 GPUs over an hour: n2 GPU 3 is idle from half an hour on. The attempt
    before had one GPU of n3."""
    held = next(item for item in api.ask('/workflows?state=held')['workflows'])
    page.go(f"#/w/{held['workflow']}/validate")
    told = lambda: page.attribute('.heat canvas', 'aria-label')
    tap.same(told, '8 GPUs over 59m50s: 84 % busy in the mean; least busy: n2 GPU 3, 45 %',
             'the map of GPUs is told in words')
    shade = lambda part, row: page.js(
        'const c = document.querySelector(".heat canvas"), [part, row] = arguments;'
        'return [...c.getContext("2d").getImageData(90 + (c.width - 90) * part, row * 16 + 8, 1, 1).data].join()',
        part, row)
    same, idle, busy = shade(0.25, 7), shade(0.75, 7), shade(0.75, 6)
    tap.say(busy == same != idle, 'a GPU that becomes idle becomes light', (busy, same, idle))
    canvas = page.find('.heat canvas')
    page.chain(page.browser).move_to_element_with_offset(canvas, int(canvas.rect['width'] / 4), 50).perform()
    tap.true(lambda: re.fullmatch(r'n2 GPU \d, .*: \d+ %', page.text('.heat .says')),
             'what is pointed at is told', lambda: page.text('.heat .says'))
    tap.same(lambda: page.count('#s-gpus tbody tr'), 8, 'a table has the newest figures')
    page.find('#s-attempts a[aria-label^="attempt 1:"]').click()
    tap.same(lambda: (told(), page.text('#s-gpus h2'), page.texts('#s-gpus td[data-label=node]')),
             ('1 GPU over 59m50s: 20 % busy in the mean', f"GPUs of {held['workflow']}/validate#1", ['n3']),
             'the attempt in the address chooses whose GPUs are shown')
    page.browser.refresh()
    tap.same(told, '1 GPU over 59m50s: 20 % busy in the mean', 'after a reload they are the same')
