import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { everythingStored, readRequestId, logged } from './requests.ts';

// The table itself is searched here, not the output of GET /logs.
describe('the request log', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const email = (fields: object) => ({ from: `a@${domain}`, to: 'x@example.org', subject: 'S', text: 'T', ...fields });

  it('never stores the token a key was created with, nor the one of the request', async () => {
    const { answer, log } = await logged(scene, team, 'POST', '/api-keys', { body: { name: 'New' } });
    expect(answer.body.token).toMatch(/^rk_/);
    expect(log.response_body).toEqual({ object: 'api_key', id: answer.body.id, token: '[redacted]' });
    const stored = await everythingStored(scene);
    expect(stored).toContain(answer.body.id);
    expect(stored).not.toContain(answer.body.token);
    expect(stored).not.toContain(team.key);
    expect(stored.toLowerCase()).not.toContain('bearer');
  });

  const secret = 'rk_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4';
  const shortened = secret.slice(3, 20);

  it.each([
    ['in a subject', () => JSON.stringify(email({ subject: `It is ${secret}` }))],
    ['written with an escape', () => JSON.stringify(email({ subject: secret })).replace('"rk_', '"\\u0072k_')],
    ['with every letter escaped', () => JSON.stringify(email({})).replace('"T"', `"${escaped(secret)}"`)],
    ['as the first of two fields of one name', () => `{"subject":"${secret}",${JSON.stringify(email({})).slice(1)}`],
    ['as an unknown field', () => JSON.stringify(email({ key: secret }))],
    ['as the name of a field', () => JSON.stringify(email({ [secret]: 1 }))],
    ['under an escaped name', () => `{"pass\\u0077ord":"${shortened}",${JSON.stringify(email({})).slice(1)}`],
    ['in a header of the email', () => JSON.stringify(email({ headers: { Authorization: shortened } }))],
    ['in a broken body', () => JSON.stringify(email({ subject: secret })).slice(0, -1)],
    ['in a long body', () => JSON.stringify(email({ html: `${secret} `.repeat(2000) }))],
    [
      'in a body that is refused and too long for the log',
      () => JSON.stringify(email({ html: `${secret} `.repeat(2000), x: 1 })),
    ],
    ['in a list', () => JSON.stringify([secret])],
    ['as the whole body', () => JSON.stringify(secret)],
  ])('never stores a token %s', async (_, body) => {
    const answer = await scene.api('POST', '/emails', { key: team.key, body: body() });
    const stored = await everythingStored(scene);
    expect(stored).toContain(readRequestId(answer));
    expect(stored).not.toContain(shortened);
  });

  /** The contract has no operation at such a path, but the router does. */
  async function encoded(method: string, path: string): Promise<{ id: string; text: string }> {
    const headers = { authorization: `Bearer ${team.key}`, 'user-agent': 'rasket-tests/1' };
    const answer = await fetch(scene.url + path, { method, headers });
    expect(answer.status).toBe(200);
    return { id: answer.headers.get('x-request-id') ?? '', text: await answer.text() };
  }

  it.each(['/share', '/%73hare', '/shar%65'])('never stores a share link requested at %s', async (path) => {
    const { body } = await scene.api('POST', '/emails', { key: team.key, body: email({}) });
    const { id, text } = await encoded('POST', `/emails/${body.id}${path}`);
    const { url } = JSON.parse(text) as { url: string };
    expect(url).toContain('/share/rs_');
    const stored = await everythingStored(scene);
    expect(stored).toContain(id);
    expect(stored).not.toContain(url.split('rs_')[0]);
    expect(stored).not.toContain(url.split('rs_')[1]);
  });

  it('never stores its own answers, however the path was written', async () => {
    const { id } = await encoded('GET', '/%6Cogs');
    await everythingStored(scene);
    const row = await scene.app.world.db.get('select response_body from request_logs where id = ?', [id]);
    expect(row).toEqual({ response_body: null });
  });

  it.each([
    ['as it is', secret],
    ['percent-encoded', secret.replace('_', '%5F')],
  ])('never stores a token in the path, %s', async (_, segment) => {
    const answer = await scene.api('DELETE', `/suppressions/${segment}@example.org`, { key: team.key });
    const { body } = await scene.api('GET', `/logs/${readRequestId(answer)}`, { key: team.key });
    expect(body.endpoint).toContain('[redacted]');
    expect(await everythingStored(scene)).not.toContain(shortened);
  });

  it('never stores a token in the query or in the User-Agent', async () => {
    const headers = { 'user-agent': `curl ${secret}` };
    const { log } = await logged(scene, team, 'GET', `/emails?search=${secret}`, { headers });
    expect(log).toMatchObject({ endpoint: '/emails', user_agent: 'curl [redacted]' });
    expect(await everythingStored(scene)).not.toContain(shortened);
  });

  it('stores the size of an attachment, but not its content', async () => {
    const content = Buffer.from('the file that nobody else may read').toString('base64');
    const { log } = await logged(scene, team, 'POST', '/emails', {
      body: email({ attachments: [{ filename: 'a.txt', content }] }),
    });
    expect(log.response_status).toBe(200);
    expect(log.request_body.attachments).toEqual([{ filename: 'a.txt', content: '[redacted: 34 bytes]' }]);
    expect(await everythingStored(scene)).not.toContain(content.slice(0, 20));
  });

  it('stores the fields of an email of 20 MB, but no attachment', async () => {
    const content = Buffer.alloc(15_000_000, 'secret bytes').toString('base64');
    const { log } = await logged(scene, team, 'POST', '/emails', {
      body: email({ attachments: [{ filename: 'a.bin', content }] }),
    });
    expect(log).toMatchObject({
      response_status: 200,
      request_body: { subject: 'S', attachments: [{ filename: 'a.bin', content: '[redacted: 15000000 bytes]' }] },
    });
  });

  it('stores 8 KB of a refused body, and the size and beginning of a larger one', async () => {
    const fits = email({ unknown: 1, html: 'h'.repeat(7900) });
    expect((await logged(scene, team, 'POST', '/emails', { body: fits })).log.request_body).toEqual(fits);
    const body = JSON.stringify(email({ unknown: 1, html: 'h'.repeat(8200) }));
    const { log } = await logged(scene, team, 'POST', '/emails', { body });
    expect(log.request_body).toEqual({
      truncated: true,
      bytes: body.length,
      preview: email({ unknown: 1, html: `${'h'.repeat(120)}… [8200 characters]` }),
    });
  });

  it('stores the beginning of long texts of an accepted body, which the email has in full', async () => {
    const { log } = await logged(scene, team, 'POST', '/emails', { body: email({ html: 'h'.repeat(121) }) });
    expect(log.request_body).toEqual(email({ html: `${'h'.repeat(120)}… [121 characters]` }));
  });

  it('stores only the size of an answer that is too long', async () => {
    for (let i = 0; i < 100; i++) {
      await scene.api('POST', '/suppressions', { key: team.key, body: { email: `n${i}@example.org` } });
    }
    const { answer, log } = await logged(scene, team, 'GET', '/suppressions?limit=100');
    expect(log.response_body).toEqual({ truncated: true, bytes: Buffer.byteLength(answer.text) });
  });

  it.each([
    ['deep', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, 400],
    ['wide', JSON.stringify(Array.from({ length: 20_000 }, () => 1)), 400],
    ['full of NUL characters', JSON.stringify({ from: '\0'.repeat(9000) }), 422],
    ['full of half surrogates', JSON.stringify({ from: '\ud800'.repeat(900), to: 'x', subject: 'S', text: 'T' }), 400],
  ])('handles a %s body without an error', async (_, body, status) => {
    const { log } = await logged(scene, team, 'POST', '/emails', { body });
    expect(log.response_status).toBe(status);
    expect(JSON.stringify(log.request_body).length).toBeLessThan(9000);
  });
});

const escaped = (text: string): string =>
  [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
