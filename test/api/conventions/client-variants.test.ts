import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

/** Requests as the official clients of other languages write them; the documented form is in the tests of each family. */
describe('requests of other official clients', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const call = (method: string, path: string, body?: unknown) =>
    scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body: body as object }) });
  const send = (fields: Record<string, unknown>) =>
    call('POST', '/emails', { from: `a@${domain}`, to: 'x@example.org', subject: 'Hi', text: 'x', ...fields });
  const nobody = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99';

  describe('that repeat the id of the path', () => {
    it('are accepted in the body of a contact update if it is equal, in either letter case', async () => {
      const { body: contact } = await call('POST', '/contacts', { email: 'one@example.org' });
      for (const name of ['id', 'contact_id']) {
        for (const id of [contact.id, contact.id.toUpperCase()]) {
          expect(await call('PATCH', `/contacts/${contact.id}`, { [name]: id, first_name: 'B' })).toMatchObject({
            status: 200,
          });
        }
      }
    });

    it('are accepted with the address of a contact in another letter case, and refused with another address', async () => {
      await call('POST', '/contacts', { email: 'case@example.org' });
      const path = '/contacts/case@example.org';
      expect(await call('PATCH', path, { id: 'Case@Example.org', first_name: 'B' })).toMatchObject({ status: 200 });
      expect(await call('PATCH', path, { id: 'cases@example.org', first_name: 'B' })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'id' }] },
      });
    });

    it('are refused if it differs, with a message that says what to do', async () => {
      const { body: contact } = await call('POST', '/contacts', { email: 'two@example.org' });
      const message = 'id does not match the path; omit it or send the same value';
      expect(await call('PATCH', `/contacts/${contact.id}`, { id: nobody, first_name: 'B' })).toMatchObject({
        status: 400,
        body: { name: 'validation_error', errors: [{ path: 'id', message }] },
      });
      expect(await call('PATCH', `/contacts/${contact.id}`, { id: 7 })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'id', message }] },
      });
    });

    it('are accepted by reschedule, broadcast update and send, and topic, domain, webhook and property updates', async () => {
      const inAnHour = new Date(scene.clock.now() + 3_600_000).toISOString();
      const { body: email } = await send({ scheduled_at: inAnHour });
      for (const name of ['id', 'email_id']) {
        expect(await call('PATCH', `/emails/${email.id}`, { [name]: email.id, scheduled_at: inAnHour })).toMatchObject({
          status: 200,
        });
      }
      const { body: segment } = await call('POST', '/segments', { name: 'All' });
      const { body: broadcast } = await call('POST', '/broadcasts', {
        segment_id: segment.id,
        from: `a@${domain}`,
        subject: 'News',
        html: '<p>Hello</p>',
      });
      const repeated = { broadcast_id: broadcast.id };
      expect(await call('PATCH', `/broadcasts/${broadcast.id}`, { ...repeated, subject: 'More' })).toMatchObject({
        status: 200,
      });
      // It is refused because the team lacks something, not for the repeated id.
      const sent = await call('POST', `/broadcasts/${broadcast.id}/send`, repeated);
      expect(JSON.stringify(sent.body)).not.toContain('broadcast_id');
      const { body: topic } = await call('POST', '/topics', { name: 'News', default_subscription: 'opt_in' });
      expect(await call('PATCH', `/topics/${topic.id}`, { topic_id: topic.id, name: 'Other' })).toMatchObject({
        status: 200,
      });
      const { body: property } = await call('POST', '/contact-properties', { key: 'plan', type: 'string' });
      expect(
        await call('PATCH', `/contact-properties/${property.id}`, { id: property.id, fallback_value: 'x' }),
      ).toMatchObject({ status: 200 });
      const { body: domains } = await call('GET', '/domains');
      const { id } = domains.data[0];
      expect(await call('PATCH', `/domains/${id}`, { id, open_tracking: false })).toMatchObject({ status: 200 });
    });

    it('are accepted in the body of an operation that has none, and in a query', async () => {
      const { body: contact } = await call('POST', '/contacts', { email: 'three@example.org' });
      const { body: segment } = await call('POST', '/segments', { name: 'Some' });
      const path = `/contacts/${contact.id}/segments`;
      expect(
        await call('POST', `${path}/${segment.id}`, { contact_id: contact.id, segment_id: segment.id }),
      ).toMatchObject({ status: 200 });
      expect(await call('GET', `${path}?contact_id=${contact.id}`)).toMatchObject({ status: 200 });
      expect(await call('GET', `${path}?contact_id=${nobody}`)).toMatchObject({
        status: 422,
        body: {
          name: 'invalid_parameter',
          message: 'contact_id does not match the path; omit it or send the same value.',
        },
      });
      expect(
        await call('POST', `/audiences/${segment.id}/contacts`, { audience_id: segment.id, email: 'four@example.org' }),
      ).toMatchObject({ status: 201 });
    });

    it('still get one entry for every other unknown field', async () => {
      const { body: contact } = await call('POST', '/contacts', { email: 'five@example.org' });
      const answer = await call('PATCH', `/contacts/${contact.id}`, { id: contact.id, nickname: 'B' });
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'nickname' }] } });
      expect(answer.body.errors).toHaveLength(1);
    });
  });

  describe('with null for an optional field of a send', () => {
    const nulls = {
      cc: null,
      bcc: null,
      reply_to: null,
      html: null,
      headers: null,
      attachments: null,
      tags: null,
      scheduled_at: null,
      template: null,
    };

    it('count as if the field were not given', async () => {
      expect(await send(nulls)).toMatchObject({ status: 200 });
      const file = { filename: 'a.txt', content: 'aGk=', path: null, content_type: null, content_id: null };
      expect(await send({ attachments: [file] })).toMatchObject({ status: 200 });
    });

    it('count the same in a batch, strict or permissive', async () => {
      const entry = { from: `a@${domain}`, to: 'x@example.org', subject: 'Hi', text: 'x', ...nulls };
      expect(await call('POST', '/emails/batch', [entry, entry])).toMatchObject({ status: 200 });
      const answer = await scene.api('POST', '/emails/batch', {
        key: team.key,
        headers: { 'x-batch-validation': 'permissive' },
        body: [entry, { ...entry, to: null }] as never,
      });
      expect(answer.body.data).toHaveLength(1);
      expect(answer.body.errors).toMatchObject([{ index: 1, message: 'Missing required field: to.' }]);
    });

    it('still lack a required field', async () => {
      expect(await send({ subject: null })).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
    });
  });

  describe('with an attachment', () => {
    it('may give its bytes as a list, and it arrives unchanged', async () => {
      const bytes = Array.from({ length: 256 }, (_, value) => value);
      const { status, body } = await send({ attachments: [{ filename: 'a.bin', content: bytes }] });
      expect(status).toBe(200);
      const { body: list } = await call('GET', `/emails/${body.id}/attachments`);
      expect(list.data).toMatchObject([{ filename: 'a.bin', size: 256 }]);
    });

    it('are refused if a number is not a byte, with the right form in the message', async () => {
      const long = Array.from({ length: 100_000 }, () => 7);
      for (const content of [[1, 256], [-1], [1.5], ['a'], [...long, 256]]) {
        const answer = await send({ attachments: [{ filename: 'a.bin', content }] });
        expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'attachments.0.content' }] } });
        expect(answer.body.message).toContain('a list of bytes from 0 to 255');
      }
    });

    it('may name its type contentType and its id contentId, inlineContentId or inline_content_id', async () => {
      for (const name of ['contentId', 'inlineContentId', 'inline_content_id']) {
        const file = { filename: 'a.png', content: 'aGk=', contentType: 'image/png', [name]: 'logo' };
        const { status, body } = await send({ attachments: [file] });
        expect(status).toBe(200);
        const { body: list } = await call('GET', `/emails/${body.id}/attachments`);
        expect(list.data).toMatchObject([{ content_type: 'image/png', content_id: 'logo' }]);
      }
    });

    it('may repeat a field under two of its names with one value, and are refused if the values differ', async () => {
      const file = { filename: 'a.png', content: 'aGk=' };
      for (const [alias, name] of [
        ['contentType', 'content_type'],
        ['contentId', 'content_id'],
        ['inline_content_id', 'content_id'],
      ] as const) {
        const same = { ...file, [alias]: 'image/png', [name]: 'image/png' };
        expect(await send({ attachments: [same] })).toMatchObject({ status: 200 });
        const absent = { ...file, [alias]: null, [name]: 'image/png' };
        expect(await send({ attachments: [absent] })).toMatchObject({ status: 200 });
        const different = { ...file, [alias]: 'image/png', [name]: 'image/gif' };
        const path = `attachments.0.${alias}`;
        const message = `${path} is another name of ${name}, which has a different value; send one of them`;
        expect(await send({ attachments: [different] })).toMatchObject({
          status: 400,
          body: { name: 'validation_error', errors: [{ path, message }] },
        });
      }
    });

    it('with a data: prefix are refused with the advice to remove it', async () => {
      const answer = await send({ attachments: [{ filename: 'a.png', content: 'data:image/png;base64,aGk=' }] });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_attachment' } });
      expect(answer.body.message).toContain('without a prefix');
    });
  });

  describe('with a mistake', () => {
    it('in the name of a field get the nearest field in the answer', async () => {
      for (const [name, meant] of [
        ['replyTo', 'reply_to'],
        ['scheduledAt', 'scheduled_at'],
        ['subjet', 'subject'],
      ] as const) {
        const answer = await send({ [name]: 'x@example.org' });
        expect(answer.body.errors).toMatchObject([
          { path: name, message: expect.stringContaining(`did you mean ${meant}?`) },
        ]);
      }
    });

    it.each([
      ['POST', '/v1/emails', 'Did you mean POST /emails?'],
      ['POST', '/emails/', 'Did you mean POST /emails?'],
      ['POST', '/email', 'Did you mean POST /emails?'],
      ['POST', '/send', 'Did you mean POST /emails?'],
      ['GET', '/domain', 'Did you mean GET /domains?'],
      ['GET', '/contact/x@example.org', 'Did you mean GET /contacts/x@example.org?'],
    ])('get the nearest route in the answer to %s %s', async (method, path, meant) => {
      expect((await call(method, path, method === 'POST' ? {} : undefined)).body.message).toBe(
        `Route not found. ${meant}`,
      );
    });

    it.each(['/emails//cancel', '/contacts//segments/x'])(
      'get the missing id named in the answer to %s',
      async (path) => {
        expect((await call('POST', path)).body.message).toBe(
          'Route not found. The path has an empty segment; is an id missing?',
        );
      },
    );

    it.each(['id', 'foo'])('have an unknown field of up to three letters compared with one edit: %s', async (name) => {
      const { body } = await send({ [name]: 'x' });
      expect(body.message).not.toContain('did you mean');
    });

    it.each(['/nothing-like-it', '/%'])('get no suggested route in the answer to %s', async (path) => {
      expect((await call('GET', path)).body.message).toBe('Route not found.');
    });

    it('may use /audiences and /audiences/{id} like /segments', async () => {
      const { status, body } = await call('POST', '/audiences', { name: 'Former' });
      expect([status, body]).toEqual([201, { object: 'segment', id: body.id, name: 'Former' }]);
      expect((await call('GET', '/audiences?limit=1')).body.data).toMatchObject([{ id: body.id }]);
      expect((await call('GET', `/audiences/${body.id}`)).body).toMatchObject({ id: body.id, name: 'Former' });
      expect((await call('DELETE', `/audiences/${body.id}`)).body).toEqual({
        object: 'segment',
        id: body.id,
        deleted: true,
      });
    });

    it('may have a second slash before the path', async () => {
      expect(await call('GET', '//domains')).toMatchObject({ status: 200 });
    });

    it('get a hint for a key of Resend and a key in quotes', async () => {
      const refused = (key: string) => scene.api('GET', '/domains', { key });
      expect(await refused('re_123456789')).toMatchObject({ status: 401, body: { name: 'invalid_api_key' } });
      expect((await refused('re_123456789')).body.message).toContain('keys of this server begin with rk_');
      expect((await refused(`"${team.key}"`)).body.message).toContain('in quotes');
    });

    it('get 413 with the limit and its setting for a body above the limit', async () => {
      const answer = await send({ text: 'x'.repeat(42 * 1024 * 1024) });
      expect(answer).toMatchObject({ status: 413, body: { statusCode: 413, name: 'validation_error' } });
      expect(answer.body.message).toBe(
        'The request body may have at most 41943040 bytes (http.email_body_limit_bytes of this server).',
      );
    });
  });
});
