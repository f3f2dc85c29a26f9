import { createHmac } from 'node:crypto';
import { replyText, type Reply } from '../../protocol/smtp-reply/index.ts';
import type { Login, LoginMechanism } from './delivery-job.ts';
import type { Failure, SmtpConnection } from './smtp-connection.ts';

export type LoginEnd =
  | { kind: 'in' }
  /** The server refuses the login until the operator changes something. */
  | { kind: 'refused'; detail: string; reply?: Reply }
  /** The server cannot check the login at the moment. */
  | { kind: 'refused for now'; detail: string; reply: Reply }
  | { kind: 'failed'; failure: Failure };

/** The order of "auto": a server whose password database has no plain text can check only the first two. */
const BY_PASSWORD: readonly LoginMechanism[] = ['plain', 'login', 'cram-md5'];

/** RFC 4954 §4: a command with its initial response has at most as many bytes as any other command. */
const COMMAND_BYTES_MAX = 512;

const MASK = '***';
const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** Logs in with AUTH (RFC 4954). Only for a connection over TLS to a server whose certificate was verified. */
export async function logIn(
  connection: SmtpConnection,
  offered: readonly string[],
  login: Login,
  silenceMs: number,
): Promise<LoginEnd> {
  const mechanism = chooseMechanism(offered, login);
  if (mechanism === undefined) return { kind: 'refused', detail: describeOffer(offered, login) };
  hideFromTranscript(connection, login);
  let answer = await begin(connection, mechanism, login, silenceMs);
  for (const respond of buildResponders(mechanism, login)) {
    if ('kind' in answer || answer.code !== 334) break;
    answer = await sendLine(connection, inBase64(respond(challengeIn(answer))), silenceMs);
  }
  // XOAUTH2 describes the fault in a challenge, and refuses only once that is answered.
  if (!('kind' in answer) && answer.code === 334) answer = await sendLine(connection, '', silenceMs);
  if ('kind' in answer) return { kind: 'failed', failure: answer };
  if (answer.code === 235) {
    keepHidden(connection, login);
    return { kind: 'in' };
  }
  const detail = `login by ${mechanism.toUpperCase()}: ${replyText(answer)}`;
  if (answer.code < 500) return { kind: 'refused for now', detail, reply: answer };
  return { kind: 'refused', detail, reply: answer };
}

function chooseMechanism(offered: readonly string[], { mechanism }: Login): LoginMechanism | undefined {
  const among = mechanism === 'auto' ? BY_PASSWORD : [mechanism];
  return among.find((one) => offered.includes(one.toUpperCase()));
}

function describeOffer(offered: readonly string[], { mechanism }: Login): string {
  const wanted = mechanism === 'auto' ? 'PLAIN, LOGIN or CRAM-MD5' : mechanism.toUpperCase();
  if (offered.length === 0) return `offers no login (AUTH), but the settings have a user`;
  return `offers login by ${offered.join(', ')}, but not by ${wanted}`;
}

/** Sends AUTH, with the initial response if the mechanism has one that fits into the command. */
function begin(
  connection: SmtpConnection,
  mechanism: LoginMechanism,
  login: Login,
  silenceMs: number,
): Promise<Reply | Failure> {
  const command = `AUTH ${mechanism.toUpperCase()}`;
  const initial = buildInitialResponse(mechanism, login);
  if (initial === undefined) return exchange(connection, command, command, silenceMs);
  const whole = `${command} ${inBase64(initial)}`;
  if (Buffer.byteLength(whole) + 2 <= COMMAND_BYTES_MAX)
    return exchange(connection, whole, `${command} ${MASK}`, silenceMs);
  return exchange(connection, command, command, silenceMs);
}

function buildInitialResponse(mechanism: LoginMechanism, { user, secret }: Login): string | undefined {
  if (mechanism === 'plain') return `\0${user}\0${secret}`;
  return mechanism === 'xoauth2' ? `user=${user}\u0001auth=Bearer ${secret}\u0001\u0001` : undefined;
}

/** Returns the responses to the challenges of the server, in order. */
function buildResponders(mechanism: LoginMechanism, login: Login): ((challenge: string) => string)[] {
  const { user, secret } = login;
  if (mechanism === 'login') return [() => user, () => secret];
  if (mechanism === 'cram-md5')
    return [(challenge) => `${user} ${createHmac('md5', secret).update(challenge).digest('hex')}`];
  const initial = buildInitialResponse(mechanism, login) ?? '';
  // If the initial response was sent with the command, a challenge describes a fault.
  return `AUTH ${mechanism} `.length + inBase64(initial).length + 2 > COMMAND_BYTES_MAX ? [() => initial] : [];
}

const challengeIn = ({ lines }: Reply): string => Buffer.from(lines.join(''), 'base64').toString('latin1');

const sendLine = (connection: SmtpConnection, words: string, silenceMs: number): Promise<Reply | Failure> =>
  exchange(connection, words, words === '' ? '' : MASK, silenceMs);

async function exchange(
  connection: SmtpConnection,
  command: string,
  shownAs: string,
  silenceMs: number,
): Promise<Reply | Failure> {
  connection.send(`${command}\r\n`, `${shownAs}\r\n`);
  const { replies, failure } = await connection.read(1, silenceMs);
  return replies[0] ?? failure ?? { kind: 'lost', detail: 'no reply' };
}

/** Hides credentials, because some servers repeat them in a refusal. */
function hideFromTranscript(connection: SmtpConnection, login: Login): void {
  const { user } = login;
  connection.hide([...listSecrets(login), user]);
}

/** Keeps secrets hidden, and the user name unless it could be a word that is needed to understand a later refusal. */
function keepHidden(connection: SmtpConnection, login: Login): void {
  const { user } = login;
  connection.hide([...listSecrets(login), ...(/^[a-z]+$/i.test(user) ? [] : [user])]);
}

function listSecrets({ user, secret }: Login): string[] {
  const whole = [`\0${user}\0${secret}`, `user=${user}\u0001auth=Bearer ${secret}\u0001\u0001`];
  return [secret, ...[secret, user, ...whole].map(inBase64)];
}
