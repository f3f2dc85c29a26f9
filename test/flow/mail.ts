import type { Scene, Team } from '../rig/scene.ts';

/** Everything that became of one email, in the world and in the books. */
export interface WholeAccount {
  state: string;
  /** Type and recipients, in order. */
  events: string[];
  /** The envelopes in which it arrived, in order of arrival. */
  arrived: string[];
  /** The addresses that this team may no longer send to. */
  suppressed: string[];
  /** Recipients that are still to be delivered to or in doubt. */
  waiting: string[];
}

export interface Mail {
  team: Team;
  domain: { id: string; name: string };
  /** Sends to these addresses and answers the id; `more` adds fields or replaces them. */
  send(to: string | string[], more?: Record<string, unknown>): Promise<string>;
  account(emailId: string): Promise<WholeAccount>;
  /** The data that stands in the event of this type. */
  detail(emailId: string, type: string): Promise<Record<string, unknown>>;
  suppress(email: string): Promise<void>;
}

/** A team with a verified domain. */
export async function mailIn(scene: Scene): Promise<Mail> {
  const team = await scene.team();
  const domain = await team.domain();
  return {
    team,
    domain,
    async send(to, more = {}) {
      const body = {
        from: `Sender <sender@${domain.name}>`,
        to: [to].flat(),
        subject: 'Hello',
        text: 'It works.',
        ...more,
      };
      const { status, text, body: answer } = await scene.api('POST', '/emails', { key: team.key, body });
      if (status !== 200) throw new Error(`a send was answered with ${status} ${text}`);
      return answer.id as string;
    },
    async account(emailId) {
      const { db } = scene.app.world;
      const { state } = await scene.account(team, emailId);
      const events = await scene.events(emailId);
      const suppressions = await db.all<{ email: string }>(
        'select email from suppressions where team_id = ? order by email',
        [team.id],
      );
      const rows = await db.all<{ recipients: string }>('select recipients from deliveries where email_id = ?', [
        emailId,
      ]);
      return {
        state,
        events: events.map(({ type, data }) => [type, ...((data?.to as string[] | undefined) ?? [])].join(' ')),
        arrived: listMessages(scene, emailId).map((message) => message.rcptTo.join(' ')),
        suppressed: suppressions.map(({ email }) => email),
        waiting: rows.flatMap((row) => JSON.parse(row.recipients) as string[]).sort(),
      };
    },
    async detail(emailId, type) {
      return (await scene.events(emailId)).find((event) => event.type === type)?.data ?? {};
    },
    async suppress(email) {
      await scene.api('POST', '/suppressions', { key: team.key, body: { email } });
    },
  };
}

export const listMessages = ({ sink }: Pick<Scene, 'sink'>, emailId: string): Scene['sink']['messages'] =>
  sink.messages.filter((message) => message.data.includes(`Message-ID: <${emailId}@`));

/** Moves the clock to the next time at which this email is due. */
export async function advanceToNextAttempt(scene: Scene, emailId: string): Promise<number> {
  const row = await scene.app.world.db.get<{ due_at: number }>(
    'select min(due_at) as due_at from deliveries where email_id = ?',
    [emailId],
  );
  const waitMs = Number(row?.due_at) - scene.clock.now();
  scene.clock.advance(waitMs);
  await scene.settled();
  return waitMs;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
