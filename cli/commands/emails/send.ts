import type { BodyOf } from '../../client/index.ts';
import { CliFault, readAttachment, readHeaders, readTag, readTemplate } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readText } from '../read-text.ts';
import { waitUntilSettled } from './wait.ts';

export interface SendOptions {
  from?: string;
  to: string[];
  subject?: string;
  template?: string;
  variable?: string[];
  text?: string;
  textFile?: string;
  html?: string;
  htmlFile?: string;
  cc?: string[];
  bcc?: string[];
  replyTo?: string[];
  header?: string[];
  tag?: string[];
  attach?: string[];
  scheduledAt?: string;
  idempotencyKey?: string;
  wait?: boolean;
  waitSeconds?: number;
}

const WAIT_SECONDS = 120;

export async function sendEmail(session: Session, dash: string | undefined, options: SendOptions): Promise<void> {
  mustAgree(dash, options);
  const body = await readEmail(session.process, dash, options);
  const header = options.idempotencyKey === undefined ? {} : { 'Idempotency-Key': options.idempotencyKey };
  const sent = await session.client.call('sendEmail', { body, header });
  const { terminal, isJson } = session;
  if (options.wait || options.waitSeconds !== undefined) {
    return waitUntilSettled(session, sent.id, (options.waitSeconds ?? WAIT_SECONDS) * 1000);
  }
  if (isJson) return terminal.printJson(sent);
  terminal.print(terminal.isTty ? `Accepted  ${sent.id}` : sent.id);
  terminal.hint(`What became of it: rasket explain ${sent.id}`);
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
  if (options.html !== undefined && options.htmlFile !== undefined) {
    throw new CliFault('the HTML is given twice, by --html and --html-file; choose one', 'usage');
  }
  if ((dash === '-' || options.textFile === '-') && options.htmlFile === '-') {
    throw new CliFault('standard input holds one body; read the other one from a file', 'usage');
  }
  for (const name of ['from', 'subject'] as const) {
    if (options.template === undefined && options[name] === undefined) {
      throw new CliFault(`--${name} is missing; only a template can supply it`, 'usage');
    }
  }
  if (options.variable && options.template === undefined) {
    throw new CliFault('--variable belongs to a template; name it with --template', 'usage');
  }
  if (options.scheduledAt !== undefined && (options.wait || options.waitSeconds !== undefined)) {
    throw new CliFault('--wait does not go with --scheduled-at: until then nothing happens to the email', 'usage');
  }
}

async function readEmail(
  process: Session['process'],
  dash: string | undefined,
  options: SendOptions,
): Promise<BodyOf<'sendEmail'>> {
  const textFile = dash ?? options.textFile;
  const text = textFile === undefined ? options.text : await readText(process, textFile, '--text-file');
  const html = options.htmlFile === undefined ? options.html : await readText(process, options.htmlFile, '--html-file');
  return {
    ...(options.from === undefined ? {} : { from: options.from }),
    to: options.to,
    ...(options.subject === undefined ? {} : { subject: options.subject }),
    ...(options.template === undefined ? {} : { template: readTemplate(options.template, options.variable ?? []) }),
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    ...(options.cc ? { cc: options.cc } : {}),
    ...(options.bcc ? { bcc: options.bcc } : {}),
    ...(options.replyTo ? { reply_to: options.replyTo } : {}),
    ...(options.scheduledAt === undefined ? {} : { scheduled_at: options.scheduledAt }),
    ...(options.header ? { headers: readHeaders(options.header) } : {}),
    ...(options.tag ? { tags: options.tag.map((pair) => readTag(pair)) } : {}),
    ...(options.attach
      ? { attachments: await Promise.all(options.attach.map((file) => readAttachment(file, { cwd: process.cwd() }))) }
      : {}),
  };
}
