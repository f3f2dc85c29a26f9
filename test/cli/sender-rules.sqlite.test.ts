// Tests the command that checks a domain against the rules of mailbox providers.
import { expect, it } from 'vitest';
import { startScene } from '../rig/scene.ts';
import { runInProcess } from './in-process.ts';

it('rasket domains rules shows for each provider the rules that are not met first, with the reply and what to do', async () => {
  await using scene = await startScene();
  const team = await scene.team();
  await team.domain('mail.shop.example');
  scene.dns.forget('_dmarc.mail.shop.example');
  scene.clock.advance(400_000);
  const run = (...words: string[]) =>
    runInProcess(['domains', 'rules', ...words], {
      cwd: scene.dataDir,
      env: { HOME: scene.dataDir, RASKET_URL: scene.url, RASKET_API_KEY: team.key },
    });
  const { stdout, stderr, code } = await run('mail.shop.example');
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const lines = stdout.split('\n');
  expect(lines[0]).toBe('mail.shop.example, below shop.example.');
  const gmail = lines.indexOf(
    'Gmail: 0 recipients within 24 hours, 0 on the largest of seven days; below 5,000 a day, from which the rules for bulk senders hold.',
  );
  expect(lines[gmail + 1]).toBe(
    '  not met: dmarc (bulk senders). Neither mail.shop.example nor shop.example has a DMARC record. Gmail defers such mail, and refuses part of it. The reply begins with 421 4.7.40. Publish the DMARC record that `rasket domains get mail.shop.example` shows; p=none is enough.',
  );
  expect(lines).toContain('  met: alignment. The signature is that of mail.shop.example, the domain in From.');
  expect(stdout).toContain(
    'La Poste: 0 recipients within 24 hours, 0 on the largest of seven days; the rules hold for all senders.',
  );
  expect(JSON.parse((await run('mail.shop.example', '--json')).stdout)).toMatchObject({ object: 'sender_rules' });
});
