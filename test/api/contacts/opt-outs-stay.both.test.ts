// a contact leaves --> is erased --> is created again: what it left stays left
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linksTo, press, visit } from '../../rig/preference-pages.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { importedIn, type Given } from '../contact-imports/importing.ts';

const ONE_CLICK = 'List-Unsubscribe=One-Click';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const create = async (team: Team, body: object): Promise<string> =>
  (await call(team, 'POST', '/contacts', body)).body.id;
const erase = (team: Team, contact: string) => call(team, 'DELETE', `/contacts/${contact}`);
const imported = (...given: Given) => importedIn(scene, ...given);
const isOut = async (team: Team, contact: string): Promise<boolean> =>
  (await call(team, 'GET', `/contacts/${contact}`)).body.unsubscribed;
const topic = async (team: Team, name: string): Promise<string> =>
  (await call(team, 'POST', '/topics', { name, default_subscription: 'opt_in', visibility: 'public' })).body.id;
const fetchTopics = async (team: Team, contact: string): Promise<Record<string, string>> => {
  const { data } = (await call(team, 'GET', `/contacts/${contact}/topics`)).body;
  return Object.fromEntries(data.map((one: { name: string; subscription: string }) => [one.name, one.subscription]));
};
/** Returns the recorded decisions, oldest first. */
const decisions = async (team: Team, contact: string): Promise<string[]> => {
  const { data } = (await call(team, 'GET', `/contacts/${contact}/activity?kind=consent`)).body;
  return data.map((one: { type: string; source: string }) => `${one.type} ${one.source}`).toReversed();
};

const EMAIL = 'Ada@example.org';

/** Creates a contact that unsubscribed from everything with the button of a mail program, and erases it. */
async function leftAndErased(team: Team): Promise<void> {
  const id = await create(team, { email: EMAIL });
  await visit(scene, (await linksTo(scene, team, { id, email: EMAIL })).unsubscribe, { body: ONE_CLICK });
  await erase(team, id);
}

describe('a contact that unsubscribed and was erased', () => {
  it('is unsubscribed whenever it is created again, and the record gives the reason', async () => {
    const team = await scene.team();
    await leftAndErased(team);
    for (const email of ['ada@example.org', 'ADA@Example.org']) {
      const id = await create(team, { email });
      expect(await isOut(team, id)).toBe(true);
      expect(await decisions(team, id)).toEqual(['unsubscribed carried_over']);
      expect((await scene.events(id))[0]).toMatchObject({ type: 'contact.created', data: { unsubscribed: true } });
      await erase(team, id);
    }
    expect(await isOut(await scene.team().then(withAda), EMAIL)).toBe(false);
  });

  const withAda = async (team: Team): Promise<Team> => {
    await create(team, { email: EMAIL });
    return team;
  };

  it('is unsubscribed as a contact of an audience, and counted as such in its segment', async () => {
    const team = await scene.team();
    await leftAndErased(team);
    const segment = (await call(team, 'POST', '/segments', { name: 'Readers' })).body.id;
    expect((await call(team, 'POST', `/audiences/${segment}/contacts`, { email: EMAIL })).status).toBe(201);
    expect((await call(team, 'GET', `/segments/${segment}/metrics`)).body).toMatchObject({
      contacts: 1,
      subscribed: 0,
      unsubscribed: 1,
    });
  });

  it('is subscribed if the call says so, which is recorded and lasts', async () => {
    const team = await scene.team();
    await leftAndErased(team);
    const id = await create(team, { email: EMAIL, unsubscribed: false });
    expect(await isOut(team, id)).toBe(false);
    expect(await decisions(team, id)).toEqual(['resubscribed api']);
    await erase(team, id);
    expect(await isOut(team, await create(team, { email: EMAIL }))).toBe(false);
    const other = await create(team, { email: 'bob@example.org', unsubscribed: false });
    expect(await decisions(team, other)).toEqual([]);
  });

  it('is subscribed once the person subscribes again', async () => {
    const team = await scene.team();
    const id = await create(team, { email: EMAIL });
    const { preferences } = await linksTo(scene, team, { id, email: EMAIL });
    const left = await press(scene, await visit(scene, preferences), 'unsubscribe_all');
    await press(scene, left, 'subscribe_all');
    await erase(team, id);
    expect(await isOut(team, await create(team, { email: EMAIL }))).toBe(false);
  });

  it('stays unsubscribed even if the application unsubscribed it on the person’s behalf', async () => {
    const team = await scene.team();
    const id = await create(team, { email: EMAIL });
    await call(team, 'PATCH', `/contacts/${id}`, { unsubscribed: true });
    await erase(team, id);
    expect(await isOut(team, await create(team, { email: EMAIL }))).toBe(true);
  });

  it.each(['skip', 'upsert'])('is unsubscribed in an import (%s), whatever its rows say', async (on_conflict) => {
    const team = await scene.team();
    await leftAndErased(team);
    const file = 'email,unsubscribed\nnew@example.org,\nada@example.org,\nfresh@example.org,false\n';
    expect((await imported(team, file, { on_conflict })).counts).toMatchObject({ created: 3, failed: 0 });
    expect(await isOut(team, EMAIL)).toBe(true);
    expect(await decisions(team, EMAIL)).toEqual(['unsubscribed carried_over']);
    for (const other of ['new@example.org', 'fresh@example.org']) expect(await isOut(team, other)).toBe(false);
    await erase(team, EMAIL);
    await imported(team, 'email,unsubscribed\nada@example.org,false\n', { on_conflict });
    expect(await isOut(team, EMAIL)).toBe(true);
  });

  it('can still unsubscribe with a link from an earlier mail', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    const id = await create(team, { email: EMAIL });
    const all = await linksTo(scene, team, { id, email: EMAIL });
    const ofNews = await linksTo(scene, team, { id, email: EMAIL }, { topicId: news });
    await erase(team, id);
    const page = await visit(scene, ofNews.unsubscribe);
    expect(page.text).toContain('You are not on the list');
    expect((await press(scene, page, 'unsubscribe')).text).toContain(
      'If the address is added again, it will not receive News',
    );
    expect(await fetchTopics(team, await create(team, { email: EMAIL }))).toEqual({ News: 'opt_out' });
    expect(await isOut(team, EMAIL)).toBe(false);
    await erase(team, EMAIL);
    for (let time = 0; time < 2; time++) await visit(scene, all.unsubscribe, { body: ONE_CLICK });
    const again = await create(team, { email: EMAIL });
    expect(await isOut(team, again)).toBe(true);
    expect((await decisions(team, again)).toSorted()).toEqual([
      'topic_opt_out carried_over',
      'unsubscribed carried_over',
    ]);
  });
});

