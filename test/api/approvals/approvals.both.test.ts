// Calls that apps propose and people approve: held once, made once, as the app and for the content that was reviewed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expireAllApprovals, removeOldApprovals } from '../../../src/features/identity/approvals/approvals.ts';
import { CLIENTS } from '../../rig/mcp.ts';
import { createInbox } from '../../rig/inboxes.ts';
import { scaled } from '../../rig/scale.ts';
import { startAppScene, type AppScene } from './app-scene.ts';

let stage: AppScene;
beforeAll(async () => {
  stage = await startAppScene();
});
afterAll(() => stage.close());

const tokenFor = (approval: string, more: Record<string, string> = {}, person = stage.owner): Promise<string> =>
  stage.tokenFor({ approval, ...more }, { person });
const email = (subject = 'Hello', to = 'x@example.org') => ({
  from: `a@${stage.desk.domain.name}`,
  to,
  subject,
  text: 'It works.',
});
const sentWith = async (subject: string): Promise<number> => {
  const { data } = (await stage.desk.call('GET', '/emails?limit=100')).body;
  return data.filter((one: { subject: string }) => one.subject === subject).length;
};
/** Proposes an email and returns the id of the approval. */
async function propose(token: string, body: object = email(), headers: Record<string, string> = {}): Promise<string> {
  const { status, body: refusal } = await stage.call(token, 'POST', '/emails', body, headers);
  expect([status, refusal.name]).toEqual([403, 'invalid_permission']);
  expect(refusal.message).toContain(refusal.details.approval_id);
  return refusal.details.approval_id;
}
const get = async (id: string, key = stage.desk.team.key) => (await stage.call(key, 'GET', `/approvals/${id}`)).body;
const formatRefusal = ({ status, body }: { status: number; body: { message?: string } }): string =>
  status < 300 ? `${status}` : `${status} ${body.message}`;

