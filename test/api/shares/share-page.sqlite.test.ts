import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linksTo } from '../../rig/preference-pages.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { framed, sendOne, share, unframed } from './shared.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

/** Content is kept in files, which can be removed while the server runs. */
const FILES = { storage: { row_bytes: 0 } };

describe('GET /share/{token}', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene({ config: FILES });
    team = await scene.team();
  });
  afterAll(() => scene.close());

  const open = async (fields: Record<string, unknown>, query = '') => {
    const { id, from } = await sendOne(scene, team, fields);
    const answer = await scene.api('GET', (await share(scene, team, id)) + query);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    return { ...answer, id, from, ours: unframed(answer.text), frame: framed(answer.text) };
  };

  it('shows from, to, cc, reply-to, subject, date, state and attachments, and never bcc', async () => {
    const { ours, from, text } = await open({
      to: ['Ann <ann@example.org>', 'ben@example.org'],
      cc: ['carl@example.org'],
      bcc: ['secret@example.org'],
      reply_to: ['help@example.com'],
      subject: 'Tick & <tock>',
      attachments: [
        { filename: 'Invoice <1>.pdf', content: Buffer.alloc(12_345).toString('base64') },
        { filename: 'b.txt', content: 'YQ==' },
      ],
    });
    expect(ours).toContain(from.replace('<', '&lt;').replace('>', '&gt;'));
    for (const shown of ['Ann &lt;ann@example.org&gt;', 'ben@example.org', 'carl@example.org', 'help@example.com']) {
      expect(ours).toContain(shown);
    }
    expect(ours).toContain('<h1><bdi>Tick &amp; &lt;tock&gt;</bdi></h1>');
    expect(ours).toContain('<title>Tick &amp; &lt;tock&gt;</title>');
    expect(ours).toContain(`<time datetime="${new Date(scene.clock.now()).toISOString()}">`);
    expect(ours).toMatch(/<dt>Status<\/dt><dd>(Queued|Sent|Delivered)<\/dd>/);
    expect(ours).toMatch(
      /2 attachments[^]*Invoice &lt;1&gt;\.pdf<\/bdi> <span class="quiet">12 kB[^]*b\.txt[^]*1 byte</,
    );
    expect(text).not.toContain('secret@example.org');
  });

  it('shows no link with which a reader could unsubscribe the recipient or see the choices of the recipient', async () => {
    const { body } = await scene.api('POST', '/contacts', { key: team.key, body: { email: 'ada@example.org' } });
    const links = await linksTo(scene, team, { id: body.id, email: 'ada@example.org' });
    const { text } = await open({
      html: `<p><a href="${links.unsubscribe}">Leave</a> <a href="${links.preferences}?from=mail">Choose</a></p>`,
      text: `Leave: ${links.unsubscribe}`,
    });
    const shown = [...text.matchAll(/\/(?:unsubscribe|preferences)\/([\w-]+)/g)].map(([, token]) => token);
    expect(new Set(shown)).toEqual(new Set(['test']));
    expect(shown.length).toBeGreaterThanOrEqual(3);
    expect(text).toContain('/preferences/test?from=mail');
  });

  it('shows the state of the email', async () => {
    const { id } = await sendOne(scene, team, { to: ['permfail@example.org'] });
    await scene.settled();
    expect(await scene.account(team, id)).toMatchObject({ state: 'bounced' });
    expect((await scene.api('GET', await share(scene, team, id))).text).toContain('<dd>Bounced</dd>');
  });

  it('puts the HTML into a sandboxed frame, under a policy that loads nothing', async () => {
    const { text, headers, frame } = await open({ html: '<p class="x">Hello "you" & \'me\'</p>' });
    expect(text.match(/<iframe[^>]*?srcdoc/g)).toHaveLength(1);
    expect(text).toMatch(/<iframe [^>]*sandbox=""/);
    expect(text).not.toMatch(/allow-|<script|<link|onload=/i);
    expect(frame).toContain('<p class="x">Hello "you" & \'me\'</p>');
    expect(frame).toMatch(/^<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="/);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-dns-prefetch-control': 'off',
      'x-frame-options': 'DENY',
      'x-robots-tag': 'noindex, nofollow, noarchive',
      'permissions-policy': expect.stringContaining('camera=()'),
    });
  });

  it('allows image sources, and nothing else, only on request', async () => {
    const html = '<img src="https://images.example/a.png">';
    const without = await open({ html });
    expect(without.ours).toContain('<a href="?images=1">Show remote images</a>');
    const withImages = await open({ html }, '?images=1');
    expect(withImages.ours).toContain('<a href="?images=0">Hide remote images</a>');
    for (const policy of [withImages.headers.get('content-security-policy') ?? '', withImages.frame]) {
      expect(policy).toContain("default-src 'none'; style-src 'unsafe-inline'; img-src data: https: http:; base-uri");
    }
    expect((await open({ html: '<p>No image.</p>' })).ours).not.toContain('remote images');
  });

  it.each(['?images=2', '?images=', '?images=true', '?images=1&images=1', '?other=1'])('refuses %s', async (query) => {
    const { id } = await sendOne(scene, team);
    const answer = await scene.api('GET', (await share(scene, team, id)) + query);
    expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
  });

  it('shows images that came with the email, and no other kind of attachment', async () => {
    const attachments = [
      { filename: 'a.png', content: PNG.toString('base64'), content_id: 'logo' },
      { filename: 'b.svg', content: 'PHN2Zy8+', content_type: 'image/svg+xml', content_id: 'vector' },
      { filename: 'c.html', content: 'PHA+', content_type: 'text/html', content_id: 'page' },
      {
        filename: 'd.png',
        content: PNG.toString('base64'),
        content_id: 'a+b/c@x.example',
        content_type: 'image/png; name=x',
      },
    ];
    const html =
      '<img src="cid:logo"><div style="background:url(\'CID:logo\')"></div><img src=cid:vector><img src=cid:page><img src=cid:none><img src="cid:a%2Bb%2fc@x.example">';
    const { frame } = await open({ html, attachments });
    const url = `data:image/png;base64,${PNG.toString('base64')}`;
    expect(frame.split(url)).toHaveLength(4);
    expect(frame).toContain('<img src=cid:vector><img src=cid:page><img src=cid:none>');
    expect(frame).not.toContain('PHN2Zy8');
  });

  it('has a bounded size even if an image is used very often', async () => {
    const large = Buffer.concat([PNG, Buffer.alloc(2_000_000)]).toString('base64');
    const { text } = await open({
      html: '<img src=cid:big>'.repeat(10_000),
      attachments: [{ filename: 'a.png', content: large, content_id: 'big' }],
    });
    expect(text.length).toBeGreaterThan(2_600_000);
    expect(text.length).toBeLessThan(20_000_000);
  });

  it('is rendered once for all links to an email, with the expiry of each', async () => {
    const { id } = await sendOne(scene, team, {
      html: '<img src="cid:logo">',
      scheduled_at: new Date(scene.clock.now() + 3_600_000).toISOString(),
      attachments: [{ filename: 'a.png', content: PNG.toString('base64'), content_id: 'logo' }],
    });
    const times: string[] = [];
    for (const expires_in of ['1 hour', '2 hours']) {
      const { text } = await scene.api('GET', await share(scene, team, id, { expires_in }));
      expect(framed(text)).toContain('<img src="data:image/png;base64,');
      times.push(/view it until <time datetime="([^"]+)"/.exec(text)?.[1] ?? '');
      // A page that is rendered again would have to read the image.
      await scene.app.world.blobs.remove(id);
    }
    expect(Date.parse(times[1] ?? '') - Date.parse(times[0] ?? '')).toBe(3_600_000);
  });

  it('is rendered once for each of many hostile emails, whatever its reader asks to see', async () => {
    const paths: { id: string; path: string; html: string }[] = [];
    for (const piece of ['"', '<a', '</z', '<base ', 'href= ', '&', "<a href='", '<p>', '<img src=cid:a>', '<x<y']) {
      const html = piece.repeat(600_000 / piece.length);
      const { id } = await sendOne(scene, team, { html });
      paths.push({ id, path: await share(scene, team, id), html });
    }
    const before = await Promise.all(paths.map(({ path }) => scene.api('GET', path)));
    await scene.settled();
    // A page that is rendered again would have to read the content.
    for (const { id } of paths) await scene.app.world.blobs.remove(id);
    for (const [i, { path }] of paths.entries()) {
      const after = await scene.api('GET', `${path}?images=1`);
      expect(after.status).toBe(200);
      expect(/<dt>Status<\/dt><dd>([^<]*)/.exec(after.text)?.[1]).toBe('Delivered');
      const readContent = (page: string): string => framed(page).slice(framed(page).indexOf('</style>'));
      expect(readContent(after.text) === readContent(before[i]?.text ?? '')).toBe(true);
    }
  });

  it('says so while too many others are being opened, and reports an invalid link even then', async () => {
    await using busy = await startScene({ config: FILES });
    const owner = await busy.team();
    const html = `<p>${'x'.repeat(100_000)}</p>`;
    const emails = await Promise.all(Array.from({ length: 18 }, () => sendOne(busy, owner, { html })));
    await busy.settled();
    const paths = await Promise.all(emails.map(({ id }) => share(busy, owner, id)));
    // The content file is a pipe that yields nothing until it is written to: the rendering of this email waits for that.
    const held = emails[0]?.id ?? '';
    const file = path.join(busy.dataDir, 'blobs', held.slice(-2), held, 'html');
    const kept = readFileSync(file);
    rmSync(file);
    execFileSync('mkfifo', [file]);
    const asPerson = (path: string) =>
      fetch(busy.url + path, { headers: { accept: 'text/html', 'user-agent': 'x/1' } });
    const ask = async (path: string) => ({ path, ...(await busy.api('GET', path)) });
    const [first = '', ...others] = paths;
    const answers = [ask(first)];
    // The pipe can be opened for writing once it is being read.
    let gate = 0;
    const openGate = () => (gate = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK));
    await expect.poll(openGate, { interval: 5 }).toBeGreaterThan(0);
    answers.push(...others.map(ask));
    try {
      // One of eighteen is in progress, sixteen wait, and one is refused.
      const refused = await Promise.race(answers);
      expect(refused).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
      const page = await asPerson(refused.path);
      expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
      expect(await page.text()).toContain('Open it again in a few seconds.');
      expect((await asPerson(`/share/rs_${'A'.repeat(32)}`)).status).toBe(404);
      expect((await busy.api('GET', '/health')).status).toBe(200);
    } finally {
      rmSync(file);
      writeFileSync(file, kept);
      closeSync(gate);
    }
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(16);
    // The bytes that were read are not the content.
    expect(statuses[0]).toBe(503);
    for (const path of paths) expect((await busy.api('GET', path)).status).toBe(200);
  });

  it('shows the text as it was written if there is no HTML', async () => {
    const { text } = await open({ html: undefined, text: 'One\n  two <b>&amp;</b>\n\n"three"' });
    expect(text).toContain('<pre dir="auto">One\n  two &lt;b&gt;&amp;amp;&lt;/b&gt;\n\n&quot;three&quot;</pre>');
    expect(text).not.toContain('<iframe');
  });

  it('offers the text in addition to the HTML, with the addresses of links', async () => {
    const { ours, frame } = await open({
      html: '<a href="https://shop.example/?a=1&amp;b=2">Shop</a><a href=\'mailto:help@example.com\'>x</a><a href="javascript:alert(1)">y</a>',
      text: 'The plain one.',
    });
    expect(ours).toContain('<pre dir="auto">The plain one.</pre>');
    expect(ours).toContain('<bdi>https://shop.example/?a=1&amp;b=2</bdi>');
    expect(ours).toContain('<bdi>mailto:help@example.com</bdi>');
    expect(ours).not.toContain('javascript:');
    expect(frame).toContain('<a data-href="https://shop.example/?a=1&amp;b=2">Shop</a>');
    expect(ours.match(/ href=/g)).toBeNull();
  });

  it('shows a body of 2 MB of quotes in full', async () => {
    const html = '"'.repeat(2_000_000);
    const { frame } = await open({ html });
    expect(frame.endsWith(html)).toBe(true);
  });

  it('is accessible: a title, a language, one main part, a named frame', async () => {
    const { ours } = await open({ subject: ' ' });
    expect(ours).toContain('<html lang="en">');
    expect(ours).toContain('<title>(no subject)</title>');
    expect(ours.match(/<main/g)).toHaveLength(1);
    expect(ours).toContain('<iframe title="Content of the email"');
    expect(ours).toContain('prefers-color-scheme:dark');
  });

  it('needs no key, and is limited by address like every such route', async () => {
    await using narrow = await startScene({ ratePerSecond: 3 });
    const owner = await narrow.team();
    const { id } = await sendOne(narrow, owner).catch(async () => {
      narrow.clock.advance(10_000);
      return sendOne(narrow, owner);
    });
    narrow.clock.advance(10_000);
    const path = await share(narrow, owner, id);
    for (let i = 0; i < 3; i++) expect((await narrow.api('GET', path)).status).toBe(200);
    const limited = await narrow.api('GET', path);
    expect(limited).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } });
  });

  it('answers HEAD, and also works below the deployment address', async () => {
    const { id } = await sendOne(scene, team);
    const path = await share(scene, team, id);
    expect((await scene.api('HEAD', path)).status).toBe(200);
    const response = await fetch(`${scene.url}/api/v1${path}`, { headers: { 'user-agent': 'rasket-tests/1' } });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Your receipt');
  });
});
