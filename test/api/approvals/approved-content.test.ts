// The content that a person has reviewed is what is sent, to the recipients they saw: nothing can be replaced meanwhile.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALLOWED, startFileServer } from '../../rig/file-server.ts';
import { writingInbox } from '../../rig/inbox.ts';
import { startAppScene, type AppScene } from './app-scene.ts';

let files: Awaited<ReturnType<typeof startFileServer>>;
let stage: AppScene;
let served = 'as it was seen';
let fetches = 0;
beforeAll(async () => {
  files = await startFileServer((_path, response) => {
    fetches++;
    response.end(served);
  });
  stage = await startAppScene({
    trustedCa: [files.certificate.cert],
    config: { network: { http_allow_private: [`${ALLOWED}/32`] } as never },
  });
  stage.scene.dns.set('files.test', 'A', [ALLOWED]);
});
afterAll(async () => {
  await stage?.close();
  await files?.[Symbol.asyncDispose]();
});

const url = () => `https://files.test:${files.port}/a.txt`;
const computeHash = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a file that a call names by a URL', () => {
  const email = (subject: string, to = 'x@example.org') => ({
    from: `a@${stage.desk.domain.name}`,
    to,
    subject,
    text: 'See the file.',
    attachments: [{ filename: 'a.txt', path: url(), content_type: 'text/plain' }],
  });
  const waitsFor = async (token: string, path: string, body: object): Promise<string> => {
    const held = await stage.call(token, 'POST', path, body);
    expect([held.status, held.body.name], held.text).toEqual([403, 'invalid_permission']);
    return held.body.details.approval_id;
  };
  const fetchFiles = async (emailId: string): Promise<string[]> => {
    const { data } = (await stage.desk.call('GET', `/emails/${emailId}/attachments`)).body;
    return Promise.all(
      (data as { download_url: string }[]).map(async ({ download_url: link }) =>
        (await fetch(link, { headers: { 'user-agent': 'rasket-tests/1' } })).text(),
      ),
    );
  };

  it('is fetched when the call is proposed, shown by its checksum, and sent as it was then', async () => {
    const token = await stage.tokenFor('sends');
    served = 'as it was seen';
    const id = await waitsFor(token, '/emails', email('With a file'));
    const seen = (await stage.desk.call('GET', `/approvals/${id}`)).body;
    const file = { field: 'attachments.0', url: url(), bytes: served.length, sha256: computeHash(served) };
    expect(seen.files).toEqual([file]);
    expect(seen.call.body.attachments).toEqual(email('').attachments);
    const page = await stage.oauth.visitorOf(stage.owner).open(`/account/approvals/one?id=${id}`);
    expect(page.text).toContain(file.sha256);
    const before = fetches;
    const done = (await stage.approve(id)).body;
    expect(done).toMatchObject({ status: 'done', files: [file] });
    // It is fetched once: the compared content is what is sent.
    expect(fetches - before).toBe(1);
    expect(await fetchFiles(done.result.id)).toEqual(['as it was seen']);
  });

  it.each(['/emails', '/emails/batch', 'reply'])('is not sent by %s if its content has changed since', async (path) => {
    const token = await stage.tokenFor('sends');
    served = 'harmless';
    let at = path;
    let body: object = path === '/emails' ? email('Swapped') : [email('Swapped')];
    if (path === 'reply') {
      const inbox = await writingInbox(stage.scene, stage.desk.team);
      at = `${inbox.path}${(await inbox.arrive({})).path}/reply`;
      body = { text: 'See the file.', attachments: email('').attachments };
    }
    const id = await waitsFor(token, at, body);
    served = 'something else';
    const refused = await stage.approve(id);
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('has changed since the app made the request'),
    ]);
    expect((await stage.desk.call('GET', `/approvals/${id}`)).body.status).toBe('pending');
    // The app asks again for the new content.
    const again = await waitsFor(token, at, body);
    expect(again).not.toBe(id);
    served = 'harmless';
    expect((await stage.approve(id)).body.status).toBe('done');
  });

  it.each([
    ['an entry with a field of another type', [{ attachments: [{ filename: 5 }] }]],
    ['an entry with an unknown field', [{ bogus: 1 }]],
  ])('is not fetched for a batch with %s, and no approval is created', async (_title, entries) => {
    const token = await stage.tokenFor('sends');
    const body = entries.map((entry) => {
      const { attachments, ...fields } = email('At fault');
      const [file] = attachments;
      const given = (entry as { attachments?: object[] }).attachments?.[0];
      return { ...fields, ...entry, attachments: [{ ...file, ...given }] };
    });
    const before = fetches;
    const refused = await stage.call(token, 'POST', '/emails/batch', body);
    expect([refused.status, refused.body.name], refused.text).toEqual([400, 'validation_error']);
    expect(fetches).toBe(before);
  });

  it.each([
    ['no email', () => [{ bogus: 1 }]],
    ['null', () => [null]],
    ['more than 100 emails', () => Array.from({ length: 150 }, () => email('Many'))],
    ['an object', () => ({ a: 1 })],
  ])('is not fetched for a batch with %s, which is refused at once', async (_title, write) => {
    const body = write();
    const token = await stage.tokenFor('sends');
    for (const validation of ['strict', 'permissive']) {
      const refused = await stage.scene.api('POST', '/emails/batch', {
        key: token,
        body,
        headers: { 'x-batch-validation': validation },
      });
      expect(refused.status, refused.text).toBeGreaterThanOrEqual(400);
      expect(refused.body.name).not.toBe('invalid_permission');
      expect(refused.status).toBeLessThan(500);
    }
  });

  it('is fetched, shown and sent in a batch whose fields use their alternative documented names', async () => {
    const token = await stage.tokenFor('sends');
    served = 'with other names';
    const { attachments, ...fields } = email('Other names');
    const { content_type: contentType, ...file } = attachments[0] as (typeof attachments)[number];
    const written = [
      { ...fields, cc: null, attachments: [{ ...file, contentType, content: null, inlineContentId: 'a' }] },
    ];
    const id = await waitsFor(token, '/emails/batch', written);
    const seen = (await stage.desk.call('GET', `/approvals/${id}`)).body;
    expect(seen.call.body).toEqual([{ ...fields, attachments: [{ ...attachments[0], content_id: 'a' }] }]);
    const done = (await stage.approve(id)).body;
    expect(done.status, JSON.stringify(done)).toBe('done');
    expect(await fetchFiles(done.result.data[0].id)).toEqual(['with other names']);
  });

  it('makes the call fail at once if it cannot be fetched', async () => {
    const token = await stage.tokenFor('sends');
    const body = { ...email('Not there'), attachments: [{ filename: 'a.txt', path: 'https://nowhere.test/a.txt' }] };
    const refused = await stage.call(token, 'POST', '/emails', body);
    expect([refused.status, refused.body.name]).toEqual([422, 'invalid_attachment']);
    expect(refused.body.message).toContain('attachments.0.path could not be fetched');
  });
});

