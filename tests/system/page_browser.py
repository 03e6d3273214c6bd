"""What the checks of the page share: waiting, the API, the browser, and TAP. See page.py."""
import contextlib
import json
import time
import urllib.request

DEADLINE_S = 180
ROWS = '#main tr[data-row]'


def wait_for(what, seconds=DEADLINE_S):
    """Returns the first true answer of `what`, or its last answer at the deadline."""
    deadline, pause = time.monotonic() + seconds, 0.05
    while True:
        answer = what()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(pause)
        pause = min(1.5 * pause, 0.5)


# --- What the API says ---------------------------------------------------------------------------

class Api:
    def __init__(self, origin, token):
        # Not each resolver knows the names under localhost, as browsers do.
        self.origin, self.token = 'http://127.0.0.1:' + origin.split(':')[-1], token

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {'Authorization': 'Bearer ' + self.token, 'Content-Type': 'application/json'}
        request = urllib.request.Request(self.origin + '/v1' + path, data, headers)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as reply:
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
                     '--window-size=1440,1000', '--disable-background-networking',
                     '--force-prefers-reduced-motion'):
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
        """Waits for the element, because the page draws it when an answer of the daemon comes."""
        wait_for(lambda: self.count(selector))
        return self.browser.find_element('css selector', selector)

    @contextlib.contextmanager
    def new_tab(self, open_it):
        """Works in the tab that open_it() opens, and closes the tab."""
        first, before = self.browser.current_window_handle, set(self.browser.window_handles)
        open_it()
        wait_for(lambda: set(self.browser.window_handles) - before)
        self.browser.switch_to.window((set(self.browser.window_handles) - before).pop())
        yield
        self.browser.close()
        self.browser.switch_to.window(first)

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
        seen = None

        def is_right():
            nonlocal seen
            seen = what()
            return seen == wanted

        self.say(bool(wait_for(is_right)), name, f'{seen!r}, wanted {wanted!r}')

    def true(self, what, name, saw=lambda: ''):
        is_right = bool(wait_for(what))
        self.say(is_right, name, saw() if not is_right else '')
