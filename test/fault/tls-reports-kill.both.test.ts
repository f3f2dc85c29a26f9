// rasket serve (killed while it sends TLS reports) --> sink and collector
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { openDb, type Db } from '../../src/platform/db/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { ALLOWED, startFileServer } from '../rig/file-server.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type LogLine, type Program } from './program.ts';

const DAY_MS = 86_400_000;
const DOMAINS = Array.from({ length: 24 }, (_, n) => `d${n}.example`);
const COLLECTOR = 'tls.collector.test';
const JOB = 'send-tls-reports';
/** The reports of each kind that arrive before a kill. */
const BEFORE_KILL = 6;

it(
  'kill -9 while TLS reports are sent loses none and sends none twice, and a report in doubt is told',
  { timeout: 300_000 },
  async () => {
    const mailed: string[] = [];
    const posted: string[] = [];
    const inDoubt = { emails: new Set<string>(), posts: [] as string[] };
    /** Returns whether this is the moment of a kill. */
    let strike = (_kind: 'mailed' | 'posted'): boolean => false;

    const sink = await startSink({
      keep: false,
      onMessage({ data }) {
        mailed.push(/^TLS-Report-Domain: (.*?)\r$/m.exec(data.toString('latin1'))?.[1] ?? 'no domain');
        strike('mailed');
      },
    });
    onTestFinished(() => sink.close());
    const collector = await startFileServer(
      (url, response) => {
        posted.push(url.slice(1));
        // The process never hears what became of the post at which it is killed.
        if (!strike('posted')) response.end();
      },
      { names: [COLLECTOR] },
    );
    onTestFinished(() => collector.close());
    const folder = scratchFolder('rasket-collector-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const certificate = path.join(folder, 'collector.pem');
    writeFileSync(certificate, collector.certificate.cert);

    const program = await installProgram(
      sink,
      ({ msg, emailId, domain }: LogLine) => {
        if (msg === 'delivery outcome unknown') inDoubt.emails.add(String(emailId));
        if (msg.startsWith('the server ended while it posted')) inDoubt.posts.push(String(domain));
      },
      {
        env: {
          NODE_EXTRA_CA_CERTS: certificate,
          RASKET_NETWORK_HTTP_ALLOW_PRIVATE: `${ALLOWED}/32`,
          RASKET_DELIVERY_MTA_STS: 'false',
        },
        publish(dns) {
          dns.set(COLLECTOR, 'A', [ALLOWED]);
          for (const domain of DOMAINS)
            dns.set(`_smtp._tls.${domain}`, 'TXT', [
              `v=TLSRPTv1; rua=${listTargets(domain, collector.port).join(',')}`,
            ]);
        },
      },
    );
    await program.stop();
    await withDatabase(program, (db) => insertReports(db, collector.port));

    for (const kind of ['posted', 'mailed'] as const) {
      let left = BEFORE_KILL;
      const reached = new Promise<void>((resolve) => {
        strike = (happened) => {
          const isMoment = happened === kind && --left === 0;
          if (isMoment) resolve();
          return isMoment;
        };
      });
      await program.start();
      await reached;
      await program.kill();
      await withDatabase(program, hurry);
    }
    strike = () => false;
    await program.start();

    const api = createApi(await program.listening());
    const readSubject = async (id: string): Promise<string> =>
      (await api('GET', `/emails/${id}`, { key: program.apiKey })).body.subject;
    /** Lists the reports that neither arrived nor are in doubt. */
    const listMissing = async (): Promise<string[]> => {
      const subjects = await Promise.all([...inDoubt.emails].map(readSubject));
      const isInDoubt = (domain: string): boolean => subjects.some((text) => text.includes(` ${domain} `));
      return [
        ...DOMAINS.filter((domain) => !mailed.includes(domain) && !isInDoubt(domain)).map((name) => `mail ${name}`),
        ...DOMAINS.filter((domain) => !posted.includes(domain) && !inDoubt.posts.includes(domain)),
      ];
    };
    await expect.poll(listMissing, { timeout: 150_000, interval: 500 }).toEqual([]);
    // What was under way at a kill is told, whether it arrived or not.
    await expect.poll(() => inDoubt.posts.length, { timeout: 90_000 }).toBeGreaterThan(0);
    await program.stop();
    expect(mailed.toSorted(), 'no report is mailed twice').toEqual([...new Set(mailed)].toSorted());
    expect(posted.toSorted(), 'no report is posted twice').toEqual([...new Set(posted)].toSorted());
    const outcomes = await withDatabase(program, (db) =>
      db.all("select distinct outcome from outgoing_tls_reports where target <> '' order by outcome", []),
    );
    expect(outcomes).toEqual([{ outcome: 'in doubt' }, { outcome: 'mailed' }, { outcome: 'posted' }]);
    for (const { body = Buffer.alloc(0) } of collector.visits)
      expect(JSON.parse(gunzipSync(body).toString())).toMatchObject({ 'organization-name': 'rasket.test' });
  },
);

const listTargets = (domain: string, port: number): string[] => [
  `mailto:tls@${domain}`,
  `https://${COLLECTOR}:${port}/${domain}`,
];

async function withDatabase<T>(program: Program, work: (db: Db) => Promise<T>): Promise<T> {
  const file = path.join(program.dataDir, 'rasket.db');
  const db = await openDb({ driver, file, url: program.database.url, poolMax: 1 });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/** Stores the failures of yesterday, and the reports about them as due: those that are posted before those that are mailed. */
async function insertReports(db: Db, port: number): Promise<void> {
  const now = Date.now();
  const day = now - (now % DAY_MS) - DAY_MS;
  const policy = JSON.stringify({ type: 'no-policy-found', strings: [], mxHosts: [] });
  const failure = JSON.stringify({ kind: 'starttls-not-supported', host: 'mx.sink.test' });
  await db.insertMany(
    'tls_session_counts',
    ['day', 'domain', 'policy_digest', 'failure_digest', 'policy', 'failure', 'sessions'],
    DOMAINS.map((domain) => [day, domain, 'p', 'f', policy, failure, 1]),
  );
  await db.insertMany(
    'outgoing_tls_reports',
    ['day', 'domain', 'target', 'attempts', 'next_at'],
    DOMAINS.flatMap((domain) =>
      listTargets(domain, port).map((target) => [day, domain, target, 0, target.startsWith('mailto:') ? 2 : 1]),
    ),
  );
  await hurry(db);
}

/** Makes the job run at the next start, and lets the time pass in which a post would have ended. */
async function hurry(db: Db): Promise<void> {
  await db.run('update cron_runs set slot = slot - 1 where job = ?', [JOB]);
  await db.run("update outgoing_tls_reports set next_at = 1 where outcome = 'posting'", []);
}
