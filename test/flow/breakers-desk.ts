import type { Scene, Team } from '../rig/scene.ts';
import { addReputationCounts, type ReputationCount } from '../../src/mail/reputation/index.ts';
import { nextTurn } from '../../src/platform/clock.ts';
import { bringMail } from '../rig/mx.ts';
import { SECOND } from './mail.ts';

/** Settings with which a few recipients trip a breaker, and two providers of their own. */
export const BREAKER_SETTINGS = {
  instance: { host: 'mail.breakers.example' },
  providers: {
    acme: { title: 'Acme', domains: ['acme.example'] },
    zeta: { title: 'Zeta', domains: ['zeta.example'] },
  },
  breakers: {
    complaint_slow_percent: 10,
    complaint_pause_percent: 25,
    complaint_floor: 20,
    complaints_min: 3,
    bounce_slow_percent: 10,
    bounce_pause_percent: 25,
    bounce_floor: 20,
    bounces_min: 3,
    slow_messages_per_minute: 30,
    probe_messages_per_minute: 120,
    probe_recipients: 10,
  },
};

export const many = (count: number, name: string, domain: string): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}@${domain}`);

/** Records outcomes as if so many recipients had been sent marketing mail within the present hour. */
export async function recordOutcomes(
  scene: Scene,
  { domain, team }: { domain: { id: string }; team: Pick<Team, 'id'> },
  counts: Partial<Record<ReputationCount['outcome'], number>>,
): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const rows = Object.entries(counts).map(([outcome, count]) => ({
    domainId: domain.id,
    teamId: team.id,
    source: '',
    provider: 'google',
    isMarketing: true,
    outcome: outcome as ReputationCount['outcome'],
    cause: '' as const,
    count,
  }));
  await db.tx((tx) => addReputationCounts(tx, ids, clock.now(), rows));
}

/** Runs the job that judges mail, as the scheduler does every minute. */
export async function evaluate(scene: Scene): Promise<void> {
  await scene.app.jobs.find(({ name }) => name === 'evaluate-breakers')?.run();
}

const STEP_MS = 100;
const TURNS = 20;

/**
 * Lets pages of broadcasts be made, and everything be sent that can be. The clock moves on while mail waits for its turn, slowly
 * enough that no mail server seems to be slow.
 */
export async function deliver(scene: Scene): Promise<void> {
  for (let round = 0; round < 2; round++) {
    scene.clock.advance(SECOND);
    let isSettled = false;
    const settled = scene.settled().finally(() => (isSettled = true));
    while (!isSettled) {
      for (let turn = 0; turn < TURNS; turn++) await nextTurn();
      await scene.app.world.db.all('select 1 as one', []);
      scene.clock.advance(STEP_MS);
    }
    await settled;
  }
}

/** Lists the recipients of messages with a subject, in the order of their arrival. */
export const listArrived = (scene: Scene, subject: string): string[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`)).flatMap(({ rcptTo }) => rcptTo);

/** Reports the mail of these recipients as spam, as the feedback loop of a provider does. */
export async function complain(scene: Scene, subject: string, recipients: readonly string[]): Promise<void> {
  for (const { mailFrom, rcptTo, data } of scene.sink.messages) {
    if (!data.includes(`Subject: ${subject}\r\n`) || !recipients.includes(rcptTo[0] ?? '')) continue;
    const raw = [
      'From: fbl@provider.example',
      'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
      '',
      '--b',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      `Original-Mail-From: <${mailFrom}>`,
      `Original-Rcpt-To: <${rcptTo[0]}>`,
      '--b--',
      '',
    ].join('\r\n');
    await bringMail(scene, { from: '', to: [mailFrom], raw });
  }
}

/** The events of limits of a domain: what was done, to which mail. */
export async function listLimitEvents(scene: Scene, domainId: string): Promise<string[]> {
  return (await scene.events(domainId)).flatMap(({ type, data }) => {
    if (!type.startsWith('domain.sending_')) return [];
    const { action = 'resumed', stream, provider, cause } = data as Record<string, string>;
    return [`${action} ${stream} ${provider ?? 'everywhere'} ${cause}`];
  });
}

export interface ListedBreaker {
  id: string;
  domain: string | null;
  provider: string | null;
  stream: string;
  state: string;
  scope: string;
  bad_recipients: number;
  recipients: number;
  until: string;
  trips: number;
}

/** Lists the breakers of a team, as its operator sees them. */
export async function listTeamBreakers(scene: Scene, team: Team, key: string): Promise<ListedBreaker[]> {
  const { body } = await scene.api('GET', '/operator/breakers?limit=100', { key });
  return (body.data as (ListedBreaker & { team_id: string })[]).filter(({ team_id: id }) => id === team.id);
}

export const describeStates = (breakers: readonly ListedBreaker[]): string[] =>
  breakers.map(({ provider, scope, state }) => `${scope} ${provider ?? 'everywhere'} ${state}`).toSorted();
