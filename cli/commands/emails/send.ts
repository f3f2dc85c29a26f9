import type { BodyOf } from '../../client/index.ts';
import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, tell, type Call } from '../run-action.ts';
import { waitUntilSettled } from './wait.ts';

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
  await tell(session, call, sent, body);
}

/** Two sources for one body, or standard input for both, would leave one of them out without a word. */
function mustAgree(dash: string | undefined, options: SendOptions): void {
  if (dash !== undefined && dash !== '-') {
    throw new CliFault(
      `${JSON.stringify(dash)} stands alone; give the text with --text, or - to read it from standard input`,
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
      throw new CliFault(`--${name} is missing; only a template can supply it`, 'usage');
    }
  }
  if (options.scheduledAt !== undefined && (options.wait || options.waitSeconds !== undefined)) {
    throw new CliFault('--wait does not go with --scheduled-at: until then nothing happens to the email', 'usage');
  }
}