describe('a call that needs approval', () => {
  it('is held, visible to its app and the team, and executed as the app once approved', async () => {
    const token = await tokenFor('sends');
    const id = await propose(token, email('Held'));
    expect(await sentWith('Held')).toBe(0);
    const held = { object: 'approval', id, status: 'pending', operation_id: 'sendEmail', result: null, error: null };
    expect(await get(id, token)).toMatchObject({ ...held, call: { body: email('Held') }, decided_by: null });
    expect(await get(id)).toMatchObject(held);
    const done = await stage.approve(id);
    expect(done).toMatchObject({
      status: 200,
      body: {
        status: 'done',
        result: { id: expect.any(String) as string },
        decided_by: { kind: 'user', name: stage.owner.email },
      },
    });
    expect(await sentWith('Held')).toBe(1);
    expect(await get(id, token)).toEqual({ ...done.body, about: null });
    expect((await stage.call(token, 'GET', `/emails/${done.body.result.id}`)).body.subject).toBe('Held');
  });

  it('creates one approval however often it is repeated, at once or later', async () => {
    const token = await tokenFor('sends');
    for (let round = 0; round < scaled(2); round++) {
      const body = email(`Often ${round}`);
      const ids = await Promise.all(Array.from({ length: 5 }, () => propose(token, body)));
      expect(new Set([...ids, await propose(token, body)]).size).toBe(1);
      const other = await propose(token, email(`Other ${round}`));
      expect(ids).not.toContain(other);
    }
  });

  it('is executed once when many people approve it at once', async () => {
    const token = await tokenFor('sends');
    for (let round = 0; round < scaled(3); round++) {
      const id = await propose(token, email(`Race ${round}`));
      const answers = await Promise.all(Array.from({ length: 6 }, () => stage.approve(id)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422]);
      expect(await sentWith(`Race ${round}`)).toBe(1);
    }
  });

  it('is listed newest first, page by page', async () => {
    const token = await tokenFor('sends');
    const ids: string[] = [];
    for (const subject of ['First', 'Second', 'Third'])
      ids.unshift(await propose(token, email(`${subject} of the list`)));
    const first = (await stage.call(token, 'GET', '/approvals?limit=2')).body;
    expect([first.has_more, first.data.map((one: { id: string }) => one.id)]).toEqual([true, ids.slice(0, 2)]);
    const rest = (await stage.call(token, 'GET', `/approvals?limit=2&after=${ids[1]}`)).body;
    expect([rest.has_more, rest.data.map((one: { id: string }) => one.id)]).toEqual([false, ids.slice(2)]);
  });

  it('is approved or rejected, never both', async () => {
    const token = await tokenFor('sends');
    for (let round = 0; round < scaled(3); round++) {
      const id = await propose(token, email(`Either ${round}`));
      const [yes, no] = await Promise.all([stage.approve(id), stage.owner.call('POST', `/approvals/${id}/reject`, {})]);
      expect([yes.status, no.status].sort()).toEqual([200, 422]);
      expect(await sentWith(`Either ${round}`)).toBe(yes.status === 200 ? 1 : 0);
    }
  });

  it('is never executed after a rejection, and its app can read the reason', async () => {
    const token = await tokenFor('sends');
    const id = await propose(token, email('Rejected'));
    const reason = 'Not before Monday.';
    const rejected = await stage.owner.call('POST', `/approvals/${id}/reject`, { reason });
    expect(rejected).toMatchObject({ status: 200, body: { status: 'rejected', reason } });
    expect((await stage.approve(id)).status).toBe(422);
    expect(await get(id, token)).toMatchObject({ status: 'rejected', reason, result: null });
    expect(await sentWith('Rejected')).toBe(0);
    expect(await propose(token, email('Rejected'))).not.toBe(id);
  });

  it('expires after seven days', async () => {
    const token = await tokenFor('sends');
    const id = await propose(token, email('Late'));
    stage.scene.clock.advance(7 * 24 * 3_600_000);
    expect((await stage.approve(id)).status).toBe(422);
    expect((await get(id)).status).toBe('expired');
    const list = async (status: string) =>
      (await stage.desk.call('GET', `/approvals?status=${status}&limit=100`)).body.data;
    expect((await list('expired')).map((one: { id: string }) => one.id)).toContain(id);
    expect(await list('pending')).toEqual([]);
    expect(await sentWith('Late')).toBe(0);
  });

  it('returns the stored answer when it is repeated with the same idempotency key', async () => {
    const token = await tokenFor('sends');
    const key = { 'idempotency-key': 'order-7' };
    const id = await propose(token, email('Keyed'), key);
    const { result } = (await stage.approve(id)).body;
    expect(await stage.call(token, 'POST', '/emails', email('Keyed'), key)).toMatchObject({
      status: 200,
      body: result,
    });
    expect(await sentWith('Keyed')).toBe(1);
    expect(await propose(token, email('Keyed'))).not.toBe(id);
  });

  it('fails as the call itself would, and reports how', async () => {
    const token = await tokenFor('sends');
    const id = await propose(token, { ...email(), from: 'a@nowhere.example' });
    const { status, body } = await stage.approve(id);
    expect([status, body.status, body.error.statusCode]).toEqual([200, 'failed', 403]);
    expect(body.error.message).toContain('nowhere.example');
    expect(await get(id, token)).toMatchObject({ status: 'failed', result: null });
  });

  it('is reported as interrupted if the service stopped during execution, and is not executed again', async () => {
    const token = await tokenFor('sends');
    const id = await propose(token, email('Stopped'));
    const sql = `update approvals set status = 'running', decided_at = ? where id = ?`;
    await stage.scene.app.world.db.run(sql, [stage.scene.clock.now(), id]);
    expect((await get(id)).status).toBe('running');
    stage.scene.clock.advance(15 * 60_000);
    expect(await get(id)).toMatchObject({ status: 'failed', error: { name: 'application_error' } });
    expect((await stage.approve(id)).status).toBe(422);
  });
});

