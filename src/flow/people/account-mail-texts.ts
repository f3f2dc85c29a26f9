import { isoTime } from '../../platform/clock/index.ts';

/** From where and when it was asked for, or done. */
interface Occasion {
  address: string | null;
  at: number;
}

export type AccountMail = Occasion &
  (
    | { kind: 'verify' | 'reset'; token: string }
    | { kind: 'exists' | 'password_changed' | 'password_reset'; token?: string }
  );

/** Text alone: nothing in it is tracked, and no link is rewritten. `origin` is the configured address of this service. */
export function composeAccountMail(origin: string, mail: AccountMail): { subject: string; text: string } {
  const { subject, lines } = partsOf(origin, mail);
  return { subject, text: lines.join('\n') };
}

function partsOf(origin: string, mail: AccountMail): { subject: string; lines: string[] } {
  const { address, at } = mail;
  const occasion = `${isoTime(at)}${address === null ? '' : `, from the network address ${address}`}`;
  switch (mail.kind) {
    case 'verify':
      return {
        subject: 'Verify your address',
        lines: [
          `An account at ${origin} was asked for with this address, on ${occasion}.`,
          '',
          'If that was you, begin it within three days by this link:',
          '',
          `${origin}/verify-email?token=${mail.token}`,
          '',
          'The account gets the password that was chosen with that request. If it was not yours, do not open the link;',
          'without it there is no account.',
        ],
      };
    case 'exists':
      return {
        subject: 'You have an account already',
        lines: [
          `An account at ${origin} was asked for with this address, on ${occasion}.`,
          '',
          'You have one already, and nothing about it has changed. If that was you, sign in with the password you have, or',
          'choose a new one:',
          '',
          `${origin}/reset-password`,
          '',
          'If it was not you, ignore this mail.',
        ],
      };
    case 'reset':
      return {
        subject: 'Choose a new password',
        lines: [
          `A new password for your account at ${origin} was asked for, on ${occasion}.`,
          '',
          'If that was you, choose it within an hour by this link, which works once:',
          '',
          `${origin}/reset-password?token=${mail.token}`,
          '',
          'If it was not you, ignore this mail: your password stays as it is.',
        ],
      };
    case 'password_reset':
      return {
        subject: 'Your password was replaced',
        lines: changed(origin, occasion, 'You are signed out everywhere.'),
      };
    case 'password_changed':
      return {
        subject: 'Your password was changed',
        lines: changed(origin, occasion, 'You are signed out everywhere but where you did it.'),
      };
  }
}

const changed = (origin: string, occasion: string, ended: string): string[] => [
  `The password of your account at ${origin} was changed, on ${occasion}.`,
  ended,
  '',
  'If it was not you, choose a new one at once, and look at who has access to your mailbox:',
  '',
  `${origin}/reset-password`,
];