describe('a contact that left a topic and was erased', () => {
  it('is out of the topic when it is created again, unless the call says otherwise', async () => {
    const team = await scene.team();
    const [news] = [await topic(team, 'News'), await topic(team, 'Offers')];
    const id = await create(team, { email: EMAIL });
    await visit(scene, (await linksTo(scene, team, { id, email: EMAIL }, { topicId: news })).unsubscribe, {
      body: ONE_CLICK,
    });
    await erase(team, id);
    const again = await create(team, { email: EMAIL });
    expect(await fetchTopics(team, again)).toEqual({ News: 'opt_out', Offers: 'opt_in' });
    expect(await isOut(team, again)).toBe(false);
    expect(await decisions(team, again)).toEqual(['topic_opt_out carried_over']);
    await erase(team, again);
    await imported(team, 'email\nada@example.org\n');
    expect(await fetchTopics(team, EMAIL)).toEqual({ News: 'opt_out', Offers: 'opt_in' });
    await erase(team, EMAIL);
    const told = await create(team, { email: EMAIL, topics: [{ id: news, subscription: 'opt_in' }] });
    expect(await fetchTopics(team, told)).toEqual({ News: 'opt_in', Offers: 'opt_in' });
    await erase(team, told);
    await call(team, 'DELETE', `/topics/${news}`);
    expect(await fetchTopics(team, await create(team, { email: EMAIL }))).toEqual({ Offers: 'opt_in' });
  });
});