describe('the need for approval', () => {
  it.each([
    ['none', 200, 200, 200],
    ['broadcasts', 403, 200, 200],
    ['sends', 403, 403, 200],
    ['changes', 403, 403, 403],
  ])(
    'with the setting %s gives broadcasts %i, emails %i and changes %i',
    async (approval, broadcasts, emails, changes) => {
      const token = await tokenFor(approval);
      const id = await stage.desk.make();
      const statuses = [
        (await stage.call(token, 'POST', `/broadcasts/${id}/send`, {})).status,
        (await stage.call(token, 'POST', '/emails', email())).status,
        (await stage.call(token, 'PATCH', '/team', { ai_assist_enabled: false })).status,
      ];
      expect(statuses).toEqual([broadcasts, emails, changes]);
      expect((await stage.call(token, 'GET', '/emails')).status).toBe(200);
    },
  );

  it('lifts the other limits for a call that a person has approved', async () => {
    const token = await tokenFor('broadcasts', { emails_per_day: '1', own_domains: 'yes' });
    const id = await stage.desk.make();
    const held = await stage.call(token, 'POST', `/broadcasts/${id}/send`, {});
    expect((await stage.approve(held.body.details.approval_id)).body).toMatchObject({ status: 'done' });
    expect((await stage.desk.get(id)).status).not.toBe('draft');
    expect((await stage.call(token, 'POST', '/emails', email())).status).toBe(403);
  });

  it('refuses an approval when the content was changed after the app asked', async () => {
    const token = await tokenFor('broadcasts');
    const id = await stage.desk.make();
    const { approval_id: waits } = (await stage.call(token, 'POST', `/broadcasts/${id}/send`, {})).body.details;
    const other = { html: '<p>Something else</p>' };
    expect(formatRefusal(await stage.call(token, 'PATCH', `/broadcasts/${id}`, other))).toMatch(
      /^403 Nothing has been done/,
    );
    expect((await stage.desk.call('PATCH', `/broadcasts/${id}`, other)).status).toBe(200);
    const refused = await stage.approve(waits);
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('changed')]);
    expect((await stage.desk.get(id)).status).toBe('draft');
    const { approval_id: again } = (await stage.call(token, 'POST', `/broadcasts/${id}/send`, {})).body.details;
    expect(again).not.toBe(waits);
    expect((await stage.approve(again)).body.status).toBe('done');
  });

  it('prevents the app from changing the draft, inbox or template that its pending call names', async () => {
    const token = await tokenFor('sends');
    const inbox = await createInbox(stage.scene, stage.desk.team);
    const at = `/inboxes/${inbox.id}`;
    const draft = { to: [`good@${stage.desk.domain.name}`], subject: 'Harmless', text: 'As it was seen' };
    const { id: draftId } = (await stage.call(token, 'POST', `${at}/drafts`, draft)).body;
    const waits = formatRefusal(await stage.call(token, 'POST', `${at}/drafts/${draftId}/send`, {}));
    expect(waits).toMatch(/^403 Nothing has been done yet/);
    const untilDecided = /until a person has decided/;
    const waitsItself = /^403 Nothing has been done yet/;
    const changes: [string, string, object | undefined, RegExp][] = [
      ['PATCH', `${at}/drafts/${draftId}`, { subject: 'Something else' }, untilDecided],
      ['DELETE', `${at}/drafts/${draftId}`, undefined, untilDecided],
      ['PATCH', at, { thread_by_subject: true }, untilDecided],
      ['PATCH', at, { signature: 'Something else', from_name: 'Somebody else' }, waitsItself],
      ['PATCH', `/inboxes/${inbox.address}`, { signature: 'Something else' }, waitsItself],
    ];
    for (const [method, path, body, refusal] of changes) {
      expect(formatRefusal(await stage.call(token, method, path, body)), `${method} ${path}`).toMatch(refusal);
    }
    const { data } = (await stage.call(token, 'GET', '/approvals?status=pending')).body;
    const id = data.find((one: { operation_id: string }) => one.operation_id === 'sendInboxDraft').id as string;
    expect((await stage.desk.call('PATCH', at, { signature: 'Changed by the team' })).status).toBe(200);
    expect(formatRefusal(await stage.approve(id))).toMatch(/^422 .*has changed/);
    expect((await stage.desk.call('PATCH', at, { signature: '' })).status).toBe(200);
    expect(formatRefusal(await stage.owner.call('POST', `/approvals/${id}/reject`, {}))).toBe('200');
    expect((await stage.call(token, 'PATCH', `${at}/drafts/${draftId}`, { subject: 'Changed' })).status).toBe(200);
  });

  it('publishes a template as it was when the app asked', async () => {
    const token = await tokenFor('sends');
    const made = await stage.call(token, 'POST', '/templates', { name: 'Welcome', html: '<p>Harmless</p>' });
    const at = `/templates/${made.body.id}`;
    const { approval_id: id } = (await stage.call(token, 'POST', `${at}/publish`)).body.details;
    const other = { html: '<p>Something else</p>' };
    expect(formatRefusal(await stage.call(token, 'PATCH', at, other))).toMatch(/^403 .*until a person has decided/);
    const asked = (await stage.call(await tokenFor('none'), 'PATCH', at, other)).status;
    expect([asked, formatRefusal(await stage.approve(id))]).toEqual([200, expect.stringMatching(/^422 .*has changed/)]);
    expect((await stage.desk.call('GET', at)).body.status).toBe('draft');
    const { approval_id: again } = (await stage.call(token, 'POST', `${at}/publish`)).body.details;
    expect((await stage.approve(again)).body.status).toBe('done');
    expect((await stage.desk.call('GET', at)).body).toMatchObject({ status: 'published', ...other });
  });

  it('refuses calls above a megabyte, and more than 100 pending calls of one app', async () => {
    const token = await tokenFor('sends');
    const large = await stage.call(token, 'POST', '/emails', { ...email(), text: 'x'.repeat(1024 * 1024) });
    expect([large.status, large.body.details]).toEqual([403, undefined]);
    const { db } = stage.scene.app.world;
    const id = await propose(token, email('First of many'));
    const row =
      (await db.get<Record<string, string | number | null>>('select * from approvals where id = ?', [id])) ?? {};
    const rows = Array.from({ length: 99 }, (_, n) => ({
      ...row,
      id: stage.scene.app.world.ids.uuid(),
      call_hash: `c${n}`,
    }));
    await db.insertMany(
      'approvals',
      Object.keys(row),
      rows.map((one) => Object.values(one)),
    );
    const full = await stage.call(token, 'POST', '/emails', email('One more'));
    expect([full.status, full.body.message]).toEqual([403, expect.stringContaining('100 calls')]);
    expect(await propose(token, email('First of many'))).toBe(id);
  });
});

