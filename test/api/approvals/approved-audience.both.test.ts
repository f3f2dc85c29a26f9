// An approved broadcast goes to the contacts it was approved for, with the approved text, until it has been sent.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mailsTo } from '../../rig/mailbox.ts';
import { startAppScene, type AppScene } from './app-scene.ts';

let stage: AppScene;
beforeAll(async () => {
  stage = await startAppScene();
});
// A waiting call of one app binds all its grants.
afterEach(async () => {
  expect((await stage.owner.call('POST', '/approvals/reject', { app: stage.app.clientId })).status).toBe(200);
});
afterAll(() => stage.close());

const said = ({ status, body }: { status: number; body: { message?: string } }): string =>
  status < 300 ? `${status}` : `${status} ${body.message}`;

let count = 0;
const contact = async (more: object = {}): Promise<string> => {
  const email = `c${++count}@example.org`;
  expect((await stage.desk.call('POST', '/contacts', { email, ...more })).status).toBe(201);
  return email;
};
const createSegment = async (filter?: object): Promise<string> =>
  (await stage.desk.call('POST', '/segments', { name: `Segment ${++count}`, ...(filter && { filter }) })).body
    .id as string;
/** Asks to send a broadcast to the segment; returns the ids of the broadcast and of the waiting call. */
async function waiting(token: string, segment: string, more: object = {}, send: object = {}) {
  const id = await stage.desk.make({ segment_id: segment, ...more });
  const held = await stage.call(token, 'POST', `/broadcasts/${id}/send`, send);
  expect(held.body.details?.approval_id, held.text).toEqual(expect.any(String));
  return { id, approvalId: held.body.details.approval_id as string };
}
const ASKS = /^403 Nothing has been done yet/;
const UNTIL_DECIDED = /^403 .*until a person has decided/;
const UNTIL_LEFT = /^403 .*has not been sent yet/;