describe('a topic that a contact left by a link', () => {
  /** Creates a contact that left one of two topics with the button of a mail program. */
  async function leftNews(team: Team): Promise<{ id: string; news: string; offers: string }> {
    const news = await topic(team, 'News');
    const offers = await topic(team, 'Offers');
    const id = await create(team, { email: EMAIL });
    await visit(scene, (await linksTo(scene, team, { id, email: EMAIL }, { topicId: news })).unsubscribe, {
      body: ONE_CLICK,
    });
    return { id, news, offers };
  }
  const OUT = { News: 'opt_out', Offers: 'opt_in' };
  const optIn = (id: string) => [{ id, subscription: 'opt_in' }];

  it('a topic that a contact left by a link is not joined again by an import, whether the contact still exists or was erased', async () => {
    const team = await scene.team();
    const { id, news, offers } = await leftNews(team);
    const exported = `email,opted_in_topic_ids\nada@example.org,${news} ${offers}\nbob@example.org,${news}\n`;
    const upsert = { on_conflict: 'upsert' };
    expect((await imported(team, exported, upsert)).counts).toMatchObject({ created: 1, updated: 1, failed: 0 });
    expect(await fetchTopics(team, EMAIL)).toEqual(OUT);
    expect(await decisions(team, id)).toEqual(['topic_opt_out one_click', 'topic_opt_in import']);
    await imported(team, 'email\nada@example.org\n', { ...upsert, topics: optIn(news) });
    expect(await fetchTopics(team, EMAIL)).toEqual(OUT);
    await erase(team, id);
    await imported(team, exported, upsert);
    expect(await fetchTopics(team, EMAIL)).toEqual(OUT);
    expect(await fetchTopics(team, 'bob@example.org')).toMatchObject({ News: 'opt_in' });
  });

  it('a topic that a contact left by a link is not joined again by creating the contact a second time, alone or in a batch', async () => {
    const team = await scene.team();
    const { id, news, offers } = await leftNews(team);
    const again = { email: EMAIL, topics: [...optIn(news), { id: offers, subscription: 'opt_out' }] };
    expect(await create(team, again)).toBe(id);
    const batch = [
      { ...again, topics: optIn(news) },
      { email: 'bob@example.org', topics: optIn(news) },
    ];
    expect((await call(team, 'POST', '/contacts/batch', batch)).status).toBe(201);
    expect(await fetchTopics(team, id)).toEqual({ News: 'opt_out', Offers: 'opt_out' });
    expect(await decisions(team, 'bob@example.org')).toEqual(['topic_opt_in api']);
  });

  it('a topic that a contact left by a link is joined again if a call says so for the contact', async () => {
    const team = await scene.team();
    const { id, news } = await leftNews(team);
    expect((await call(team, 'PATCH', `/contacts/${id}/topics`, optIn(news))).status).toBe(200);
    expect(await fetchTopics(team, id)).toMatchObject({ News: 'opt_in' });
  });

  it('a topic that a contact left by a link is joined again by an import if a call had opted the contact out', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    await create(team, { email: EMAIL, topics: [{ id: news, subscription: 'opt_out' }] });
    await imported(team, 'email\nada@example.org\n', { on_conflict: 'upsert', topics: optIn(news) });
    expect(await fetchTopics(team, EMAIL)).toEqual({ News: 'opt_in' });
  });
});

describe('a contact whose address changes', () => {
  it('takes over the opt-outs of the new address, unless the call says otherwise', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    const id = await create(team, { email: EMAIL, topics: [{ id: news, subscription: 'opt_out' }] });
    await visit(scene, (await linksTo(scene, team, { id, email: EMAIL })).unsubscribe, { body: ONE_CLICK });
    await erase(team, id);
    const bob = await create(team, { email: 'bob@example.org' });
    await call(team, 'PATCH', `/contacts/${bob}`, { email: EMAIL });
    expect([await isOut(team, bob), await fetchTopics(team, bob)]).toEqual([true, { News: 'opt_out' }]);
    const eve = await create(team, { email: 'eve@example.org' });
    await erase(team, bob);
    await call(team, 'PATCH', `/contacts/${eve}`, { email: EMAIL, unsubscribed: false });
    expect(await isOut(team, eve)).toBe(false);
    expect(await decisions(team, eve)).toContain('resubscribed api');
  });

  it('keeps the opt-outs that it made under its old address', async () => {
    const team = await scene.team();
    const news = await topic(team, 'News');
    const id = await create(team, { email: EMAIL, topics: [{ id: news, subscription: 'opt_out' }] });
    await visit(scene, (await linksTo(scene, team, { id, email: EMAIL })).unsubscribe, { body: ONE_CLICK });
    await call(team, 'PATCH', `/contacts/${id}`, { email: 'lovelace@example.org' });
    await erase(team, id);
    for (const email of [EMAIL, 'lovelace@example.org']) {
      const again = await create(team, { email });
      expect([await isOut(team, again), await fetchTopics(team, again)]).toEqual([true, { News: 'opt_out' }]);
    }
  });
});