describe('the decision on an approval', () => {
  it('is taken by a person of the team whose role may make the call, or by a key, never by an app', async () => {
    const token = await tokenFor('changes');
    const held = await stage.call(token, 'PATCH', '/team', { sender_name: 'Other GmbH' });
    const id = held.body.details.approval_id;
    const viewer = await stage.people.person({ team: stage.desk.team, role: 'viewer' });
    const member = await stage.people.person({ team: stage.desk.team, role: 'member' });
    expect((await stage.approve(id, viewer)).status).toBe(403);
    expect((await stage.approve(id, member)).status).toBe(403);
    expect((await viewer.call('GET', `/approvals/${id}`)).status).toBe(200);
    expect((await stage.call(token, 'POST', `/approvals/${id}/approve`, {})).status).toBe(403);
    const other = await stage.scene.team();
    expect((await stage.call(other.key, 'POST', `/approvals/${id}/approve`, {})).status).toBe(404);
    const byKey = await stage.desk.call('POST', `/approvals/${id}/approve`, {});
    expect(byKey.body).toMatchObject({ status: 'done', decided_by: { kind: 'api_key' } });
    expect((await stage.desk.call('GET', '/team')).text).toContain('Other GmbH');
  });

  it('takes effect only if the app may still make the call', async () => {
    const person = await stage.people.person({ team: stage.desk.team, role: 'member' });
    const token = await tokenFor('sends', {}, person);
    const ids = [await propose(token, email('Revoked')), await propose(token, email('Demoted'))];
    const [revoked = '', demoted = ''] = ids;
    expect(
      (await stage.owner.call('PATCH', `/teams/${stage.desk.team.id}/members/${person.memberId}`, { role: 'viewer' }))
        .status,
    ).toBe(200);
    expect(await stage.approve(demoted)).toMatchObject({ status: 403 });
    await stage.desk.call('DELETE', `/oauth/grants/${(await get(revoked)).grant.id}`);
    expect(await stage.approve(revoked)).toMatchObject({ status: 422 });
    expect((await get(revoked)).status).toBe('pending');
    expect(await sentWith('Revoked')).toBe(0);
  });

  it('is visible to the app that asked and to no other app', async () => {
    const one = await tokenFor('sends');
    const other = await tokenFor('sends');
    const id = await propose(one, email('Mine'));
    expect((await stage.call(other, 'GET', `/approvals/${id}`)).status).toBe(404);
    const ids = async (key: string) =>
      (await stage.call(key, 'GET', '/approvals?status=pending')).body.data.map((it: { id: string }) => it.id);
    expect(await ids(one)).toEqual([id]);
    expect(await ids(other)).toEqual([]);
  });

  it('is entered in the audit log, as is the executed call under the grant of its app', async () => {
    const token = await tokenFor('changes');
    const held = await stage.call(token, 'POST', '/topics', { name: 'News', default_subscription: 'opt_in' });
    const id = held.body.details.approval_id;
    const { grant } = await get(id);
    expect((await stage.approve(id)).body.status).toBe('done');
    const { data } = (await stage.desk.call('GET', '/audit?limit=5')).body;
    const actions = data.map((one: { action: string }) => one.action);
    expect(actions).toEqual(expect.arrayContaining(['approval.approved', 'topic.created']));
    const made = data.find((one: { action: string }) => one.action === 'topic.created');
    expect(made.details).toMatchObject({ oauth_grant_id: grant.id });
  });
});

