// contacts with hostile values --> a broadcast, as it is delivered --> a real browser
import type { ConsoleMessage, Dialog, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { campaignIn, type Campaign } from '../flow/campaign.ts';
import { readMail } from '../flow/reader.ts';
import { describePeers } from '../peers/peers.ts';
import { visit } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { hostileHtml, SCRIPT_RAN } from './hostile-html.ts';
import { startOutside, type Outside } from './outside.ts';
import { servePlain } from './serve-plain.ts';

const EVIL_HOST = 'evil.example';
const EVIL = `http://${EVIL_HOST}/x`;
const RUN = `console.log('${SCRIPT_RAN}')`;
const PAGES = 4;
/** The value in every place when a contact is harmless. */
const HARMLESS = 'Ada';

/** A value of a contact in every kind of place that an author may give it. */
const PLACES = `<!doctype html><html><head><title>For {{{WORD}}}</title>
<style>p { color: {{{WORD}}}; } /* {{{WORD}}} */ b { background: url("https://pictures.test/{{{WORD}}}") }</style></head><body>
<p id="text">{{{WORD}}}</p><p id="double" title="{{{WORD}}}">x</p><p id="single" title='{{{WORD}}}'>x</p>
<p id="bare" title={{{WORD}}}>x</p><p id="bare-part" title=a{{{WORD}}}b class=c>x</p>
<a id="href" href="{{{WORD}}}">x</a><a id="bare-href" href={{{WORD}}}>x</a><a id="spaced" href = " {{{WORD}}}">x</a>
<a id="query" href="https://example.com/?q={{{WORD}}}">x</a><a id="twice" href="{{{WORD}}}{{{WORD}}}">x</a>
<img id="picture" alt="{{{WORD}}}" src="https://pictures.test/{{{WORD}}}.png"><p id="style" style="color: {{{WORD}}}; margin: 0">x</p>
<form id="form" action="{{{WORD}}}"><input name="n" value="{{{WORD}}}"><button id="button" onclick="window.said = '{{{WORD}}}'">x</button></form>
<!-- {{{WORD}}} --><!--{{{WORD}}}--><p id="name" {{{WORD}}}>x</p><p id="equals" title = {{{WORD}}} >x</p>
<textarea id="area">: {{{WORD}}}</textarea><svg><title>{{{WORD}}}</title><text>{{{WORD}}}</text></svg>
<table><tr><td>{{{WORD}}}</td></tr></table><noscript>{{{WORD}}}</noscript><select><option>{{{WORD}}}</option></select>
<script>window.greeting = "{{{WORD}}}"; // {{{WORD}}}
</script><math><mtext>{{{WORD}}}</mtext></math><p>5 <{{{WORD}}}> 3 and </{{{WORD}}}> or <!{{{WORD}}}> and <?{{{WORD}}}></p>
<p id="end">{{{WORD|friend}}} {{{EMAIL}}}</p><iframe id="frame" srcdoc="<p>{{{WORD}}}</p>"></iframe><a id="leave" href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></body></html>`;

const OWN: Record<string, string> = {
  'a script': `<script>${RUN}</script>`,
  'a script behind the end of one': `</script><script>${RUN}</script>`,
  'the end of a style': `</style><script>${RUN}</script>`,
  'the end of a title': `</title><script>${RUN}</script>`,
  'the end of a textarea': `</textarea><script>${RUN}</script>`,
  'the end of a comment': `--><script>${RUN}</script><!--`,
  'the end of a comment with a bang': `--!><script>${RUN}</script>`,
  'a comment that ends at once': `><script>${RUN}</script>`,
  'a quote and a handler': `" onmouseover="${RUN}" autofocus onfocus="${RUN}" x="`,
  'a single quote and a handler': `' onmouseover='${RUN.replaceAll("'", '`')}' autofocus tabindex=1 onfocus='${RUN.replaceAll("'", '`')}`,
  'a space and a handler': `x autofocus tabindex=1 onfocus=${RUN.replaceAll("'", '`')}`,
  'handlers where a name stands': 'onclick=console.log(`owned`) onfocus=console.log(`owned`) autofocus tabindex=1',
  'a tag without its bracket': 'img src=x onerror=console.log(`owned`)',
  'a slash and a handler': `/onfocus=${RUN.replaceAll("'", '`')}//`,
  'the end of a tag': `><img src=${EVIL} onerror=${RUN.replaceAll("'", '`')}>`,
  'a line break and a handler': `x\n\tonfocus=${RUN.replaceAll("'", '`')}\nautofocus tabindex=1`,
  'a link that runs code': `javascript:${RUN}`,
  'the same with spaces and letter case': ` \tJaVa\nScRiPt:${RUN}`,
  'the same as entities': `java&#115;cript:${RUN}`,
  'half of it': 'javascript:',
  'a page as data': `data:text/html,<script>${RUN}</script>`,
  'an older script': `vbscript:${RUN}`,
  'the end of a string in a script': `";${RUN};"`,
  'the end of a string in a handler': `';${RUN};'`,
  'a line of a script': `\n${RUN}\n`,
  'a line of a script by its own separator': `\u2028${RUN}`,
  'a backslash before the quote': '\\',
  'the end of a rule': `red} body{background:url(${EVIL})} b{color:red`,
  'a declaration': `red; background: url(${EVIL}); x: y`,
  'an import': `@import url(${EVIL});`,
  'the end of a comment of CSS': `*/ body{background:url(${EVIL})} /*`,
  'the end of a string of CSS': `"); background: url("${EVIL}`,
  'an open string of CSS': '"',
  'an open comment of CSS': '/*',
  'an escape of CSS': '\\',
  'a URL of CSS': `url(${EVIL})`,
  'a host behind the path': `../../../@${EVIL_HOST}/`,
  'a nested variable': '{{{EMAIL}}}',
  'half of a nested variable': '{{{',
  'the rest of a nested variable': 'EMAIL}}}',
  'a bar': '|{{{EMAIL}}}',
  'a base': `<base href="${EVIL}">`,
  'a refresh': `<meta http-equiv="refresh" content="0;url=${EVIL}">`,
  'an open comment': '<!--',
  'an open tag': `<a href="${EVIL}`,
  'text in which nothing is escaped': '<plaintext>',
  CDATA: `]]><script>${RUN}</script>`,
};

interface Value {
  name: string;
  value: string;
}

/** A value of a contact has no NUL and at most 500 characters. */
const CHARACTERS_MAX = 500;
const fit = ({ name, value }: Value): Value => ({ name, value: value.replaceAll('\0', '').slice(0, CHARACTERS_MAX) });

/**
 * Joins as many values into one as fit. None can hide another: when any of them is not treated as text, the page differs from
 * the harmless one.
 */
function together(values: readonly Value[]): Value[] {
  const joined: Value[] = [];
  for (const { name, value } of values) {
    const last = joined.at(-1);
    if (!last || last.value.length + value.length > CHARACTERS_MAX) joined.push({ name, value });
    else joined.splice(-1, 1, { name: `${last.name}, ${name}`, value: last.value + value });
  }
  return joined;
}

// HTML that takes over a whole page is here a value in one place of another page.
const CORPUS = hostileHtml(`http://${EVIL_HOST}`).map(({ name, html }) =>
  fit({ name, value: html.slice('<p>Hello.</p>'.length) }),
);
const VALUES = [...Object.entries(OWN).map(([name, value]) => fit({ name, value })), ...together(CORPUS)];

interface Looked {
  /** Every element with the names of its attributes, comments, and the rules of its styles. */
  structure: string;
  texts: Record<string, string | null>;
  /** The schemes of links and forms, by id. */
  schemes: Record<string, string>;
  pictureHost: string;
}

describePeers('a broadcast to contacts with hostile values in a real browser', ['chromium'], () => {
  let scene: Scene;
  let campaign: Campaign;
  let outside: Outside;
  let browser: Chromium;
  beforeAll(async () => {
    scene = await startScene();
    campaign = await campaignIn(scene);
    await campaign.make('/contact-properties', { key: 'word', type: 'string' });
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    outside = await startOutside();
    browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
  });
  afterEach(async () => {
    await browser.close();
    await outside.close();
  });

  /** Returns the content that each of these values is delivered as, in a broadcast to one contact each. */
  async function delivered(html: string, values: readonly string[]): Promise<string[]> {
    const subject = `To ${values.length} at ${scene.clock.now()}`;
    const segment = await campaign.make('/segments', { name: subject });
    const domain = `n${segment}.example`;
    const addresses = values.map((_, n) => `contact${n}@${domain}`);
    for (const [n, word] of values.entries()) {
      const body = { email: addresses[n], properties: { word }, segments: [{ id: segment }] };
      const made = await campaign.call('POST', '/contacts', body);
      expect(made.status, made.text).toBe(201);
    }
    await campaign.broadcast({ subject, html, segment_id: segment, acknowledge_checks: true });
    await scene.settled();
    const byAddress = new Map<string, string>();
    for (const { data, rcptTo } of scene.sink.messages) {
      if (rcptTo[0]?.endsWith(domain)) byAddress.set(rcptTo[0], (await readMail(data)).html);
    }
    return addresses.map((address) => byAddress.get(address) ?? expect.unreachable(`${address} got nothing`));
  }

  it('runs no script, sends no request, and keeps each value in its place', async () => {
    const [harmless = '', ...pages] = await delivered(PLACES, [HARMLESS, ...VALUES.map(({ value }) => value)]);
    const plain = await servePlain([harmless, ...pages]);
    onTestFinished(() => plain.close());
    const expected = await (await startLooking())(`${plain.url}/0`);
    const found: Record<string, unknown> = {};
    const queue = [...VALUES.entries()];
    await Promise.all(
      Array.from({ length: PAGES }, async () => {
        const look = await startLooking();
        for (let next = queue.shift(); next; next = queue.shift()) {
          const [n, { name, value }] = next;
          const { seen, happened } = await look(`${plain.url}/${n + 1}`);
          const wrong: string[] = [...happened];
          if (seen.structure !== expected.seen.structure)
            wrong.push(difference(expected.seen.structure, seen.structure));
          for (const [id, text] of Object.entries(seen.texts)) {
            if (text !== asBrowsersRead(value)) wrong.push(`${id} is ${JSON.stringify(text)}`);
          }
          for (const [id, scheme] of Object.entries(seen.schemes)) {
            if (!['http:', 'https:', 'nowhere'].includes(scheme)) wrong.push(`${id} leads to ${scheme}`);
          }
          if (seen.pictureHost !== expected.seen.pictureHost) wrong.push(`the picture is at ${seen.pictureHost}`);
          if (wrong.length > 0) found[name] = wrong;
        }
      }),
    );
    // Requests that a page began before it was closed may still be on their way.
    await browser.close();
    await outside.heardAll();
    expect(found).toEqual({});
    expect(expected.happened).toEqual([]);
    expect([outside.connections(), outside.asked]).toEqual([0, []]);
  });

  it('lets readers unsubscribe with the button of the mail program or its links, and the next broadcast leaves them out', async () => {
    const names = ['one-click', 'link', 'preferences', 'stays'];
    const segment = await campaign.make('/segments', { name: 'Ways out' });
    for (const name of names) {
      const body = { email: `${name}@out.example`, first_name: '<b>"Ann"</b>', segments: [{ id: segment }] };
      expect((await campaign.call('POST', '/contacts', body)).status).toBe(201);
    }
    const html =
      '<p>Hello {{{FIRST_NAME}}}</p><a href="{{{UNSUBSCRIBE_URL}}}">leave</a> <a href="{{{PREFERENCES_URL}}}">choose</a>';
    const send = async (subject: string) => {
      const id = await campaign.broadcast({ subject, html, segment_id: segment });
      await scene.settled();
      const arrived = scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));
      return { id, mails: new Map(arrived.map(({ rcptTo, data }) => [rcptTo[0]?.split('@')[0] ?? '', data])) };
    };
    const first = await send('The first');
    expect([...first.mails.keys()].sort()).toEqual(names.toSorted());

    const head = String(first.mails.get('one-click')).replaceAll(/\r\n[ \t]+/g, ' ');
    const [, oneClick = ''] = /^List-Unsubscribe: <([^>]+)>/m.exec(head) ?? [];
    expect(head).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect((await visit(scene, oneClick, { body: 'List-Unsubscribe=One-Click' })).status).toBe(200);

    const mails = await Promise.all(
      ['link', 'preferences'].map(async (name) => (await readMail(first.mails.get(name) ?? Buffer.alloc(0))).html),
    );
    const plain = await servePlain(mails);
    onTestFinished(() => plain.close());
    for (const [n, [link, button]] of (
      [
        ['leave', 'Unsubscribe'],
        ['choose', 'Unsubscribe from everything'],
      ] as const
    ).entries()) {
      const page = await browser.context.newPage();
      await page.goto(`${plain.url}/${n}`);
      expect(await page.locator('p').first().textContent()).toBe('Hello <b>"Ann"</b>');
      await Promise.all([page.waitForNavigation(), page.getByText(link, { exact: true }).click()]);
      await Promise.all([page.waitForNavigation(), page.getByRole('button', { name: button, exact: true }).click()]);
      expect(await page.getByRole('button', { name: 'Subscribe again' }).count()).toBe(1);
      await page.close();
    }

    const second = await send('The second');
    expect([...second.mails.keys()]).toEqual(['stays']);
    expect((await campaign.reported(second.id, 'exclusions')).sort()).toEqual(
      ['one-click@out.example', 'link@out.example', 'preferences@out.example'].sort(),
    );
    const { totals } = await campaign.read(`/emails/metrics?metrics=unsubscribed&broadcast_id=${first.id}`);
    expect(totals).toEqual({ unsubscribed: 3 });
  });

  /**
   * A tab, and what opens a page in it, presses all that can be pressed, and answers what came of it. A tab for each page would
   * be most of the work; what a page does too late is told of the next one in its tab, or of the outside.
   */
  async function startLooking(): Promise<(url: string) => Promise<{ seen: Looked; happened: string[] }>> {
    const page = await browser.context.newPage();
    let happened: string[] = [];
    page.on('dialog', (dialog: Dialog) => {
      happened.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message: ConsoleMessage) => {
      if (message.text().includes(SCRIPT_RAN)) happened.push('a script ran');
    });
    page.on('request', (request: Request) => {
      const { hostname } = new URL(request.url());
      if (!['127.0.0.1', 'pictures.test', 'example.com'].includes(hostname) && !request.url().startsWith('about:'))
        happened.push(`asked for ${request.url()}`);
    });
    page.on('pageerror', (error) => happened.push(`a script of the author broke: ${error.message}`));
    return async (url) => {
      // The page before may be on its way elsewhere still.
      await page.goto(url).catch((error: Error) => happened.push(error.message.split('\n', 1)[0] ?? ''));
      // A page that goes elsewhere by itself is not there to be looked at.
      const seen = await page.evaluate<Looked>(EXAMINE).catch(() => GONE);
      if (seen === GONE) happened.push('the page went elsewhere');
      else await page.evaluate(PRESS_ALL);
      const mine = new Set(happened);
      happened = [];
      return { seen, happened: [...mine] };
    };
  }
});

