import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  inbox = await writingInbox(scene, team);
});
afterAll(() => scene.close());

/** Larger than a row, so that it is a file in the blob store. */
const LARGE = Buffer.alloc(1_500_000, 'x').toString('base64');
const file = (filename: string) => ({ filename, content: LARGE, content_type: 'application/octet-stream' });

const write = async (subject: string): Promise<string> => {
  const body = { to: 'ada@example.org', subject, text: 'With files.', attachments: [file('a.bin'), file('b.bin')] };
  return (await inbox.call('POST', '/drafts', { body })).body.id as string;
};

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

it.each([
  ['is deleted', (id: string) => inbox.call('DELETE', `/drafts/${id}`), [200, 404], 'Draft not found.'],
  [
    'gets other files',
    (id: string) => inbox.call('PATCH', `/drafts/${id}`, { body: { attachments: [file('c.bin')] } }),
    [200, 409],
    'changed while it was being sent',
  ],
] as const)(
  'a draft with large files that %s while it is sent is sent whole or not at all',
  async (what, change, ends, says) => {
    const rounds = 12;
    for (let round = 0; round < rounds; round++) {
      const subject = `${what} ${round}`;
      const id = await write(subject);
      const sending = inbox.call('POST', `/drafts/${id}/send`);
      await turns(round * 4);
      const [sent, changed] = await Promise.all([sending, change(id)]);
      expect(ends, sent.text).toContain(sent.status);
      expect([200, 404, 422], changed.text).toContain(changed.status);
      if (sent.status !== 200) expect(sent.body.message).toContain(says);
      await scene.settled();
      const mails = scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));
      expect(mails).toHaveLength(sent.status === 200 ? 1 : 0);
    }
  },
);

it('a draft with a file missing in the store is not sent, with a server error', async () => {
  const id = await write('Lost');
  await rm(path.join(scene.dataDir, 'blobs', id.slice(-2), id), { recursive: true });
  const sent = await inbox.call('POST', `/drafts/${id}/send`);
  expect([sent.status, sent.body.name]).toEqual([500, 'application_error']);
  expect((await inbox.call('GET', `/drafts/${id}`)).body.email_id).toBeNull();
});

it('an email that is deleted while it is forwarded is forwarded whole or not at all', async () => {
  for (let round = 0; round < 10; round++) {
    const { emailId, path: below } = await inbox.arrive({
      subject: `Forwarded ${round}`,
      content: [
        'Content-Type: application/pdf; name="big.pdf"',
        'Content-Transfer-Encoding: base64',
        '',
        Buffer.alloc(900_000, 'p').toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
      ],
    });
    const forwarding = inbox.call('POST', `${below}/forward`, { body: { to: 'ada@example.net' } });
    await turns(round * 4);
    const removing = scene.api('DELETE', `/emails/receiving/${emailId}`, { key: team.key });
    const [sent, removed] = await Promise.all([forwarding, removing]);
    expect([200, 404], sent.text).toContain(sent.status);
    expect(removed.status, removed.text).toBe(200);
    if (sent.status === 404) expect(sent.body.message).toMatch(/^(Email|Thread) not found\.$/);
  }
});