describe('people who decide on approvals', () => {
  it('get one mail, whose link decides nothing, and decide on the page', async () => {
    const token = await tokenFor('sends');
    // These are the mails of earlier approvals.
    stage.scene.clock.advance(2000);
    await stage.scene.settled();
    const before = stage.scene.sink.messages.length;
    const id = await propose(token, email('By page'));
    await propose(token, email('By page, too'));
    stage.scene.clock.advance(2000);
    await stage.scene.settled();
    const mails = stage.scene.sink.messages.slice(before).map(({ data }) => data.toString());
    const told = mails.filter((raw) => raw.includes('An app is waiting for your approval'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('/account/approvals');
    const visitor = stage.oauth.visitorOf(stage.owner);
    const list = await visitor.open('/account/approvals');
    expect(list.links).toContain(`/account/approvals/one?id=${id}`);
    const page = await visitor.open(`/account/approvals/one?id=${id}`);
    expect(page.text).toContain('By page');
    expect((await get(id)).status).toBe('pending');
    const foreign = { headers: { origin: 'https://evil.example' } };
    expect((await visitor.send(page, 'Approve', {}, foreign)).status).toBe(403);
    const done = await visitor.follow(visitor.send(page, 'Approve'));
    expect(done.text).toContain('This request was approved');
    expect((await visitor.send(page, 'Reject')).status).toBe(422);
    expect(await sentWith('By page')).toBe(1);
  });
});

describe('an assistant that needs an approval', () => {
  it('is told that its call waits, and can read the outcome', async () => {
    const token = await tokenFor('sends');
    await using client = await CLIENTS['2026-07-28'](`${stage.scene.app.world.origin()}/mcp`, token);
    const held = await client.call('sendEmail', email('By an assistant'));
    expect([held.isError, held.text]).toEqual([true, expect.stringContaining('A person has to approve this request')]);
    const id = /approval_id (\S+?),/.exec(held.text)?.[1] ?? '';
    const ask = async () =>
      client.call('call_operation', { operation_id: 'getApproval', arguments: { approval_id: id } });
    expect((await ask()).value()).toMatchObject({ status: 'pending' });
    await stage.approve(id);
    expect((await ask()).value()).toMatchObject({ status: 'done' });
    expect(await sentWith('By an assistant')).toBe(1);
  });
});

describe('approvals over time', () => {
  it('expire in a restored copy, and are deleted after 90 days', async () => {
    const token = await tokenFor('sends');
    const id = await propose(token, email('Copied'));
    await stage.scene.app.world.db.tx((tx) => expireAllApprovals(tx));
    expect((await get(id)).status).toBe('expired');
    expect((await stage.approve(id)).status).toBe(422);
    stage.scene.clock.advance(90 * 24 * 3_600_000);
    await removeOldApprovals(stage.scene.app.world);
    expect((await stage.desk.call('GET', '/approvals')).body.data).toEqual([]);
  });
});
