// a mail's links --> the pages that they lead to, without a credential
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readInstanceKeys, writeInstanceKeys } from '../../../src/platform/secrets/index.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { publishTracking } from '../../flow/reader.ts';
import { linksTo, press, visit } from '../../rig/preference-pages.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const ADDRESS = { line1: '1 Mail Street', city: 'Berlin', country: 'DE' };
const ONE_CLICK = 'List-Unsubscribe=One-Click';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], config: { tracking: { scheme: 'http' } } });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });

interface Person {
  id: string;
  email: string;
}

async function person(team: Team, email = 'Ada@example.org', more: object = {}): Promise<Person> {
  return { id: (await call(team, 'POST', '/contacts', { email, ...more })).body.id, email };
}

const topic = async (team: Team, name: string, more: object = {}): Promise<string> =>
  (await call(team, 'POST', '/topics', { name, default_subscription: 'opt_in', visibility: 'public', ...more })).body
    .id;

const isOut = async (team: Team, id: string): Promise<boolean> =>
  (await call(team, 'GET', `/contacts/${id}`)).body.unsubscribed;

/** Returns the current subscriptions by topic name. */
const fetchTopics = async (team: Team, id: string): Promise<Record<string, string>> => {
  const { data } = (await call(team, 'GET', `/contacts/${id}/topics`)).body;
  return Object.fromEntries(data.map((one: { name: string; subscription: string }) => [one.name, one.subscription]));
};

/** Returns the recorded decisions, oldest first. */
const decisions = async (team: Team, id: string): Promise<string[]> => {
  const { data } = (await call(team, 'GET', `/contacts/${id}/activity?kind=consent`)).body;
  return data.map((one: { type: string; source: string }) => `${one.type} ${one.source}`).toReversed();
};

describe('one-click unsubscribe', () => {
  it('works as Gmail sends it: POST without a User-Agent, once and repeatedly', async () => {
    const team = await scene.team();
    const ada = await person(team);
    const { unsubscribe, headers } = await linksTo(scene, team, ada);
    expect(headers).toEqual([
      ['List-Unsubscribe', `<${unsubscribe}>`],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ]);
    for (let time = 0; time < 2; time++) {
      expect((await visit(scene, unsubscribe, { body: ONE_CLICK })).status).toBe(200);
      expect(await isOut(team, ada.id)).toBe(true);
    }
    expect(await decisions(team, ada.id)).toEqual(['unsubscribed one_click']);
    // Actions of a reader cause no event beyond the consent record.
    expect((await scene.events(ada.id)).map(({ type }) => type)).toEqual(['contact.created']);
  });

  it('is recorded with the email that had the link', async () => {
    const team = await scene.team();
    const ada = await person(team);
    const emailId = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
    await visit(scene, (await linksTo(scene, team, ada, { emailId })).unsubscribe, { body: ONE_CLICK });
    const { data } = (await call(team, 'GET', `/contacts/${ada.id}/activity?kind=consent`)).body;
    expect(data).toMatchObject([{ type: 'unsubscribed', source: 'one_click', email_id: emailId }]);
  });

  it('works as a multipart form', async () => {
    const team = await scene.team();
    const ada = await person(team);
    const { unsubscribe } = await linksTo(scene, team, ada);
    const body = '--b1\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b1--\r\n';
    const headers = { 'content-type': 'multipart/form-data; boundary=b1' };
    expect((await visit(scene, unsubscribe, { body, headers })).status).toBe(200);
    expect(await isOut(team, ada.id)).toBe(true);
  });

  it.each(['List-Unsubscribe=One-Click\r\n', 'list-unsubscribe=one-click'])('works with the body %j', async (body) => {
    const team = await scene.team();
    const ada = await person(team);
    expect((await visit(scene, (await linksTo(scene, team, ada)).unsubscribe, { body })).status).toBe(200);
    expect(await isOut(team, ada.id)).toBe(true);
  });

  it('leaves the topic of the email and nothing else', async () => {
    const team = await scene.team();
    const [news] = [await topic(team, 'News'), await topic(team, 'Offers')];
    const ada = await person(team);
    const { unsubscribe } = await linksTo(scene, team, ada, { topicId: news });
    await visit(scene, unsubscribe, { body: ONE_CLICK });
    await visit(scene, unsubscribe, { body: ONE_CLICK });
    expect(await fetchTopics(team, ada.id)).toEqual({ News: 'opt_out', Offers: 'opt_in' });
    expect(await isOut(team, ada.id)).toBe(false);
    expect(await decisions(team, ada.id)).toEqual(['topic_opt_out one_click']);
  });

  it('leaves everything if the topic of the email was deleted', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    const ada = await person(team);
    const { unsubscribe } = await linksTo(scene, team, ada, { topicId: news });
    await call(team, 'DELETE', `/topics/${news}`);
    expect((await visit(scene, unsubscribe)).text).toContain('Unsubscribe from all email');
    await visit(scene, unsubscribe, { body: ONE_CLICK });
    expect(await isOut(team, ada.id)).toBe(true);
  });

  it.each(['', 'List-Unsubscribe=', 'List-Unsubscribe=One-Click-Not', 'do=nothing', '{"do":"unsubscribe"}', 'do=save'])(
    'ignores a POST of %j',
    async (body) => {
      const team = await scene.team();
      const ada = await person(team);
      const { unsubscribe } = await linksTo(scene, team, ada);
      expect((await visit(scene, unsubscribe, { method: 'POST', body })).status).toBe(400);
      expect(await isOut(team, ada.id)).toBe(false);
    },
  );
});