describe('a broadcast that waits for approval', () => {
  it('an app cannot fill a segment through an automation while its broadcast waits for approval or to be sent', async () => {
    const segment = await createSegment();
    const email = await contact({ segments: [segment] });
    const token = await stage.tokenFor('broadcasts');
    const name = `event_${++count}`;
    await stage.desk.call('POST', '/events', { name });
    const inTwoHours = new Date(stage.scene.clock.now() + 2 * 3_600_000).toISOString();
    const { approvalId } = await waiting(token, segment, {}, { scheduled_at: inTwoHours });
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: name } },
      { key: 'add', type: 'add_to_segment', config: { segment_id: segment } },
    ];
    const automation = { name, status: 'enabled', steps, connections: [{ from: 'start', to: 'add' }] };
    const enable = async (): Promise<string> => said(await stage.call(token, 'POST', '/automations', automation));
    const fill = async (): Promise<string> =>
      said(await stage.call(token, 'POST', '/events/send', { event: name, email }));
    expect(await enable()).toMatch(ASKS);
    expect(await fill()).toMatch(UNTIL_DECIDED);
    expect((await stage.approve(approvalId)).status).toBe(200);
    expect(await enable()).toMatch(ASKS);
    expect(await fill()).toMatch(UNTIL_LEFT);
  });

  it('an app cannot fill a filtered segment by adding or deleting a property or topic while its broadcast waits for approval', async () => {
    const key = `keep_${++count}`;
    const property = (await stage.desk.call('POST', '/contact-properties', { key, type: 'string' })).body.id as string;
    const topic = (await stage.desk.call('POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_in' }))
      .body.id as string;
    for (const value of ['no', 'no', 'yes']) await contact({ properties: { [key]: value } });
    const segment = await createSegment({ not: [{ field: `properties.${key}`, op: 'eq', value: 'no' }] });
    const token = await stage.tokenFor('broadcasts');
    const { approvalId } = await waiting(token, segment);
    const tries: [refusal: RegExp, method: string, path: string, body?: object][] = [
      [ASKS, 'DELETE', `/contact-properties/${property}`],
      [ASKS, 'POST', '/contact-properties', { key: `other_${++count}`, type: 'string' }],
      [UNTIL_DECIDED, 'POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_in' }],
      [ASKS, 'PATCH', `/topics/${topic}`, { name: `T${++count}` }],
      [UNTIL_DECIDED, 'PATCH', `/topics/${topic}`, { visibility: 'public' }],
      [ASKS, 'DELETE', `/topics/${topic}`],
      [ASKS, 'POST', '/events', { name: `event_${++count}` }],
    ];
    for (const [refusal, method, path, body] of tries) {
      expect(said(await stage.call(token, method, path, body)), `${method} ${path}`).toMatch(refusal);
    }
    expect((await stage.owner.call('POST', `/approvals/${approvalId}/reject`, {})).status).toBe(200);
    expect(said(await stage.call(token, 'DELETE', `/contact-properties/${property}`))).toMatch(ASKS);
  });

  it('an app cannot change who is in a segment that the filter of its waiting broadcast names', async () => {
    const added = await createSegment();
    const left = await createSegment();
    const outside = await contact();
    const member = await contact({ segments: [added, left] });
    const segment = await createSegment({ all: [{ segment: added }, { not: [{ segment: left }] }] });
    const token = await stage.tokenFor('broadcasts');
    await waiting(token, segment);
    for (const [method, path] of [
      ['POST', `/contacts/${outside}/segments/${added}`],
      ['DELETE', `/contacts/${member}/segments/${left}`],
    ] as const) {
      expect(said(await stage.call(token, method, path)), `${method} ${path}`).toMatch(UNTIL_DECIDED);
    }
  });

  it('an app cannot change recipients of its waiting broadcast by creating their contacts again', async () => {
    const segment = await createSegment();
    const topic = (await stage.desk.call('POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_out' }))
      .body.id as string;
    const email = await contact({ segments: [segment] });
    const elsewhere = await contact();
    const token = await stage.tokenFor('broadcasts');
    const { approvalId } = await waiting(token, segment, { topic_id: topic });
    for (const change of [
      { topics: [{ id: topic, subscription: 'opt_in' }] },
      { unsubscribed: false },
      { first_name: 'EVIL' },
    ]) {
      const again = { email: email.toUpperCase(), ...change };
      expect(said(await stage.call(token, 'POST', '/contacts', again))).toMatch(UNTIL_DECIDED);
      expect(said(await stage.call(token, 'POST', '/contacts/batch', [again]))).toMatch(UNTIL_DECIDED);
    }
    expect((await stage.fetchApproval(approvalId)).content.audience.subscribed).toBe(0);
    expect(said(await stage.call(token, 'POST', '/contacts', { email: elsewhere, first_name: 'Ada' }))).toBe('201');
  });

  it('an app cannot change a fallback, the sender name or the topic while its broadcast waits for approval', async () => {
    const topic = (await stage.desk.call('POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_in' }))
      .body.id as string;
    const made = { key: `vip_${++count}`, type: 'string', fallback_value: 'reader' };
    const property = (await stage.desk.call('POST', '/contact-properties', made)).body.id as string;
    const segment = await createSegment();
    await contact({ segments: [{ id: segment }] });
    const token = await stage.tokenFor('broadcasts');
    const { approvalId } = await waiting(token, segment, { topic_id: topic, html: `<p>Hi {{{${made.key}}}}</p>` });
    for (const [refusal, method, path, body] of [
      [ASKS, 'PATCH', `/contact-properties/${property}`, { fallback_value: 'EVIL' }],
      [ASKS, 'PATCH', '/team', { sender_name: 'Evil Corp' }],
      [ASKS, 'DELETE', `/topics/${topic}`, undefined],
    ] as const) {
      expect(said(await stage.call(token, method, path, body)), path).toMatch(refusal);
    }
    // A person may change it; the shown content is different then.
    await stage.desk.call('PATCH', `/contact-properties/${property}`, { fallback_value: 'friend' });
    expect(said(await stage.approve(approvalId))).toMatch(/^422 .*has changed/);
    await stage.desk.call('PATCH', `/contact-properties/${property}`, { fallback_value: 'reader' });
    await stage.desk.call('PATCH', '/team', { sender_name: 'Another GmbH' });
    expect(said(await stage.approve(approvalId))).toMatch(/^422 .*has changed/);
    await stage.desk.call('PATCH', '/team', { sender_name: 'Example GmbH' });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
  });
});

