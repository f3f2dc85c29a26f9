// A list of approvals that says what each is about, the rejection of all of one app, and mass mailings that are no broadcasts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { CLIENTS } from '../../rig/mcp.ts';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { PageVisitor } from '../../rig/page-visitor.ts';
import { scaled } from '../../rig/scale.ts';
import { startAppScene, type AppScene } from './app-scene.ts';
import type { OauthApp } from '../../rig/oauth.ts';

let stage: AppScene;
let inbox: WritingInbox;
beforeAll(async () => {
  stage = await startAppScene();
  inbox = await writingInbox(stage.scene, stage.desk.team);
});
afterAll(() => stage.close());

const tokenFor = (app: OauthApp, limits: Record<string, string>, person = stage.owner): Promise<string> =>
  stage.tokenFor(limits, { app, person });
const emailTo = (to: string[], subject = 'Hello') => ({
  from: `a@${stage.desk.domain.name}`,
  to,
  subject,
  text: 'It works.',
});
const addresses = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `r${from + n}@example.org`);
const listPending = async (name: string): Promise<{ id: string; about: object | null }[]> => {
  const { data } = (await stage.desk.call('GET', '/approvals?status=pending&limit=100')).body;
  return data.filter(({ grant }: { grant: { client_name: string } }) => grant.client_name === name);
};
const waits = ({ status, body }: { status: number; body: { details?: { approval_id?: string } } }): string => {
  expect([status, body.details?.approval_id]).toEqual([403, expect.any(String)]);
  return body.details?.approval_id ?? '';
};

describe('the list of approvals', () => {
  it('the list of approvals names recipients, subject and changed fields, and an app does not get them', async () => {
    const name = 'Brief';
    const app = await stage.oauth.register({ client_name: name });
    const token = await tokenFor(app, { approval: 'sends' });
    await stage.desk.call('POST', '/contacts', { email: 'member@example.org', segments: [{ id: stage.desk.segment }] });
    const members = (await stage.desk.call('GET', `/segments/${stage.desk.segment}/metrics`)).body.subscribed as number;
    const segment = (await stage.desk.call('GET', `/segments/${stage.desk.segment}`)).body.name as string;
    const broadcast = await stage.desk.make({ subject: 'What is new' });
    const batch = [emailTo(['one@example.org'], 'First'), emailTo(['two@example.org', 'three@example.org'], 'Second')];
    const expected: object[] = [];
    for (const [method, path, body, about] of [
      ['POST', '/emails', emailTo(['x@example.org', 'y@example.org']), ['x@example.org', 2, 'Hello', []]],
      ['POST', '/emails/batch', batch, ['one@example.org', 3, 'First', []]],
      ['POST', `/broadcasts/${broadcast}/send`, {}, [segment, members, 'What is new', []]],
      ['PATCH', inbox.path, { signature: 'Ada', from_name: 'Support' }, [null, null, null, ['signature', 'from_name']]],
      ['POST', '/contacts', { email: 'new@example.org' }, ['new@example.org', null, null, ['email']]],
    ] as const) {
      waits(await stage.call(token, method, path, body as object));
      const [to, recipients, subject, changes] = about;
      const object = path.startsWith('/broadcasts') ? 'What is new' : path === inbox.path ? inbox.address : null;
      expected.unshift({ to, recipients, subject, changes, object });
    }
    expect((await listPending(name)).map(({ about }) => about)).toEqual(expected);
    const [own] = (await stage.call(token, 'GET', '/approvals?limit=1')).body.data;
    expect(own.about).toBeNull();
    const page = await stage.oauth.visitorOf(stage.owner).open('/account/approvals');
    expect(page.text).toContain(
      `To ${segment}${members === 1 ? '' : ` (${members} recipients)`}. Subject: What is new`,
    );
    expect(page.text).toContain('Changes: signature, from_name');
  });
});

