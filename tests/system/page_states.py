"""What page.py checks about states that a test does not come to quickly. The browser alters what the daemon
answers; alter() lasts until the page is loaded anew."""
from page_browser import wait_for

WAITS = ('const wait = (phase) => { const run = {...phase.run, attempt: 2, started: null, ended: null, outcome: null,'
         ' state: "pending", job_state: "pending", nodes: [], address: phase.address + "#2"};'
         'phase.run = run; phase.state = "queued"; phase.attempts = 2;'
         'if (phase.runs) phase.runs = [run, ...phase.runs]; }; ')


def alter(page, part, code):
    """Runs the code with each answer `json` whose path contains the part. Only attempt 1 is there to ask about."""
    page.browser.refresh()
    page.js('const code = new Function("json", "path", arguments[1]), part = arguments[0];'
            'window.fetch = ((ask) => async (path, options) => { const reply = await ask(path.replace(/runs.2$/, "runs/1"), options);'
            'if (!path.includes(part) || !reply.ok) return reply;'
            'const json = await reply.json(); code(json, path); return new Response(JSON.stringify(json)); })'
            '(window.fetch)', part, code)


def check_waiting(page, api, tap):
    """The newest attempt waits in the queue."""
    number = api.named('two')['workflow']
    alter(page, '/phases/first?', WAITS + 'wait(json);')
    page.go(f'#/w/{number}/first')
    tap.same(lambda: (page.texts('.head .state'), page.text('#s-log h2'), page.attribute('.chart', 'data-points') is not None),
             (['…queued'], f'Log of {number}/first#1', True), 'while an attempt waits, the curve and the log of the last one stay')
    tap.true(lambda: 'job' not in page.text('.head'), 'a job without nodes is not on a node', lambda: page.text('.head'))
    number = api.named('sweep')['workflow']
    alter(page, '/phases/ladder?', WAITS + 'wait(json.members[0]);')
    page.go(f'#/w/{number}/ladder')
    tap.same(lambda: (page.attribute('.chart', 'data-points'), page.count('#s-members .swatch')), ('15', 3),
             'a member whose next attempt waits keeps its curve')
    alter(page, '/phases/ladder?', 'json.members = Array.from({length: 30}, (_, i) => ({...json.members[i % 3], number: i + 1}))')
    page.go('#/workflows')
    page.go(f'#/w/{number}/ladder')
    tap.same(lambda: page.text('#dropped'), 'The curves of the first 24 of 30 members are shown.',
             'the page says how many members have curves')


def check_other_branch(page, api, tap):
    """A phase is held while another branch runs."""
    number = api.named('held')['workflow']
    alter(page, '/workflows?', f'const one = json.workflows.find((item) => item.workflow === {number});'
          'one.state = "running"; one.phases.unshift({...one.phases[1], phase: "sleeps", state: "active", reason: ""})')
    page.go('#/workflows')
    row = f'#main tr[data-key="{number}"]'
    groups = ('const names = []; for (let row = document.querySelector(arguments[0]); row; row = row.previousElementSibling)'
              '{ names.push(row.textContent); } return names.find((name) => /^(Waiting|At work|Over)/.test(name)) || ""')
    tap.true(lambda: page.js(groups, row).startswith('Waiting for you') and page.count(row + '.needs') == 1,
             'a workflow waits for a person while another branch of it runs', lambda: page.js(groups, row))
    tap.same(lambda: (page.texts(row + ' td[data-label=phase]'), page.texts(row + ' .state')), (['first'], ['❚❚held']),
             'its row is about the phase that is held')


def check_held_row(page, api, tap):
    number = api.named('held')['workflow']
    page.browser.refresh()
    page.go(f'#/w/{number}')
    page.shows('#s-held', f'{number}/first is')
    page.press('j')
    for key, verb in (('p', 'Promote'), ('c', 'Cancel'), ('r', 'Retry')):
        page.press(key)
        tap.true(lambda: page.shows('dialog[open]', f'{verb} {number}/first?'), f'{key} decides about the row of a held phase',
                 lambda: page.text('dialog'))
        page.press(page.keys.ESCAPE)
        wait_for(lambda: page.count('dialog[open]') == 0)
    page.press('j')
    page.press('p')
    tap.say(page.count('dialog[open]') == 0, 'p on another row does not decide about the held phase')