describe('the approval of a broadcast', () => {
  it('an approval is refused and has to be requested again when the audience has grown by more than a tenth', async () => {
    const segment = await createSegment();
    for (let n = 0; n < 3; n++) await contact({ segments: [{ id: segment }] });
    const token = await stage.tokenFor('broadcasts');
    const { id, approvalId } = await waiting(token, segment);
    for (let n = 0; n < 2; n++) await contact({ segments: [{ id: segment }] });
    expect(said(await stage.approve(approvalId))).toMatch(/^422 This would now go to 5 contacts\. It was 3/);
    expect((await stage.desk.call('GET', `/approvals/${approvalId}`)).body).toMatchObject({
      status: 'pending',
      content: { is_changed: true, audience: { subscribed: 5, subscribed_before: 3 } },
    });
    const again = (await stage.call(token, 'POST', `/broadcasts/${id}/send`, {})).body.details.approval_id as string;
    expect(again).not.toBe(approvalId);
    expect((await stage.approve(again)).body.status).toBe('done');
  });

  it('an approval stays valid when a few contacts have signed up or some have left', async () => {
    const segment = await createSegment();
    for (let n = 0; n < 3; n++) await contact({ segments: [{ id: segment }] });
    const token = await stage.tokenFor('broadcasts');
    const { approvalId } = await waiting(token, segment);
    await contact({ segments: [{ id: segment }] });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
  });
});

