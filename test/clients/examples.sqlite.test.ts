// The examples that the official client of Python brings, with addresses and ids of this server in place of their placeholders.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ALLOWED, startFileServer, type FileServer } from '../rig/file-server.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { prepareTeam, startClientScene, type ClientScene } from './fixtures.ts';

const FOLDER = path.join(process.env['RASKET_CLIENTS'] ?? '/nonexistent', 'resend-python');

/** Examples that are not run, or end with an error, each with its reason. */
const EXCEPTIONS: Record<string, string> = {
  'webhook_receiver.py': 'it waits for requests of others',
  'automations.py': 'its template has no sender, and neither has the step that sends it',
  'segments.py': 'it deletes a contact through a segment that the contact has left, which is 404',
  'contacts_global.py': 'it reads has_more of GET /contacts, which the documents do not have',
};

/** Makes what the placeholders stand for; returns each placeholder with its value. */
async function makePlaceholders(
  clientScene: ClientScene,
  files: FileServer,
): Promise<{ key: string; placeholders: [string, string][] }> {
  const { team, fixtures } = await prepareTeam(clientScene);
  const make = async (at: string, body: object): Promise<string> =>
    (await clientScene.scene.api('POST', at, { key: team.key, body })).body.id as string;
  const segment = await make('/segments', { name: 'Placeholder' });
  const topic = await make('/topics', { name: 'Placeholder', default_subscription: 'opt_in' });
  await make('/events', { name: 'user.created' });
  await make('/events', { name: 'user.verified' });
  const placeholders: [string, string][] = [
    ['onboarding@resend.dev', `me@${fixtures.domain}`],
    ['@resend.dev', '@example.org'],
    ['https://webhook.example.com/handler', fixtures.endpoint],
    ['https://new-webhook.example.com/handler', fixtures.endpoint],
    ['78b8d3bc-a55a-45a3-aee6-6ec0a5e13d7e', segment],
    ['ca4e37c5-a82a-4199-a3b8-bf912a6472aa', segment],
    ['60a2ac5e-0774-456e-817d-ebf40f6dba31', segment],
    ['6eb54030-9489-4e9c-8de6-cd337c5fef1e', topic],
    ['006e2796-ff6a-4436-91ad-0429e600bf8a', fixtures.received],
    ['2024-09-05T11:52:01.858Z', fixtures.in_an_hour],
    ['2024-09-07T11:52:01.858Z', fixtures.in_two_hours],
    ['https://resend.com/static/brand/', `https://files.test:${files.port}/`],
    // The first line of the example of claims alone.
    [
      'resend.Domains.Claims.CreateParams = {\n    "name": "example.com"',
      `dict = {\n    "name": "${fixtures.claimable}"`,
    ],
  ];
  return { key: team.key, placeholders };
}

it('the examples of the official Python client run to their end', async (ctx) => {
  if (!existsSync(FOLDER)) return ctx.skip('RASKET_CLIENTS names no folder with resend-python');
  await using files = await startFileServer((_, response) => response.end('a picture'));
  await using clientScene = await startClientScene([files.certificate.cert]);
  clientScene.scene.dns.set('files.test', 'A', [ALLOWED]);
  const { key, placeholders } = await makePlaceholders(clientScene, files);
  const scratch = scratchFolder('rasket-examples-');
  const failures: string[] = [];
  const names = readdirSync(path.join(FOLDER, 'examples')).filter(
    (name) => name.endsWith('.py') && EXCEPTIONS[name] === undefined,
  );
  try {
    for (const folder of ['examples', 'resources']) {
      cpSync(path.join(FOLDER, folder), path.join(scratch, folder), { recursive: true });
    }
    for (const name of names) {
      const file = path.join(scratch, 'examples', name);
      let text = readFileSync(file, 'utf8');
      for (const [placeholder, value] of placeholders) text = text.replaceAll(placeholder, value);
      writeFileSync(file, text);
      try {
        await promisify(execFile)('python3', [file], {
          cwd: scratch,
          env: { ...process.env, PYTHONPATH: FOLDER, RESEND_API_URL: clientScene.scene.url, RESEND_API_KEY: key },
        });
      } catch (error) {
        failures.push(`${name}: ${(error as { stderr: string }).stderr.trim().split('\n').slice(-3).join(' ')}`);
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  expect(failures).toEqual([]);
  expect(names.length).toBeGreaterThan(25);
});
