import { isoTime } from '../../../platform/clock.ts';
import type { AccountNoticeKind } from '../accounts/accounts.store.ts';

/** Client address and time of the request or change. */
interface Occasion {
  address: string | null;
  at: number;
}

export type AccountMail = Occasion &
  ({ kind: 'verify' | 'reset'; token: string } | { kind: 'exists' | AccountNoticeKind; token?: string });

/**
 * Composes a mail as plain text only, so that nothing in it is tracked and no link is rewritten. `origin` is the
 * configured address of this service.
 */
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
          'In the browser in which it was asked for, the account gets the password that was chosen there; in every other you',
          'choose one. If it was not you, do not open the link; without it there is no account.',
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
          `${origin}/forgot-password`,
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
    case 'app_shut_out':
      return { subject: 'An app that acts for you was shut out', lines: shutOut(origin, occasion) };
    case 'approval_waits':
      return { subject: 'An app asks for your approval', lines: approvalWaits(origin, occasion) };
    default:
      return secondFactor(mail.kind, origin, occasion);
  }
}

type FactorNotice = Exclude<
  AccountNoticeKind,
  'password_changed' | 'password_reset' | 'app_shut_out' | 'approval_waits'
>;

const FACTOR_NOTICES: Record<FactorNotice, { subject: string; what: string; more: string[] }> = {
  mfa_enabled: {
    subject: 'Signing in asks for a code now',
    what: 'The second factor was switched on',
    more: [
      'You are signed out everywhere but where you did it. Keep the recovery codes where you find them without the app.',
    ],
  },
  mfa_disabled: {
    subject: 'Signing in asks for no code any more',
    what: 'The second factor was switched off',
    more: ['The password alone signs in now.'],
  },
  mfa_reset: {
    subject: 'Signing in asks for no code any more',
    what: 'Whoever runs this service has switched the second factor off',
    more: ['You are signed out everywhere, and the password alone signs in now.'],
  },
  recovery_codes_replaced: {
    subject: 'You have new recovery codes',
    what: 'New recovery codes were made',
    more: ['Those of before are worth nothing any more.'],
  },
  recovery_code_used: {
    subject: 'A recovery code was used to sign in',
    what: 'Somebody has signed in with the password and a recovery code',
    more: ['That code is used up.'],
  },
};

function secondFactor(kind: FactorNotice, origin: string, occasion: string): { subject: string; lines: string[] } {
  const { subject, what, more } = FACTOR_NOTICES[kind];
  const lines = [
    `${what}, for your account at ${origin}, on ${occasion}.`,
    ...more,
    '',
    'If you know nothing of it, choose a new password at once, and tell whoever runs this service:',
    '',
    `${origin}/forgot-password`,
  ];
  return { subject, lines };
}

const changed = (origin: string, occasion: string, ended: string): string[] => [
  `The password of your account at ${origin} was changed, on ${occasion}.`,
  ended,
  '',
  'If it was not you, choose a new one at once, and look at who has access to your mailbox:',
  '',
  `${origin}/forgot-password`,
];

const shutOut = (origin: string, occasion: string): string[] => [
  `An app that you had let act for you at ${origin} came with access that was used before, on ${occasion}.`,
  '',
  'That happens where somebody has copied it, and also where an app does not keep what it is given. So the access was',
  'ended for whoever has it; nothing else was changed. Your list of apps says which one it was:',
  '',
  '    rasket oauth-grants list',
  '',
  'The app may ask you to let it in again. Allow it only if you have begun that yourself; if you do not know the app, choose',
  'a new password, which ends what all apps may do for you:',
  '',
  `${origin}/reset-password`,
];

/**
 * The link opens the pending approvals, and a signed-in person decides there, so a program that opens links decides
 * nothing.
 */
const approvalWaits = (origin: string, occasion: string): string[] => [
  `An app that you let act for you at ${origin} wants to do something that needs your approval, on ${occasion}.`,
  'It is done once you have approved it, and never without that. Look at it, and decide, within seven days:',
  '',
  `${origin}/account/approvals`,
  '',
  'Further ones that come before you have decided are shown there too, without another mail.',
];