describe('the recipients of a broadcast that waits for approval', () => {
  /** Starts runs that after 10 minutes do the step for the contacts. */
  const slowly = async (key: string, step: object, emails: readonly string[]): Promise<void> => {
    const name = `event_${++count}`;
    expect(said(await stage.desk.call('POST', '/events', { name }))).toBe('201');
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: name } },
      { key: 'wait', type: 'delay', config: { duration: '10 minutes' } },
      { key: 'act', ...step },
    ];
    const connections = [
      { from: 'start', to: 'wait' },
      { from: 'wait', to: 'act' },
    ];
    expect(said(await stage.call(key, 'POST', '/automations', { name, status: 'enabled', steps, connections }))).toBe(
      '201',
    );
    for (const email of emails) {
      expect(said(await stage.call(key, 'POST', '/events/send', { event: name, email }))).toMatch(/^20/);
    }
  };
  const members = async (number: number, more: object = {}): Promise<string[]> => {
    const emails: string[] = [];
    for (let n = 0; n < number; n++) emails.push(await contact(more));
    return emails;
  };
  const replaced = /^422 This would now go to other contacts/;

  it.each([1, 3])(
    'an approval for %s contacts is refused when runs that were started before it have replaced them by as many others',
    async (number) => {
      const segment = await createSegment();
      const olds = await members(number, { segments: [{ id: segment }] });
      const news = await members(number);
      // The steps of a person's automation are not held, and replace the contacts as well as those of an app.
      await slowly(stage.desk.team.key, { type: 'add_to_segment', config: { segment_id: segment } }, news);
      await slowly(stage.desk.team.key, { type: 'contact_update', config: { unsubscribed: true } }, olds);
      await stage.scene.settled();
      const token = await stage.tokenFor('broadcasts');
      const { id, approvalId } = await waiting(token, segment);
      const path = `/approvals/${approvalId}`;
      expect((await stage.desk.call('GET', path)).body.content.is_changed).toBe(false);
      stage.scene.clock.advance(11 * 60_000);
      await stage.scene.settled();
      expect((await stage.desk.call('GET', path)).body.content).toMatchObject({
        is_changed: true,
        audience: { subscribed: number, subscribed_before: number },
      });
      expect(said(await stage.approve(approvalId))).toMatch(replaced);
      await stage.scene.settled();
      expect([...olds, ...news].map((email) => mailsTo(stage.scene, email).length)).toEqual(Array(2 * number).fill(0));
      // The app asks again, and the person sees the present recipients.
      const again = (await stage.call(token, 'POST', `/broadcasts/${id}/send`, {})).body.details.approval_id as string;
      expect(again).not.toBe(approvalId);
      expect((await stage.approve(again)).body.status).toBe('done');
    },
  );

  it('an approval is refused when as many contacts have opted in to the topic as have opted out of it', async () => {
    const topic = (await stage.desk.call('POST', '/topics', { name: `T${++count}`, default_subscription: 'opt_out' }))
      .body.id as string;
    const segment = await createSegment();
    const opted = (subscription: string) => ({ topics: [{ id: topic, subscription }] });
    const [first] = await members(1, { segments: [{ id: segment }], ...opted('opt_in') });
    const [second] = await members(1, { segments: [{ id: segment }] });
    const { approvalId } = await waiting(await stage.tokenFor('broadcasts'), segment, { topic_id: topic });
    const change = async (email: string | undefined, subscription: string): Promise<void> => {
      const { status } = await stage.desk.call(
        'PATCH',
        `/contacts/${email}/topics`,
        opted(subscription).topics as never,
      );
      expect(status).toBe(200);
    };
    await change(first, 'opt_out');
    await change(second, 'opt_in');
    expect(said(await stage.approve(approvalId))).toMatch(replaced);
  });

  it('an approval stays valid when one contact in a hundred has been replaced', async () => {
    const segment = await createSegment();
    const [first] = await members(100, { segments: [{ id: segment }] });
    const { approvalId } = await waiting(await stage.tokenFor('broadcasts'), segment);
    expect((await stage.desk.call('DELETE', `/contacts/${first}`)).status).toBe(200);
    await members(1, { segments: [{ id: segment }] });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
  });

  it('of many contacts a sample is compared, and a range of replaced contacts is found in it', async () => {
    const segment = await createSegment();
    const { db } = stage.scene.app.world;
    const teamId = stage.desk.team.id;
    const now = stage.scene.clock.now();
    const ids = Array.from({ length: 6000 }, () => randomUUID());
    const columns = ['team_id', 'id', 'email', 'email_key', 'properties', 'folded', 'created_at', 'updated_at'];
    await db.tx(async (tx) => {
      for (let from = 0; from < ids.length; from += 500) {
        const part = ids.slice(from, from + 500);
        const rows = part.map((id) => [teamId, id, `${id}@many.example`, `${id}@many.example`, '{}', '{}', now, now]);
        await tx.insertMany('contacts', columns, rows);
        const members = part.map((id) => [segment, id]);
        await tx.insertMany('segment_members', ['segment_id', 'contact_id'], members);
      }
    });
    const { id, approvalId } = await waiting(
      await stage.tokenFor('broadcasts'),
      segment,
      {},
      { scheduled_at: 'in 2 hours' },
    );
    expect((await stage.fetchApproval(approvalId)).content).toMatchObject({
      is_changed: false,
      audience: { subscribed: 6000, subscribed_before: 6000 },
    });
    const ending = db.dialect === 'pg' ? 'right(id::text, 4)' : 'substr(id, -4)';
    /** Gives other addresses to the contacts whose ids end like this, as if others had taken their places. */
    const replace = (from: string, to: string) =>
      db.run(
        `update contacts set email = 'new' || email, email_key = 'new' || email_key
          where team_id = ? and email like '%@many.example' and ${ending} between ? and ?`,
        [teamId, from, to],
      );
    await replace('0000', '003f');
    expect((await stage.fetchApproval(approvalId)).content.is_changed).toBe(false);
    await replace('e000', 'ffff');
    expect((await stage.fetchApproval(approvalId)).content.is_changed).toBe(true);
    expect(said(await stage.approve(approvalId))).toMatch(replaced);
    expect((await stage.desk.get(id)).status).toBe('draft');
  });

  it('another grant of the same app cannot change the recipients, while a grant of another app can', async () => {
    const segment = await createSegment();
    const [first] = await members(1, { segments: [{ id: segment }] });
    const [second] = await members(1);
    const { approvalId } = await waiting(await stage.tokenFor('broadcasts'), segment);
    const other = await stage.tokenFor('broadcasts');
    const away = `/contacts/${first}/segments/${segment}`;
    const into = `/contacts/${second}/segments/${segment}`;
    expect(said(await stage.call(other, 'DELETE', away))).toMatch(UNTIL_DECIDED);
    expect(said(await stage.call(other, 'POST', into))).toMatch(UNTIL_DECIDED);
    const otherApp = await stage.oauth.register();
    const token = await stage.tokenFor('broadcasts', { app: otherApp });
    expect(said(await stage.call(token, 'DELETE', away))).toBe('200');
    expect(said(await stage.call(token, 'POST', into))).toBe('200');
    expect(said(await stage.approve(approvalId))).toMatch(replaced);
  });
});

