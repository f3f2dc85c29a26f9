import type { Command } from 'commander';
import { account } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

/** Adds the commands for a person's account, which concern no team. */
export function addAccountCommands(program: Command): void {
  declareFamily(program, account, { add: addMfa });
}

function addMfa(parent: Command): void {
  const mfa = parent
    .command('mfa')
    .summary('the second factor of your sign-in')
    .description('The second factor of your sign-in: an authenticator app, and recovery codes for when it is lost.');
  declareCommand(
    mfa,
    'status',
    { summary: 'say whether it is on, and how many recovery codes are left', example: 'account mfa' },
    { isDefault: true },
  ).action(act(async (session) => (await import('./mfa.ts')).tellMfa(session)));
  declareCommand(mfa, 'enable', {
    summary: 'set up an authenticator app, and show ten recovery codes',
    description:
      'Signs you in with your password, shows a QR code and a key for your authenticator app, asks for a code of it, and prints ten recovery codes, this once. Your other sessions end, that of this terminal among them, and what apps may do for you.',
    example: 'account mfa enable',
  }).action(act(async (session) => (await import('./mfa.ts')).enableMfa(session), { key: false }));
  declareCommand(mfa, 'disable', {
    summary: 'switch it off, with a code or a recovery code',
    example: 'account mfa disable',
  }).action(act(async (session) => (await import('./mfa.ts')).disableMfa(session), { key: false }));
  declareCommand(mfa, 'codes', {
    summary: 'make ten new recovery codes; those of before are worth nothing then',
    example: 'account mfa codes',
  }).action(act(async (session) => (await import('./mfa.ts')).replaceCodes(session), { key: false }));
}
