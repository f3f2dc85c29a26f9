// readers --> rasket serve (killed again and again)
import { expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/platform/config/index.ts';
import { openDb, type OpenDbOptions } from '../../src/platform/db/index.ts';
import { openSecrets } from '../../src/platform/secrets/index.ts';
import { clickToken } from '../../src/protocol/track-links/index.ts';
import { BROWSER, follow } from '../flow/reader.ts';
import { createApi } from '../rig/api.ts';
import { scaled } from '../rig/scale.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';
import path from 'node:path';

const KILLS = Math.min(12, scaled(2));
const READERS = 16;
/** Answers before each kill: few, so that most of what was answered last is not in the database yet. */
const ANSWERS = 40;

it('a click that got its response is recorded once, whenever the process is killed', { timeout: 300_000 }, async () => {
  vi.stubEnv('RASKET_TRACKING_SCANNER_SECONDS', '0');
  onTestFinished(() => void vi.unstubAllEnvs());
  const sink = await startSink();
  onTestFinished(() => sink.close());
  const program = await installProgram(sink, () => undefined);
  const api = createApi(await program.listening());
  const body = {
    from: program.from,
    to: 'x@d.example',
    subject: 'Hello',
    html: '<a href="https://example.com/">x</a>',
  };
  const { id } = (await api('POST', '/emails', { key: program.apiKey, body })).body as { id: string };
  const secrets = openSecrets(program.dataDir);
  const domains = (await api('GET', '/domains', { key: program.apiKey })).body as {
    data: { id: string; name: string }[];
  };
  const { id: domainId = '', name = '' } = domains.data[0] ?? {};
  const buildPath = (target: string): string =>
    `/c/${clickToken({ emailId: id, domainId, target }, (bytes) => secrets.mac('click of a domain', bytes))}`;

  const answered: string[] = [];
  const asked: string[] = [];
  let targets = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const server = await program.listening();
    const until = answered.length + ANSWERS;
    let dead: Promise<void> | undefined;
    await Promise.all(
      Array.from({ length: READERS }, async () => {
        while (!dead) {
          const target = `https://example.com/${++targets}`;
          asked.push(target);
          const answer = await follow(server, `http://track.${name}${buildPath(target)}`).catch(() => undefined);
          if (!answer) continue;
          expect([answer.status, answer.headers.location]).toEqual([302, target]);
          answered.push(target);
          if (answered.length >= until) dead ??= program.kill();
        }
      }),
    );
    await dead;
    await program.start();
  }
  await program.stop();

  const recorded = await listClicks(program, id);
  const times = new Map<string, number>();
  for (const link of recorded) times.set(link, (times.get(link) ?? 0) + 1);
  expect(
    answered.filter((link) => !times.has(link)),
    'answered and lost',
  ).toEqual([]);
  expect(
    [...times].filter(([, count]) => count > 1),
    'recorded twice',
  ).toEqual([]);
  expect(
    recorded.filter((link) => !asked.includes(link)),
    'never asked for',
  ).toEqual([]);
  expect(answered.length).toBeGreaterThanOrEqual(KILLS * ANSWERS);
});

interface Clicked {
  link: string;
  userAgent: string;
}

async function listClicks(program: Program, emailId: string): Promise<string[]> {
  const { config } = loadConfig({ env: {}, overrides: { database: program.database } });
  const { driver, url, path: file, pool_max: poolMax } = config.database;
  const options: OpenDbOptions = { driver, url, file: path.resolve(program.dataDir, file), poolMax };
  const db = await openDb(options);
  try {
    const sql = `select data from events where subject_id = ? and type = 'email.clicked'`;
    const rows = await db.all<{ data: string }>(sql, [emailId]);
    const recorded = rows.map((row) => (JSON.parse(row.data) as { click: Clicked }).click);
    // These clicks wait for other clicks of the email, and become events in one transaction.
    const waits = await db.all<Clicked>(
      'select link, user_agent as "userAgent" from tracked_clicks where email_id = ?',
      [emailId],
    );
    const clicks = [...recorded, ...waits];
    expect(new Set(clicks.map(({ userAgent }) => userAgent))).toEqual(new Set([BROWSER]));
    return clicks.map(({ link }) => link);
  } finally {
    await db.close();
  }
}