describe('an approved broadcast that has not been sent', () => {
  it.each(['sent by its id', 'made and sent'])(
    'an app cannot add contacts to the segment of an approved broadcast that was %s and has not left',
    async (way) => {
      const token = await stage.tokenFor('broadcasts');
      const segment = await createSegment();
      const first = await contact({ segments: [{ id: segment }] });
      const later = { scheduled_at: 'in 2 hours' };
      let id: string;
      let approvalId: string;
      if (way === 'sent by its id') ({ id, approvalId } = await waiting(token, segment, {}, later));
      else {
        const body = { ...stage.desk.draft, segment_id: segment, send: true, ...later };
        approvalId = (await stage.call(token, 'POST', '/broadcasts', body)).body.details.approval_id;
        id = '';
      }
      const done = (await stage.approve(approvalId)).body;
      expect(done.status).toBe('done');
      id ||= done.result.id;
      const late = { email: `late${++count}@evil.example`, segments: [{ id: segment }] };
      expect(said(await stage.call(token, 'POST', '/contacts', late))).toMatch(UNTIL_LEFT);
      // Its text is fixed now, so the app may ask to change the sources again.
      expect(said(await stage.call(token, 'PATCH', '/team', { sender_name: 'Example GmbH' }))).toMatch(ASKS);
      stage.scene.clock.advance(2 * 3_600_000 + 1000);
      await stage.scene.settled();
      expect((await stage.desk.get(id)).status).toBe('sent');
      expect([mailsTo(stage.scene, first).length, mailsTo(stage.scene, late.email).length]).toEqual([1, 0]);
      expect(said(await stage.call(await stage.tokenFor('broadcasts'), 'POST', '/contacts', late))).toBe('201');
    },
  );

  it('an app may fill the segment again once its approved broadcast is canceled', async () => {
    const token = await stage.tokenFor('broadcasts');
    const segment = await createSegment();
    await contact({ segments: [{ id: segment }] });
    const { id, approvalId } = await waiting(token, segment, {}, { scheduled_at: 'in 2 hours' });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
    const late = { email: `late${++count}@example.org`, segments: [{ id: segment }] };
    expect(said(await stage.call(token, 'POST', '/contacts', late))).toMatch(UNTIL_LEFT);
    expect(said(await stage.call(token, 'POST', `/broadcasts/${id}/cancel`))).toBe('200');
    expect(said(await stage.call(token, 'POST', '/contacts', late))).toBe('201');
  });
});

