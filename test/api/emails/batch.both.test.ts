import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

describe('POST /emails/batch', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const email = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
    from: `a@${domain}`,
    to: ['x@example.org'],
    subject: 'Hello',
    text: 'It works.',
    ...fields,
  });
  const send = (body: unknown, headers: Record<string, string> = {}, key = team.key) =>
    scene.api('POST', '/emails/batch', { key, body, headers });
  const permissive = { 'x-batch-validation': 'permissive' };
  const count = async (): Promise<number> => {
    const sql = 'select count(*) as n from emails where team_id = ?';
    return (await scene.app.world.db.get<{ n: number }>(sql, [team.id]))?.n ?? 0;
  };
  const read = async (id: string) => (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;

  it('sends each email, and returns the ids in the order sent', async () => {
    const sent = await send([email({ subject: 'one' }), email({ subject: 'two' }), email({ subject: 'three' })]);
    expect(sent).toMatchObject({ status: 200 });
    expect(Object.keys(sent.body)).toEqual(['data']);
    await scene.settled();
    const subjects = [];
    for (const { id } of sent.body.data) {
      const one = await read(id);
      expect(one.last_event).toBe('delivered');
      expect((await scene.account(team, id)).events).toEqual(['email.queued', 'email.sent', 'email.delivered']);
      subjects.push(one.subject);
    }
    expect(subjects).toEqual(['one', 'two', 'three']);
  });

  it('accepts 100 emails and refuses 101', async () => {
    const hundred = Array.from({ length: 100 }, (_, i) => email({ subject: `n${i}` }));
    const sent = await send(hundred);
    expect(sent.status).toBe(200);
    expect(new Set(sent.body.data.map((one: { id: string }) => one.id)).size).toBe(100);
    const more = await send([...hundred, email()]);
    expect(more).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    expect(more.body.message).toContain('1 to 100 emails');
    expect(await send([...hundred, email()], permissive)).toMatchObject({ status: 400, text: more.text });
  });

  it.each([
    ['an object', {}],
    ['no email', []],
    ['a string', '"x"'],
    ['null', 'null'],
  ])('returns 400 for %s instead of a list of emails, in either mode', async (_, body) => {
    for (const headers of [undefined, permissive]) {
      const refused = await send(body, headers);
      expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error' } });
      expect(refused.body.message).toContain('1 to 100 emails');
    }
  });

  it('can be called with a sending key', async () => {
    expect((await send([email()], {}, await team.sendingKey())).status).toBe(200);
  });

  it('keeps attachments, headers, tags and times of each email', async () => {
    const content = Buffer.from('file').toString('base64');
    const sent = await send([
      email({ to: 'attached@example.org', attachments: [{ filename: 'a.txt', content }] }),
      email({ tags: [{ name: 'kind', value: 'digest' }], headers: { 'X-Order': '7' } }),
      email({ scheduled_at: new Date(scene.clock.now() + 3_600_000).toISOString() }),
    ]);
    expect(sent.status).toBe(200);
    const [attached, tagged, scheduled] = sent.body.data as { id: string }[];
    await scene.settled();
    const message = scene.sink.messages.find(({ rcptTo }) => rcptTo.includes('attached@example.org'));
    expect(message?.data.toString()).toContain('filename="a.txt"');
    expect(message?.data.toString()).toContain(content);
    expect(await read(tagged?.id ?? '')).toMatchObject({ tags: [{ name: 'kind', value: 'digest' }] });
    expect(await read(scheduled?.id ?? '')).toMatchObject({ last_event: 'scheduled' });
    expect((await read(attached?.id ?? '')).last_event).toBe('delivered');
  });

  it('refuses a short request that expands beyond the size limit, before it uses the memory', async () => {
    const body = { name: 'Large', alias: 'large', subject: 'S', html: `<p>${'x'.repeat(2_000_000)}</p>` };
    const { id } = (await scene.api('POST', '/templates', { key: team.key, body })).body;
    await scene.api('POST', `/templates/${id}/publish`, { key: team.key });
    const many = Array.from({ length: 25 }, () => ({ from: `a@${domain}`, to: 'x@example.org', template: { id } }));
    const refused = await send(many);
    expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error' } });
    expect(refused.body.message).toMatch(/^Email 20: The emails of a batch may have at most 41943040 bytes/);
    const sent = await send(many.slice(0, 3).concat(many.slice(0, 22)), permissive);
    expect([sent.body.data.length, sent.body.errors[0].index]).toEqual([20, 20]);
  });

  describe('in the default strict mode', () => {
    it.each([
      ['a malformed field', { to: 7 }, 400, 'validation_error', '1.to'],
      ['an unknown field', { colour: 'red' }, 400, 'validation_error', '1.colour'],
      ['a rule of the resource', { headers: { 'List-Unsubscribe': '<x>' } }, 400, 'validation_error', '1.headers'],
      ['an attachment', { attachments: [{ filename: 'a' }] }, 422, 'invalid_attachment', '1.attachments.0'],
    ])('refuses all emails if one has %s, and names it', async (_, fields, status, name, path) => {
      const before = await count();
      for (const headers of [undefined, { 'x-batch-validation': 'strict' }]) {
        const refused = await send([email(), email(fields), email()], headers);
        expect(refused).toMatchObject({ status, body: { statusCode: status, name } });
        expect(refused.body.errors[0].path).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')}`));
      }
      expect(await count()).toBe(before);
    });

    it('names a field once, with the position of its email, for an error beyond the contract', async () => {
      const refused = await send([email(), email({ to: 'nobody' })]);
      expect(refused.body.errors).toEqual([{ path: '1.to', message: expect.stringMatching(/^1\.to: (?!.*to:)/) }]);
    });

    it('returns 422 for a missing field, named with its email', async () => {
      const refused = await send([email(), { ...email(), subject: undefined }]);
      expect(refused).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
      expect(refused.body.message).toBe('Missing required field: 1.subject.');
    });

    it('refuses all emails if one sender is not verified', async () => {
      const refused = await send([email(), email({ from: 'a@nobody.example.com' })]);
      expect(refused).toMatchObject({ status: 403, body: { name: 'validation_error' } });
      expect(refused.body.message).toMatch(/^Email 1: The domain nobody\.example\.com is not verified/);
    });
  });

  describe('in permissive mode', () => {
    it('sends the valid emails and names the others by position', async () => {
      const before = await count();
      const sent = await send(
        [
          email({ subject: 'first' }),
          email({ to: 7 }),
          email({ from: 'a@nobody.example.com' }),
          { to: 'x@example.org' },
          'no email',
          email({ attachments: [{ filename: 'a' }] }),
          email({ subject: 'last' }),
        ],
        permissive,
      );
      expect(sent.status).toBe(200);
      expect(sent.body.errors.map((error: { index: number }) => error.index)).toEqual([1, 2, 3, 4, 5]);
      expect(sent.body.errors[0].message).toMatch(/^to must be/);
      expect(sent.body.errors[2].message).toBe('Missing required field: from. Also missing: subject.');
      expect(sent.body.data).toHaveLength(2);
      expect(await Promise.all(sent.body.data.map(async ({ id }: { id: string }) => (await read(id)).subject))).toEqual(
        ['first', 'last'],
      );
      expect(await count()).toBe(before + 2);
    });

    it('returns an empty list of errors if nothing is wrong', async () => {
      expect((await send([email()], permissive)).body).toMatchObject({ errors: [] });
    });

    it('returns no id and writes nothing if nothing is right', async () => {
      const before = await count();
      const sent = await send([email({ to: 7 })], permissive);
      expect(sent).toMatchObject({ status: 200, body: { data: [], errors: [{ index: 0 }] } });
      expect(await count()).toBe(before);
    });

    it('is the only other mode: any other value of the header returns 422', async () => {
      expect(await send([email()], { 'x-batch-validation': 'loose' })).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter' },
      });
    });
  });

  describe('with an Idempotency-Key', () => {
    it('returns the same ids to a repeated batch and sends nothing', async () => {
      const key = randomUUID();
      const before = await count();
      const body = [email(), email({ subject: 'second' })];
      const first = await send(body, { 'idempotency-key': key });
      expect(await send(body, { 'idempotency-key': key })).toMatchObject({ status: 200, text: first.text });
      expect(await count()).toBe(before + 2);
    });

    it('repeats a permissive answer with its errors, even if nothing was sent', async () => {
      const key = randomUUID();
      const headers = { ...permissive, 'idempotency-key': key };
      const first = await send([email({ to: 7 })], headers);
      expect(await send([email({ to: 7 })], headers)).toMatchObject({ status: 200, text: first.text });
    });

    it.each([
      ['another batch', [{ subject: 'Other' }], {}],
      ['the other validation', [{}], permissive],
    ])('returns 409 for the same key with %s', async (_, fields, headers) => {
      const key = randomUUID();
      await send([email()], { 'idempotency-key': key });
      const again = await send(
        fields.map((one) => email(one)),
        { ...headers, 'idempotency-key': key },
      );
      expect(again).toMatchObject({ status: 409, body: { name: 'invalid_idempotent_request' } });
    });

    it('returns 409 for the same key on a single send', async () => {
      const key = randomUUID();
      await send([email()], { 'idempotency-key': key });
      const headers = { 'idempotency-key': key };
      expect(await scene.api('POST', '/emails', { key: team.key, body: email(), headers })).toMatchObject({
        status: 409,
        body: { name: 'invalid_idempotent_request' },
      });
    });

    it('returns 400 for a body of unlimited nesting', async () => {
      const deep = `[${'['.repeat(9000)}${']'.repeat(9000)}]`;
      for (const headers of [{}, permissive]) {
        const refused = await send(deep, { ...headers, 'idempotency-key': randomUUID() });
        expect(refused).toMatchObject({ status: 400, body: { name: 'validation_error' } });
      }
    });

    it('leaves the key free if the batch is refused', async () => {
      const key = randomUUID();
      expect((await send([email({ to: 7 })], { 'idempotency-key': key })).status).toBe(400);
      expect((await send([email()], { 'idempotency-key': key })).status).toBe(200);
    });
  });
});