describe('the segment of a broadcast that waits for approval', () => {
  const until = /until a person has decided/;
  const add = async (key: string, more: object = {}) =>
    stage.call(key, 'POST', '/contacts', { email: `c${++contacts}@example.org`, ...more });
  let contacts = 0;

  it('cannot be filled by the app of the broadcast, while others can fill it and the app can fill other segments', async () => {
    const token = await stage.tokenFor('broadcasts');
    const id = await stage.desk.make();
    const { segment_id: segment } = (await stage.desk.get(id)) as { segment_id: string };
    const other = (await stage.desk.call('POST', '/segments', { name: 'Other' })).body.id as string;
    const member = (await add(stage.desk.team.key, { segments: [segment] })).body.id as string;
    const outside = (await add(token)).body.id as string;
    const held = await stage.call(token, 'POST', `/broadcasts/${id}/send`, {});
    const tries: [string, string, object?][] = [
      ['POST', `/contacts/${outside}/segments/${segment}`],
      ['DELETE', `/contacts/${member}/segments/${segment.toUpperCase()}`],
      ['POST', '/contacts', { email: 'new@example.org', segments: [{ id: segment }] }],
      ['POST', '/contacts', { email: 'new@example.org', segments: [other, segment.toUpperCase()] }],
      ['POST', `/audiences/${segment}/contacts`, { email: 'new@example.org' }],
      ['PATCH', `/contacts/${member}`, { unsubscribed: false }],
      ['PATCH', `/audiences/${segment}/contacts/${member}`, { first_name: 'Else' }],
    ];
    for (const [method, path, body] of tries) {
      const refused = await stage.call(token, method, path, body);
      expect([refused.status, refused.body.message], `${method} ${path}`).toEqual([403, expect.stringMatching(until)]);
    }
    expect((await add(token, { segments: [other] })).status).toBe(201);
    expect((await stage.call(token, 'PATCH', `/contacts/${outside}`, { first_name: 'Ada' })).status).toBe(200);
    // People may change it: whoever approves sees the recipients at that time.
    expect((await add(stage.desk.team.key, { segments: [segment] })).status).toBe(201);
    expect((await stage.approve(held.body.details.approval_id)).body.status).toBe('done');
    // The broadcast has to be sent first.
    await stage.scene.settled();
    expect((await add(token, { segments: [segment] })).status).toBe(201);
  });

  it('takes in no contact that the app makes match its filter', async () => {
    const token = await stage.tokenFor('broadcasts');
    const filter = { all: [{ field: 'unsubscribed', op: 'eq', value: false }] };
    const segment = (await stage.desk.call('POST', '/segments', { name: 'Filtered', filter })).body.id as string;
    const contact = (await add(token)).body.id as string;
    const made = await stage.call(token, 'POST', '/broadcasts', {
      name: 'F',
      segment_id: segment,
      from: `a@${stage.desk.domain.name}`,
      subject: 'F',
      text: 'x',
      send: true,
    });
    expect(made.body.details?.approval_id, made.text).toEqual(expect.any(String));
    for (const refused of [
      await add(token),
      await stage.call(token, 'PATCH', `/contacts/${contact}`, { unsubscribed: false }),
    ]) {
      expect([refused.status, refused.body.message]).toEqual([403, expect.stringMatching(until)]);
    }
    await stage.owner.call('POST', `/approvals/${made.body.details.approval_id as string}/reject`, {});
    expect((await add(token)).status).toBe(201);
  });
});
