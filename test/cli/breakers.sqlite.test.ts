// An operator at a terminal: which mail circuit breakers limit, and their release.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluate, recordOutcomes } from '../flow/breakers-desk.ts';
import { mailIn, type Mail } from '../flow/mail.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { runInProcess } from './in-process.ts';

let scene: Scene;
let mail: Mail;
let token: string;
beforeAll(async () => {
  scene = await startScene({ startAt: '2026-11-30T13:20:00Z' });
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(() => scene.close());

const rasket = (line: readonly string[]) =>
  runInProcess([...line], {
    cwd: scene.dataDir,
    env: { HOME: scene.dataDir, RASKET_URL: scene.url, RASKET_API_KEY: token },
  });
async function done(...line: string[]): Promise<string> {
  const ended = await rasket(line);
  expect(ended, `${line.join(' ')}\n${ended.stderr}`).toMatchObject({ code: 0 });
  return ended.stdout;
}

it('rasket breakers prints only its heading if no mail is limited', async () => {
  expect(await done('breakers')).toBe('ID\tMAIL FROM\tTO\tSTREAM\tSTATE\tLIMIT\tUNTIL\tREASON\n');
});

it('rasket breakers lists the limited mail with its figures, and releases it', async () => {
  await recordOutcomes(scene, mail, { accepted: 4000, complained: 5 });
  await evaluate(scene);
  const shown = await done('breakers');
  expect(shown).toContain(`\t${mail.domain.name}\tgoogle\tmarketing\tslow\t60 a minute\t`);
  expect(shown).toContain(`\t${mail.domain.name}\teverybody\tmarketing\tslow\t60 a minute\t`);
  expect(shown).toContain('5 of 4,000 recipients reported it as spam within 24 hours');
  expect(await done('breakers', 'list')).toBe(shown);
  const { data } = JSON.parse(await done('breakers', '--json')) as { data: { id: string }[] };
  expect((await rasket(['breakers', 'release', data[0]?.id ?? ''])).stderr).toContain('--reason');
  const ids = data.map(({ id }) => id);
  expect(await done('breakers', 'release', ids[1] ?? '', '--reason', 'The list was cleaned')).toContain(
    `marketing mail from ${mail.domain.name} to google is no longer limited. 0 deliveries are due now.`,
  );
  expect(await done('breakers')).not.toContain('google');
});

it('rasket breakers release says that no breaker on this server has an unknown id', async () => {
  const { code, stderr } = await rasket(['breakers', 'release', 'abcd1234', '--reason', 'The list was cleaned']);
  expect(code).toBe(66);
  expect(stderr).toMatch(/there is no .*abcd1234 on this server\./);
});
