import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeBelievableTeam } from './believable-team.ts';
import { Screen } from './screen.ts';

const ABSENT = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';

describe('an item opened by its id in the console', () => {
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await makeBelievableTeam(scene);
    await scene.api('POST', '/emails', {
      key: team.key,
      body: { from: 'hello@mail.example.com', to: 'tempfail@example.net', subject: 'Waits', text: 'T' },
    });
    await scene.settled();
    seat = await Screen.take({ url: scene.url, key: team.key, columns: 120, rows: 40 });
    await seat.sees('received mail');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  const go = async (at: Screen, command: string, ...sees: (string | RegExp)[]): Promise<void> => {
    await at.type(`:${command}`);
    await at.sees(`:${command}`);
    await at.press('Enter');
    await at.sees(...sees);
  };
  /** A key right behind Esc would be another key. */
  const leave = async (at: Screen, section: string): Promise<void> => {
    await at.press('Escape');
    await at.sees(new RegExp(`^ ${section}(?: +(?:0|\\d+/\\d+\\+?))?$`, 'm'));
  };
  const fetchFirst = async (path: string): Promise<string> =>
    (await scene.api('GET', path, { key: team.key })).body.data[0].id as string;

  it.each([
    ['emails', '/emails?search=receipt', 'emails › Your receipt', 'The first delivery started'],
    ['domains', '/domains', 'domains › news.example.com', 'Tracking label'],
    ['webhooks', '/webhooks', 'webhooks › https://hooks.example.com/rasket', '✓ success'],
    ['templates', '/templates', 'templates › Receipt', 'Created'],
    ['contacts', '/contacts', 'contacts › ada@example.org', 'Ada'],
    ['received', '/emails/receiving', 'received › A question', 'details'],
    ['segments', '/segments', 'segments › Customers', 'details'],
    ['keys', '/api-keys?search=Billing', 'keys › Billing', /Key +rk_/],
    ['suppressions', '/suppressions', 'suppressions › gone@example.net', 'gone@example.net'],
    ['audit', '/audit', 'audit › ', /Who +\S/],
    ['logs', '/logs', 'logs › ', /Request +\S/],
  ])('shows the item of %s', async (section, path, ...sees) => {
    const id = await fetchFirst(path);
    await go(seat, `${section} ${id}`, ...sees);
    expect(await seat.frame()).not.toContain('undefined');
    await leave(seat, section);
  });

  it.each(['emails', 'domains', 'templates', 'contacts', 'received', 'logs'])(
    'shows that an item of %s does not exist',
    async (section) => {
      const list = new RegExp(`^ {2}.*\\(not_found\\)\\. List them with: :${section}$`, 'm');
      await go(seat, `${section} ${ABSENT}`, `${section} › 019a9c1e`, list);
      await leave(seat, section);
    },
  );

  it.each(['keys', 'audit'])(
    'shows that an item of %s, which have no page of their own, does not exist',
    async (section) => {
      await go(seat, `${section} ${ABSENT}`, `${section} › 019a9c1e`, `No item has the id ${ABSENT}`);
      await leave(seat, section);
    },
  );

  it('shows a waiting email to an operator by either id of its row', async () => {
    const token = await scene.operator();
    await using desk = await Screen.take({ url: scene.url, key: token, columns: 120, rows: 40 });
    await desk.sees('1 waiting, for 1 destination.');
    const [waits] = (await scene.api('GET', '/operator/queue/deliveries', { key: token })).body.data;
    for (const id of [waits.id, waits.email_id] as string[]) {
      await go(desk, `queue ${id}`, /^ queue › \S/m, /\[timeline\]/, /to \S+@example\.net/);
      await go(desk, 'hold', new RegExp(`email +${waits.email_id}`));
      await desk.press('Escape');
      await desk.sees(/^(?![^]*› reason)/);
      await leave(desk, 'queue');
    }
    await go(desk, `queue ${ABSENT}`, /\(not_found\)/);
    await leave(desk, 'queue');
    const [entry] = (await scene.api('GET', '/operator/audit', { key: token })).body.data;
    if (entry) await go(desk, `operator-audit ${entry.id}`, 'operator-audit › ', /Who +\S/);
  });
});