describe('the rejection of all calls of one app', () => {
  it.each(['name', 'client id', 'grant'])(
    'all pending calls of an app are rejected at once by its %s, and those of another app still wait',
    async (by) => {
      const name = `Runaway by ${by}`;
      const app = await stage.oauth.register({ client_name: name });
      const other = await stage.oauth.register({ client_name: `Calm by ${by}` });
      const token = await tokenFor(app, { approval: 'sends' });
      const grant = (await stage.desk.call('GET', '/oauth/grants')).body.data[0].id as string;
      const ids: string[] = [];
      for (const to of addresses(3)) ids.push(waits(await stage.call(token, 'POST', '/emails', emailTo([to]))));
      const kept = waits(
        await stage.call(await tokenFor(other, { approval: 'sends' }), 'POST', '/emails', emailTo(['x@x.org'])),
      );
      const named = { name, 'client id': app.clientId, grant }[by];
      const done = await stage.owner.call('POST', '/approvals/reject', { app: named, reason: 'Too many.' });
      expect(done).toMatchObject({ status: 200, body: { object: 'approval_rejection', app: named, rejected: 3 } });
      for (const id of ids) {
        const decided_by = { kind: 'user', name: stage.owner.email };
        expect((await stage.desk.call('GET', `/approvals/${id}`)).body).toMatchObject({
          status: 'rejected',
          reason: 'Too many.',
          decided_by,
        });
      }
      expect((await stage.desk.call('GET', `/approvals/${kept}`)).body.status).toBe('pending');
      expect((await stage.owner.call('POST', '/approvals/reject', { app: named })).body.rejected).toBe(0);
    },
  );

  it('an app and a viewer cannot reject calls, and another team does not reach them', async () => {
    const app = await stage.oauth.register({ client_name: 'Kept' });
    const token = await tokenFor(app, { approval: 'sends' });
    const id = waits(await stage.call(token, 'POST', '/emails', emailTo(['x@example.org'])));
    const viewer = await stage.people.person({ team: stage.desk.team, role: 'viewer' });
    expect((await stage.call(token, 'POST', '/approvals/reject', { app: 'Kept' })).status).toBe(403);
    expect((await viewer.call('POST', '/approvals/reject', { app: 'Kept' })).status).toBe(403);
    const stranger = await stage.scene.team();
    expect((await stage.call(stranger.key, 'POST', '/approvals/reject', { app: 'Kept' })).body.rejected).toBe(0);
    expect((await stage.desk.call('GET', `/approvals/${id}`)).body.status).toBe('pending');
  });

  it('the page rejects all pending requests of an app with one button', async () => {
    const app = await stage.oauth.register({ client_name: 'Noisy' });
    const token = await tokenFor(app, { approval: 'sends' });
    const id = waits(await stage.call(token, 'POST', '/emails', emailTo(['x@example.org'])));
    const browser: PageVisitor = stage.oauth.visitorOf(stage.owner);
    const page = await browser.open('/account/approvals');
    await browser.send(page, 'Reject all requests of Noisy');
    expect((await stage.desk.call('GET', `/approvals/${id}`)).body.status).toBe('rejected');
  });
});