describe('an approved broadcast whose segment has grown', () => {
  const HOUR = 3_600_000;
  /** Makes an automation that adds contacts to the segment an hour after the event, and returns the event's name. */
  const slowFill = async (segment: string): Promise<string> => {
    const name = `event_${++count}`;
    expect(said(await stage.desk.call('POST', '/events', { name }))).toBe('201');
    const steps = [
      { key: 'start', type: 'trigger', config: { event_name: name } },
      { key: 'wait', type: 'delay', config: { duration: '1 hour' } },
      { key: 'add', type: 'add_to_segment', config: { segment_id: segment } },
    ];
    const connections = [
      { from: 'start', to: 'wait' },
      { from: 'wait', to: 'add' },
    ];
    const automation = { name, status: 'enabled', steps, connections };
    expect(said(await stage.desk.call('POST', '/automations', automation))).toBe('201');
    return name;
  };
  const start = async (key: string, event: string): Promise<string> => {
    const email = await contact();
    expect(said(await stage.call(key, 'POST', '/events/send', { event, email }))).toMatch(/^20/);
    return email;
  };
  const pass = async (ms: number): Promise<void> => {
    stage.scene.clock.advance(ms);
    await stage.scene.settled();
  };

  it('an approved broadcast is held, with a finding, when an automation that was started before has filled its segment', async () => {
    const token = await stage.tokenFor('broadcasts');
    const segment = await createSegment();
    const first = await contact({ segments: [{ id: segment }] });
    const event = await slowFill(segment);
    const added = [await start(token, event), await start(token, event)];
    await stage.scene.settled();
    const { id, approvalId } = await waiting(token, segment, {}, { scheduled_at: 'in 2 hours' });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
    await pass(HOUR + 1000);
    await pass(HOUR + 1000);
    const detail = '3 contacts of its segment are subscribed; 1 was approved';
    expect(await stage.desk.get(id)).toMatchObject({ status: 'scheduled', held: { reason: 'audience_grown', detail } });
    const all = [first, ...added];
    expect(all.map((email) => mailsTo(stage.scene, email).length)).toEqual([0, 0, 0]);
    const { findings } = (await stage.desk.call('GET', '/findings')).body as {
      findings: { code: string; subjects: string[] }[];
    };
    expect(findings.find(({ code }) => code === 'broadcast_held')).toMatchObject({ subjects: [id] });
    // A person who resumes it has seen the number.
    expect(said(await stage.desk.call('POST', `/broadcasts/${id}/resume`))).toBe('200');
    await stage.scene.settled();
    expect(await stage.desk.get(id)).toMatchObject({ status: 'sent', held: null });
    expect(all.map((email) => mailsTo(stage.scene, email).length)).toEqual([1, 1, 1]);
  });

  it('an approved broadcast is held when the contacts of its segment were replaced by as many others before it began', async () => {
    const token = await stage.tokenFor('broadcasts');
    const segment = await createSegment();
    const first = await contact({ segments: [{ id: segment }] });
    const event = await slowFill(segment);
    const other = await start(token, event);
    await stage.scene.settled();
    const { id, approvalId } = await waiting(token, segment, {}, { scheduled_at: 'in 2 hours' });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
    await pass(HOUR + 1000);
    expect(said(await stage.desk.call('DELETE', `/contacts/${first}/segments/${segment}`))).toBe('200');
    await pass(HOUR + 1000);
    const detail = 'contacts that were approved have been replaced by others';
    expect(await stage.desk.get(id)).toMatchObject({
      status: 'scheduled',
      held: { reason: 'audience_replaced', detail },
    });
    expect([first, other].map((email) => mailsTo(stage.scene, email).length)).toEqual([0, 0]);
    expect(said(await stage.desk.call('POST', `/broadcasts/${id}/resume`))).toBe('200');
    await stage.scene.settled();
    expect(await stage.desk.get(id)).toMatchObject({ status: 'sent', held: null });
    expect([first, other].map((email) => mailsTo(stage.scene, email).length)).toEqual([0, 1]);
  });

  it("a person's own broadcast is sent to a segment that an automation has filled since", async () => {
    const segment = await createSegment();
    const first = await contact({ segments: [{ id: segment }] });
    const event = await slowFill(segment);
    const added = [await start(stage.desk.team.key, event), await start(stage.desk.team.key, event)];
    await stage.scene.settled();
    const id = await stage.desk.make({ segment_id: segment, send: true, scheduled_at: 'in 2 hours' });
    await pass(HOUR + 1000);
    await pass(HOUR + 1000);
    expect(await stage.desk.get(id)).toMatchObject({ status: 'sent', held: null });
    expect([first, ...added].map((email) => mailsTo(stage.scene, email).length)).toEqual([1, 1, 1]);
  });

  it('an approved broadcast that is sent slowly is held before it reaches more contacts than were approved', async () => {
    const token = await stage.tokenFor('broadcasts');
    const segment = await createSegment();
    // Older contacts come last, so that they are reached if they are added while it is sent.
    const event = await slowFill(segment);
    const added = [await start(token, event), await start(token, event), await start(token, event)];
    await stage.scene.settled();
    const members = [await contact({ segments: [{ id: segment }] }), await contact({ segments: [{ id: segment }] })];
    const slow = { rate_per_minute: 1 };
    const { id, approvalId } = await waiting(token, segment, slow, { scheduled_at: 'in 59 minutes' });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
    await pass(59 * 60_000);
    expect(await stage.desk.get(id)).toMatchObject({ status: 'sending', recipients: 1, held: null });
    for (let n = 0; n < 8; n++) await pass(61_000);
    expect(await stage.desk.get(id)).toMatchObject({
      status: 'sending',
      held: { reason: 'audience_grown' },
      recipients: 3,
    });
    expect(members.map((email) => mailsTo(stage.scene, email).length)).toEqual([1, 1]);
    expect(added.filter((email) => mailsTo(stage.scene, email).length > 0)).toHaveLength(1);
  });

  it('an app that resumes a broadcast whose segment has grown needs an approval with the new count', async () => {
    const token = await stage.tokenFor('broadcasts');
    const segment = await createSegment();
    await contact({ segments: [{ id: segment }] });
    const { id, approvalId } = await waiting(token, segment, {}, { scheduled_at: 'in 2 hours' });
    expect((await stage.approve(approvalId)).body.status).toBe('done');
    for (let n = 0; n < 2; n++) await contact({ segments: [{ id: segment }] });
    await pass(2 * HOUR + 1000);
    expect(await stage.desk.get(id)).toMatchObject({ held: { reason: 'audience_grown' } });
    const fresh = await stage.tokenFor('broadcasts');
    const again = (await stage.call(fresh, 'POST', `/broadcasts/${id}/resume`)).body.details?.approval_id as string;
    expect((await stage.desk.call('GET', `/approvals/${again}`)).body.content.audience).toMatchObject({
      subscribed: 3,
    });
    expect((await stage.approve(again)).body.status).toBe('done');
    await stage.scene.settled();
    expect(await stage.desk.get(id)).toMatchObject({ status: 'sent', recipients: 3 });
  });
});

