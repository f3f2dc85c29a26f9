// An app may change its own drafts, but not what somebody else has written meanwhile or is about to send.
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALLOWED, startFileServer } from '../../rig/file-server.ts';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { startAppScene, type AppScene } from './app-scene.ts';

let files: Awaited<ReturnType<typeof startFileServer>>;
let answerFile: (response: ServerResponse) => void = (response) => void response.end('A file.');
let stage: AppScene;
let inbox: WritingInbox;
let token: string;
beforeAll(async () => {
  files = await startFileServer((_path, response) => answerFile(response));
  stage = await startAppScene({
    trustedCa: [files.certificate.cert],
    config: { network: { http_allow_private: [`${ALLOWED}/32`] } as never },
  });
  stage.scene.dns.set('files.test', 'A', [ALLOWED]);
  inbox = await writingInbox(stage.scene, stage.desk.team);
  token = await stage.tokenFor('sends');
});
afterAll(async () => {
  await stage?.close();
  await files?.[Symbol.asyncDispose]();
});

it('an app cannot overwrite its draft when a person has changed it while a file of the app was fetched', async () => {
  const mine = { to: ['customer@example.org'], subject: 'Your order', text: 'Mine.' };
  const path = `${inbox.path}/drafts/${(await stage.call(token, 'POST', `${inbox.path}/drafts`, mine)).body.id}`;
  const { promise: isAsked, resolve: noteAsked } = Promise.withResolvers<ServerResponse>();
  answerFile = noteAsked;
  const slow = stage.call(token, 'PATCH', path, {
    bcc: ['attacker@evil.example'],
    text: 'EVIL',
    attachments: [{ filename: 'a.txt', path: `https://files.test:${files.port}/a.txt` }],
  });
  const response = await isAsked;
  expect((await stage.desk.call('PATCH', path, { text: 'What a person wrote.' })).status).toBe(200);
  response.end('A file.');
  const { status, body } = await slow;
  expect([status, body.message]).toEqual([403, expect.stringContaining('somebody else changed this')]);
  expect((await stage.desk.call('GET', path)).body).toMatchObject({
    text: 'What a person wrote.',
    bcc: [],
    attachments: [],
  });
});

describe('a draft that an app changes after a person has read it', () => {
  const createDraft = async (): Promise<string> => {
    const mine = { to: ['customer@example.org'], subject: 'Your order', text: 'Mine.' };
    return `${inbox.path}/drafts/${(await stage.call(token, 'POST', `${inbox.path}/drafts`, mine)).body.id}`;
  };
  const createBroadcast = async (): Promise<string> => {
    const email = 'reader@example.org';
    await stage.desk.call('POST', '/contacts', { email, segments: [{ id: stage.desk.segment }] });
    return `/broadcasts/${(await stage.call(token, 'POST', '/broadcasts', stage.desk.draft)).body.id}`;
  };
  const createTemplate = async (): Promise<string> => {
    const mine = { name: 'Mine', subject: 'Mine', html: '<p>Mine.</p>' };
    return `/templates/${(await stage.call(token, 'POST', '/templates', mine)).body.id}`;
  };

  it.each([
    ['an inbox draft', createDraft, 'send', { text: 'EVIL' }],
    ['a broadcast', createBroadcast, 'send', { html: '<p>EVIL</p>' }],
    ['a template', createTemplate, 'publish', { html: '<p>EVIL</p>' }],
  ] as const)('%s is not sent or published with text that the person has not seen', async (_, create, verb, change) => {
    const path = await create();
    const read = async (): Promise<string> => (await stage.desk.call('GET', path)).body.updated_at;
    const decide = (unchanged_since: string) => stage.owner.call('POST', `${path}/${verb}`, { unchanged_since });
    const seen = await read();
    expect((await stage.call(token, 'PATCH', path, change)).status).toBe(200);
    expect(await decide(seen)).toMatchObject({ status: 409, body: { name: 'resource_locked' } });
    // The app cannot restore the time, even if it changes the draft within the same millisecond.
    expect(await read()).not.toBe(seen);
    expect((await decide(await read())).status).toBe(200);
  });

  it('unchanged_since that is no time is refused by its name', async () => {
    const refused = await stage.owner.call('POST', `${await createDraft()}/send`, { unchanged_since: 'yesterday' });
    expect([refused.status, refused.text]).toEqual([expect.any(Number), expect.stringContaining('unchanged_since')]);
    expect(refused.status).toBeGreaterThanOrEqual(400);
  });
});
