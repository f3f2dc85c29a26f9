// An operator at a terminal: which sources mail leaves by, and the warm-up of a new one.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mailIn, type Mail } from '../flow/mail.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { runInProcess } from './in-process.ts';

let scene: Scene;
let mail: Mail;
let token: string;
beforeAll(async () => {
  scene = await startScene({
    startAt: '2026-11-30T10:02:00Z',
    networkWaits: 'by hand',
    config: {
      sources: {
        fresh: { source_v4: '127.0.8.1', helo_name: 'fresh.sender.test' },
        gone: { source_v4: '192.0.2.77', helo_name: 'gone.sender.test' },
      },
      pools: { main: { sources: ['fresh:3', 'gone'] } },
      providers: { acme: { title: 'Acme', domains: ['acme.test'] } },
      warm_up: { daily: [8, 16], hours: 2, idle_days: 30 },
    },
  });
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(() => scene.close());

const rasket = (line: string) =>
  runInProcess(line.split(' '), {
    cwd: scene.dataDir,
    env: { HOME: scene.dataDir, RASKET_URL: scene.url, RASKET_API_KEY: token },
  });
async function done(line: string): Promise<string> {
  const ended = await rasket(line);
  expect(ended, `${line}\n${ended.stderr}`).toMatchObject({ code: 0 });
  return ended.stdout;
}

it('rasket egress lists each source with its state, its addresses and its share', async () => {
  const shown = await done('egress');
  expect(shown).toMatch(/^fresh\tready\t127\.0\.8\.1\tfresh\.sender\.test\tmain 3 \(75 %\)\t/m);
  expect(shown).toMatch(
    /^gone\tunavailable\t192\.0\.2\.77\t.*the address 192\.0\.2\.77 does not exist on this machine/m,
  );
  expect(await done('egress list')).toBe(shown);
});

it('a warm-up is started, paused, continued and stopped by commands, each of which says what holds now', async () => {
  expect(await done('egress warmup start fresh')).toContain('fresh is being warmed up');
  for (let n = 0; n < 10; n++) await mail.send(`x${n}@acme.test`);
  await scene.settled();
  expect(await done('egress warmup status fresh')).toContain(
    'Acme: day 1 of 2, 4 of 8 today, 4 of 4 this hour (it has just begun)',
  );
  expect(await done('egress')).toMatch(/^fresh\twarming\t/m);
  const detail = await done('egress get fresh');
  expect(detail).toMatch(/Warm-up +warming since 2026-11-30 10:\d\d UTC; Acme: day 1 of 2/);
  expect(detail).toMatch(/Last 24 hours +Acme: 4 accepted/);
  expect(await done('egress warmup pause fresh')).toContain('The warm-up of fresh is paused');
  expect(await done('egress warmup continue fresh')).toContain('fresh is being warmed up');
  expect(await done('egress warmup stop fresh')).toContain('fresh is not being warmed up');
  const { state } = JSON.parse(await done('egress warmup status fresh --json')) as { state: string };
  expect(state).toBe('none');
});

it('a source that does not exist is answered with the names of those that do', async () => {
  const ended = await rasket('egress warmup start nobody');
  expect(ended).toMatchObject({
    code: 66,
    stderr: expect.stringContaining('The settings have no source "nobody". The sources are fresh, gone'),
  });
  expect(await rasket('egress warmup pause fresh')).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('The source fresh is not being warmed up; start its warm-up first'),
  });
});

it('rasket egress warmup --help lists its commands', async () => {
  const help = await rasket('egress warmup --help');
  for (const word of ['start', 'pause', 'continue', 'stop', 'status'])
    expect(help.stdout).toMatch(new RegExp(`^  ${word} `, 'm'));
});
