"""What page.py checks about the token of a tab, and about a daemon that is away."""
from page_browser import ROWS, wait_for


def check_tab(page, api, tap):
    number = api.named('two')['workflow']
    with page.new_tab(lambda: page.chain(page.browser).key_down(page.keys.CONTROL).click(
            page.find(f'#main tr[data-key="{number}"] a')).key_up(page.keys.CONTROL).perform()):
        tap.same(lambda: page.texts('#s-phases td.tree'), ['first', '└ second'],
                 'a link that is opened in a new tab finds the token')


def asked(page, words):
    """How many requests of the page have the words in their address."""
    return page.js('return performance.getEntriesByType("resource").filter((e) => '
                   'e.name.includes(arguments[0])).length', words)


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
    page.js('window.true_fetch = window.fetch; window.fetch = async (path, options) => {'
            'const {status} = await window.true_fetch(path, options);'
            'return new Response(new ReadableStream({start: (to) => to.error(new TypeError("lost"))}), {status}); }')
    tap.true(lambda: 'has not answered since' in page.text('#banner'),
             'so it does when the connection is lost within an answer', lambda: page.text('#banner'))
    page.js('window.fetch = window.true_fetch')
    tap.same(lambda: page.attribute('#banner', 'hidden'), '', 'until a whole answer comes')
    page.cdp('Network.setBlockedURLs', urls=['*/dygraph.js'])
    page.go(f"#/w/{api.named('two')['workflow']}/first")
    page.browser.refresh()
    tap.true(lambda: page.count('.numbers tbody tr') > 100 and 'without dygraphs' in page.text(),
             'without dygraphs the numbers stand in a table', page.text)
    page.cdp('Network.setBlockedURLs', urls=[])
    earlier = 'http://p0000000000000000.localhost:' + page.origin.split(':')[-1]
    with page.new_tab(lambda: page.js('window.open(arguments[0], "", "noopener")', earlier)):
        tap.true(lambda: page.shows('main', 'no token'), 'a tab with the name of an earlier daemon hears no token',
                 page.text)
    page.js('sessionStorage.clear(); location.reload()')
    tap.true(lambda: page.shows('main', 'no token'), 'a tab without a token says what to do', page.text)
    name = api.ask('/ping')['cluster']['name']
    follows = lambda: (page.count(ROWS + ' td.note'), page.text('#cluster'), asked(page, '/events?') > 0,
                       asked(page, '/events?after=0&'))
    page.go('#/workflows')
    page.go(f'#{api.token}/workflows')
    tap.same(follows, (rows, name, True, 0), 'the address with the token can be pasted into it')
    page.js('sessionStorage.setItem("phased-token", "0".repeat(64)); location.reload()')
    tap.true(lambda: page.shows('main', 'does not know the token'), 'a wrong token is told', page.text)
    page.go(f'#{api.token}/workflows')
    tap.same(follows, (rows, name, True, 0), 'the right token can be pasted into it')
    page.js('sessionStorage.setItem("phased-token", "0".repeat(64))')
    page.go('#/nodes')
    tap.true(lambda: page.shows('main', 'was started anew'), 'a token that is no longer good is told', page.text)
    tap.say('answers again' not in page.text('#said') and page.attribute('#banner', 'hidden') == '',
            'and nothing beside it says that all is well', page.text('#said'))
    page.go(f'#{api.token}/nodes')
    tap.true(lambda: page.shows('main', 'fan <b>noise</b>'), 'the tab goes on with the token of the new daemon',
             page.text)
    page.go('#/workflows')
    page.cdp('Network.setBlockedURLs', urls=['*/v1/ping'])
    page.browser.refresh()
    tap.true(lambda: page.count(ROWS + ' td.note') == rows and asked(page, '/ping') > 1,
             'a page asks again who the daemon is', page.text)
    page.cdp('Network.setBlockedURLs', urls=[])
    tap.same(follows, (rows, name, True, 0), 'then it asks for no event of the past')
