"""What page.py checks about the attempts of a phase: their line of time, what a person decides, and how
often the page asks."""
import os

from page_browser import wait_for


def check_line(page, api, tap):
    number = api.named('again')['workflow']
    page.go(f'#/w/{number}/train?metric=loss')
    line = '#s-attempts .piece'
    words = lambda: [text for text in page.texts(line) if text != 'queued']
    tap.same(words, ['#1 stopped', 'held', '#2 resumed, succeeded'], 'the line of a phase has its attempts and holds')
    kinds = lambda: {kind for kind in ('wait', 'idle', 'held', 'good') if page.count(f'{line}.{kind}')}
    tap.true(lambda: kinds() >= {'idle', 'held', 'good'}, 'each kind of piece has its look', kinds)
    page.js(f'[...document.querySelectorAll("{line}")].at(-1).focus()')
    tap.true(lambda: ', resumed from step 20, ' in page.text('#s-attempts .tip'),
             'an attempt tells where it resumed', lambda: page.text('#s-attempts .tip'))
    # The line of the address before stays until the page has asked the daemon again.
    wait_for(lambda: page.count(f'{line}[href*="metric=loss"]') > 0)
    page.js('[...document.querySelectorAll(arguments[0])].find((e) => e.textContent === "#1 stopped").click()', line)
    tap.same(lambda: (page.fragment(), page.text('#s-log h2')),
             (f'#/w/{number}/train?metric=loss&run=1', f'Log of {number}/train#1'),
             'a piece leads to its log, and keeps what else is chosen')


def check_verbs(page, api, tap):
    """From here on, steer/train is cancelled."""
    number = api.named('steer')['workflow']
    address = f'{number}/train'
    state = lambda: api.ask(f'/workflows/{number}/phases/train')['state']
    attempts = lambda: api.ask(f'/workflows/{number}/phases/train')['attempts']
    user = api.ask('/ping')['user']
    # The log below grows meanwhile, and a button that moves below the header takes no click of a mouse.
    click = lambda button: page.js('document.querySelector(arguments[0]).click()', button)
    page.go(f'#/w/{number}/train')
    page.browser.refresh()  # check_decisions holds back what the page sends
    checks = f'[data-key="gate-{address}"] tbody tr'
    tap.same(lambda: list(zip(page.texts(checks + ' td:first-child'), page.texts(checks + ' .state'))),
             [('high', '!warned'), ('higher', '!failing')], 'while a run goes on, a check that only warns has warned')
    page.js('window.told = []; new MutationObserver(() => window.told.push(document.querySelector("#said").textContent))'
            '.observe(document.querySelector("#said"), {childList: true})')
    told = lambda: page.js('return window.told')
    for verb, before, after, focus, says in (
            ('hold', 'active', 'held', 'yes', f'{address} is being held: its run stops'),
            ('release', 'held', 'active', 'yes', f'{address} released'),
            ('cancel', 'active', 'cancelled', 'no', f'{address} is being cancelled: its run stops'),
            ('retry', 'cancelled', 'active', 'yes', f'{address} will be run again'),
            ('cancel', 'active', 'cancelled', 'no', f'{address} is being cancelled: its run stops')):
        wait_for(lambda: state() == before)
        button = f'#main button[data-verb={verb}]'
        wait_for(lambda: page.count(button) == 1)
        count = attempts()
        click(button)
        tap.true(lambda: page.shows('dialog[open]', f'{verb.capitalize()} {address}?'), f'{verb} asks first',
                 lambda: page.text('dialog'))
        tap.same(lambda: page.js('return document.activeElement.dataset.key'), focus,
                 f'the focus is on the button that is safe: {focus}')
        page.press(page.keys.ESCAPE)
        tap.same(lambda: (page.count('dialog[open]'), state(), attempts()), (0, before, count), 'Escape changes nothing')
        click(button)
        page.find('dialog button[type=submit]').click()
        tap.true(lambda: says in told(), f'the page says what becomes of it: {says}', told)
        page.js('window.told = []')
        tap.true(lambda: state() == after, f'{verb} makes it {after}', state)
        tap.true(lambda: any(word.endswith(after) for word in page.texts('.head .state')), 'and the page follows',
                 lambda: page.texts('.head .state'))
    messages = [event['message'] for event in api.ask(f'/events?workflow={number}&wait=0')['events']]
    tap.say(sum(f'by {user} in the browser' in text for text in messages) >= 5,
            'the record has who decided each', messages)


def check_budget(page, api, tap):
    """The budget of spent counts GPU hours."""
    number = api.named('spent')['workflow']
    page.go(f'#/w/{number}')
    tap.true(lambda: f'First give the workflow a larger budget: phasectl budget {number} --gpu-hours N.' in page.text('#s-held'),
             'what a budget holds needs more of what the budget counts', lambda: page.text('#s-held'))


def check_resume(page, api, tap):
    """The gate of near/train fails after step 2 and passes after step 4."""
    number = api.named('near')['workflow']
    train = lambda: api.ask(f'/workflows/{number}/phases/train')
    tap.same(lambda: (train()['state'], train()['attempts']), ('held', 1), 'a gate holds the phase')
    page.go(f'#/w/{number}/train')
    button = '#main button[data-verb=resume]'
    wait_for(lambda: page.count(button) == 1)
    tap.same(lambda: page.js('return document.querySelector(arguments[0]).title', button),
             'resume: go on from the checkpoint of step 2', 'the page offers to resume, and names the step')
    tap.same(lambda: page.attribute('#main button[data-verb=retry]', 'title'), 'retry: run the phase again',
             'and says of a retry what phasectl says')
    page.js('document.querySelector(arguments[0]).click()', button)
    wait_for(lambda: page.count('dialog[open]') == 1)
    page.find('dialog button[type=submit]').click()
    tap.true(lambda: train()['state'] == 'succeeded', 'resume goes on until the gate passes', train)
    tap.same(lambda: [text for text in page.texts('#s-attempts .piece') if text.startswith('#')][-1:],
             ['#2 resumed, succeeded'], 'the page shows that the second attempt resumed')


