import { randomUUID } from 'node:crypto';
import { ApiFault, isSession, type Advice, type AnswerOf, type Client } from '../../client/index.ts';
import { answeringInWords, inboxThreads, type Body } from '../../families/index.ts';
import { buildCall, editText, findId, readPath, type Written } from '../../input/index.ts';
import {
  clean,
  cleanLines,
  formatEmailBody,
  CliFault,
  formatEmailHead,
  quote,
  type ThreadEmail,
} from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';
import { fetchThreadEmails } from './read-thread.ts';

type Path = { inbox: string; thread_id: string; inbox_email_id: string };

/** Answers or forwards an email. A text from the editor is kept until it was sent. */
export async function answer(session: Session, call: Call): Promise<void> {
  const { client, process } = session;
  const { action, options } = call;
  const [, , named] = call.words as (string | undefined)[];
  const isForward = action.operation === 'forwardInboxEmail';
  const isSaid = ['text', 'textFile', 'html', 'htmlFile', 'template'].some((name) => options[name] !== undefined);
  const isEdited = isForward ? options['edit'] === true && !isSaid : !isSaid;
  if (isEdited && !process.stdin.isTTY)
    throw new CliFault('the text is missing; give it with --text, or --text-file - for standard input', 'usage');
  const above = await readPath(client, inboxThreads.get.path, call.words as string[]);
  const { inbox = '', thread_id: thread = '' } = above;
  const given = named === undefined ? undefined : await findId(client, 'inbox_email_id', named, { path: above });
  const { found, sentBefore } = await findInThread(client, { inbox, thread_id: thread }, given);
  const id = given ?? found?.id ?? '';
  const warned = isForward ? '' : await warnOfOthers(session, { inbox, thread_id: thread }, '');
  const written = isEdited
    ? await announced(session, { inbox, thread_id: thread }, async () =>
        editText(process, { begin: '', below: await below(session, inbox, thread, id, found) }),
      )
    : undefined;
  if (written && !isForward) await warnOfOthers(session, { inbox, thread_id: thread }, warned);
  // A typed text is intended, even if it was sent before.
  const key = keyIn(options) ?? (isEdited ? `cli-${randomUUID()}` : undefined);
  const words = [inbox, thread, id];
  const kept = {
    path: { inbox, thread_id: thread, inbox_email_id: id },
    operation: isForward ? 'forwardInboxEmail' : 'replyToInboxEmail',
    written,
    again: [...toCommandWords(options), ...(key === undefined ? [] : ['--idempotency-key', key])],
  } as const;
  await keeping(session, kept, async () => {
    const [path, prepared] = await prepare(session, { ...call, words }, (typed) =>
      written ? { ...typed, fields: { ...typed.fields, text: written.text } } : typed,
    );
    const body = ended(prepared);
    mustHaveText(body, isForward);
    return { body, answered: await client.call(...buildCall(action, path, body, key)) };
  }).then(async ({ body, answered }) => {
    await printResponse(session, call, answered, body);
    if (key === undefined && sentBefore.has((answered as { id: string }).id)) session.terminal.warn(SENT_BEFORE);
  });
}

/** Shows a template as a reply with it would begin; nothing is sent. */
export async function renderTemplate(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson } = session;
  const [, , named] = call.words as (string | undefined)[];
  const above = await readPath(client, inboxThreads.get.path, call.words as string[]);
  const { inbox = '', thread_id: thread = '' } = above;
  const given = named === undefined ? undefined : await findId(client, 'inbox_email_id', named, { path: above });
  const id = given ?? (await findInThread(client, { inbox, thread_id: thread }, undefined)).found?.id ?? '';
  const [path, body] = await prepare(session, { ...call, words: [inbox, thread, id] });
  const rendered = (await client.call(...buildCall(call.action, path, body))) as AnswerOf<'renderInboxTemplate'>;
  if (isJson) terminal.printJson(rendered);
  else terminal.printText(cleanLines(rendered.text));
}

type ThreadPath = Omit<Path, 'inbox_email_id'>;

/** Warns that other people are writing a reply too, unless that was said before; returns what was said. */
async function warnOfOthers({ client, terminal }: Session, path: ThreadPath, before: string): Promise<string> {
  const said = answeringInWords(await client.call('getInboxThread', { path }));
  if (said !== '' && said !== before) terminal.warn(`${clean(said)} in this thread.`);
  return said;
}

/** An announcement ends after two minutes. */
const ANNOUNCE_MS = 40_000;

/** Shows the others that a reply is being written, while the work lasts. Only people can announce that. */
async function announced<T>({ client, target }: Session, path: ThreadPath, work: () => Promise<T>): Promise<T> {
  if (!isSession(target.apiKey)) return work();
  // Without an announcement, the reply is written all the same.
  const announce = (): Promise<unknown> => client.call('announceInboxAnswer', { path }).catch(() => undefined);
  let last = announce();
  const timer = setInterval(() => void (last = announce()), ANNOUNCE_MS);
  try {
    return await work();
  } catch (error) {
    await last;
    await client.call('withdrawInboxAnswer', { path }).catch(() => undefined);
    throw error;
  } finally {
    clearInterval(timer);
    // What is sent ends the announcement; another one must not arrive after it.
    await last;
  }
}

