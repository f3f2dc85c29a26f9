import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bringMail } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { REAL_REPORTS } from './real-reports.ts';

const LAST = {
  bounced: 'email.bounced',
  'bounced and suppressed': 'email.bounced',
  delayed: 'email.delivery_delayed',
  nothing: 'email.delivered',
};

describe('a report of a mail server', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  let count = 0;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  it.each(REAL_REPORTS)('$name is recorded as: $becomes', async ({ raw, becomes, isShared = false, from = '' }) => {
    const to = `n${++count}@dest.example.org`;
    const other = `other${count}@${isShared ? 'dest' : 'elsewhere'}.example.org`;
    const body = { from: `a@${domain}`, to: [to, other], subject: 'Out', text: 'x' };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    await scene.settled();
    const path = scene.sink.messages.findLast(({ rcptTo }) => rcptTo.includes(to))?.mailFrom ?? '';
    const content = raw.replaceAll('TO', to).replaceAll('\n', '\r\n');
    // Twice, as where its first 250 was lost.
    for (let n = 0; n < 2; n++) expect(await bringMail(scene, { from, to: [path], raw: content })).toMatch(/^250 /);
    const events = (await scene.events(id)).slice(isShared ? 3 : 4);
    expect(events.map(({ type }) => type)).toEqual(becomes === 'nothing' ? [] : [LAST[becomes]]);
    if (events[0]) expect(events[0]).toMatchObject({ data: { to: [to] } });
    const { data } = (await scene.api('GET', '/suppressions?limit=100', { key: team.key })).body;
    const own = (data as { source_id: string; email: string }[]).filter((one) => one.source_id === id);
    expect(own.map(({ email }) => email)).toEqual(becomes === 'bounced and suppressed' ? [to] : []);
  });
});