/** Browsers read every line end as the same character. */
const asBrowsersRead = (value: string): string => value.replaceAll(/\r\n?/g, '\n');

/** The first line in which two texts differ. */
function difference(expected: string, found: string): string {
  const a = expected.split('\n');
  const b = found.split('\n');
  const at = a.findIndex((line, n) => line !== b[n]);
  return `line ${at}: ${JSON.stringify(b[at])} instead of ${JSON.stringify(a[at])}`;
}

const GONE: Looked = { structure: '', texts: {}, schemes: {}, pictureHost: '' };

/** Answers a `Looked`; it runs in the page. */
const EXAMINE = `(() => {
  const lines = [];
  const walk = (node, depth) => {
    const indent = '  '.repeat(depth);
    if (node instanceof Comment) lines.push(indent + 'comment');
    if (node instanceof Element) {
      const names = [...node.attributes].map(({ name }) => name).sort();
      const style = [...(node.style ?? [])].filter((name) => name !== 'color');
      lines.push(indent + [node.localName, ...names, ...style].join(' '));
    }
    for (const child of node.childNodes) walk(child, depth + 1);
  };
  walk(document.documentElement, 0);
  for (const sheet of document.styleSheets) {
    for (const { selectorText = 'other', style = [] } of sheet.cssRules)
      lines.push(selectorText + ': ' + [...style].filter((name) => name !== 'color').join(' '));
  }
  const byId = (id) => document.getElementById(id);
  const schemeOf = (url) => URL.canParse(url) ? new URL(url).protocol : 'nowhere';
  const links = ['href', 'bare-href', 'spaced', 'query', 'twice', 'leave'].map((id) => [id, schemeOf(byId(id)?.href)]);
  return {
    structure: lines.join('\\n'),
    texts: {
      text: byId('text')?.textContent,
      double: byId('double')?.title,
      single: byId('single')?.title,
      bare: byId('bare')?.title,
      area: byId('area')?.value.slice(2),
      alt: byId('picture')?.alt,
    },
    schemes: { ...Object.fromEntries(links), form: schemeOf(byId('form')?.action) },
    pictureHost: byId('picture')?.src.split('/')[2],
  };
})()`;

const PRESS_ALL = `(() => {
  for (const type of ['click', 'submit']) document.addEventListener(type, (event) => event.preventDefault());
  for (const element of document.querySelectorAll('*')) {
    for (const type of ['mouseover', 'focus', 'click', 'error', 'load', 'toggle'])
      element.dispatchEvent(new Event(type, { bubbles: true, cancelable: true }));
  }
})()`;