const SENT_BEFORE =
  'The same text was sent before, and was not sent again. To send it once more, add --idempotency-key with a key of your own.';

const keyIn = ({ idempotencyKey }: Call['options']): string | undefined =>
  typeof idempotencyKey === 'string' ? idempotencyKey : undefined;

/** The other options of the command, to be repeated in the advised one. */
const BESIDE = ['to', 'cc', 'bcc', 'replyAll', 'subject', 'html', 'htmlFile', 'attach', 'header'] as const;

const toCommandWords = (options: Call['options']): string[] =>
  BESIDE.flatMap((name) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [flag] : [value].flat().flatMap((one) => [flag, String(one)]);
  });

/** Trims the end of a text as the editor does: text from a file is then the same answer, and is sent once. */
const ended = (body: Body): Body =>
  typeof body['text'] === 'string' ? { ...body, text: body['text'].trimEnd() } : body;

function mustHaveText(body: Body, isForward: boolean): void {
  const isEmpty =
    body['template'] === undefined && ['text', 'html'].every((name) => String(body[name] ?? '').trim() === '');
  if (isEmpty && !isForward) throw new CliFault('the text is empty; nothing was sent', 'usage');
}

/**
 * Returns the email to answer, by default the newest received one, and the emails sent since, which include every
 * answer to it. If a named email does not exist, the server refuses it.
 */
async function findInThread(
  client: Client,
  path: ThreadPath,
  named: string | undefined,
): Promise<{ found: ThreadEmail | undefined; sentBefore: ReadonlySet<string> }> {
  const sentBefore = new Set<string>();
  let newest: ThreadEmail | undefined;
  for await (const email of fetchThreadEmails(client, path)) {
    if (named === undefined ? email.direction === 'inbound' : email.id === named.toLowerCase()) {
      return { found: email, sentBefore };
    }
    if (email.direction === 'outbound') sentBefore.add(email.id);
    newest ??= email;
  }
  if (named !== undefined) return { found: undefined, sentBefore };
  if (newest) return { found: newest, sentBefore };
  throw new CliFault('this thread has no email to reply to.', 'notFound');
}

/** Returns the email that is answered, to be shown below the scissors. */
async function below(
  { client, terminal }: Session,
  inbox: string,
  thread: string,
  id: string,
  known: ThreadEmail | undefined,
): Promise<string[]> {
  const path = { inbox, thread_id: thread, inbox_email_id: id };
  const email = known ?? (await client.call('getInboxThreadEmail', { path }));
  return [
    '# Write above the scissors line. Nothing below it is sent: the server quotes the email itself.',
    '# An empty text sends nothing.',
    '',
    ...formatEmailHead(terminal, email).map((line) => `# ${line}`),
    '',
    quote(formatEmailBody(email)),
  ];
}

/** Stores a text that could not be sent as a draft or, if no server can store it, in its file. */
async function keeping<T>(session: Session, kept: Kept, send: () => Promise<T>): Promise<T> {
  const { written } = kept;
  try {
    const sent = await send();
    written?.remove();
    return sent;
  } catch (error) {
    if (written) session.terminal.warn(session.formatAdvices(await keep(session.client, { ...kept, written }, error)));
    throw error;
  }
}

interface Kept<W = Written | undefined> {
  path: Path;
  operation: 'replyToInboxEmail' | 'forwardInboxEmail';
  written: W;
  /** The options to repeat with the text, including the key, so that it counts as the same answer. */
  again: readonly string[];
}

/**
 * Reports whether certainly nothing was sent. After a fault of the server, and while the same request is under way, it
 * may have been: a draft would send it twice.
 */
const isRefused = (error: unknown): boolean => error instanceof ApiFault && error.status < 500 && error.status !== 409;

async function keep(
  client: Client,
  { path, operation, written, again }: Kept<Written>,
  error: unknown,
): Promise<Advice> {
  const { inbox, thread_id, inbox_email_id } = path;
  const { text, file, remove } = written;
  // A draft goes to the sender of the email, but a forwarded text is for others.
  if (isRefused(error) && operation === 'replyToInboxEmail') {
    try {
      const body = { text, thread_id, reply_to_email_id: inbox_email_id };
      const { id } = await client.call('createInboxDraft', { path: { inbox }, body });
      remove();
      return { words: 'Your text is saved as a draft. Send it with', command: ['sendInboxDraft', inbox, id] };
    } catch {
      // The file is there all the same.
    }
  }
  return {
    words: `Your text is saved in ${file}. It is sent only once, even if you repeat this command; send it with`,
    command: [operation, inbox, thread_id, inbox_email_id, '--text-file', file, ...again],
  };
}
