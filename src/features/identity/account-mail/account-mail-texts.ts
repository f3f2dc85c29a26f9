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
  const { subject, lines } = buildParts(origin, mail);
  return { subject, text: lines.join('\n') };
}

function buildParts(origin: string, mail: AccountMail): { subject: string; lines: string[] } {
  const { address, at } = mail;
  const occasion = `${isoTime(at)}${address === null ? '' : ` from the IP address ${address}`}`;
  switch (mail.kind) {
    case 'verify':
      return {
        subject: 'Verify your email address',
        lines: [
          `Somebody requested an account at ${origin} with this email address on ${occasion}.`,
          '',
          'If this was you, open this link within three days to verify your address and create the account:',
          '',
          `${origin}/verify-email?token=${mail.token}`,
          '',
          'If you open it in the browser in which you signed up, your account gets the password you entered there. In any other',
          'browser you choose a password. If this was not you, ignore this email; no account is created.',
        ],
      };
    case 'exists':
      return {
        subject: 'You already have an account',
        lines: [
          `Somebody requested an account at ${origin} with this email address on ${occasion}.`,
          '',
          'You already have an account, and it was not changed. If this was you, sign in with your password, or reset it:',
          '',
          `${origin}/forgot-password`,
          '',
          'If this was not you, ignore this email.',
        ],
      };
    case 'reset':
      return {
        subject: 'Reset your password',
        lines: [
          `Somebody requested a password reset for your account at ${origin} on ${occasion}.`,
          '',
          'If this was you, open this link within one hour to choose a new password. The link works once:',
          '',
          `${origin}/reset-password?token=${mail.token}`,
          '',
          'If this was not you, ignore this email. Your password was not changed.',
        ],
      };
    case 'password_reset':
      return {
        subject: 'Your password was reset',
        lines: composePasswordChanged(origin, occasion, 'You were signed out everywhere.'),
      };
    case 'password_changed':
      return {
        subject: 'Your password was changed',
        lines: composePasswordChanged(origin, occasion, 'You were signed out of all other sessions.'),
      };
    case 'app_shut_out':
      return { subject: 'The access of an app was revoked', lines: composeAppRevoked(origin, occasion) };
    case 'approval_waits':
      return { subject: 'An app is waiting for your approval', lines: composeApprovalRequest(origin, occasion) };
    default:
      return composeFactorNotice(mail.kind, origin, occasion);
  }
}

type FactorNotice = Exclude<
  AccountNoticeKind,
  'password_changed' | 'password_reset' | 'app_shut_out' | 'approval_waits'
>;

const FACTOR_NOTICES: Record<FactorNotice, { subject: string; what: string; more: string[] }> = {
  mfa_enabled: {
    subject: 'Two-factor authentication was turned on',
    what: 'Two-factor authentication was turned on',
    more: [
      'You were signed out of all other sessions. Keep your recovery codes in a place that you can reach without the app.',
    ],
  },
  mfa_disabled: {
    subject: 'Two-factor authentication was turned off',
    what: 'Two-factor authentication was turned off',
    more: ['You now sign in with your password alone.'],
  },
  mfa_reset: {
    subject: 'Two-factor authentication was turned off',
    what: 'The operator of this service turned off two-factor authentication',
    more: ['You were signed out everywhere. You now sign in with your password alone.'],
  },
  recovery_codes_replaced: {
    subject: 'You have new recovery codes',
    what: 'New recovery codes were generated',
    more: ['Your old recovery codes no longer work.'],
  },
  recovery_code_used: {
    subject: 'A recovery code was used to sign in',
    what: 'Somebody signed in with your password and a recovery code',
    more: ['That recovery code no longer works.'],
  },
};

function composeFactorNotice(
  kind: FactorNotice,
  origin: string,
  occasion: string,
): { subject: string; lines: string[] } {
  const { subject, what, more } = FACTOR_NOTICES[kind];
  const lines = [
    `${what} for your account at ${origin} on ${occasion}.`,
    ...more,
    '',
    'If this was not you, contact the operator of this service and reset your password immediately:',
    '',
    `${origin}/forgot-password`,
  ];
  return { subject, lines };
}

const composePasswordChanged = (origin: string, occasion: string, ended: string): string[] => [
  `The password of your account at ${origin} was changed on ${occasion}.`,
  ended,
  '',
  'If this was not you, check who has access to your mailbox and reset your password immediately:',
  '',
  `${origin}/forgot-password`,
];

const composeAppRevoked = (origin: string, occasion: string): string[] => [
  `An app that you authorized at ${origin} used a one-time token a second time on ${occasion}.`,
  '',
  'Either somebody copied the token, or the app does not store its tokens correctly. The access was therefore revoked for',
  'everyone who has the token. Nothing else was changed. To see which app it was, list the apps:',
  '',
  '    rasket oauth-grants list',
  '',
  'The app may ask you to authorize it again. Do so only if you started this yourself. If you do not know the app, reset your',
  'password, which revokes the access of all apps:',
  '',
  `${origin}/forgot-password`,
];

/**
 * Composes the notice that an app's request waits for approval. Its link opens the list of requests, where a signed-in
 * person decides, so that a program that opens links decides nothing.
 */
const composeApprovalRequest = (origin: string, occasion: string): string[] => [
  `An app that you authorized at ${origin} made a request that needs your approval on ${occasion}.`,
  'The request is carried out only after it is approved. Review it within seven days:',
  '',
  `${origin}/account/approvals`,
  '',
  'Requests that arrive before you decide are listed there too, without another email.',
];
