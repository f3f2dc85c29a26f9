// HTML without a text, by every way on which a caller gives it --> the parts of what arrives.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { line, start, step, supply } from '../api/automations/graph.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { campaignIn } from './campaign.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

type Body = { html: string; text?: string };

const HTML = '<!doctype html><html><head><style>p{}</style></head><body><p>Good day</p></body></html>';
const subjects = new Set<string>();

async function call(team: Pick<Team, 'key'>, path: string, body: object): Promise<string> {
  const answer = await scene.api('POST', path, { key: team.key, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return (answer.body.id ?? answer.body.data?.[0].id) as string;
}

async function publish(team: Pick<Team, 'key'>, name: string, body: Body): Promise<string> {
  const id = await call(team, '/templates', { name, subject: name, ...body });
  await call(team, `/templates/${id}/publish`, {});
  return id;
}

/** Each sends one email of its own subject. */
const WAYS: Record<string, (subject: string, body: Body) => Promise<unknown>> = {
  async 'a send'(subject, body) {
    const team = await scene.team();
    const from = `a@${(await team.domain()).name}`;
    return call(team, '/emails', { from, to: 'x@one.example', subject, ...body });
  },
  async 'a batch'(subject, body) {
    const team = await scene.team();
    const from = `a@${(await team.domain()).name}`;
    const answer = await scene.api('POST', '/emails/batch', {
      key: team.key,
      body: [{ from, to: 'x@one.example', subject, ...body }],
    });
    expect(answer.status).toBe(200);
  },
  async 'a template'(subject, body) {
    const team = await scene.team();
    const from = `a@${(await team.domain()).name}`;
    const id = await publish(team, subject, body);
    return call(team, '/emails', { from, to: 'x@one.example', template: { id } });
  },
  async 'a broadcast'(subject, body) {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['x@one.example']);
    return campaign.broadcast({ subject, ...body });
  },
  async 'an automation'(subject, body) {
    const has = await supply(scene);
    const id = await publish(has.team, subject, body);
    await call(has.team, '/contacts', { email: 'x@one.example' });
    const mail = step('mail', 'send_email', { from: `shop@${has.domain}`, subject, template: { id } });
    await call(has.team, '/automations', { name: 'A', status: 'enabled', ...line(start, mail) });
    return scene.api('POST', '/events/send', { key: has.team.key, body: { event: 'order', email: 'x@one.example' } });
  },
};

async function arrive(way: string, body: Body): Promise<string> {
  const subject = `Mail ${subjects.size}`;
  subjects.add(subject);
  await WAYS[way]?.(subject, body);
  await scene.settled();
  const found = scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));
  expect(found).toHaveLength(1);
  return String(found[0]?.data);
}

describe.each(Object.keys(WAYS))('mail sent by %s', (way) => {
  it('with HTML alone arrives with a text part derived from it', async () => {
    const data = await arrive(way, { html: HTML });
    const [, text = ''] = /Content-Type: text\/plain[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(data) ?? [];
    expect(text).toMatch(/^Good day/);
  });

  it('with an empty text arrives without a text part', async () => {
    const data = await arrive(way, { html: HTML, text: '' });
    expect(data).toContain('Good day');
    expect(data).not.toContain('text/plain');
  });
});