it('requests of a link scanner change nothing', async () => {
  const team = await scene.team();
  const news = await topic(team, 'News');
  const ada = await person(team);
  for (const topicId of [news, null]) {
    const { unsubscribe, preferences } = await linksTo(scene, team, ada, { topicId });
    for (const address of [unsubscribe, preferences]) {
      for (const method of ['GET', 'HEAD']) {
        for (const more of ['', '/', '?utm_source=mail', '?do=unsubscribe&List-Unsubscribe=One-Click']) {
          const answer = await visit(scene, `${address}${more}`, { method, headers: { 'user-agent': 'Barracuda' } });
          expect([answer.status, answer.html === '']).toEqual([200, method === 'HEAD']);
        }
      }
    }
  }
  expect(await decisions(team, ada.id)).toEqual([]);
  expect([await isOut(team, ada.id), await fetchTopics(team, ada.id)]).toEqual([false, { News: 'opt_in' }]);
});

describe('the unsubscribe page', () => {
  it('asks for confirmation, unsubscribes, and offers to subscribe again', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    const ada = await person(team);
    const page = await visit(scene, (await linksTo(scene, team, ada, { topicId: news })).unsubscribe);
    expect(page.text).toContain('Unsubscribe from News');
    const left = await press(scene, page, 'unsubscribe');
    expect(left.text).toContain('You are unsubscribed');
    expect(await fetchTopics(team, ada.id)).toEqual({ News: 'opt_out' });
    const back = await press(scene, left, 'subscribe');
    expect(back.text).toContain('subscribed again');
    expect(await fetchTopics(team, ada.id)).toEqual({ News: 'opt_in' });
    expect(await decisions(team, ada.id)).toEqual(['topic_opt_out preference_page', 'topic_opt_in preference_page']);
  });

  it('names the sender and its address, with markup escaped', async () => {
    const team = await scene.team();
    const postal_address = {
      line1: '1 <b>Main</b> St',
      city: 'Springfield',
      state: 'IL',
      postal_code: '62701',
      country: 'US',
    };
    await call(team, 'PATCH', '/team', { sender_name: 'Acme & <script>Sons', postal_address });
    const ada = await person(team);
    const { html, text, headers } = await visit(scene, (await linksTo(scene, team, ada)).unsubscribe);
    for (const part of [
      'Acme &amp; &lt;script&gt;Sons',
      '1 &lt;b&gt;Main&lt;/b&gt; St',
      'Springfield, IL 62701',
      'United States',
    ]) {
      expect(text).toContain(part);
    }
    expect(html).not.toMatch(/<script|javascript:|<img|<link|https?:/i);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow, noarchive',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      ) as string,
    });
  });
});