def check_rest(page, api, tap):
    """The daemon takes 1.5 s to answer about a run whose log is followed."""
    page.go(f"#/w/{api.named('live')['workflow']}/ladder.1")
    page.shows('#log', 'step=5')
    page.js('window.asked = []; window.fetch = ((ask) => async (path, options) => {'
            'if (!path.endsWith("?so_far=1") || path.includes("/gate")) return ask(path, options);'
            'const one = {begin: performance.now()}; window.asked.push(one);'
            'await new Promise((go) => setTimeout(go, 1500));'
            'const reply = await ask(path, options); one.end = performance.now(); return reply; })(window.fetch)')
    asked = lambda: page.js('return window.asked')
    wait_for(lambda: len(asked()) >= 3)
    first, *_ = rests = [(later['begin'] - one['end']) / (one['end'] - one['begin'])
                         for one, later in zip(asked(), asked()[1:])] or [0]
    tap.say(len(rests) >= 2 and min(rests) > 2.9, 'the page rests three times as long as the daemon took', rests)
    page.browser.refresh()


def check_rotated(page, api, tap):
    """Somebody puts a shorter file in place of a log that is followed."""
    number = api.named('live')['workflow']
    path = api.ask(f'/workflows/{number}/phases/ladder.1/runs/1/logs')['logs'][0]['path']
    page.go(f'#/w/{number}/ladder.1')
    page.shows('#log', 'step=5')
    for text in ('rotated\n', 'again\n'):
        with open(path + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(path + '.new', path)
        tap.same(lambda: page.text('#log'), text, 'a log that became shorter is read anew')
    tap.same(lambda: page.text('#log-says'), f'{path} (6 bytes)', 'and the whole log is shown')
    with open(path, 'a', encoding='utf-8') as file:
        file.write('more\n')
    tap.same(lambda: page.text('#log'), 'again\nmore\n', 'and followed')
    with open(path, 'a', encoding='utf-8') as file:
        file.write('a \x1b]8;;x\x1b\\link\x1b]8;;\x1b\\ b\x07 \x1b[1;31mc\x1b(B\x1b[m\n')
    tap.same(lambda: page.texts('#log .line')[-1:], ['a link b c'], 'a line is shown without what only a terminal obeys')


def check_set_aside(page, api, tap):
    """phased has set aside a full log. Then the log cannot be read, and then its folder cannot."""
    number = api.named('live')['workflow']
    path = api.ask(f'/workflows/{number}/phases/ladder.1/runs/1/logs')['logs'][0]['path']
    earlier, folder = path.replace('.log', '.first.log'), os.path.dirname(path)
    with open(earlier, 'w', encoding='utf-8') as file:
        file.write('begin\n')
    says = f'the end of {path} ({os.stat(path).st_size} bytes); earlier lines: phasectl logs {number}/ladder.1#1'
    tap.same(lambda: page.text('#log-says'), says, 'a log whose beginning was set aside is not called the whole log')
    os.remove(earlier)
    tap.true(lambda: page.text('#log-says').startswith(path), 'without the beginning it is', lambda: page.text('#log-says'))
    for wrong, what in ((path, 'Too many levels'), (folder, 'Not a directory')):
        page.go('#/workflows')
        page.shows('#main', 'Waiting for you')
        os.rename(wrong, wrong + '.away')
        if wrong == path:
            os.symlink(path + '.away', path)
        else:
            open(folder, 'w', encoding='utf-8').close()
        page.go(f'#/w/{number}/ladder.1')
        tap.true(lambda: what in page.text('#s-log'), f'the page says what is wrong with the log: {what}', page.text)
        tap.say(page.count('#s-attempts tbody tr') == 1, 'and shows the rest', page.text())
        os.remove(wrong)
        os.rename(wrong + '.away', wrong)
    tap.true(lambda: page.shows('#log', 'again'), 'when the log can be read again, it is shown', page.text)


def check_earlier(page, api, tap):
    """The log of two/second has a line that is longer than a chunk, letters of three bytes across the
    ends of chunks, and bytes that are not letters."""
    number = api.named('two')['workflow']
    path = api.ask(f'/workflows/{number}/phases/second/runs/1/logs')['logs'][0]['path']
    lines = b''.join(b'%d \xff\xfe\x80 caf\xc3\xa9\n' % i for i in range(5000))
    data = b'begin\n' + '\u20ac'.encode() * 60000 + b'\xff' * 100 + b'\n' + lines
    with open(path, 'wb') as file:
        file.write(data)
    page.go(f'#/w/{number}/second')
    page.shows('#log', '4999 ')
    for _ in range(20):
        if not page.count('button[data-act=earlier]'):
            break
        begin = page.js('return document.querySelector("#log").textContent.length')
        page.js('document.querySelector("button[data-act=earlier]").click()')
        wait_for(lambda: page.js('return document.querySelector("#log").textContent.length') != begin)
    tap.say(page.text('#log') == data.decode(errors='replace'), 'what is read back is the file, byte by byte',
            (len(page.text('#log')), len(data.decode(errors='replace')), page.text('#log')[:80]))
