import { ApiFault, isSession, mustRun, type AnswerOf } from '../../client/index.ts';
import { clean, formatPairs, formatTime, qrLines } from '../../output/index.ts';
import { asPerson, withCode, type SignedIn } from '../sign-in.ts';
import type { Session } from '../session.ts';

const NEXT_CODE = 'The next code from your app, because each code works only once';

export async function printMfa({ client, terminal, isJson }: Session): Promise<void> {
  const mfa = await client.call('getMfa', {});
  if (isJson) return terminal.printJson(mfa);
  const { enabled, enabled_at: at, recovery_codes_remaining: left } = mfa;
  terminal.print(
    formatPairs(terminal, [
      ['Second factor', enabled ? 'on' : 'off'],
      ['Since', at === null ? null : formatTime(terminal, at)],
      ['Recovery codes left', enabled ? String(left) : null],
    ]),
  );
}

export const enableMfa = (session: Session): Promise<void> =>
  signedIn(session, async ({ client, password }) => {
    const { process } = session;
    const enrolment = await client.call('enrolMfa', {});
    await showKey(session, enrolment);
    const done = await withCode(process, 'Current code from the app: ', (code) =>
      client.call('confirmMfa', { body: { code, password } }),
    );
    printCodes(session, done, 'Your second factor is on.');
    session.advise({
      words: 'Your other sessions have ended. Sign in here again with',
      command: ['login', '--password'],
    });
  });

export const disableMfa = (session: Session): Promise<void> =>
  signedIn(session, async ({ client }) => {
    const done = await withCode(session.process, `${NEXT_CODE}; or a recovery code: `, (code) =>
      client.call('disableMfa', { body: { code } }),
    );
    if (session.isJson) return session.terminal.printJson(done);
    session.terminal.print('Your second factor is off.');
  });

export const replaceCodes = (session: Session): Promise<void> =>
  signedIn(session, async ({ client }) => {
    const done = await withCode(session.process, `${NEXT_CODE}: `, (code) =>
      client.call('replaceRecoveryCodes', { body: { code } }),
    );
    printCodes(session, done, 'The old codes no longer work.');
  });

async function signedIn(session: Session, work: (as: SignedIn) => Promise<void>): Promise<void> {
  const { target, version, terminal, process } = session;
  const at = { url: target.url, version, terminal, process, mustBeThere: mustRun(target.development) };
  await asPerson(at, await ownEmail(session), work);
}

/** Returns the address of the person whose session login stored; a key belongs to no person. */
async function ownEmail({ client, target }: Session): Promise<string | undefined> {
  if (target.apiKey === undefined || !isSession(target.apiKey)) return undefined;
  try {
    return (await client.call('getSession', {})).user.email;
  } catch (error) {
    if (error instanceof ApiFault && error.status === 401) return undefined;
    throw error;
  }
}

/** Prints to standard error, where it is visible even when the codes go to a file. */
async function showKey(
  { process: { stderr }, terminal }: Session,
  { otpauth_url: url, secret }: AnswerOf<'enrolMfa'>,
): Promise<void> {
  const lines = (await qrLines({ columns: stderr.columns ?? terminal.columns }, url))?.map((line) =>
    terminal.paint('screen', line),
  );
  const key = clean(secret).replaceAll(/(.{4})(?=.)/g, '$1 ');
  if (lines)
    stderr.write(
      `Scan this QR code with your authenticator app:\n\n${lines.join('\n')}\n\nOr enter this key in the app: ${key}\n\n`,
    );
  else stderr.write(`Enter this key in your authenticator app: ${key}\n\n`);
}

function printCodes(
  { terminal, isJson, process: { stderr } }: Session,
  answer: AnswerOf<'confirmMfa'> | AnswerOf<'replaceRecoveryCodes'>,
  said: string,
): void {
  if (isJson) return terminal.printJson(answer);
  stderr.write(
    `${said} These recovery codes are shown only once. Keep them in a safe place away from your phone: each one can replace the app once.\n`,
  );
  terminal.print(answer.recovery_codes.map(clean).join('\n'));
}