def check_loading(page, api, tap):
    """A person is quicker than the daemon."""
    number = api.named('two')['workflow']
    for before, place, act, after in (
            (f'#/w/{number}', f'#/w/{number}/first', 'document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}))', f'#/w/{number}'),
            (f'#/w/{number}/first', '#/nodes', 'document.querySelector("[data-act=metric]").click()', '#/nodes')):
        page.browser.refresh()
        page.go(before)
        wait_for(lambda: page.js('return document.title').startswith(before[4:].replace('/first', '/first ')))
        page.js('window.true_fetch = window.fetch; window.fetch = () => new Promise(() => 0);'
                'window.wrong = []; window.addEventListener("error", (event) => window.wrong.push(event.message));')
        page.go(place)
        wait_for(lambda: page.fragment() == place)
        page.js(act)
        tap.same(lambda: (page.fragment(), page.js('return window.wrong'), page.text('#said')), (after, [], ''),
                 f'what a person does while {place} loads is about {place}')
    page.browser.refresh()


def check_figures(page, api, tap):
    number = api.named('sweep')['workflow']
    alter(page, '/phases/ladder?', 'json.members[0].case.width = 1234567891; json.members[1].case.width = 0.00012345;'
          'json.members[0].value = 1234567891; json.members[1].value = 0.000012345;')
    page.go(f'#/w/{number}/ladder')
    tap.same(lambda: sorted(page.texts('#s-members td[data-label=width]')), ['0.00012345', '1234567891', '32'],
             'params are shown as they were given')
    tap.same(lambda: sorted(page.texts('#s-members td[data-label=value]')), ['1.234e-05', '1.235e+09', '63'],
             'a value that is rounded does not look exact')
    number = api.named('live')['workflow']
    alter(page, '/gpus', 'json.gpus = [{node: "n1", gpu: 0, sampled: 0}]; json.paces = [{node: "n1", step_seconds: 0.0123}]')
    page.go(f'#/w/{number}/ladder.1')
    tap.true(lambda: 'n1: 0.0123s a step' in page.text('#s-gpus'), 'a fast step takes more than 0 seconds',
             lambda: page.text('#s-gpus'))
    number = api.named('spent')['workflow']
    alter(page, f'/workflows/{number}', 'json.budget = {gpu_hours: 5}; json.projected_cost_usd = 3; json.projected_gpu_seconds = 36000')
    page.go(f'#/w/{number}')
    tap.true(lambda: 'budget of 5 GPU hours; warning: at this pace $3.00 and 10 GPU hours when' in page.text('.facts'),
             'a warning about a budget in GPU hours names the GPU hours', lambda: page.text('.facts'))


def check_read_back(page, api, tap):
    """Somebody reads earlier lines of a log that grows."""
    number = api.named('live')['workflow']
    path = api.ask(f'/workflows/{number}/phases/ladder.2/runs/1/logs')['logs'][0]['path']
    lines = [f'line {i} \u20ac of a log that grows, and has many lines' for i in range(12000)]
    def write(mode, begin, end):
        with open(path, mode, encoding='utf-8') as file:
            file.write(''.join(line + '\n' for line in lines[begin:end]))
    write('w', 0, 4000)
    page.browser.refresh()
    page.go(f'#/w/{number}/ladder.2')
    page.shows('#log', 'line 3999 ')
    count = lambda: page.count('#log .line')
    def earlier():
        before = count()
        page.js('document.querySelector("button[data-act=earlier]").click()')
        wait_for(lambda: count() != before)
    at_top = lambda: page.js('const log = document.querySelector("#log"); return [...log.childNodes].find((line) =>'
                             'line.offsetTop + line.offsetHeight > log.offsetTop + log.scrollTop).textContent.slice(0, 9)')
    for begin in range(4000, 11000, 1000):
        write('a', begin, begin + 1000)
        page.shows('#log', f'line {begin + 999} ')
    tap.say(count() < 6500, 'a log that grows drops its oldest lines', count())
    tap.say(page.text('#log').startswith('…') and page.count('button[data-act=earlier]') == 1,
            'they can be read again', page.text('#log')[:80])
    for _ in range(20):
        if not page.count('button[data-act=earlier]'):
            break
        earlier()
    with open(path, encoding='utf-8') as file:
        tap.say(page.text('#log') == file.read(), 'what is read back is the file', (count(), page.text('#log')[:80]))
    page.js('document.querySelector("#log").scrollTop = 4000')
    top = at_top()
    write('a', 11000, 12000)
    page.shows('#log', 'line 11999 ')
    tap.same(lambda: (count(), at_top()), (12000, top), 'what was read back stays, where it was, when the log grows')
