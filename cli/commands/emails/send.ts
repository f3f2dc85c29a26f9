import { ApiFault, type BodyOf } from '../../client/index.ts';
import { CliFault, toStyle } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';
import type { EmailObject, EmailStatus } from '../../../src/contract/index.ts';
import { toneOfEmail } from '../../families/emails.ts';

const POLL_MS = 250;
const POLL_MS_MAX = 3000;

/** A delivered email may still be opened; any later status means that it was delivered. */
const SETTLED: Record<EmailStatus, 'delivered' | 'lost' | undefined> = {
  queued: undefined,
  scheduled: undefined,
  sent: undefined,
  delivery_delayed: undefined,
  delivered: 'delivered',
  opened: 'delivered',
  clicked: 'delivered',
  complained: 'delivered',
  bounced: 'lost',
  failed: 'lost',
  suppressed: 'lost',
  canceled: 'lost',
};

/** Polls ever more slowly, because the rate limit is shared by the whole team. */
async function waitUntilSettled(session: Session, id: string, limitMs: number): Promise<void> {
  const { terminal, isJson } = session;
  const began = performance.now();
  for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS_MAX)) {
    const email = await fetchEmail(session, id);
    const verdict = email && SETTLED[email.last_event];
    const waitedMs = performance.now() - began;
    if (email && verdict) {
      terminal.progress('');
      if (isJson) terminal.printJson(email);
      else print(session, email);
      if (verdict === 'lost') session.fail();
      return;
    }
    const state = email?.last_event ?? 'queued';
    if (waitedMs >= limitMs) {
      terminal.progress('');
      if (isJson && email) terminal.printJson(email);
      else terminal.print(`${id}\t${state}`);
      const seconds = Math.round(limitMs / 1000);
      throw new CliFault(
        `the email was neither delivered nor failed within ${seconds} s (${state}); the server keeps trying.`,
        'failed',
        {
          words: 'See its status with',
          command: ['explain', id],
        },
      );
    }
    terminal.progress(`${id}  ${state}, ${Math.round(waitedMs / 1000)} s`);
    await new Promise((resolve) => void setTimeout(resolve, Math.min(pauseMs, limitMs - waitedMs)));
  }
}

async function fetchEmail({ client }: Session, id: string): Promise<EmailObject | undefined> {
  try {
    return await client.call('getEmail', { path: { email_id: id } });
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    // Others of the team use the same limit; it will have room again.
    if (error.body.name === 'rate_limit_exceeded') return undefined;
    if (error.status === 401 || error.status === 403) {
      throw new CliFault(
        `the email was accepted as ${id}, but this key may only send, so the command cannot wait for its delivery`,
        'auth',
      );
    }
    throw error;
  }
}

function print({ terminal }: Session, email: EmailObject): void {
  const { last_event: state, id } = email;
  if (terminal.isTty) terminal.print(`${terminal.paint(toStyle(toneOfEmail(state)), state)}  ${id}`);
  else terminal.print(`${id}\t${state}`);
}

interface SendOptions {
  from?: string;
  subject?: string;
  template?: string;
  text?: string;
  textFile?: string;
  htmlFile?: string;
  scheduledAt?: string;
  idempotencyKey?: string;
  wait?: boolean;
  waitSeconds?: number;
}

const WAIT_SECONDS = 120;

export async function sendEmail(session: Session, call: Call): Promise<void> {
  const options: SendOptions = call.options;
  const [dash] = call.words as [string?];
  mustAgree(dash, options);
  const [, body] = await prepare(session, call, (typed) =>
    dash === undefined ? typed : { ...typed, files: { ...typed.files, text: dash } },
  );
  const header = options.idempotencyKey === undefined ? {} : { 'Idempotency-Key': options.idempotencyKey };
  const sent = await session.client.call('sendEmail', { body: body as BodyOf<'sendEmail'>, header });
  if (options.wait || options.waitSeconds !== undefined) {
    return waitUntilSettled(session, sent.id, (options.waitSeconds ?? WAIT_SECONDS) * 1000);
  }
  await printResponse(session, call, sent, body);
}

/** Refuses two sources for one body, or standard input for both, because one of them would silently be ignored. */
function mustAgree(dash: string | undefined, options: SendOptions): void {
  if (dash !== undefined && dash !== '-') {
    throw new CliFault(
      `${JSON.stringify(dash)} is not an option; give the text with --text, or - to read it from standard input`,
      'usage',
    );
  }
  const texts = [dash && '-', options.text && '--text', options.textFile && '--text-file'].filter(Boolean);
  if (texts.length > 1) throw new CliFault(`the text is given twice, by ${texts.join(' and ')}; choose one`, 'usage');
  if (dash === '-' && options.htmlFile === '-') {
    throw new CliFault('standard input holds one body; read the other one from a file', 'usage');
  }
  for (const name of ['from', 'subject'] as const) {
    if (options.template === undefined && options[name] === undefined) {
      throw new CliFault(`--${name} is missing; only a template can replace it`, 'usage');
    }
  }
  if (options.scheduledAt !== undefined && (options.wait || options.waitSeconds !== undefined)) {
    throw new CliFault(
      '--wait cannot be used with --scheduled-at: nothing happens to the email before that time',
      'usage',
    );
  }
}