describe('the approval of a broadcast to several segments without the recipients of others', () => {
  it('shows the final number and the names, and is refused when excluded contacts were exchanged', async () => {
    const name = `Excluded ${++count}`;
    const excluded = (await stage.desk.call('POST', '/segments', { name })).body.id as string;
    const segments = [await createSegment(), await createSegment()];
    const both = { segments: segments.map((id) => ({ id })) };
    const emails: string[] = [];
    for (let n = 0; n < 4; n++) emails.push(await contact(both));
    const into = (email: string | undefined) => stage.desk.call('POST', `/contacts/${email}/segments/${excluded}`);
    const outOf = (email: string | undefined) => stage.desk.call('DELETE', `/contacts/${email}/segments/${excluded}`);
    expect((await into(emails[0])).status).toBe(200);
    const earlier = await createSegment();
    const first = await contact({ segments: [{ id: segments[0] }, { id: earlier }] });
    const november = await stage.desk.make({ name: 'November', segment_id: earlier, send: true });
    await stage.scene.settled();
    expect(mailsTo(stage.scene, first)).toHaveLength(1);
    const token = await stage.tokenFor('broadcasts');
    const target = {
      segment_id: null,
      segment_ids: segments,
      exclude_segment_ids: [excluded],
      not_received_from: [november],
    };
    const held = await stage.call(token, 'POST', '/broadcasts', { ...stage.desk.draft, ...target, send: true });
    const approvalId = held.body.details?.approval_id as string;
    const path = `/approvals/${approvalId}`;
    const { content, about } = (await stage.desk.call('GET', path)).body;
    expect(content.audience).toMatchObject({
      segments: segments.map((id) => ({ id })),
      exclude_segments: [{ id: excluded, name }],
      not_received_from: [{ id: november, name: 'November' }],
      received_but_not_opened: null,
      contacts: 5,
      subscribed: 3,
    });
    expect(about).toMatchObject({ recipients: 3 });
    // The app cannot change who is excluded.
    expect(said(await stage.call(token, 'DELETE', `/contacts/${emails[0]}/segments/${excluded}`))).toMatch(
      UNTIL_DECIDED,
    );
    expect([(await outOf(emails[0])).status, (await into(emails[1])).status]).toEqual([200, 200]);
    expect((await stage.desk.call('GET', path)).body.content).toMatchObject({
      is_changed: true,
      audience: { subscribed: 3, subscribed_before: 3 },
    });
    expect(said(await stage.approve(approvalId))).toMatch(/^422 This would now go to other contacts/);
    expect([(await into(emails[0])).status, (await outOf(emails[1])).status]).toEqual([200, 200]);
    expect((await stage.approve(approvalId)).body.status).toBe('done');
    await stage.scene.settled();
    expect(emails.map((email) => mailsTo(stage.scene, email).length)).toEqual([0, 1, 1, 1]);
    expect(mailsTo(stage.scene, first)).toHaveLength(1);
  });
});