describe('approval of broadcasts and the number of recipients a day', () => {
  /** Another person, because all grants that a person gives to an app are counted together. */
  const anotherPerson = () => stage.people.person({ team: stage.desk.team, role: 'owner' });
  const above = async (count: string, more: Record<string, string> = {}): Promise<string> =>
    stage.tokenFor({ approval: 'broadcasts', approval_above: count, ...more }, { person: await anotherPerson() });

  it('a batch above the number of recipients waits and is sent once a person approves it', async () => {
    const token = await above('3');
    const batch = (count: number, from: number) => addresses(count, from).map((to) => emailTo([to], `Batch ${from}`));
    expect((await stage.call(token, 'POST', '/emails/batch', batch(3, 0))).status).toBe(200);
    const id = waits(await stage.call(token, 'POST', '/emails/batch', batch(4, 10)));
    expect(waits(await stage.call(token, 'POST', '/emails/batch', batch(4, 10)))).toBe(id);
    expect((await stage.desk.call('GET', `/approvals/${id}`)).body.about).toMatchObject({ recipients: 4 });
    expect((await stage.owner.call('POST', `/approvals/${id}/approve`, {})).body.status).toBe('done');
    const { data } = (await stage.desk.call('GET', '/emails?limit=100')).body;
    expect(data.filter(({ subject }: { subject: string }) => subject === 'Batch 10')).toHaveLength(4);
  });

  it('a loop of single sends waits from the first email above the number on, until the next day', async () => {
    const tokens = await stage.oauth.letIn(
      await anotherPerson(),
      stage.app,
      { scope: SCOPE_NAMES.join(' ') },
      { approval: 'broadcasts', approval_above: '2' },
    );
    const send = (key: string, to: string) => stage.call(key, 'POST', '/emails', emailTo([to]));
    for (const to of addresses(2)) expect((await send(tokens.access_token, to)).status).toBe(200);
    waits(await send(tokens.access_token, 'third@example.org'));
    const reply = await inbox.arrive({});
    waits(await stage.call(tokens.access_token, 'POST', `${inbox.path}${reply.path}/reply`, { text: 'Hello.' }));
    stage.scene.clock.advance(24 * 3_600_000);
    const next = (await stage.oauth.refresh(stage.app, tokens.refresh_token)).body.access_token;
    expect((await send(next, 'fourth@example.org')).status).toBe(200);
  });

  it('all grants that a person gives to an app count towards one number, and those of another person do not', async () => {
    const limits = { approval: 'broadcasts', approval_above: '2' };
    const person = await anotherPerson();
    const send = (key: string, to: string) => stage.call(key, 'POST', '/emails', emailTo([to]));
    const first = await stage.tokenFor(limits, { person });
    expect((await send(first, 'one@example.org')).status).toBe(200);
    const second = await stage.tokenFor(limits, { person });
    expect((await send(second, 'two@example.org')).status).toBe(200);
    waits(await send(second, 'three@example.org'));
    waits(await send(first, 'four@example.org'));
    const other = await stage.tokenFor(limits, { person: await anotherPerson() });
    expect((await send(other, 'five@example.org')).status).toBe(200);
  });

  it('an assistant that sends in a loop is told that a person has to approve, and where', async () => {
    const token = await above('1');
    await using client = await CLIENTS['2026-07-28'](`${stage.scene.app.world.origin()}/mcp`, token);
    expect((await client.call('sendEmail', emailTo(['first@example.org']))).isError).toBe(false);
    const held = await client.call('sendEmail', emailTo(['second@example.org']));
    expect(held.isError).toBe(true);
    expect(held.text).toMatch(
      /Nothing has been done yet.*\nWhat to do: tell the person that this waits for their approval/s,
    );
  });

  it('concurrent single sends do not exceed the number of recipients', async () => {
    for (let round = 0; round < scaled(2); round++) {
      const token = await above('4');
      const answers = await Promise.all(
        addresses(10, round * 10).map((to) => stage.call(token, 'POST', '/emails', emailTo([to], `Loop ${round}`))),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
      expect(answers.filter(({ body }) => body.details?.approval_id)).toHaveLength(6);
    }
  });

  it('the number of recipients is 100 by default, counts only with approval of broadcasts, and can be changed', async () => {
    const token = await stage.tokenFor('broadcasts', { person: await anotherPerson() });
    const grant = (await stage.desk.call('GET', '/oauth/grants')).body.data[0];
    expect(grant.limits).toMatchObject({ approval: 'broadcasts', approval_above: 100 });
    const path = `/oauth/grants/${grant.id}`;
    expect((await stage.desk.call('PATCH', path, { approval_above: 1 })).body.limits.approval_above).toBe(1);
    waits(await stage.call(token, 'POST', '/emails', emailTo(addresses(2))));
    await stage.desk.call('PATCH', path, { approval: 'none' });
    expect((await stage.call(token, 'POST', '/emails', emailTo(addresses(2), 'Another'))).status).toBe(200);
    for (const wrong of [0, 1.5, 1_000_001, null]) {
      expect((await stage.desk.call('PATCH', path, { approval_above: wrong })).status).toBe(400);
    }
  });

  it('the daily limit of emails refuses before the number that needs approval is reached', async () => {
    const token = await above('5', { emails_per_day: '2' });
    const refused = await stage.call(token, 'POST', '/emails', emailTo(addresses(3)));
    expect([refused.status, refused.body.name]).toEqual([429, 'daily_quota_exceeded']);
  });
});