describe('the look that a team chose for its pages', () => {
  const LOOK = {
    logo_url: 'https://cdn.example/a;script-src *,/logo.png?a="><script>',
    accent_color: '#FFDD00',
    page_headline: 'Acme <b>Weekly</b>',
    page_intro: 'Sorry to see you {topic} go <img src=x>',
    page_goodbye: 'Good & bye',
  };

  it('is escaped, and lets the page load the logo and nothing else', async () => {
    const team = await scene.team();
    await call(team, 'PATCH', '/team', { sender_name: 'Acme "Ltd"', postal_address: ADDRESS });
    expect((await call(team, 'PATCH', '/team', LOOK)).status).toBe(200);
    const links = await linksTo(scene, team, await person(team));
    const page = await visit(scene, links.unsubscribe);
    expect(page.text).toContain('Acme &lt;b&gt;Weekly&lt;/b&gt;');
    expect(page.text).toContain('Sorry to see you {topic} go &lt;img src=x&gt;');
    expect(page.text).not.toContain('Good &amp; bye');
    expect(page.html.match(/<img[^>]*>/g)).toEqual([
      '<img src="https://cdn.example/a;script-src%20*,/logo.png?a=%22%3E%3Cscript%3E" alt="Acme &quot;Ltd&quot;">',
    ]);
    const style = /<style>([^]*)<\/style>/.exec(page.html)?.[1] ?? '';
    expect(style).toContain('button:not(.second){background:#ffdd00;color:#000000}');
    const hash = createHash('sha256').update(style).digest('base64');
    expect(page.headers['content-security-policy']).toBe(
      `default-src 'none'; img-src https://cdn.example/a%3Bscript-src%20*%2C/logo.png; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    );
    const left = await press(scene, page, 'unsubscribe');
    expect(left.text).toContain('Good &amp; bye');
    expect(left.text).not.toContain('Sorry to see you');
  });

  it('includes words in the language of the team on pages in any language', async () => {
    const team = await scene.team();
    await call(team, 'PATCH', '/team', { default_language: 'de', page_intro: 'Bis bald' });
    const links = await linksTo(scene, team, await person(team));
    const { html } = await visit(scene, links.preferences, { headers: { 'accept-language': 'fr' } });
    expect(html).toContain('<html lang="fr">');
    expect(html).toContain('<p lang="de"><bdi>Bis bald</bdi></p>');
  });

  it('is gone when its fields are set to null', async () => {
    const team = await scene.team();
    await call(team, 'PATCH', '/team', LOOK);
    const nothing = Object.fromEntries(Object.keys(LOOK).map((field) => [field, null]));
    expect((await call(team, 'PATCH', '/team', nothing)).body).toMatchObject(nothing);
    const { html, headers } = await visit(scene, (await linksTo(scene, team, await person(team))).unsubscribe);
    expect(html).not.toMatch(/class="brand"|ffdd00|<img/);
    expect(headers['content-security-policy']).not.toContain('img-src');
  });
});

describe('the preference page', () => {
  it('shows public topics and those the contact is in, and saves only what changed', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    const offers = await topic(team, 'Offers', { default_subscription: 'opt_out' });
    const secret = { visibility: 'private', default_subscription: 'opt_out' };
    const [beta] = [await topic(team, 'Beta', secret), await topic(team, 'Hidden', secret)];
    const ada = await person(team, 'ada@example.org', { topics: [{ id: beta, subscription: 'opt_in' }] });
    const { preferences } = await linksTo(scene, team, ada);
    const page = await visit(scene, preferences);
    expect(page.text).toMatch(/News.*Offers.*Beta/);
    expect(page.text).not.toContain('Hidden');
    const unchanged = await press(scene, page, 'save');
    expect(await decisions(team, ada.id)).toEqual(['topic_opt_in api']);
    expect(unchanged.text).toContain('Your preferences were saved.');
    await press(scene, page, 'save', { tick: offers, untick: news });
    expect(await fetchTopics(team, ada.id)).toEqual({
      News: 'opt_out',
      Offers: 'opt_in',
      Beta: 'opt_in',
      Hidden: 'opt_out',
    });
    // A private topic that was just left stays visible once, so that the reader can go back.
    const left = await press(scene, await visit(scene, preferences), 'save', { untick: beta });
    expect(left.text).toContain('Beta');
    expect((await visit(scene, preferences)).text).not.toContain('Beta');
  });

  it('changes no topic that it has not shown', async () => {
    const team = await scene.team();
    const hidden = await topic(team, 'Hidden', { visibility: 'private', default_subscription: 'opt_out' });
    const foreign = await topic(await scene.team(), 'Foreign', { default_subscription: 'opt_out' });
    const ada = await person(team);
    const { preferences } = await linksTo(scene, team, ada);
    const late = await topic(team, 'Made meanwhile');
    const fields = [hidden, foreign].flatMap((id) => [`shown=${id}`, `topic=${id}`]);
    expect((await visit(scene, preferences, { body: `do=save&${fields.join('&')}` })).status).toBe(200);
    expect(await fetchTopics(team, ada.id)).toEqual({ Hidden: 'opt_out', 'Made meanwhile': 'opt_in' });
    expect(late).not.toBe('');
    expect(await decisions(team, ada.id)).toEqual([]);
  });

  it('unsubscribes from everything, and resubscribes', async () => {
    const team = await scene.team();
    await topic(team, 'News');
    const ada = await person(team);
    const { preferences } = await linksTo(scene, team, ada);
    const left = await press(scene, await visit(scene, preferences), 'unsubscribe_all');
    expect(left.text).toContain('You are unsubscribed from everything');
    expect(await isOut(team, ada.id)).toBe(true);
    await press(scene, left, 'subscribe_all');
    expect(await isOut(team, ada.id)).toBe(false);
    expect(await decisions(team, ada.id)).toEqual(['unsubscribed preference_page', 'resubscribed preference_page']);
  });
});

describe('a contact that was deleted', () => {
  it('is told that it is on no list, even by one click', async () => {
    const team = await scene.team();
    const ada = await person(team);
    const { unsubscribe, preferences } = await linksTo(scene, team, ada);
    await call(team, 'DELETE', `/contacts/${ada.id}`);
    for (const address of [unsubscribe, preferences]) {
      const { status, text } = await visit(scene, address);
      expect([status, text]).toEqual([200, expect.stringContaining('You are not on the list')]);
    }
    expect((await visit(scene, unsubscribe, { body: ONE_CLICK })).status).toBe(200);
  });

  it('unsubscribes with its old links after it is created again, as does a contact whose address changed', async () => {
    const team = await scene.team();
    const ada = await person(team);
    const { unsubscribe } = await linksTo(scene, team, ada);
    await call(team, 'DELETE', `/contacts/${ada.id}`);
    const again = await person(team, 'ada@EXAMPLE.org');
    await visit(scene, unsubscribe, { body: ONE_CLICK });
    expect(await isOut(team, again.id)).toBe(true);
    const bob = await person(team, 'bob@example.org');
    const links = await linksTo(scene, team, bob);
    await call(team, 'PATCH', `/contacts/${bob.id}`, { email: 'robert@example.org' });
    await visit(scene, links.unsubscribe, { body: ONE_CLICK });
    expect(await isOut(team, bob.id)).toBe(true);
  });
});

it('a link to a former address can unsubscribe, but neither subscribe nor reveal the new address', async () => {
  const team = await scene.team();
  const news = await topic(team, 'News', { default_subscription: 'opt_out' });
  const bob = await person(team, 'bob@example.org');
  const links = await linksTo(scene, team, bob, { topicId: news });
  await call(team, 'PATCH', `/contacts/${bob.id}`, { email: 'robert@example.org' });
  for (const address of [links.unsubscribe, links.preferences]) {
    expect((await visit(scene, address)).html).not.toMatch(/robert|value="(?:subscribe|save)/);
  }
  const save = { body: `do=save&shown=${news}&topic=${news}` };
  await visit(scene, links.unsubscribe, { body: 'do=subscribe' });
  await visit(scene, links.preferences, save);
  expect((await press(scene, await visit(scene, links.preferences), 'unsubscribe_all')).forms).toEqual([]);
  await visit(scene, links.preferences, { body: 'do=subscribe_all' });
  expect(await decisions(team, bob.id)).toEqual(['unsubscribed preference_page']);
  const heir = await person(team, 'bob@example.org');
  await visit(scene, links.preferences, save);
  expect(await fetchTopics(team, heir.id)).toEqual({ News: 'opt_in' });
});

it('contacts of a suspended team can leave everything and join nothing', async () => {
  const team = await scene.team();
  const news = await topic(team, 'News', { default_subscription: 'opt_out' });
  const ada = await person(team);
  const links = await linksTo(scene, team, ada);
  await administerTeam(scene.app.world, team.id, { riskState: 'suspended' });
  const page = await visit(scene, links.preferences);
  expect(page.forms.map(({ does }) => does)).toEqual(['unsubscribe_all']);
  await visit(scene, links.preferences, { body: `do=save&shown=${news}&topic=${news}` });
  const left = await press(scene, page, 'unsubscribe_all');
  expect(left.forms).toEqual([]);
  await visit(scene, links.preferences, { body: 'do=subscribe_all' });
  await administerTeam(scene.app.world, team.id, { riskState: 'normal' });
  expect(await decisions(team, ada.id)).toEqual(['unsubscribed preference_page']);
});

describe('a preference link', () => {
  it('returns one 404 page for people if it is cut, forged or of another page', async () => {
    const team = await scene.team();
    const { unsubscribe } = await linksTo(scene, team, await person(team));
    const token = unsubscribe.split('/').at(-1) ?? '';
    const first = token.startsWith('A') ? 'B' : 'A';
    for (const path of [
      '/unsubscribe/',
      '/unsubscribe/x',
      `/unsubscribe/${token.slice(0, -1)}`,
      `/unsubscribe/${first}${token.slice(1)}`,
      `/unsubscribe/${token}A`,
      `/unsubscribe/${token}/x`,
      `/confirm/${token}`,
      `/preferences/${'A'.repeat(8000)}`,
    ]) {
      for (const body of [undefined, ONE_CLICK]) {
        const answer = await visit(scene, path, body === undefined ? {} : { body });
        expect([path.slice(0, 20), answer.status]).toEqual([path.slice(0, 20), 404]);
      }
    }
    expect((await visit(scene, '/unsubscribe/x')).text).toContain('This link does not work');
  });

  it('accepts no other method and nothing larger than a form', async () => {
    const team = await scene.team();
    const ada = await person(team);
    const { unsubscribe } = await linksTo(scene, team, ada);
    const refused = await visit(scene, unsubscribe, { method: 'DELETE' });
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    expect((await visit(scene, unsubscribe, { body: `${'x'.repeat(70_000)}&${ONE_CLICK}` })).status).toBe(413);
    expect(await isOut(team, ada.id)).toBe(false);
  });

  it('works as long as mail is stored, and after the instance key was replaced', async () => {
    await using own = await startScene({ roles: ['http'] });
    const team = await own.team();
    const { body } = await own.api('POST', '/contacts', { key: team.key, body: { email: 'ada@example.org' } });
    const { unsubscribe } = await linksTo(own, team, { id: body.id, email: 'ada@example.org' });
    const { current, former } = readInstanceKeys(own.dataDir);
    writeInstanceKeys(own.dataDir, { current: randomBytes(32), former: [current, ...former] });
    own.clock.advance(400 * 24 * 3_600_000);
    await own.restart();
    expect((await visit(own, new URL(unsubscribe).pathname, { body: ONE_CLICK })).status).toBe(200);
    const { body: after } = await own.api('GET', `/contacts/${body.id}`, { key: team.key });
    expect(after.unsubscribed).toBe(true);
  });

  it('uses the tracking host of the domain if its DNS points to us, and the public address otherwise', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const ada = await person(team);
    const before = await linksTo(scene, team, ada, { domainId: domain.id });
    expect(before.unsubscribe.startsWith(`${scene.url}/unsubscribe/`)).toBe(true);
    await publishTracking(scene, team, domain.id, { click_tracking: true });
    const after = await linksTo(scene, team, ada, { domainId: domain.id });
    expect(after.unsubscribe.startsWith(`http://track.${domain.name}/unsubscribe/`)).toBe(true);
    expect((await visit(scene, after.unsubscribe, { body: ONE_CLICK })).status).toBe(200);
    expect(await isOut(team, ada.id)).toBe(true);
  });
});

it('a preference link has its own rate limit, while invalid links and archives share that of their network address', async () => {
  await using own = await startScene({ roles: ['http'], ratePerSecond: 3 });
  const team = await own.team();
  const [one, two] = await Promise.all(
    ['ada', 'bob'].map(async (name) => {
      const email = `${name}@example.org`;
      const { body } = await own.api('POST', '/contacts', { key: team.key, body: { email } });
      return linksTo(own, team, { id: body.id, email });
    }),
  );
  const statuses = async (address: string) => {
    const all: number[] = [];
    for (let i = 0; i < 4; i++) all.push((await visit(own, address)).status);
    return all;
  };
  expect(await statuses('/unsubscribe/x')).toEqual([404, 404, 404, 429]);
  expect((await visit(own, '/archive/x')).status).toBe(429);
  own.clock.advance(1000);
  expect(await statuses('/archive/x')).toEqual([404, 404, 404, 429]);
  expect(await statuses(one?.unsubscribe ?? '')).toEqual([200, 200, 200, 429]);
  expect(await statuses(two?.unsubscribe ?? '')).toEqual([200, 200, 200, 429]);
  const refused = await visit(own, two?.unsubscribe ?? '', { body: ONE_CLICK });
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
});
